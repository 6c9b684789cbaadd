'use strict';

// What all parts of the page share: numbers, elements, colours, charts.

function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

// "1,234", "12.35", "0.00123"; a dash for what is no number.
function formatNumber(value) {
  if (!isNumber(value)) return '\u2013';
  const size = Math.abs(value);
  const digits = size >= 1000 ? {maximumFractionDigits: 0} :
      size >= 1               ? {maximumFractionDigits: 2} :
                                {maximumSignificantDigits: 3};
  return value.toLocaleString('en', digits);
}

// A moment, to the microsecond.
function formatMoment(seconds) {
  return `${seconds.toLocaleString('en', {maximumFractionDigits: 6})} s`;
}

function formatShare(value, digits = 1) {
  return isNumber(value) ? `${(100 * value).toFixed(digits)} %` : '\u2013';
}

// An element with children. Texts stay texts, whatever they contain.
function element(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function swatch(color) {
  const node = element('span', {className: 'swatch'});
  node.style.background = color;
  return node;
}

// A tooltip: a title, and lines of [colour or null, name, value].
function tip(title, lines) {
  const rows = lines.map(([color, name, value]) => element(
      'div', {}, ...(color ? [swatch(color)] : []), name,
      element('span', {className: 'value'}, value)));
  return element('div', {className: 'tip'},
                 element('div', {className: 'title'}, title), ...rows);
}

// The colour that page.css names, as it is now: light or dark.
function color(name) {
  return getComputedStyle(document.documentElement)
      .getPropertyValue(`--${name}`).trim();
}

const SERIES_COLORS = 8;

function runColor(index) {
  return color(`series-${index % SERIES_COLORS}`);
}

// Further rounds through the colours differ by their lines.
function runDashes(index) {
  return ['solid', 'dashed', 'dotted'][
      Math.floor(index / SERIES_COLORS) % 3];
}

// Parts of options that all charts have.
function baseOption() {
  return {
    animation: false,
    backgroundColor: 'transparent',
    textStyle: {
      color: color('text'),
      fontFamily: getComputedStyle(document.body).fontFamily,
    },
    tooltip: {
      confine: true,
      backgroundColor: color('surface'),
      borderColor: color('line'),
      textStyle: {color: color('text')},
    },
  };
}

function legendOption() {
  return {
    type: 'scroll',
    top: 0,
    left: 0,
    icon: 'roundRect',
    itemWidth: 12,
    itemHeight: 12,
    textStyle: {color: color('text')},
    inactiveColor: `${color('muted')}70`,
    pageTextStyle: {color: color('muted')},
    pageIconColor: color('accent'),
    pageIconInactiveColor: color('line'),
  };
}

function axisOption(name) {
  return {
    name,
    nameTextStyle: {color: color('muted')},
    axisLabel: {color: color('muted')},
    axisLine: {lineStyle: {color: color('line')}},
    axisTick: {lineStyle: {color: color('line')}},
    splitLine: {lineStyle: {color: color('grid')}},
  };
}

function sliderOption() {
  return {
    type: 'slider',
    showDataShadow: false,
    brushSelect: false,
    textStyle: {color: color('muted')},
    borderColor: color('line'),
    backgroundColor: color('page'),
    fillerColor: `${color('accent')}30`,
    handleStyle: {color: color('surface'), borderColor: color('accent')},
    moveHandleStyle: {color: color('line')},
  };
}

// Zoom along time: a slider under the chart, and with the pointer.
// Without Ctrl the wheel scrolls the page.
function timeZoom(filterMode, window = {}) {
  return [
    {
      ...sliderOption(),
      xAxisIndex: 0,
      filterMode,
      bottom: 6,
      height: 18,
      labelFormatter: (value) => `${formatNumber(value)} s`,
      ...window,
    },
    {
      type: 'inside',
      xAxisIndex: 0,
      filterMode,
      zoomOnMouseWheel: 'ctrl',
      moveOnMouseWheel: false,
      ...window,
    },
  ];
}

// A horizontal line for each of the values, normally one.
function targetLines(values, dashes = 'dashed') {
  return {
    silent: true,
    symbol: 'none',
    lineStyle: {color: color('muted'), type: dashes, width: 1.5},
    label: {
      color: color('muted'),
      position: 'insideStartTop',
      // The chart would round it.
      formatter: (line) => `target ${values[line.dataIndex]}`,
    },
    data: values.map((value) => ({yAxis: value})),
  };
}

// Lines across a chart that stay when its series are hidden: a series of their
// own, which the legend leaves out as it has no name.
function linesAlone(markLine) {
  return {type: 'line', data: [], silent: true, markLine};
}

const redraws = [];

// A chart in `node` that shows what `makeOption` returns: now, whenever the
// page turns light or dark, and when draw() is called.
function showChart(node, makeOption) {
  const chart = echarts.init(node);
  const draw = () => chart.setOption(makeOption(), {notMerge: true});
  redraws.push(draw);
  new ResizeObserver(() => chart.resize()).observe(node);
  draw();
  return {chart, draw};
}

matchMedia('(prefers-color-scheme: dark)')
    .addEventListener('change', () => redraws.forEach((draw) => draw()));

// Curves of what evaluations have measured, a chart for each measure.
//
// A course is {name, index, points, switches, goals}: `points` as a report has
// them under "accuracy", `switches` likewise, `index` for its colour, and `goals`
// [{metric, value, seconds}], where seconds are there once it was reached. Points
// that are medians of several runs have `range`, {accuracy: [least, most]}.

// With more points a line needs no marks.
const MARKED_MAX = 60;

// What stands along the bottom of all charts.
const BOTTOMS = [
  {key: 'seconds', name: 'seconds of training'},
  {key: 'samples', name: 'samples'},
];

const FIRST_MEASURES = ['accuracy', 'loss'];

function valueOf(point, measure) {
  return FIRST_MEASURES.includes(measure) ? point[measure] :
                                            point.metrics?.[measure];
}

// Accuracy and loss first, then what a program has named.
function measuresOf(courses) {
  const found = new Set();
  for (const {points} of courses) {
    for (const point of points) {
      for (const measure of FIRST_MEASURES) {
        if (isNumber(point[measure])) found.add(measure);
      }
      Object.keys(point.metrics ?? {}).forEach((name) => found.add(name));
    }
  }
  const others = [...found].filter((name) => !FIRST_MEASURES.includes(name));
  return [
    ...FIRST_MEASURES.filter((name) => found.has(name)), ...others.sort()];
}

// "cgp" of "cgp:beta=0.9,...".
function bareParadigm(paradigm) {
  return (paradigm ?? '').split(':')[0];
}

// A ring on each goal's line where the course reached it. That is known in
// seconds alone.
function reachedMark(course, measure, bottom) {
  const reached = course.goals.filter(
      (goal) => goal.metric === measure && isNumber(goal.seconds));
  if (reached.length === 0 || bottom.key !== 'seconds') return undefined;
  return {
    silent: true,
    symbol: 'circle',
    symbolSize: 11,
    label: {show: false},
    itemStyle: {
      color: color('surface'),
      borderColor: runColor(course.index),
      borderWidth: 3,
    },
    data: reached.map(({seconds, value}) => ({coord: [seconds, value]})),
  };
}

function curveSeries(course, measure, bottom) {
  const data = course.points
                   .filter((point) => isNumber(point[bottom.key]) &&
                               isNumber(valueOf(point, measure)))
                   .map((point) => [
                     point[bottom.key], valueOf(point, measure), point.samples]);
  return {
    type: 'line',
    name: course.name,
    data,
    showSymbol: data.length <= MARKED_MAX,
    symbol: 'circle',
    symbolSize: 5,
    color: runColor(course.index),
    lineStyle: {width: 2, type: runDashes(course.index)},
    emphasis: {disabled: true},
    markPoint: reachedMark(course, measure, bottom),
  };
}

// What is shaded between the least and the most of several runs: two lines, the
// upper one on top of the lower one. They have the course's name, so that the
// legend hides them with it.
const BAND = 'band';

function bandSeries(course, measure, bottom) {
  const points = course.points.filter(
      (point) => isNumber(point[bottom.key]) &&
          point.range?.[measure] !== undefined);
  if (points.length < 2) return [];
  const edge = (part, heightOf) => ({
    type: 'line',
    id: `${BAND} ${part} ${course.index}`,
    name: course.name,
    stack: `${BAND} ${course.index}`,
    stackStrategy: 'all',
    data: points.map((point) => [
      point[bottom.key], heightOf(point.range[measure])]),
    silent: true,
    symbol: 'none',
    color: runColor(course.index),
    lineStyle: {opacity: 0},
    emphasis: {disabled: true},
  });
  return [
    edge('bottom', ([least]) => least),
    {
      ...edge('top', ([least, most]) => most - least),
      areaStyle: {color: runColor(course.index), opacity: 0.18},
    },
  ];
}

// Where another paradigm took over; only of a course alone, for those of several
// would cover each other.
function takeOvers(courses, bottom) {
  const switches = courses.length === 1 ? courses[0].switches : [];
  return {
    silent: true,
    symbol: 'none',
    lineStyle: {color: color('muted'), type: 'dashed', width: 1.5},
    label: {
      color: color('muted'),
      position: 'end',  // At the top.
      formatter: (line) => bareParadigm(switches[line.dataIndex]?.to),
    },
    data: switches.map((done) => ({xAxis: done[bottom.key]})),
  };
}

function goalsOf(courses, measure) {
  return [...new Set(courses.flatMap(({goals}) => goals)
                         .filter(({metric}) => metric === measure)
                         .map(({value}) => value))];
}

// Room for an accuracy that nobody reached; null: what the points need.
function topOf(courses, measure, most) {
  const goal = Math.max(...goalsOf(courses, measure), 0);
  return measure !== 'accuracy' || most >= goal ? null :
                                                  Math.ceil(10 * goal) / 10;
}

// Of the point next to the pointer, or of those if courses have one there.
function curveTip(bottom, points) {
  const curves = points.filter(({seriesId}) => seriesId?.startsWith(BAND) !== true);
  if (curves.length === 0) return '';
  const lines = curves.map(({color: its, seriesName, value: [, value, samples]}) => {
    const after = bottom.key === 'seconds' && isNumber(samples) ?
        ` (${formatNumber(samples)} samples)` : '';
    return [
      its, seriesName,
      isNumber(value) ? `${value.toFixed(4)}${after}` : '\u2013'];
  });
  return tip(`${formatNumber(curves[0].value[0])} ${bottom.name}`, lines);
}

function curveOption(courses, measure, bottom, zoom, filterMode) {
  const base = baseOption();
  return {
    ...base,
    legend: {...legendOption(), show: courses.length > 1},
    grid: {
      left: 52,
      right: 18,
      top: courses.length > 1 ? 38 : 24,
      bottom: 76,
    },
    tooltip: {
      ...base.tooltip,
      trigger: 'axis',
      axisPointer: {lineStyle: {color: color('muted')}},
      formatter: (points) => curveTip(bottom, points),
    },
    xAxis: {
      ...axisOption(bottom.name),
      type: 'value',
      min: 0,
      nameLocation: 'middle',
      nameGap: 24,
      axisLabel: {color: color('muted'), hideOverlap: true},
    },
    yAxis: {
      ...axisOption(''),
      type: 'value',
      scale: true,
      splitNumber: 4,
      max: ({max}) => topOf(courses, measure, max),
    },
    dataZoom: timeZoom(filterMode, {...zoom, labelFormatter: formatNumber}),
    series: [
      ...courses.flatMap((course) => bandSeries(course, measure, bottom)),
      ...courses.map((course) => curveSeries(course, measure, bottom)),
      linesAlone(takeOvers(courses, bottom)),
      // Dashed lines are switches.
      linesAlone(targetLines(goalsOf(courses, measure), 'dotted')),
    ],
  };
}

// The charts of one section, which has .choices, .grid and .note. What is shown
// changes with show(courses); what the reader has zoomed into stays. `filterMode`
// is that of ECharts: with 'filter' the height fits what is in view.
class Curves {
  constructor(section, {bottoms = BOTTOMS, filterMode = 'none'} = {}) {
    this.section = section;
    this.filterMode = filterMode;
    this.courses = [];
    this.bottom = bottoms[0];
    this.charts = new Map();  // By measure: {figure, draw, chart, zoom}.
    this.last = '';
    this.buttons = bottoms.map((bottom) => this.makeChoice(bottom));
    section.querySelector('.choices').append(...this.buttons);
  }

  makeChoice(bottom) {
    const button = element('button', {type: 'button'}, bottom.name);
    button.setAttribute('aria-pressed', String(bottom === this.bottom));
    button.addEventListener('click', () => {
      this.bottom = bottom;
      this.buttons.forEach((other) => other.setAttribute(
          'aria-pressed', String(other === button)));
      for (const shown of this.charts.values()) shown.zoom = {start: 0, end: 100};
      this.draw();
    });
    return button;
  }

  // Only what has changed is drawn again.
  show(courses, whyNone) {
    const seen = JSON.stringify(courses);
    if (seen === this.last) return;
    this.last = seen;
    this.courses = courses;
    const measures = measuresOf(courses);
    for (const measure of this.charts.keys()) {
      if (!measures.includes(measure)) {
        this.charts.get(measure).figure.hidden = true;
      }
    }
    measures.forEach((measure) => this.reveal(measure));
    this.section.querySelector('.choices').hidden = measures.length === 0;
    this.section.querySelector('.note').textContent =
        measures.length === 0 ? whyNone : '';
    this.draw();
  }

  // The figure of a measure is made when it is needed first.
  reveal(measure) {
    const known = this.charts.get(measure);
    if (known !== undefined) {
      known.figure.hidden = false;
      return;
    }
    const node = element('div', {className: 'chart', role: 'img'});
    node.setAttribute('aria-label', `${measure}, a line for each run`);
    const figure =
        element('figure', {}, element('figcaption', {}, measure), node);
    this.section.querySelector('.grid').append(figure);
    const shown = {figure, node, zoom: {start: 0, end: 100}};
    this.charts.set(measure, shown);
    const {chart, draw} = showChart(
        node,
        () => curveOption(
            this.courses, measure, this.bottom, shown.zoom, this.filterMode));
    chart.on('datazoom', () => {
      const [{start, end}] = chart.getOption().dataZoom;
      shown.zoom = {start, end};
    });
    shown.draw = draw;
  }

  draw() {
    for (const {figure, node, draw} of this.charts.values()) {
      if (figure.hidden) continue;
      // For people who cannot see it, and for tests.
      const points = this.courses.map((course) => course.points.length);
      node.dataset.points = String(points.reduce((sum, n) => sum + n, 0));
      draw();
    }
  }
}

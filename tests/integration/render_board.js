'use strict';

// Draws a board as Grafana would, panel by panel.

const board = JSON.parse(document.getElementById('data').textContent);

const PALETTE = ['#73bf69', '#f2cc0c', '#8ab8ff', '#ff780a', '#f2495c', '#5794f2', '#b877d9', '#705da0', '#37872d',
  '#fade2a', '#447ebc', '#c15c17', '#890f02', '#0a437c', '#6d1f62'];
const NAMED = {
  green: '#73bf69', yellow: '#fade2a', orange: '#ff9830', red: '#f2495c', blue: '#5794f2', purple: '#b877d9',
};
const style = getComputedStyle(document.documentElement);
const MUTED = style.getPropertyValue('--muted');
const GRID = style.getPropertyValue('--grid');

function short(value, base, names) {
  let i = 0;
  while (Math.abs(value) >= base && i < names.length - 1) {
    value /= base;
    ++i;
  }
  return `${Number(value.toPrecision(3))}${names[i]}`;
}

function duration(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  if (size < 0.001) return `${Number((seconds * 1e6).toPrecision(3))} µs`;
  if (size < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  if (size < 60) return `${Number(seconds.toPrecision(3))} s`;
  if (size < 3600) return `${Number((seconds / 60).toPrecision(3))} min`;
  if (size < 86400) return `${Number((seconds / 3600).toPrecision(3))} h`;
  return `${Number((seconds / 86400).toPrecision(3))} d`;
}

// Grafana's units, those that the boards use.
const UNITS = {
  none: (v) => String(Number(v.toPrecision(4))),
  short: (v) => short(v, 1000, ['', ' K', ' Mil', ' Bil']),
  s: duration,
  bytes: (v) => short(v, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']),
  Bps: (v) => short(v, 1000, [' B/s', ' kB/s', ' MB/s', ' GB/s']),
  ops: (v) => `${Number(v.toPrecision(3))} ops/s`,
  reqps: (v) => `${Number(v.toPrecision(3))} req/s`,
  percentunit: (v) => `${Number((100 * v).toPrecision(3))}%`,
  dateTimeFromNow: (v) => `${duration(board.end - v / 1000)} ago`,
};

function element(tag, text, ...children) {
  const node = document.createElement(tag);
  node.textContent = text;
  node.append(...children);
  return node;
}

// The colour of the last step that the value has reached.
function stepColor(defaults, value) {
  const steps = defaults.thresholds?.steps ?? [];
  const reached = steps.filter((step) => step.value === null || value >= step.value);
  return NAMED[reached.at(-1)?.color] ?? NAMED.green;
}

const TIMES = [];
for (let t = board.start; t <= board.end + 1e-3; t += board.step) TIMES.push(t);
const indexOf = (time) => Math.round((time - board.start) / board.step);

// A value for every time, null where there is none.
function aligned(series) {
  const values = TIMES.map(() => null);
  for (const [time, value] of series.points) values[indexOf(time)] = value;
  return values;
}

const clock = (time) => new Date(1000 * time).toISOString().slice(11, 19);

function axes(y) {
  const axis = { axisLabel: { color: MUTED, fontSize: 10 }, axisLine: { lineStyle: { color: GRID } } };
  return {
    animation: false,
    grid: { left: 70, right: 12, top: 10, bottom: 22 },
    xAxis: { ...axis, type: 'category', data: TIMES.map(clock), boundaryGap: false },
    yAxis: { ...axis, splitLine: { lineStyle: { color: GRID } }, ...y, axisLabel: { ...axis.axisLabel, ...y.axisLabel } },
  };
}

// Of what has happened; each kind of event is written once, and beside a name
// that stands there already.
function eventLines() {
  const seen = new Set();
  const tooNear = TIMES.length / 40;
  let named;
  return board.annotations.sort((a, b) => a.time - b.time).map((mark) => {
    const color = NAMED[mark.color];
    const line = {
      xAxis: indexOf(mark.time), lineStyle: { color, type: 'dashed', width: 1 },
      label: { show: false, formatter: mark.name, color, fontSize: 9, position: 'insideEndTop' },
    };
    if (seen.has(mark.name)) return line;
    seen.add(mark.name);
    if (named && line.xAxis - named.xAxis < tooNear) {
      named.label.formatter += `, ${mark.name}`;
    } else {
      line.label.show = true;
      named = line;
    }
    return line;
  });
}

function limitLines(defaults) {
  if (!defaults.custom?.thresholdsStyle) return [];
  return defaults.thresholds.steps.filter((step) => step.value !== null).map((step) => ({
    yAxis: step.value, lineStyle: { color: NAMED[step.color], type: 'solid' }, label: { show: false },
  }));
}

function names(panel) {
  const node = element('div', '');
  node.className = 'names';
  panel.series.forEach((series, i) => {
    const name = element('span', `▬ ${series.name}`);
    name.style.color = PALETTE[i % PALETTE.length];
    node.append(name);
  });
  return node;
}

function draw(node, option) {
  const chart = element('div', '');
  chart.className = 'chart';
  node.append(chart);
  return () => echarts.init(chart, null, { renderer: 'svg' }).setOption(option);
}

const DRAWN = {
  timeseries(panel, node) {
    const { defaults } = panel;
    const unit = UNITS[defaults.unit];
    const stacked = defaults.custom.stacking?.mode === 'normal';
    const later = draw(node, {
      ...axes({ type: 'value', min: defaults.min, max: defaults.max, axisLabel: { formatter: unit } }),
      series: panel.series.map((series, i) => ({
        type: 'line', name: series.name, data: aligned(series), color: PALETTE[i % PALETTE.length], showSymbol: false,
        stack: stacked ? 'all' : undefined, lineStyle: { width: 1 }, areaStyle: { opacity: stacked ? 0.4 : 0.08 },
        markLine: i ? undefined : { symbol: 'none', silent: true, data: [...eventLines(), ...limitLines(defaults)] },
      })),
    });
    node.append(names(panel));
    return later;
  },

  stat(panel, node) {
    const numbers = element('div', '');
    numbers.className = 'numbers';
    for (const { name, points } of panel.series) {
      const [, value] = points.at(-1);
      const number = element('span', `${name} ${UNITS[panel.defaults.unit](value)}`);
      number.style.color = stepColor(panel.defaults, value);
      numbers.append(number);
    }
    node.append(numbers);
  },

  // Each bucket without those below it.
  heatmap(panel, node) {
    const bound = (series) => (series.labels.le === '+Inf' ? Infinity : Number(series.labels.le));
    const buckets = [...panel.series].sort((a, b) => bound(a) - bound(b));
    const counts = buckets.map(aligned);
    const cells = counts.flatMap((row, y) => row.map((count, x) => [x, y, count - (y ? counts[y - 1][x] : 0)]))
        .filter(([, , count]) => count > 1e-9);
    const most = cells.reduce((max, cell) => Math.max(max, cell[2]), 1);
    const unit = UNITS[panel.defaults.unit];
    return draw(node, {
      ...axes({ type: 'category', data: buckets.map((b) => (bound(b) === Infinity ? '+Inf' : unit(bound(b)))) }),
      visualMap: { show: false, min: 0, max: most, inRange: { color: ['#3d1a00', '#ff780a', '#fff2d8'] } },
      series: [{ type: 'heatmap', data: cells, markLine: { symbol: 'none', silent: true, data: eventLines() } }],
    });
  },

  'state-timeline'(panel, node) {
    const mapped = Object.assign({}, ...(panel.defaults.mappings ?? []).map((mapping) => mapping.options));
    const spans = [];
    panel.series.forEach((series, row) => {
      aligned(series).forEach((value, x) => {
        const last = spans.at(-1);
        if (value === null) return;
        if (last?.row === row && last.value === value && last.end === x) last.end = x + 1;
        else spans.push({ row, value, start: x, end: x + 1 });
      });
    });
    return draw(node, {
      ...axes({ type: 'category', data: panel.series.map((series) => series.name), inverse: true }),
      grid: { left: 320, right: 12, top: 10, bottom: 22 },
      series: [{
        type: 'custom', data: spans.map((span) => [span.start, span.row, span.end]),
        renderItem(params, api) {
          const { row, value, start, end } = spans[params.dataIndex];
          const [x, y] = api.coord([start, row]);
          const [right] = api.coord([Math.min(end, TIMES.length - 1), row]);
          const height = 0.8 * api.size([0, 1])[1];
          const fill = NAMED[mapped[value]?.color] ?? stepColor(panel.defaults, value);
          const text = mapped[value]?.text ?? UNITS[panel.defaults.unit](value);
          return {
            type: 'rect', shape: { x, y: y - height / 2, width: right - x, height }, style: { fill, opacity: 0.7 },
            textConfig: { position: 'insideLeft' }, textContent: { style: { text: right - x > 40 ? text : '', fill: '#fff', fontSize: 10 } },
          };
        },
      }],
    });
  },

  table(panel, node) {
    const columns = Object.entries(panel.renamed);
    const table = element('table', '', element('tr', '', ...columns.map(([, name]) => element('th', name))));
    for (const { labels } of panel.series) {
      table.append(element('tr', '', ...columns.map(([label]) => element('td', labels[label] ?? ''))));
    }
    node.append(table);
  },
};

document.title = board.title;
document.querySelector('h1').textContent = board.title;
const summary = document.querySelector('header p');
summary.textContent = `${board.description} ${clock(board.start)} to ${clock(board.end)} UTC`;
for (const [label, values] of board.choices) summary.append(element('b', `${label}: ${values.join(', ')}`));

// What is drawn needs its place first.
const later = [];
for (const panel of board.panels) {
  const { x, y, w, h } = panel.place;
  const node = element('section', '', element('h2', panel.title), element('p', panel.description));
  node.style.gridArea = `${y + 1} / ${x + 1} / span ${h} / span ${w}`;
  document.getElementById('panels').append(node);
  if (panel.type === 'row') {
    node.className = 'row';
  } else if (panel.series.length) {
    later.push(DRAWN[panel.type](panel, node));
  } else {
    const nothing = element('span', 'No data');
    nothing.className = 'nothing';
    node.append(nothing);
  }
}
for (const act of later) act?.();

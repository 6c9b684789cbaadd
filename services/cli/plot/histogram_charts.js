// How gaps and stalenesses are distributed: two small charts per run.

const BARS_MAX = 32;

const MEASURES = [
  {name: 'gap', field: 'gap_histogram'},
  {name: 'staleness', field: 'staleness_histogram'},
];

function counts(run, measure) {
  return (run[measure.field] ?? []).filter(
      (pair) => isNumber(pair?.[0]) && isNumber(pair?.[1]));
}

function largest(pairs) {
  return pairs.reduce((most, pair) => Math.max(most, pair[0]), 0);
}

// The smallest of 1, 2, 5, 10, 20, ... with which values up to `most` need no
// more than BARS_MAX bars.
function barWidth(most) {
  for (let power = 1;; power *= 10) {
    for (const digit of [1, 2, 5]) {
      if ((most + 1) / (digit * power) <= BARS_MAX) return digit * power;
    }
  }
}

// Shares of all pushes, a number per bar.
function shares(pairs, most, width) {
  const bars = new Array(Math.floor(most / width) + 1).fill(0);
  const total = pairs.reduce((sum, pair) => sum + pair[1], 0);
  for (const [value, count] of pairs) {
    bars[Math.max(0, Math.floor(value / width))] += count / total;
  }
  return bars;
}

function barName(bar, width) {
  const first = bar * width;
  return width === 1 ? formatNumber(first) :
                       `${formatNumber(first)} to ${
                             formatNumber(first + width - 1)}`;
}

function histogramOption(run, measure, most) {
  const base = baseOption();
  const pairs = counts(run, measure);
  const width = barWidth(most);
  const bars = shares(pairs, most, width);
  return {
    ...base,
    grid: {left: 46, right: 6, top: 10, bottom: 22},
    tooltip: {
      ...base.tooltip,
      trigger: 'axis',
      axisPointer: {type: 'shadow', shadowStyle: {color: `${color('muted')}22`}},
      formatter: ([bar]) => tip(
          `${measure.name} ${barName(bar.dataIndex, width)}`,
          [[bar.color, 'of the pushes', formatShare(bar.value, 2)]]),
    },
    xAxis: {
      ...axisOption(''),
      type: 'category',
      data: bars.map((_, bar) => formatNumber(bar * width)),
      splitLine: {show: false},
    },
    yAxis: {
      ...axisOption(''),
      type: 'value',
      min: 0,
      ...(Math.max(...bars) > 0.8 ? {max: 1, interval: 0.25} : {}),
      splitNumber: 3,
      axisLabel: {
        color: color('muted'),
        formatter: (value) => `${formatNumber(100 * value)} %`,
      },
    },
    series: [{
      type: 'bar',
      data: bars,
      color: runColor(run.index),
      barCategoryGap: '12%',
      barMaxWidth: 56,
    }],
  };
}

function quantiles(run, measure) {
  const {p50, p99, max} = run[measure.name] ?? {};
  return `p50 ${formatNumber(p50)} \u00b7 p99 ${formatNumber(p99)} \u00b7 max ${
      formatNumber(max)}`;
}

// `most`: the largest value that the axis has to reach.
function showHistogram(grid, run, measure, most) {
  const node = element('div', {className: 'chart'});
  const mark = swatch(runColor(run.index));
  redraws.push(() => { mark.style.background = runColor(run.index); });
  grid.append(element(
      'figure', {},
      element('figcaption', {}, mark, `${run.name}: ${measure.name} `,
              element('span', {className: 'quantiles'},
                      quantiles(run, measure))),
      node));
  return showChart(node, () => histogramOption(run, measure, most())).draw;
}

function showHistograms(section, runs) {
  const shown = runs.filter(
      (run) => MEASURES.some((measure) => counts(run, measure).length > 0));
  if (shown.length === 0) return;
  section.hidden = false;
  const same = section.querySelector('input');
  const most = (run, measure) => Math.max(
      ...(same.checked ? shown : [run]).map((r) => largest(counts(r, measure))));
  const draws = shown.flatMap((run) => MEASURES.map(
      (measure) => showHistogram(section.querySelector('.grid'), run, measure,
                                 () => most(run, measure))));
  same.addEventListener('change', () => draws.forEach((draw) => draw()));
}

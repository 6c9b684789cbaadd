// Accuracy over virtual time, a line per run.

// With more points a line needs no marks.
const POINTS_MARKED_MAX = 60;

function accuracyPoints(run) {
  return (run.accuracy ?? [])
      .filter((point) => isNumber(point?.seconds) && isNumber(point?.accuracy))
      .map((point) => [point.seconds, point.accuracy, point.samples]);
}

function targets(runs) {
  const all = runs.flatMap((run) => run.targets ?? []);
  return [...new Set(all.map((target) => target.accuracy).filter(isNumber))];
}

// A ring on each target's line where the run reached it.
function reachedMark(run) {
  const reached =
      (run.targets ?? []).filter((target) => isNumber(target.seconds));
  if (reached.length === 0) return undefined;
  return {
    silent: true,
    symbol: 'circle',
    symbolSize: 11,
    label: {show: false},
    itemStyle: {
      color: color('surface'),
      borderColor: runColor(run.index),
      borderWidth: 3,
    },
    data: reached.map(
        (target) => ({coord: [target.seconds, target.accuracy]})),
  };
}

function accuracySeries(run) {
  const points = accuracyPoints(run);
  return {
    type: 'line',
    name: run.name,
    data: points,
    showSymbol: points.length <= POINTS_MARKED_MAX,
    symbol: 'circle',
    symbolSize: 5,
    color: runColor(run.index),
    lineStyle: {width: 2, type: runDashes(run.index)},
    emphasis: {focus: 'series'},
    markPoint: reachedMark(run),
  };
}

// Of the point next to the pointer, or of those if runs have one at one moment.
function accuracyTip(points) {
  const lines = points.map(({color, seriesName, value: [, accuracy, samples]}) => {
    const after = isNumber(samples) ? ` (${formatNumber(samples)} samples)` : '';
    return [color, seriesName, `${accuracy.toFixed(4)}${after}`];
  });
  return tip(`${formatNumber(points[0].value[0])} virtual s`, lines);
}

// Room for a target that nobody reached; null: what the points need.
function accuracyTop(runs, most) {
  const target = Math.max(...targets(runs), 0);
  return most >= target ? null : Math.ceil(10 * target) / 10;
}

function accuracyOption(runs) {
  const base = baseOption();
  return {
    ...base,
    legend: legendOption(),
    grid: {left: 56, right: 24, top: 44, bottom: 84},
    tooltip: {
      ...base.tooltip,
      trigger: 'axis',
      axisPointer: {lineStyle: {color: color('muted')}},
      formatter: accuracyTip,
    },
    xAxis: {
      ...axisOption('virtual seconds'),
      type: 'value',
      min: 0,
      nameLocation: 'middle',
      nameGap: 26,
    },
    // Fits what is in view: at the end all are near the top.
    yAxis: {
      ...axisOption(''),
      type: 'value',
      scale: true,
      max: ({max}) => accuracyTop(runs, max),
    },
    dataZoom: timeZoom('filter'),
    series: [...runs.map(accuracySeries), linesAlone(targetLines(targets(runs)))],
  };
}

function showAccuracy(section, runs) {
  const shown = runs.filter((run) => accuracyPoints(run).length > 0);
  if (shown.length === 0) return;
  section.hidden = false;
  const rings = shown.some((run) => reachedMark(run) !== undefined) ?
      'A ring is where a run reached the target. ' : '';
  section.querySelector('.note').textContent =
      `${rings}Zoom in on the end to tell the lines apart there.`;
  showChart(section.querySelector('.chart'), () => accuracyOption(shown));
}

// What each worker does over time: a row per worker.

const PHASES = ['pull', 'compute', 'push', 'wait'];
const NANOS_PER_SECOND = 1e9;

const ROWS_VISIBLE_MAX = 24;
const ROW_PIXELS = 26;
const NAME_LETTERS_MAX = 22;
// At first so many spans of the busiest row are in view: enough to see the
// pattern, few enough to tell them apart.
const SPANS_IN_VIEW = 60;

// Of each phase its spans, flat: row, begin, end in seconds, row, begin, ...
function spansByPhase(timeline) {
  const spans = Object.fromEntries(PHASES.map((phase) => [phase, []]));
  timeline.workers.forEach((row, index) => {
    let nanos = 0;
    for (let i = 0; i + 1 < row.length; i += 2) {
      const begin = nanos;
      nanos += row[i + 1];
      spans[timeline.phases[row[i]]]?.push(
          index, begin / NANOS_PER_SECOND, nanos / NANOS_PER_SECOND);
    }
  });
  return spans;
}

// Draws one span; what is wide enough is parted from its neighbour, so that
// iterations can be counted.
function drawSpan(params, api) {
  const row = api.value(0);
  const [begin, middle] = api.coord([api.value(1), row]);
  const [end] = api.coord([api.value(2), row]);
  const height = Math.max(2, api.size([0, 1])[1] * 0.72);
  const width = end - begin;
  const shape = echarts.graphic.clipRectByRect(
      {
        x: begin,
        y: middle - height / 2,
        width: width > 6 ? width - 1 : Math.max(width, 0.5),
        height,
      },
      params.coordSys);
  return shape && {type: 'rect', shape, style: {fill: api.visual('color')}};
}

function phaseSeries(phase, spans) {
  return {
    type: 'custom',
    name: phase,
    color: color(phase),
    dimensions: ['row', 'begin', 'end'],
    encode: {x: ['begin', 'end'], y: 'row'},
    data: Float64Array.from(spans),
    renderItem: drawSpan,
  };
}

// Where another paradigm took over, and where a worker was lost.
function eventLines(run) {
  const events = [
    ...(run.switches ?? []).map(
        ({seconds, to}) => ({seconds, text: `switch to ${bareParadigm(to)}`})),
    ...(run.timeline.lost ?? []).map(
        ({seconds, worker}) => ({seconds, text: `${worker} lost`})),
  ].filter(({seconds}) => isNumber(seconds));
  return {
    silent: true,
    symbol: 'none',
    lineStyle: {color: color('text'), type: 'dashed', width: 1.5},
    label: {
      color: color('text'),
      position: 'start',  // At the top: the axis of the rows points down.
      formatter: (line) => events[line.dataIndex].text,
    },
    data: events.map(({seconds}) => ({xAxis: seconds})),
  };
}

// Scrolling through more rows than there is room for.
function rowZoom(rows, first) {
  if (rows <= ROWS_VISIBLE_MAX) return [];
  const window = {
    yAxisIndex: 0,
    filterMode: 'filter',
    startValue: first,
    endValue: first + ROWS_VISIBLE_MAX - 1,
    zoomLock: true,
  };
  return [
    {
      ...sliderOption(),
      ...window,
      right: 6,
      width: 14,
      handleSize: 0,
      moveHandleSize: 0,
      fillerColor: color('muted'),
      showDetail: false,
    },
    {
      type: 'inside',
      ...window,
      zoomOnMouseWheel: false,
      moveOnMouseWheel: 'shift',
    },
  ];
}

function spanTip(run, params) {
  const [row, begin, end] = params.value;
  return tip(`${rowName(run, row)}: ${params.seriesName}`, [
    [null, 'from', formatMoment(begin)],
    [null, 'to', formatMoment(end)],
    [params.color, 'takes', `${formatNumber(end - begin)} s`],
  ]);
}

function rowName(run, row) {
  return run.workers?.[row] || `worker ${row}`;
}

// What tells workers apart is mostly at the end of their names.
function shortened(name) {
  return name.length <= NAME_LETTERS_MAX ?
      name :
      `\u2026${name.slice(1 - NAME_LETTERS_MAX)}`;
}

function timelineOption(run, view) {
  const base = baseOption();
  const rows = run.timeline.workers.length;
  const names = Array.from(
      {length: rows}, (_, row) => shortened(rowName(run, row)));
  const longest = names.reduce((most, name) => Math.max(most, name.length), 0);
  const labelPixels = Math.max(28, longest * 7.5);
  const spans = spansByPhase(run.timeline);
  return {
    ...base,
    legend: {...legendOption(), selected: view.phases},
    grid: {
      left: labelPixels + 16,
      right: rows > ROWS_VISIBLE_MAX ? 44 : 24,
      top: 48,
      bottom: 78,
    },
    tooltip: {
      ...base.tooltip,
      trigger: 'item',
      formatter: (params) => spanTip(run, params),
    },
    xAxis: {
      ...axisOption(timeName(run)),
      type: 'value',
      min: beginOf(run.timeline),
      max: run.timeline.seconds,
      nameLocation: 'middle',
      nameGap: 26,
      axisLabel: {
        color: color('muted'),
        hideOverlap: true,
        showMaxLabel: false,
      },
    },
    yAxis: {
      ...axisOption(''),
      type: 'category',
      inverse: true,
      data: names,
      splitLine: {show: false},
      axisTick: {show: false},
      axisLabel: {
        color: color('muted'),
        interval: 0,
      },
    },
    dataZoom: [
      ...timeZoom('weakFilter', {startValue: view.begin, endValue: view.end}),
      ...rowZoom(rows, view.row),
    ],
    series: [
      ...PHASES.map((phase) => phaseSeries(phase, spans[phase])),
      linesAlone(eventLines(run)),
    ],
  };
}

// Of what is known of a run the begin, in seconds.
function beginOf(timeline) {
  return timeline.begin ?? 0;
}

// What of a timeline is in view when it opens. `phases`: which of them are
// shown; those that are not named are.
function firstView(run) {
  const {seconds, workers} = run.timeline;
  const begin = beginOf(run.timeline);
  const most = workers.reduce((n, row) => Math.max(n, row.length / 2), 1);
  return {
    begin,
    end: begin + (seconds - begin) * Math.min(1, SPANS_IN_VIEW / most),
    row: 0,
    phases: {},
  };
}

// Keeps in `view` what the reader has moved to: the next paradigm is shown so.
function followZoom(chart, run, view) {
  const [time] = chart.getOption().dataZoom;
  view.begin = time.startValue;
  view.end = Math.min(time.endValue, run.timeline.seconds);
  const rows = chart.getOption().dataZoom[2];
  if (rows !== undefined) view.row = Math.round(rows.startValue);
}

function timelineNote(run) {
  const {seconds, full, workers} = run.timeline;
  const begin = beginOf(run.timeline);
  const recorded = full ? `Recorded are the first ${formatNumber(seconds)} of ${
      formatNumber(run.seconds)} ${timeName(run)}. ` :
      begin > 0 ? `Known are the ${timeName(run)} from ${formatNumber(begin)} to ${
          formatNumber(seconds)}. ` : '';
  const rows = workers.length > ROWS_VISIBLE_MAX ?
      ` Shift and the wheel go through the ${
          formatNumber(workers.length)} workers.` : '';
  return `${recorded}Drag to move, hold Ctrl and turn the wheel to zoom, or ` +
      `use the sliders.${rows} A click on the legend hides a colour.`;
}

function choiceButtons(runs, choose) {
  const buttons = runs.map((run) => {
    const button = element('button', {type: 'button'}, run.name);
    button.addEventListener('click', () => {
      for (const other of buttons) {
        other.setAttribute('aria-pressed', String(other === button));
      }
      choose(run);
    });
    button.setAttribute('aria-pressed', String(run === runs[0]));
    return button;
  });
  return buttons;
}

function hasTimeline(run) {
  return Array.isArray(run.timeline?.workers) &&
      Array.isArray(run.timeline.phases) && run.timeline.seconds > 0;
}

// All runs as one, a row for each worker of each, so that they can be compared
// at the same time; or nothing, where there is one run or there are too many
// rows to see at once.
function allRuns(runs) {
  const rows = runs.reduce((sum, run) => sum + run.timeline.workers.length, 0);
  if (runs.length < 2 || rows > ROWS_VISIBLE_MAX) return [];
  const [{timeline: {phases}}] = runs;
  const same = runs.every(
      (run) => run.timeline.phases.join() === phases.join() &&
          !run.timeline.full && beginOf(run.timeline) === 0);
  if (!same) return [];
  return [{
    virtual: areReal(runs) ? undefined : true,
    name: 'all',
    workers: runs.flatMap((run) => run.timeline.workers.map(
                              (_, row) => `${run.name} ${rowName(run, row)}`)),
    timeline: {
      phases,
      workers: runs.flatMap((run) => run.timeline.workers),
      seconds: Math.max(...runs.map((run) => run.timeline.seconds)),
    },
  }];
}

function showTimeline(section, runs) {
  const recorded = runs.filter(hasTimeline);
  const shown = [...recorded, ...allRuns(recorded)];
  if (shown.length === 0) return;
  section.hidden = false;
  const node = section.querySelector('.chart');
  const note = section.querySelector('.note');
  let run = shown[0];
  let view = firstView(run);
  const fit = () => {
    const rows = Math.min(run.timeline.workers.length, ROWS_VISIBLE_MAX);
    node.style.height = `${Math.max(3, rows) * ROW_PIXELS + 126}px`;
    note.textContent = timelineNote(run);
  };
  fit();
  const {chart, draw} = showChart(node, () => timelineOption(run, view));
  chart.on('datazoom', () => followZoom(chart, run, view));
  chart.on('legendselectchanged', ({selected}) => { view.phases = selected; });
  section.querySelector('.choices').append(...choiceButtons(shown, (chosen) => {
    // Of the same time, unless nothing is known of that.
    const known = chosen.timeline;
    if (view.begin >= known.seconds || view.end <= beginOf(known)) {
      view = {...firstView(chosen), phases: view.phases};
    }
    run = chosen;
    fit();
    draw();
  }));
}

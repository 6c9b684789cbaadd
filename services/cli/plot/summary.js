// The table: a line per run.

// In what a run's time is measured.
function timeName(run) {
  return run.virtual === true ? 'virtual seconds' : 'seconds of training';
}

// Of real runs the largest alone is known.
function knowsSpread(run) {
  return isNumber(run.staleness?.p50);
}

// Of all runs with as many digits, so that they can be compared at a glance.
function formatSeconds(seconds) {
  return isNumber(seconds) ?
      seconds.toLocaleString(
          'en', {minimumFractionDigits: 2, maximumFractionDigits: 2}) :
      formatNumber(null);
}

function secondsText(run) {
  return formatSeconds(run.seconds);
}

function areReal(runs) {
  return runs.every((run) => run.virtual !== true);
}

// Columns: heading, text of a run, and, where less or more is better, a number
// to compare.
const SUMMARY_COLUMNS = [
  {heading: 'virtual s', text: secondsText, unless: areReal},
  {heading: 'seconds', text: secondsText, unless: (runs) => !areReal(runs)},
  {
    heading: 's to target',
    text: (run) => formatSeconds(run.seconds_to_target),
    better: (run) => run.seconds_to_target,
    unless: (runs) => runs.every((run) => goalsOfRun(run).length === 0),
  },
  {
    heading: 'accuracy',
    text: (run) => isNumber(run.final_accuracy) ?
        run.final_accuracy.toFixed(4) :
        formatNumber(null),
    unless: (runs) => runs.every((run) => !isNumber(run.final_accuracy)),
  },
  {
    heading: 'loss',
    text: (run) => formatNumber(lastLoss(run)),
    unless: (runs) => runs.some((run) => isNumber(run.final_accuracy)) ||
        runs.every((run) => !isNumber(lastLoss(run))),
  },
  {
    heading: 'samples/s',
    text: (run) => formatNumber(run.samples_per_second),
    unless: (runs) => runs.every((run) => !isNumber(run.samples_per_second)),
  },
  {heading: 'updates', text: (run) => formatNumber(run.updates)},
  {heading: 'waiting', text: (run) => formatShare(run.waiting_share)},
  {
    heading: 'staleness p50 / p99',
    text: (run) => `${formatNumber(run.staleness?.p50)} / ${
        formatNumber(run.staleness?.p99)}`,
    unless: (runs) => !runs.some(knowsSpread),
  },
  {
    heading: 'largest staleness',
    text: (run) => formatNumber(run.staleness?.max),
    unless: (runs) => runs.some(knowsSpread),
  },
];

function summaryCell(run, column, best) {
  const isBest = column.better !== undefined && column.better(run) === best;
  return element('td', {className: isBest ? 'best' : ''}, column.text(run));
}

function fillSummary(table, runs) {
  const columns = SUMMARY_COLUMNS.filter((column) => !column.unless?.(runs));
  const headings = columns.map(
      (column) => element('th', {scope: 'col'}, column.heading));
  const best = columns.map(
      (column) => runs.length < 2 || column.better === undefined ?
          NaN :
          Math.min(...runs.map(column.better).filter(isNumber)));
  const rows = runs.map((run) => {
    const mark = swatch(runColor(run.index));
    redraws.push(() => { mark.style.background = runColor(run.index); });
    return element(
        'tr', {}, element('td', {}, mark, run.name),
        ...columns.map((column, i) => summaryCell(run, column, best[i])));
  });
  table.append(
      element('thead', {},
              element('tr', {}, element('th', {scope: 'col'}, 'run'),
                      ...headings)),
      element('tbody', {}, ...rows));
}

function lastLoss(run) {
  return run.accuracy?.at(-1)?.loss;
}

// Who reached the target first, beside the first run; empty if nobody did, or
// nobody else.
function conclusion(runs) {
  const [first] = runs;
  const reached = runs.filter((run) => isNumber(run.seconds_to_target));
  if (runs.length < 2 || reached.length === 0) return '';
  const soonest = reached.reduce(
      (best, run) => run.seconds_to_target < best.seconds_to_target ? run : best);
  if (soonest === first) {
    return `No other run reached the target sooner than ${first.name}.`;
  }
  const after = `after ${formatSeconds(soonest.seconds_to_target)} s`;
  if (!isNumber(first.seconds_to_target)) {
    return `${soonest.name} reached the target first, ${after}. ${
        first.name} did not reach it.`;
  }
  const times = first.seconds_to_target / soonest.seconds_to_target;
  return `${soonest.name} reached the target ${times.toFixed(2)} times as soon as ${
      first.name}: ${after} instead of ${formatSeconds(first.seconds_to_target)} s.`;
}

// What the table cannot say.
function summaryNote(runs) {
  const stuck = runs.filter((run) => run.complete === false);
  const end = stuck.length === 0 ? '' :
                                   `Could not go on to the end: ${
                                       stuck.map((run) => run.name).join('; ')}.`;
  return [conclusion(runs), end].filter((text) => text).join(' ');
}

// `leftOut`: what is not known of the runs, in a sentence; or empty.
function showSummary(section, runs, leftOut) {
  fillSummary(section.querySelector('table'), runs);
  section.querySelector('.note').textContent =
      [summaryNote(runs), leftOut].filter((text) => text).join(' ');
  section.hidden = false;
}

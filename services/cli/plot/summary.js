// The table: a line per run.

// Columns: heading, text of a run, and, where less or more is better, a number
// to compare.
const SUMMARY_COLUMNS = [
  {heading: 'virtual s', text: (run) => formatNumber(run.seconds)},
  {
    heading: 's to target',
    text: (run) => formatNumber(run.seconds_to_target),
    better: (run) => run.seconds_to_target,
    unless: (runs) => runs.every((run) => !run.targets?.length),
  },
  {
    heading: 'accuracy',
    text: (run) => isNumber(run.final_accuracy) ?
        run.final_accuracy.toFixed(4) :
        formatNumber(null),
    unless: (runs) => runs.every((run) => !isNumber(run.final_accuracy)),
  },
  {heading: 'updates', text: (run) => formatNumber(run.updates)},
  {heading: 'waiting', text: (run) => formatShare(run.waiting_share)},
  {
    heading: 'staleness p50 / p99',
    text: (run) => `${formatNumber(run.staleness?.p50)} / ${
        formatNumber(run.staleness?.p99)}`,
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
              element('tr', {}, element('th', {scope: 'col'}, 'paradigm'),
                      ...headings)),
      element('tbody', {}, ...rows));
}

// What the table cannot say.
function summaryNote(runs) {
  const stuck = runs.filter((run) => run.complete === false);
  if (stuck.length === 0) return '';
  return `Could not go on to the end: ${
      stuck.map((run) => run.name).join('; ')}.`;
}

function showSummary(section, runs) {
  fillSummary(section.querySelector('table'), runs);
  section.querySelector('.note').textContent = summaryNote(runs);
  section.hidden = false;
}

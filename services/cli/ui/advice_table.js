// What the coordinator has foreseen of each paradigm for a job's workers.

const ADVICE_COLUMNS = [
  {
    label: 'samples/s',
    text: (option) => formatNumber(Math.round(option.samplesPerSecond ?? 0)),
  },
  {label: 'staleness', text: (option) => formatNumber(option.staleness ?? 0)},
  {label: 'worth', text: (option) => formatNumber(Math.round(option.value ?? 0))},
];

// What fits into a sentence: the table has it in full.
const NAMED_LETTERS_MAX = 40;

const BALANCED = ',batching=balanced';

// What the job trains under, as the options are called.
function batchedParadigm(job) {
  const balanced = job.spec?.batching === 'balanced';
  return job.progress.paradigm + (balanced ? BALANCED : '');
}

function advisedName(paradigm) {
  return paradigm.length <= NAMED_LETTERS_MAX ? paradigm :
                                                bareParadigm(paradigm);
}

function adviceText(advice, acts) {
  const whose = acts ? 'The coordinator chooses the paradigm by itself.' :
                       'The coordinator advises, and leaves the choice to you.';
  if (!isNumber(advice.gain) || advice.gain <= 1) {
    return `${whose} The present paradigm suits these workers.`;
  }
  return `${whose} ${advisedName(advice.paradigm)} would be worth ${
      formatNumber(advice.gain)} times as much as the present one.`;
}

// `choose(paradigm)` is called for the one that a reader wants to switch to;
// null: nobody may.
function showAdvice(section, job, choose) {
  const advice = job.progress?.advice;
  const options = advice?.options ?? [];
  section.hidden = options.length === 0 || hasEnded(job);
  if (section.hidden) return;
  section.querySelector('.text').textContent =
      adviceText(advice, job.spec?.auto?.act === true);
  const seen = JSON.stringify([options, batchedParadigm(job), choose === null]);
  if (section.dataset.seen === seen) return;
  section.dataset.seen = seen;
  // A button that somebody has reached by keyboard must not go from under them.
  const focused = section.contains(document.activeElement) ?
      document.activeElement.dataset.paradigm : undefined;
  const headings = ADVICE_COLUMNS.map(
      ({label}) => element('th', {scope: 'col'}, label));
  const rows = options.map((option) => adviceRow(option, job, choose));
  section.querySelector('table').replaceChildren(
      element('thead', {},
              element('tr', {}, element('th', {scope: 'col'}, 'paradigm'),
                      ...headings, element('th', {scope: 'col'}, 'use it'))),
      element('tbody', {}, ...rows));
  section.querySelector('.note').textContent =
      'Foreseen by playing each paradigm in virtual time, with the iterations ' +
      'that were measured. Worth: samples a second, less what staleness costs.';
  if (focused !== undefined) {
    [...section.querySelectorAll('button')]
        .find((button) => button.dataset.paradigm === focused)?.focus();
  }
}

function adviceRow(option, job, choose) {
  const present = option.paradigm === batchedParadigm(job);
  const cell = element('td', {});
  if (present) {
    cell.append(element('span', {className: 'dim'}, 'present'));
  } else if (option.paradigm.endsWith(BALANCED)) {
    cell.append(element('span', {className: 'dim'}, 'set the batches, too'));
  } else if (choose !== null) {
    const button = element('button', {type: 'button'}, 'Switch\u2026');
    button.dataset.paradigm = option.paradigm;
    button.setAttribute('aria-label', `Switch to ${option.paradigm}`);
    button.addEventListener('click', () => choose(option.paradigm));
    cell.append(button);
  }
  const excluded = option.excluded ?
      element('div', {className: 'dim'}, `not chosen: ${option.excluded}`) : '';
  const numbers = ADVICE_COLUMNS.map(({label, text}) => {
    const number = element('td', {}, text(option));
    number.dataset.label = label;
    return number;
  });
  return element(
      'tr', {className: present ? 'present' : ''},
      element('td', {className: 'name wide'}, option.paradigm, excluded),
      ...numbers, cell);
}

// Several jobs and finished runs in one chart.

const COMPARED_MAX = 16;

const COMPARE_COLUMNS = [
  {label: 'state', text: true, cell: ({job}) => stateMark(job.state)},
  {label: 'seconds', cell: ({job}) => formatNumber(job.progress?.seconds)},
  {
    label: 'accuracy',
    cell: ({report}) => accuracyText(report?.final_accuracy),
  },
  {
    label: 's to target',
    cell: ({report}) => formatNumber(report?.seconds_to_target),
  },
  {label: 'samples', cell: ({report}) => formatNumber(report?.samples)},
  {label: 'updates', cell: ({report}) => formatNumber(report?.updates)},
  {label: 'discarded', cell: ({report}) => formatNumber(report?.discarded)},
  {
    label: 'waiting',
    cell: ({report}) => {
      const all = (report?.workers ?? []).map((worker) => worker.seconds);
      const sum = Object.fromEntries(DOINGS.map(({key}) => [
        key, all.reduce((total, seconds) => total + (seconds?.[key] ?? 0), 0)]));
      const shares = sharesOf(sum);
      return shares === null ? '\u2013' : formatShare(shares.at(-1), 0);
    },
  },
];

// "bsp", or "bsp \u2192 asp" of one that was switched.
function paradigmsOf(job, report) {
  const first = report?.paradigm || job.progress?.paradigm || job.spec?.paradigm;
  const later = (report?.switches ?? []).map((done) => done.to);
  return [first, ...later].map(bareParadigm).join(' \u2192 ');
}

// {subject, name, job, report} of one.
async function lookAtSubject(subject) {
  const name = subject.slice(4);
  if (subject.startsWith('run:')) {
    const {report, spec} = await call('GetRun', {name});
    return {subject, name, job: jobOfRun(name, report, spec), report};
  }
  const job = await call('GetJob', {name});
  try {
    const report = JSON.parse((await call('GetJobReport', {name})).json);
    return {subject, name: shortName(name), job, report};
  } catch (error) {
    if (error.code !== 'FAILED_PRECONDITION') throw error;
    return {subject, name: shortName(name), job, report: null};
  }
}

class CompareView {
  constructor() {
    this.curves = new Curves(document.getElementById('compare-curves'));
    this.section = document.getElementById('compare-table');
    this.known = new Map();
    this.subjects = [];
    this.table = new SubjectTable(this.section, COMPARE_COLUMNS, (subject) => {
      const index = this.subjects.indexOf(subject);
      return element(
          'span', {className: `swatch series-${index % SERIES_COLORS}`});
    });
  }

  // Those that have ended are asked for once.
  async look(subjects, going) {
    if (subjects.join() !== this.subjects.join()) {
      this.subjects = subjects;
      this.table.show([], '');  // A colour may be another one now.
    }
    const compared = subjects.slice(0, COMPARED_MAX);
    for (const subject of compared) {
      const known = this.known.get(subject);
      if (known !== undefined && hasEnded(known.job)) continue;
      const found = await lookAtSubject(subject);
      if (!going()) return;
      this.known.set(subject, found);
    }
    const all = compared.map((subject) => this.known.get(subject));
    this.curves.show(
        all.map(({name, job, report}, index) => courseOf(
            `${name} (${paradigmsOf(job, report)})`, index, report, job.spec)),
        'None of them is evaluated yet.');
    const left = subjects.length - compared.length;
    this.table.show(
        all.map((one) => [one.subject, one.name, one]),
        left > 0 ? `${formatNumber(left)} more are not compared.` : '');
  }
}

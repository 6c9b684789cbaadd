// Several jobs and finished runs in one chart.

const COMPARED_MAX = 16;

// Codes of a job or a run that is not there, or whose coordinator has ended.
const GONE = ['NOT_FOUND', 'FAILED_PRECONDITION'];

const COMPARE_COLUMNS = [
  {label: 'state', text: true, cell: ({job}) => stateMark(job.state)},
  {label: 'seconds', cell: ({job}) => formatNumber(job.progress?.seconds)},
  {
    label: 'accuracy',
    cell: ({report}) => accuracyText(report?.final_accuracy),
  },
  {
    label: 's to target',
    cell: ({report}) => report?.targets?.length > 1 ?
        report.targets.map((target) => formatNumber(target.seconds)).join(' / ') :
        formatNumber(report?.seconds_to_target),
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

// {subject, name, job, report} of one; `known` is what it was before, if that
// is known.
async function lookAtSubject(subject, known) {
  const name = subject.slice(4);
  if (subject.startsWith('run:')) {
    if (known !== undefined) return known;
    const {report, spec} = await call('GetRun', {name});
    return {subject, name, job: jobOfRun(name, report, spec), report};
  }
  const job = await call('GetJob', {name});
  // Another one of that name is another job.
  const over = known?.report && hasEnded(known.job) && known.job.uid === job.uid;
  if (over && hasEnded(job)) return {...known, job};
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

  async look(subjects, going) {
    if (subjects.join() !== this.subjects.join()) {
      this.subjects = subjects;
      this.table.show([], '');  // A colour may be another one now.
    }
    const compared = subjects.slice(0, COMPARED_MAX);
    const notes = [];
    for (const subject of compared) {
      try {
        const found = await lookAtSubject(subject, this.known.get(subject));
        this.known.set(subject, found);
      } catch (error) {
        if (!GONE.includes(error.code)) throw error;
        this.known.delete(subject);
        const name = subject.slice(4);
        notes.push(`${subject.startsWith('job:') ? shortName(name) : name} ` +
                   'is not there any more.');
      }
      if (!going()) return;
    }
    const all = compared.filter((subject) => this.known.has(subject))
                    .map((subject) => this.known.get(subject));
    this.curves.show(
        all.map(({subject, name, job, report}) => courseOf(
            `${name} (${paradigmsOf(job, report)})`,
            this.subjects.indexOf(subject), report, job.spec)),
        'None of them is evaluated yet.');
    const left = subjects.length - compared.length;
    if (left > 0) notes.push(`${formatNumber(left)} more are not compared.`);
    this.table.show(
        all.map((one) => [one.subject, one.name, one]), notes.join(' '));
  }
}

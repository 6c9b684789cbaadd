// All jobs, and the finished runs: what leads to one, or to several compared.

const JOBS_SHOWN_MAX = 500;

// Subjects are named "job:namespaces/default/jobs/mnist" and "run:01-bsp".
function subjectLink(subject) {
  return `#/${subject.startsWith('run:') ? 'run' : 'job'}/${
      encodeURIComponent(subject.slice(4))}`;
}

const JOB_COLUMNS = [
  {label: 'state', text: true, cell: (job) => stateMark(job.state, job.stateReason)},
  {
    label: 'paradigm',
    text: true,
    cell: (job) => bareParadigm(job.progress?.paradigm || job.spec?.paradigm),
  },
  {label: 'progress', cell: (job) => shareText(job.progress)},
  {label: 'accuracy', cell: (job) => accuracyText(job.progress?.accuracy)},
  {
    label: 'samples/s',
    cell: (job) => hasEnded(job) ?
        '\u2013' :
        formatNumber(Math.round(job.progress?.samplesPerSecond ?? 0)),
  },
  {
    label: 'workers',
    cell: (job) => hasEnded(job) ?
        '\u2013' : formatNumber(presentWorkers(job.progress).length),
  },
  {
    label: 'time left',
    cell: (job) => hasEnded(job) ? '\u2013' :
                                   durationText(job.progress?.secondsLeft),
  },
  {label: 'age', cell: (job) => ageText(job.createTime)},
];

// Without the parameters, which are on the page of the run.
function runParadigm({paradigm}) {
  const [batching] = /,batching=\w+$/.exec(paradigm ?? '') ?? [''];
  const bare = bareParadigm(paradigm);
  return bare.endsWith(batching) ? bare : bare + batching;
}

const RUN_COLUMNS = [
  {label: 'paradigm', text: true, cell: runParadigm},
  {label: 'seconds', cell: (run) => formatNumber(run.seconds)},
  {label: 'accuracy', cell: (run) => accuracyText(run.accuracy)},
  {label: 'samples', cell: (run) => formatNumber(run.samples)},
  {label: 'workers', cell: (run) => formatNumber(run.workers)},
];

// Rows stay the same elements while their subjects are there.
class SubjectTable {
  // `lead(subject, name)` makes what stands before a name.
  constructor(section, columns, lead) {
    this.section = section;
    this.columns = columns;
    this.lead = lead;
    this.rows = new Map();
    this.body = element('tbody', {});
    section.querySelector('table').append(
        element('thead', {},
                element('tr', {}, element('th', {scope: 'col'}, 'name'),
                        ...columns.map(({label, text}) => element(
                            'th', {scope: 'col', className: text ? 'text' : ''},
                            label)))),
        this.body);
  }

  // `rows` are [subject, name, what it is], in their order.
  show(rows, note) {
    const shown = rows.slice(0, JOBS_SHOWN_MAX);
    const nodes = shown.map(([subject, name, what]) => {
      const row = this.rows.get(subject) ?? this.makeRow(subject, name);
      this.columns.forEach((column, i) => {
        const content = column.cell(what);
        if (row.cells[i].textContent !== (content.textContent ?? content)) {
          row.cells[i].replaceChildren(content);
        }
      });
      return [subject, row];
    });
    this.rows = new Map(nodes);
    const order = nodes.map(([, row]) => row.node);
    // As they are, nothing moves: who has a link in focus keeps it.
    if (order.length !== this.body.children.length ||
        order.some((node, i) => this.body.children[i] !== node)) {
      this.body.replaceChildren(...order);
    }
    const left = rows.length - shown.length;
    this.section.querySelector('.note').textContent =
        left > 0 ? `${formatNumber(left)} more are not shown.` : note;
  }

  makeRow(subject, name) {
    const cells = this.columns.map(({label, text}) => {
      const cell = element('td', {className: text ? 'text' : ''});
      cell.dataset.label = label;
      return cell;
    });
    const node = element(
        'tr', {},
        element('td', {className: 'name'}, this.lead(subject, name),
                element('a', {href: subjectLink(subject)}, name)),
        ...cells);
    return {node, cells};
  }
}

class JobsView {
  constructor(session) {
    this.session = session;
    this.selected = new Set();
    const lead = (subject, name) => this.makeBox(subject, name);
    this.jobs = new SubjectTable(
        document.getElementById('cluster-jobs'), JOB_COLUMNS, lead);
    this.runs = new SubjectTable(
        document.getElementById('finished-runs'), RUN_COLUMNS, lead);
    this.button = document.getElementById('compare');
    this.button.addEventListener('click', () => {
      location.hash = `#/compare/${
          [...this.selected].map(encodeURIComponent).join(',')}`;
    });
  }

  makeBox(subject, name) {
    const box = element(
        'input', {type: 'checkbox', checked: this.selected.has(subject)});
    box.setAttribute('aria-label', `Compare ${name}`);
    box.addEventListener('change', () => {
      if (box.checked) {
        this.selected.add(subject);
      } else {
        this.selected.delete(subject);
      }
      this.countSelected();
    });
    return box;
  }

  countSelected() {
    this.button.disabled = this.selected.size < 2;
    this.button.textContent =
        this.selected.size < 2 ? 'Compare' : `Compare ${this.selected.size}`;
  }

  async look(going) {
    this.session = await call('Session');
    if (!going()) return;
    showWhose(this.session);
    if (this.session.runs) await this.lookAtRuns(going);
    document.getElementById('cluster-jobs').hidden =
        this.session.cluster === null;
    if (this.session.cluster !== null) await this.lookAtJobs(going);
  }

  async lookAtRuns(going) {
    const {runs} = await call('ListRuns');
    if (!going()) return;
    document.getElementById('finished-runs').hidden = false;
    this.runs.show(
        runs.map((run) => [`run:${run.name}`, run.name, run]),
        runs.length === 0 ? 'No run has ended yet.' : '');
  }

  async lookAtJobs(going) {
    const {jobs = [], nextPageToken} = await call('ListJobs', {
      parent: this.session.cluster.parent,
      pageSize: JOBS_SHOWN_MAX,
    });
    if (!going()) return;
    this.jobs.show(
        jobs.map((job) => [`job:${job.name}`, shortName(job.name), job]),
        jobs.length === 0 ?
            'There is no job yet: \u201cpaceline job create -f FILE\u201d ' +
                'makes one.' :
            nextPageToken ? 'Older jobs are not shown.' : '');
  }
}

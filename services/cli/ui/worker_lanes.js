// The workers of a job: a lane each, and their numbers.

const WORKERS_SHOWN_MAX = 200;

const WORKER_COLUMNS = [
  {
    label: 'gap',
    // The largest, where nothing is known of the present.
    text: ({now, report}) => now ? formatNumber(integer(now.gap)) :
                                   `max ${formatNumber(report?.gap?.max)}`,
  },
  {
    label: 'staleness p50 / p99',
    text: ({report}) => `${formatNumber(report?.staleness?.p50)} / ${
        formatNumber(report?.staleness?.p99)}`,
  },
  {
    label: 'score',
    text: ({now}) => now?.stragglerScore ? now.stragglerScore.toFixed(2) : '\u2013',
    straggler: ({now}) => now?.straggler === true,
  },
  {
    label: 'samples/s',
    text: ({now}) => formatNumber(Math.round(now?.samplesPerSecond) || NaN),
  },
  {
    label: 'iterations',
    text: ({now, report}) =>
        formatNumber(integer(now?.iterations ?? report?.iterations)),
  },
  {
    label: 'waited',
    text: ({report}) => {
      const shares = sharesOf(report?.seconds);
      return shares === null ? '\u2013' : formatShare(shares.at(-1), 0);
    },
  },
];

// Each with what the job's progress and its report say of it.
function joinWorkers(progress, report) {
  const joined = new Map();
  for (const now of progress?.workers ?? []) joined.set(now.worker, {now});
  for (const worker of report?.workers ?? []) {
    joined.set(worker.worker, {
      ...joined.get(worker.worker),
      report: worker,
    });
  }
  return [...joined]
      .map(([name, both]) => ({name, ...both}))
      .sort((a, b) => a.name.localeCompare(b.name, 'en', {numeric: true}));
}

class WorkerLanes {
  constructor(section) {
    this.section = section;
    this.rows = new Map();  // By name.
    this.shown = {workers: [], history: new LaneHistory(), live: false};
    section.querySelector('.legend').append(...DOINGS.map(
        ({key, name}) => element(
            'span', {}, element('span', {className: `swatch ${key}`}), name)));
    const headings = WORKER_COLUMNS.map(
        ({label}) => element('th', {scope: 'col'}, label));
    this.heading = element('th', {scope: 'col', className: 'text'});
    this.body = element('tbody', {});
    section.querySelector('table').append(
        element('thead', {},
                element('tr', {}, element('th', {scope: 'col'}, 'worker'),
                        this.heading, ...headings)),
        this.body);
    redraws.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  // `live`: it goes on, so the lanes are those of the last minutes.
  show(progress, report, history, live) {
    const workers = joinWorkers(progress, report);
    this.shown = {workers: workers.slice(0, WORKERS_SHOWN_MAX), history, live};
    this.section.hidden = workers.length === 0;
    const left = workers.length - this.shown.workers.length;
    this.section.querySelector('.note').textContent =
        `${live ? 'A lane shows the last two minutes, now on the right; it ' +
                'begins to fill when the page is opened. Its height is ' +
                'divided as the worker\u2019s time was.' :
                'A bar shows all of a worker\u2019s time.'}${
            left > 0 ? ` ${formatNumber(left)} more workers are not shown.` : ''}`;
    this.heading.textContent = live ? 'the last two minutes' : 'all of its time';
    const names = new Set(this.shown.workers.map(({name}) => name));
    for (const [name, row] of this.rows) {
      if (names.has(name)) continue;
      row.node.remove();
      this.rows.delete(name);
    }
    for (const worker of this.shown.workers) this.fill(worker);
    this.draw();
  }

  fill(worker) {
    let row = this.rows.get(worker.name);
    if (row === undefined) {
      row = this.makeRow(worker.name);
      this.rows.set(worker.name, row);
    }
    const state = worker.now?.state ?? '';
    row.state.textContent = state;
    row.state.className = state === 'lost' ? 'straggler' : 'dim';
    WORKER_COLUMNS.forEach((column, i) => {
      row.cells[i].textContent = column.text(worker);
      row.cells[i].classList.toggle(
          'straggler', column.straggler?.(worker) === true);
    });
  }

  makeRow(name) {
    const state = element('span', {className: 'dim'});
    const canvas = element('canvas', {role: 'img'});
    const cells = WORKER_COLUMNS.map(({label}) => {
      const cell = element('td', {});
      cell.dataset.label = label;
      return cell;
    });
    const node = element(
        'tr', {}, element('td', {className: 'name'}, name, ' ', state),
        element('td', {className: 'lane'}, canvas), ...cells);
    this.body.append(node);
    return {node, state, canvas, cells};
  }

  draw() {
    const now = performance.now() / 1000;
    const colors = DOINGS.map(({key}) => color(key));
    const {workers, history, live} = this.shown;
    for (const {name, report} of workers) {
      const {canvas} = this.rows.get(name);
      const intervals = history.of(name);
      const shares = sharesOf(report?.seconds) ?? [];
      if (live) {
        drawRecent(canvas, intervals, now, colors);
      } else {
        drawWhole(canvas, shares, colors);
      }
      const told = live ? intervals.at(-1)?.shares : shares;
      canvas.setAttribute(
          'aria-label', told?.length ? `${name}: ${sharesText(told)}` : name);
      canvas.title = told?.length ? sharesText(told) : '';
    }
  }
}

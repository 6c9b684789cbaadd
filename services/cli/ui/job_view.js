// One job, live; or a finished run of `paceline local`.

// A report is large, and nobody reads so fast.
const REPORT_MS = 2000;

// A finished run's spec has the fields in snake_case.
function goalsOfSpec(spec) {
  const stop = spec?.stop ?? {};
  if (stop.target) return [stop.target];
  const accuracy = stop.targetAccuracy || stop.target_accuracy;
  if (accuracy) return [{metric: 'accuracy', value: accuracy}];
  const loss = stop.targetLoss || stop.target_loss;
  return loss ? [{metric: 'loss', value: loss}] : [];
}

// What Curves draws of a report.
function courseOf(name, index, report, spec) {
  return {
    name,
    index,
    points: report?.accuracy ?? [],
    switches: report?.switches ?? [],
    goals: goalsOfSpec(spec),
  };
}

// The time to the target, or to each of several.
function targetFacts(report) {
  const seconds = (value) => isNumber(value) ? formatNumber(value) : null;
  const targets = report?.targets ?? [];
  if (targets.length < 2) {
    return [['seconds to target', seconds(report?.seconds_to_target)]];
  }
  return targets.map((target) => [
    `seconds to ${target.accuracy}`, seconds(target.seconds)]);
}

function factsOf(job, report) {
  const progress = job.progress ?? {};
  const live = !hasEnded(job);
  return [
    ['paradigm', progress.paradigm || job.spec?.paradigm, true],
    ['accuracy', accuracyText(progress.accuracy)],
    ['loss', accuracyText(progress.loss)],
    ['samples', `${formatNumber(integer(progress.samples))}${
        progress.samplesTotal ?
            ` of ${formatNumber(integer(progress.samplesTotal))}` : ''}`],
    ...(live ?
            [
              ['samples/s',
               formatNumber(Math.round(progress.samplesPerSecond ?? 0))],
              ['time left', durationText(progress.secondsLeft)],
            ] : []),
    ['trained for', durationText(progress.seconds)],
    ['updates', formatNumber(integer(progress.version))],
    ['discarded samples', formatNumber(integer(progress.samplesDiscarded))],
    ['batches', job.spec?.batching || 'even'],
    ['model', job.spec?.model],
    ...targetFacts(report),
  ].filter(([, value]) => value);
}

function showFacts(list, facts) {
  const seen = JSON.stringify(facts);
  if (list.dataset.seen === seen) return;
  list.dataset.seen = seen;
  list.replaceChildren(...facts.map(([name, value, long]) => element(
      'div', {className: long ? 'long' : ''}, element('dt', {}, name),
      element('dd', {}, value))));
}

// A finished run as if it was a job.
function jobOfRun(name, report, spec) {
  return {
    name,
    state: 'SUCCEEDED',
    spec,
    progress: {
      paradigm: report.paradigm,
      seconds: report.seconds,
      samples: report.samples,
      samplesTotal: report.samples,
      samplesDiscarded: report.samples_discarded,
      version: report.updates,
      accuracy: report.final_accuracy ?? undefined,
      loss: report.final_metrics?.loss,
    },
  };
}

class JobView {
  constructor(session) {
    this.session = session;
    const section = (id) => document.getElementById(id);
    this.head = section('head');
    this.curves = new Curves(section('curves'));
    this.lanes = new WorkerLanes(section('workers'));
    this.decisions = new DecisionList(section('decisions'));
    this.advice = section('advice');
    this.buttons = [...this.head.querySelectorAll('[data-question]')];
    for (const button of this.buttons) {
      button.addEventListener(
          'click', () => this.ask(button.dataset.question));
    }
    this.forget('');
  }

  // Before anything is known of it: nothing may be of another one.
  open(name) {
    if (this.name === name) return;
    this.name = name;
    this.forget('');
    for (const what of ['h2', '.state', '.reason']) {
      this.head.querySelector(what).textContent = '';
    }
    this.head.querySelector('.state').className = 'state';
    this.head.querySelector('progress').hidden = true;
    showFacts(this.head.querySelector('.facts'), []);
    this.buttons.forEach((button) => { button.disabled = true; });
    this.curves.section.hidden = true;
    this.lanes.section.hidden = true;
  }

  forget(uid) {
    this.uid = uid;
    this.report = null;
    this.reported = -Infinity;  // When the report was asked for last.
    this.history = new LaneHistory();
    this.decisions.forget();
    this.advice.hidden = true;
  }

  ask(kind, paradigm) {
    ask(kind, {
      job: this.job,
      paradigm,
      paradigms: this.session.paradigms,
    });
  }

  async lookAtJob(name, going) {
    const job = await call('GetJob', {name});
    if (!going()) return;
    // Another one of that name is another job.
    if (job.uid !== this.uid) {
      this.forget(job.uid);
      // It may be of another coordinator: the next run of `paceline local`.
      showWhose(await call('Session'));
    }
    await this.lookAtReport(job, going);
    if (!going()) return;
    this.show(job, shortName(name));
    await this.decisions.look(name, going);
  }

  async lookAtReport(job, going) {
    const now = performance.now();
    const again = hasEnded(job) && this.state !== job.state;
    if (!again && now - this.reported < REPORT_MS) return;
    if (hasEnded(job) && !again && this.report !== null) return;
    this.reported = now;
    let report;
    try {
      report = JSON.parse((await call('GetJobReport', {name: job.name})).json);
    } catch (error) {
      // It has not run yet.
      if (error.code === 'FAILED_PRECONDITION') return;
      throw error;
    }
    if (!going()) return;
    this.report = report;
    this.state = job.state;  // That it is of.
    this.history.add(report, performance.now() / 1000);
  }

  async lookAtRun(name, going) {
    if (this.uid === `run ${name}`) return;
    const {report, spec} = await call('GetRun', {name});
    if (!going()) return;
    this.forget(`run ${name}`);
    this.report = report;
    this.show(jobOfRun(name, report, spec), name);
  }

  show(job, name) {
    this.job = job;
    const live = !hasEnded(job);
    const possible = this.uid.startsWith('run ') ? [] : possibleQuestions(job);
    document.title = `${name} \u2013 paceline`;
    this.head.querySelector('h2').textContent = name;
    const mark = stateMark(job.state);
    this.head.querySelector('.state').className = mark.className;
    this.head.querySelector('.state').textContent = job.state;
    this.head.querySelector('.reason').textContent = job.stateReason ?? '';
    const part = share(job.progress);
    this.head.querySelector('progress').hidden = !live || !isNumber(part);
    if (isNumber(part)) this.head.querySelector('progress').value = part;
    showFacts(this.head.querySelector('.facts'), factsOf(job, this.report));
    for (const button of this.buttons) {
      button.hidden = this.uid.startsWith('run ');
      button.disabled = !possible.includes(button.dataset.question);
    }
    this.curves.section.hidden = false;
    this.curves.show(
        [courseOf(name, 0, this.report, job.spec)],
        job.spec?.evaluation?.disabled ? 'This job is never evaluated.' :
                                         'Nothing is evaluated yet.');
    this.lanes.show(job.progress, this.report, this.history,
                    live && job.state !== 'PAUSED');
    showAdvice(this.advice, job,
               possible.includes('switch') ?
                   (paradigm) => this.ask('switch', paradigm) : null);
  }
}

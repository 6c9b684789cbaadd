// Changes of a job: each is asked about once more before it is made.

function textField(name, label, value, attributes = {}) {
  const input = element('input', {
    name,
    value,
    autocomplete: 'off',
    spellcheck: false,
    ...attributes,
  });
  return element('label', {}, label, input);
}

function paradigmFields(paradigm, paradigms) {
  const list = element(
      'datalist', {id: 'paradigms'},
      ...paradigms.map((name) => element('option', {value: name})));
  const field = textField(
      'paradigm', 'Paradigm, as bsp, ssp:s=3 or auto', paradigm,
      {required: true});
  field.querySelector('input').setAttribute('list', 'paradigms');
  return [field, list, textField('reason', 'Reason, for the record', '',
                                 {maxLength: 255})];
}

function batchingFields(present) {
  return [['even', 'even: all workers get batches of one size'],
          ['balanced', 'balanced: a slower worker gets a smaller batch']]
      .map(([value, text]) => element(
               'label', {className: 'one'},
               element('input', {
                 type: 'radio',
                 name: 'batching',
                 value,
                 checked: value === present,
               }),
               text));
}

// By the names of the buttons. `fields` for what has to be said, `make` gives
// the call; `done` says what was done.
const QUESTIONS = {
  switch: {
    title: (name) => `Switch the paradigm of ${name}?`,
    text: () => 'The other paradigm takes over at once; nothing is lost. ' +
        '\u201cauto\u201d lets the coordinator choose from now on.',
    yes: 'Switch',
    fields: ({paradigm, paradigms}) => paradigmFields(paradigm ?? '', paradigms),
    make: (name, values) => ['SwitchParadigm', {
      name,
      paradigm: values.get('paradigm').trim(),
      reason: values.get('reason').trim(),
    }],
    done: (name, values) => `${name} switched to ${values.get('paradigm')}`,
  },
  pause: {
    title: (name) => `Pause ${name}?`,
    text: () => 'What is in flight finishes, the job is saved exactly, and its ' +
        'workers are free for other jobs.',
    yes: 'Pause',
    fields: () => [],
    make: (name) => ['PauseJob', {name}],
    done: (name) => `${name} pauses`,
  },
  resume: {
    title: (name) => `Resume ${name}?`,
    text: () => 'It waits for workers again, and goes on where it was.',
    yes: 'Resume',
    fields: () => [],
    make: (name) => ['ResumeJob', {name}],
    done: (name) => `${name} goes on`,
  },
  batches: {
    title: (name) => `Change the batches of ${name}?`,
    text: () => 'How the samples of a round are divided among the workers.',
    yes: 'Change',
    fields: ({job}) => batchingFields(job.spec?.batching || 'even'),
    make: (name, values) => ['UpdateJob', {
      job: {name, spec: {batching: values.get('batching')}},
      updateMask: 'spec.batching',
    }],
    done: (name, values) => `${name} has ${values.get('batching')} batches`,
  },
};

// Which of them make sense now.
function possibleQuestions(job) {
  if (hasEnded(job) || ['CANCELLING', 'SAVING'].includes(job.state)) return [];
  const paused = ['PAUSED', 'PAUSING'].includes(job.state);
  return ['switch', 'batches', paused ? 'resume' : 'pause'];
}

// Which question is asked: the answer to one before it is nobody's any more.
let asked = 0;

// Asks, and makes the call if the answer is yes. `about` is {job, paradigm,
// paradigms}.
function ask(kind, about) {
  const number = ++asked;
  const question = QUESTIONS[kind];
  const dialog = document.getElementById('question');
  const form = dialog.querySelector('form');
  const problem = form.querySelector('.problem');
  const yes = form.querySelector('[value="yes"]');
  const name = shortName(about.job.name);
  form.querySelector('h2').textContent = question.title(name);
  form.querySelector('.text').textContent = question.text();
  form.querySelector('.fields').replaceChildren(...question.fields(about));
  yes.textContent = question.yes;
  yes.disabled = false;
  problem.hidden = true;
  form.querySelector('[value="no"]').onclick = () => dialog.close();
  form.oninput = () => { problem.hidden = true; };
  form.onsubmit = async (event) => {
    event.preventDefault();
    yes.disabled = true;
    const values = new FormData(form);
    try {
      await call(...question.make(about.job.name, values));
      if (number === asked) dialog.close();
      tellDone(question.done(name, values));
    } catch (error) {
      if (number !== asked) return;
      problem.textContent = error.message;
      problem.hidden = false;
    }
    if (number === asked) yes.disabled = false;
  };
  dialog.showModal();
}

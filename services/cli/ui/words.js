// How a job is put into words.

const ENDED = ['SUCCEEDED', 'FAILED', 'CANCELLED'];

function hasEnded(job) {
  return ENDED.includes(job.state);
}

function stateTone(state) {
  if (state === 'SUCCEEDED' || state === 'RUNNING') return 'good';
  if (state === 'FAILED') return 'bad';
  return ENDED.includes(state) || state === 'PAUSED' ? '' : 'busy';
}

function stateMark(state, reason = '') {
  return element(
      'span', {className: `state ${stateTone(state)}`, title: reason}, state);
}

// "mnist" of "namespaces/team/jobs/mnist", with the namespace if that is not the
// usual one.
function shortName(name) {
  const [, space, , job] = name.split('/');
  return space === 'default' ? job : `${space}/${job}`;
}

// 64-bit integers are texts in JSON.
function integer(value) {
  return Number(value ?? 0);
}

function share(progress) {
  const total = integer(progress?.samplesTotal);
  return total > 0 ? Math.min(1, integer(progress.samples) / total) : NaN;
}

function shareText(progress) {
  const part = share(progress);
  return isNumber(part) ? `${Math.floor(100 * part)} %` : '\u2013';
}

// "0.4 s", "45 s", "12 min", "3 h 20 min", "2 d 3 h".
function durationText(seconds) {
  if (!isNumber(seconds)) return '\u2013';
  if (seconds < 9.95) return `${Math.round(10 * seconds) / 10} s`;
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function ageText(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  return isNumber(seconds) ? durationText(Math.max(0, seconds)) : '\u2013';
}

function accuracyText(value) {
  return isNumber(value) ? value.toFixed(4) : '\u2013';
}

// Those that take part now.
function presentWorkers(progress) {
  return (progress?.workers ?? []).filter((worker) => worker.state !== 'lost');
}

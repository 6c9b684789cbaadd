// Puts the page together.

// Two runs of one paradigm must not be taken for one.
function nameRuns(runs) {
  const seen = new Map();
  return runs.map((run, index) => {
    const paradigm = run.paradigm || 'unknown';
    const times = (seen.get(paradigm) ?? 0) + 1;
    seen.set(paradigm, times);
    return {
      ...run,
      index,
      name: times > 1 ? `${paradigm} (${times})` : paradigm,
    };
  });
}

// A line break is between two flags, not within one.
function breakAtFlags(node) {
  const parts = node.textContent.split(/ (?=--)/);
  node.replaceChildren(...parts.flatMap(
      (part, i) => [i > 0 ? ' ' : '', element('span', {}, part)]));
}

{
  breakAtFlags(document.getElementById('command'));
  const data = JSON.parse(document.getElementById('data').textContent);
  const runs = nameRuns(data.runs);
  const section = (id) => document.getElementById(id);
  if (runs.length > 0) showSummary(section('summary'), runs);
  showAccuracy(section('accuracy'), runs);
  showTimeline(section('timeline'), runs);
  showHistograms(section('histograms'), runs);
}

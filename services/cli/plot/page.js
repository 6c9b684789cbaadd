// Puts the page together.

// Two runs of one name must not be taken for one.
function nameRuns(runs) {
  const seen = new Map();
  return runs.map((run, index) => {
    const plain = run.name || run.paradigm || 'unknown';
    const times = (seen.get(plain) ?? 0) + 1;
    seen.set(plain, times);
    return {...run, index, name: times > 1 ? `${plain} (${times})` : plain};
  });
}

// What a run was to reach, as Curves draws it: the accuracies that were asked
// for, or else its job's target, "loss<=0.1".
function goalsOfRun(run) {
  if (run.targets?.length > 0) {
    return run.targets.map(
        ({accuracy, seconds}) => ({metric: 'accuracy', value: accuracy, seconds}));
  }
  const target = /^(.+)(?:<=|>=)(.+)$/.exec(run.target ?? '');
  return target === null ? [] : [{
    metric: target[1],
    value: Number(target[2]),
    seconds: run.seconds_to_target,
  }];
}

function showCurves(section, runs) {
  const shown = runs.filter((run) => run.accuracy?.length > 0);
  if (shown.length === 0) return;
  section.hidden = false;
  const [seconds, samples] = BOTTOMS;
  const curves = new Curves(section, {
    bottoms: [{...seconds, name: timeName(shown[0])}, samples],
    filterMode: 'filter',
  });
  const goals = shown.flatMap(goalsOfRun);
  curves.show(shown.map((run) => ({
    name: run.name,
    index: run.index,
    points: run.accuracy,
    switches: run.switches ?? [],
    goals: goalsOfRun(run),
  })), '');
  const rings = goals.some((goal) => isNumber(goal.seconds)) ?
      'A ring is where a run reached the target. ' : '';
  section.querySelector('.note').textContent =
      `${rings}Zoom in on the end to tell the lines apart there.`;
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
  if (runs.length > 0) showSummary(section('summary'), runs, data.left_out ?? '');
  showCurves(section('curves'), runs);
  showTimeline(section('timeline'), runs);
  showHistograms(section('histograms'), runs);
}

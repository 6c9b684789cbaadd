// What workers did lately, from reports that come one after the other: each has
// the seconds that a worker has spent on everything so far.

// In the order in which they are stacked, from below.
const DOINGS = [
  {key: 'load', name: 'loading data'},
  {key: 'compute', name: 'computing'},
  {key: 'push', name: 'pushing'},
  {key: 'pull', name: 'pulling'},
  {key: 'wait', name: 'waiting'},
];

const LANE_SECONDS = 120;

// Shares of the whole; nothing if there is none.
function sharesOf(seconds) {
  const parts = DOINGS.map(({key}) => Math.max(0, seconds?.[key] ?? 0));
  const sum = parts.reduce((all, part) => all + part, 0);
  return sum > 0 ? parts.map((part) => part / sum) : null;
}

function sharesText(shares) {
  return DOINGS.map(({name}, i) => [name, shares[i]])
      .filter(([, part]) => part >= 0.005)
      .map(([name, part]) => `${name} ${formatShare(part, 0)}`)
      .join(', ');
}

class LaneHistory {
  constructor() {
    this.workers = new Map();  // By name: {seconds, at, intervals}.
  }

  // `now` in seconds. Of a worker that says nothing new, as in the middle of a
  // long iteration, the next interval is the longer.
  add(report, now) {
    for (const {worker, seconds} of report?.workers ?? []) {
      const known = this.workers.get(worker);
      const next = {seconds, at: now, intervals: known?.intervals ?? []};
      if (known !== undefined) {
        const shares = sharesOf(Object.fromEntries(DOINGS.map(
            ({key}) => [key, (seconds?.[key] ?? 0) - (known.seconds?.[key] ?? 0)])));
        if (shares === null) continue;
        next.intervals.push({from: known.at, to: now, shares});
        while (next.intervals[0].to < now - LANE_SECONDS) next.intervals.shift();
      }
      this.workers.set(worker, next);
    }
  }

  of(worker) {
    return this.workers.get(worker)?.intervals ?? [];
  }
}

// As sharp as the screen is; returns what to draw with, or null if the canvas
// cannot be seen.
function laneSurface(canvas) {
  const ratio = devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (width === 0 || height === 0) return null;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const surface = canvas.getContext('2d');
  surface.clearRect(0, 0, width, height);
  return {surface, width, height};
}

// Its last two minutes, now on the right: at each moment the shares, one above
// the other.
function drawRecent(canvas, intervals, now, colors) {
  const drawn = laneSurface(canvas);
  if (drawn === null) return;
  const {surface, width, height} = drawn;
  const place = (at) =>
      Math.round(width * (1 - (now - at) / LANE_SECONDS));
  for (const {from, to, shares} of intervals) {
    const left = Math.max(0, place(from));
    let bottom = height;
    shares.forEach((part, i) => {
      const top = bottom - part * height;
      surface.fillStyle = colors[i];
      surface.fillRect(left, top, place(to) - left, bottom - top);
      bottom = top;
    });
  }
}

// All of its time, from left to right.
function drawWhole(canvas, shares, colors) {
  const drawn = laneSurface(canvas);
  if (drawn === null) return;
  const {surface, width, height} = drawn;
  let left = 0;
  shares.forEach((part, i) => {
    surface.fillStyle = colors[i];
    surface.fillRect(left, 0, part * width, height);
    left += part * width;
  });
}

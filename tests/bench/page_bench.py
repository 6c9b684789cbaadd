#!/usr/bin/python3
"""How smooth the page of `paceline ui` is with a large job that trains.

    tests/bench/page_bench.py build/release/bin [--workers 64] [--evaluations 1000]

A real job of two workers runs, and the page asks a real coordinator. What comes
back is made larger in the browser: so many workers, so many evaluations, and one
more of them at every look. For half a minute the time between two frames is
noted, which headless Chromium draws 60 times a second.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from browser import Browser, what_is_missing  # noqa: E402
from job_commands import JobCommands  # noqa: E402
from real_cluster import RealCluster  # noqa: E402
from ui_page import ServedPage  # noqa: E402

# Before the page's own scripts: a fetch whose answers have more in them.
LARGER = """
const small = window.fetch;
let looks = 0;
function more(list, name, count) {
  return Array.from({length: count}, (_, i) => (
      {...list[i % list.length], worker: `${name}${i}`}));
}
window.fetch = async (url, options) => {
  const response = await small(url, options);
  if (!response.ok) return response;
  const answer = await response.json();
  if (answer.progress?.workers?.length) {
    answer.progress.workers = more(answer.progress.workers, 'w', WORKERS);
  }
  if (answer.json !== undefined) {
    const report = JSON.parse(answer.json);
    report.workers = more(report.workers, 'w', WORKERS);
    ++looks;
    report.accuracy = Array.from({length: EVALUATIONS + looks}, (_, i) => ({
      seconds: i + 1, samples: 100 * (i + 1), version: i,
      accuracy: 1 - Math.exp(-i / 300) + 0.01 * Math.sin(i), loss: 2 / (1 + i),
    }));
    answer.json = JSON.stringify(report);
  }
  return new Response(JSON.stringify(answer), {
    status: response.status, headers: {'Content-Type': 'application/json'}});
};
window.frames_ = [];
const note = (now) => {
  window.frames_.push(now);
  requestAnimationFrame(note);
};
requestAnimationFrame(note);
"""


def spec():
    return {"model": "mlp", "data": "synthetic:shapes", "paradigm": "asp",
            "batch_size": 32, "learning_rate": 0.001, "schedule": "constant",
            "workers": {"min": 2}, "stop": {"samples": 1_000_000_000},
            "evaluation": {"every": 1000}}


def measure(browser):
    """Milliseconds between frames while nobody touches the page, and while
    somebody scrolls through it."""
    found = {}
    for how in ("at rest", "scrolled"):
        browser.run("window.frames_.length = 0")
        until = time.monotonic() + args.seconds
        position = 0
        while time.monotonic() < until:
            if how == "scrolled":
                position += 40
                browser.run("scrollTo(0, arguments[0] % document.body"
                            ".scrollHeight)", position)
            threading.Event().wait(0.05)
        stamps = browser.run("return window.frames_")
        found[how] = sorted(b - a for a, b in zip(stamps, stamps[1:]))
    return found


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--picture", type=pathlib.Path,
                        help="a PNG file of the page at the end")
    return parser.parse_args()


def main():
    missing = what_is_missing()
    if missing:
        sys.exit(f"missing: {', '.join(missing)}")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="paceline-page-bench-"))
    workers = [(f"w{i}", ["--step-time", "100ms"]) for i in range(2)]
    cluster = RealCluster(args.bin.resolve(), scratch, 1, workers)
    page = browser = None
    try:
        jobs = JobCommands(args.bin.resolve(), scratch, cluster.address)
        jobs.create("live", **spec())
        jobs.await_more_samples("live", 2000)
        page = ServedPage(args.bin.resolve(), scratch, "--address",
                          cluster.address)
        browser = Browser(scratch)
        browser.devtools(
            "Page.addScriptToEvaluateOnNewDocument",
            source=LARGER.replace("WORKERS", str(args.workers)).replace(
                "EVALUATIONS", str(args.evaluations)))
        browser.open(page.url)
        browser.find("#cluster-jobs td a")
        browser.run("document.querySelector('#cluster-jobs td a').click()")
        browser.find("#workers canvas")
        threading.Event().wait(3)
        shown = browser.run(
            "return [document.querySelectorAll('#workers canvas').length, "
            "document.querySelector('#curves .chart').dataset.points]")
        print(f"lanes and points: {shown}")
        for how, frames in measure(browser).items():
            print(f"{how}: {len(frames)} frames, median "
                  f"{frames[len(frames) // 2]:.1f} ms, 99 of 100 below "
                  f"{frames[len(frames) * 99 // 100]:.1f} ms, longest "
                  f"{frames[-1]:.1f} ms")
        if args.picture:
            browser.picture(args.picture)
        print(browser.complaints() or "no complaint of the page")
    finally:
        if browser is not None:
            browser.close()
        if page is not None:
            page.end()
        cluster.stop()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    args = parse()
    main()

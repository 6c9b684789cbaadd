#!/usr/bin/python3
"""The page of `paceline local --plot`, `paceline job plot`, `paceline simulate
--plot` and `paceline compare --plot` in a real browser: every part of it is drawn,
of what is known.

    plot_browser_test.py BIN_DIR SOURCE_DIR

Skipped where Debian's chromium and chromium-driver are not installed, or the
build has no charts. PACELINE_PICTURES=FOLDER: pictures of the pages, wide and
narrow, light and dark.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, what_is_missing
from job_commands import JobCommands
from real_cluster import LONG, RealCluster, until

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-plot-"))
PICTURES = os.environ.get("PACELINE_PICTURES")
SLOWDOWNS = (1, 1, 2, 4)
STEP = "20ms"
# What a chart of the page shows, by its options.
CHART = """
const chart = echarts.getInstanceByDom(document.querySelector(arguments[0]));
const {series, xAxis, yAxis} = chart.getOption();
return {
  rows: yAxis[0].data,
  series: series.filter(({data}) => data?.length > 0)
              .map(({name, data}) => [name ?? '', data.length]),
  lines: series.flatMap(({markLine}) => markLine?.data ?? []),
  rings: series.flatMap(({markPoint}) => markPoint?.data ?? []),
  bottom: xAxis[0].name,
  begin: xAxis[0].min,
};
"""


def paceline(*words):
    done = subprocess.run(
        [BIN / "paceline", *words], env={"HOME": str(SCRATCH)}, cwd=SCRATCH,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LONG,
        check=False)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stderr}")
    return done.stdout


class PlotPage(unittest.TestCase):
    def setUp(self):
        self.browser = Browser(SCRATCH)
        self.addCleanup(self.browser.close)

    def open(self, page):
        self.browser.open(f"file://{SCRATCH / page}")
        # It loads nothing, and no script of it has failed.
        self.assertEqual(self.browser.complaints(), [])

    def chart(self, selector):
        return self.browser.run(CHART, selector)

    def rows(self):
        """Of the table, as texts."""
        return self.browser.run(
            "return [...document.querySelectorAll('#summary tr')].map("
            "(row) => [...row.cells].map((cell) => cell.textContent))")

    def drawn(self):
        """The sections that are shown."""
        return self.browser.run(
            "return [...document.querySelectorAll('section')].filter("
            "(section) => !section.hidden).map((section) => section.id)")

    def fits(self):
        """Nothing of the page is wider than the window, but in what scrolls."""
        return self.browser.run(
            "return document.documentElement.scrollWidth <= innerWidth")

    def picture(self, name):
        for width, height in ((1400, 1000), (480, 900)):
            for scheme in ("light", "dark"):
                self.browser.look_like(width, height, scheme)
                self.browser.run(
                    "return new Promise((done) => requestAnimationFrame(() => "
                    "requestAnimationFrame(done)))")
                self.assertTrue(self.fits(), f"{name} at {width}")
                if PICTURES:
                    pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
                    self.browser.picture(pathlib.Path(PICTURES) /
                                         f"{name}-{width}-{scheme}.png")
        self.browser.look_like(1400, 1000, "light")

    def test_local_runs_are_compared(self):
        paceline("local", "--model", "mlp", "--data", "synthetic:shapes",
                 "--servers", "1", "--workers", "4", "--step-time", STEP,
                 "--slowdown", ",".join(map(str, SLOWDOWNS)), "--epochs", "2",
                 "--eval-every", "2000", "--target-accuracy", "0.5,0.999",
                 "--paradigm", "bsp", "--paradigm", "dssp", "--paradigm", "cgp",
                 "--switch-at", "50%=asp", "--plot", "local.html")
        self.open("local.html")
        self.assertEqual(self.browser.text("h1"), "paceline local")
        self.assertEqual(self.drawn(), ["summary", "curves", "timeline"])
        head, *rows = self.rows()
        self.assertEqual([row[0] for row in rows], ["bsp", "dssp", "cgp"])
        self.assertIn("s to target", head)
        self.assertIn("gaps and staleness", self.browser.text("#summary .note"))
        # Somebody was first.
        self.assertRegex(self.browser.text("#summary .note"),
                         "reached the target (first|sooner|[0-9.]+ times)")
        measures = self.browser.run(
            "return [...document.querySelectorAll('#curves figcaption')].map("
            "(caption) => caption.textContent)")
        self.assertEqual(measures, ["accuracy", "loss"])
        accuracy = self.chart("#curves figure:nth-child(1) .chart")
        self.assertEqual([name for name, _ in accuracy["series"]],
                         ["bsp", "dssp", "cgp"])
        self.assertEqual([line["yAxis"] for line in accuracy["lines"]],
                         [0.5, 0.999])
        self.assertEqual(accuracy["bottom"], "seconds of training")
        # Who has reached the first target has a ring, in seconds alone.
        self.assertGreater(len(accuracy["rings"]), 0)
        self.browser.click("#curves .choices button:nth-child(2)")
        by_samples = self.chart("#curves figure:nth-child(1) .chart")
        self.assertEqual(by_samples["bottom"], "samples")
        self.assertEqual(by_samples["rings"], [])
        self.browser.click("#curves .choices button:nth-child(1)")
        self.check_lanes()
        self.picture("local")

    def check_lanes(self):
        lanes = self.chart("#timeline .chart")
        phases = {name for name, _ in lanes["series"]}
        self.assertLessEqual({"compute", "wait", "push"}, phases)
        self.assertEqual(lanes["begin"], 0)
        # Each run has its switch, half of its way.
        self.assertEqual(len(lanes["lines"]), 1)
        self.browser.click("#timeline .choices button:nth-child(3)")
        self.assertEqual(len(self.chart("#timeline .chart")["lines"]), 1)
        # All at once, without their switches.
        self.browser.click("#timeline .choices button:nth-child(4)")
        lanes = self.chart("#timeline .chart")
        self.assertEqual(lanes["rows"], [f"{run} w{i}" for run in
                                         ("bsp", "dssp", "cgp")
                                         for i in range(len(SLOWDOWNS))])
        self.assertEqual(lanes["lines"], [])
        # Under bsp the fast ones wait, and the slowest one does not.
        shares = self.browser.run("""
const {timeline, workers} =
    JSON.parse(document.getElementById('data').textContent).runs[0];
return Object.fromEntries(timeline.workers.map((row, worker) => {
  let waiting = 0;
  let all = 0;
  for (let i = 0; i < row.length / 2; i += 2) {
    all += row[i + 1];
    if (timeline.phases[row[i]] === 'wait') waiting += row[i + 1];
  }
  return [workers[worker], waiting / all];
}));
""")
        self.assertGreater(shares["w0"], 0.4, shares)
        self.assertLess(shares["w3"], 0.3, shares)

    def test_jobs_of_a_cluster_are_compared(self):
        workers = [(f"w{i}", ["--step-time", STEP, "--slowdown", str(slower)])
                   for i, slower in enumerate(SLOWDOWNS)]
        cluster = RealCluster(BIN, SCRATCH, 1, workers)
        self.addCleanup(cluster.stop)
        jobs = JobCommands(BIN, SCRATCH, cluster.address)
        spec = {"model": "mlp", "data": "synthetic:shapes", "batch_size": 32,
                "learning_rate": 0.001, "schedule": "constant",
                "workers": {"min": len(workers)}, "evaluation": {"every": 1000}}
        jobs.create("ended", **spec, paradigm="bsp", stop={"samples": 20_000})
        jobs.await_state("ended", "SUCCEEDED")
        jobs.create("running", **spec, paradigm="bsp",
                    stop={"samples": 1_000_000_000})
        jobs.await_more_samples("running", 10_000)
        jobs("job", "switch", "running", "cgp")
        jobs.await_more_samples("running", jobs.samples("running") + 5000)
        cluster.kill("w2")
        until("w2 is lost", lambda: "  worker-lost  " in
              jobs("job", "logs", "running"))
        jobs.await_more_samples("running", jobs.samples("running") + 1000)
        jobs("job", "plot", "ended", "running", "-o", str(SCRATCH / "jobs.html"))
        self.open("jobs.html")
        self.assertEqual(self.browser.text("h1"), "paceline job plot")
        self.assertEqual(self.drawn(), ["summary", "curves", "timeline"])
        self.assertEqual([row[0] for row in self.rows()[1:]],
                         ["ended (bsp)", "running (bsp, then cgp)"])
        self.browser.click("#timeline .choices button:nth-child(2)")
        lanes = self.chart("#timeline .chart")
        # The switch, and the loss.
        self.assertEqual(len(lanes["lines"]), 2)
        self.assertIn("compute", {name for name, _ in lanes["series"]})
        self.picture("jobs")
        jobs("job", "metrics", "ended", "--plot", str(SCRATCH / "one.html"))
        self.open("one.html")
        self.assertEqual([row[0] for row in self.rows()[1:]], ["ended (bsp)"])

        # A coordinator that is there anew knows the curves, and no iterations.
        jobs("job", "cancel", "running")
        jobs.await_state("running", "CANCELLED")
        cluster.coordinator.kill()
        cluster.coordinator.wait(timeout=LONG)
        cluster.coordinator.stdout.close()
        cluster.start_coordinator()
        jobs("job", "plot", "ended", "-o", str(SCRATCH / "later.html"))
        self.open("later.html")
        self.assertEqual(self.drawn(), ["summary", "curves"])
        self.assertIn("what the workers did in ended (bsp)",
                      self.browser.text("#summary .note"))

    def test_simulations_have_their_histograms(self):
        paceline("simulate", "--iteration-times", "1,1,2,4", "--epochs", "1",
                 "--train", "mlp", "--paradigm", "bsp", "--paradigm", "cgp",
                 "--plot", "simulated.html")
        self.open("simulated.html")
        self.assertEqual(self.browser.text("h1"), "paceline simulate")
        self.assertEqual(self.drawn(),
                         ["summary", "curves", "timeline", "histograms"])
        self.assertEqual(self.browser.text("#summary .note"), "")
        self.assertEqual(self.chart("#curves .chart")["bottom"], "virtual seconds")
        self.picture("simulated")

    def test_rules_are_compared_over_seeds(self):
        table = paceline(
            "compare", "--iteration-times", "1,1,1,4", "--train", "mlp",
            "--repeat", "3", "--rates", "0.01,0.02", "--target-accuracy", "0.6",
            "--paradigm", "bsp", "--paradigm", "asp", "--plot", "compared.html")
        rates = {row.split()[0]: row.split()[1]
                 for row in table.splitlines()[1:3]}
        names = [f"{rule} (rate {rates[rule]}, momentum 0.9)"
                 for rule in ("bsp", "asp")]
        self.open("compared.html")
        self.assertEqual(self.browser.text("h1"), "paceline compare")
        self.assertEqual(self.drawn(),
                         ["summary", "curves", "timeline", "histograms"])
        self.assertEqual([row[0] for row in self.rows()[1:]], names)
        self.assertIn("medians of 3 seeds", self.browser.text("#summary .note"))
        accuracy = self.chart("#curves figure:nth-child(1) .chart")
        # Of each rule two edges of what is shaded, and the curve.
        self.assertEqual(sorted(name for name, _ in accuracy["series"]),
                         sorted(names * 3))
        self.assertEqual(len(accuracy["rings"]), 2)
        tip = self.browser.run("""
const chart = echarts.getInstanceByDom(
    document.querySelector('#curves figure:nth-child(1) .chart'));
chart.dispatchAction({type: 'showTip', x: 200, y: 100});
return new Promise((done) => requestAnimationFrame(() => done(
    [...document.querySelectorAll('.tip')].at(-1).textContent)));
""")
        for name in names:
            self.assertLessEqual(tip.count(name), 1, tip)
        self.picture("compared")


if __name__ == "__main__":
    try:
        missing = what_is_missing()
        if missing:
            print(f"skipped: not installed: {', '.join(missing)}")
            sys.exit(77)
        try:
            paceline("simulate", "--iterations", "1", "--plot", "none.html")
        except AssertionError as error:
            if "built without" not in str(error):
                raise
            print(f"skipped: {error}")
            sys.exit(77)
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

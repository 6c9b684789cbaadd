#!/usr/bin/python3
"""The page of `paceline ui` in a real browser: somebody looks at a job, switches
its paradigm, and sees the curve go on.

    ui_browser_test.py BIN_DIR SOURCE_DIR

Skipped where Debian's chromium and chromium-driver are not installed.
PACELINE_PICTURES=FOLDER: pictures of the page, wide and narrow, light and dark.
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
from ui_page import ServedPage, why_no_page

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-browser-"))
PICTURES = os.environ.get("PACELINE_PICTURES")
WORKERS = [(f"w{i}", ["--step-time", "20ms", "--slowdown", str(slower)])
           for i, slower in enumerate((1, 1, 2, 4))]
# Whoever writes it into a page as HTML runs a script.
NASTY = "<img src=x onerror=\"document.title='hurt'\">"


def spec(paradigm, samples):
    return {"model": "mlp", "data": "synthetic:shapes", "paradigm": paradigm,
            "batch_size": 32, "learning_rate": 0.001, "schedule": "constant",
            "workers": {"min": len(WORKERS)}, "stop": {"samples": samples},
            "evaluation": {"every": 1000}}


class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = RealCluster(BIN, SCRATCH, 1, WORKERS)
        cls.addClassCleanup(cls.cluster.stop)
        cls.jobs = JobCommands(BIN, SCRATCH, cls.cluster.address)
        cls.jobs.create("short", **spec("bsp", 10_000))
        cls.jobs.await_state("short", "SUCCEEDED")
        cls.jobs.create("live", **spec("bsp", 1_000_000_000))
        cls.addClassCleanup(cls.jobs, "job", "cancel", "live")
        cls.jobs.await_state("live", "RUNNING")
        done = subprocess.run(
            [BIN / "paceline", "local", "--workers", "2", "--servers", "1",
             "--model", "logreg", "--epochs", "1", "--run-dir", SCRATCH / "runs"],
            env={"HOME": str(SCRATCH)}, capture_output=True, text=True,
            timeout=LONG, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.page = ServedPage(BIN, SCRATCH, "--address", cls.cluster.address,
                              "--runs", SCRATCH / "runs")
        cls.addClassCleanup(cls.page.end)

    def setUp(self):
        self.browser = Browser(SCRATCH)
        self.addCleanup(self.browser.close)
        self.browser.open(self.page.url)

    def tearDown(self):
        # What the page's policy refuses is told there, too.
        self.assertEqual(self.browser.complaints(), [])

    def points(self):
        return int(self.browser.run(
            "return document.querySelector('#curves .chart')"
            "?.dataset.points ?? '0'"))

    def await_points(self, more_than):
        return until(f"the curve has more than {more_than} points", lambda: next(
            (n for n in [self.points()] if n > more_than), None))

    def picture(self, name):
        if not PICTURES:
            return
        pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
        for width, height in ((1400, 1000), (480, 900)):
            for scheme in ("light", "dark"):
                self.browser.look_like(width, height, scheme)
                self.browser.run("return new Promise((done) => "
                                 "requestAnimationFrame(() => setTimeout(done, 500)))")
                self.browser.picture(
                    pathlib.Path(PICTURES) / f"{name}-{width}-{scheme}.png")
        self.browser.look_like(1400, 1000, "light")

    def go_to(self, name):
        self.browser.run("[...document.querySelectorAll('td a')].find((link) => "
                         "link.textContent === arguments[0]).click()", name)

    def test_a_paradigm_is_switched_and_the_curve_goes_on(self):
        self.browser.find("#cluster-jobs td a")
        # The token is not left where others see it.
        self.assertNotIn(self.page.token, self.browser.run("return location.href"))
        self.picture("jobs")
        self.go_to("live")
        self.await_points(2)
        self.browser.find("#workers canvas")

        self.browser.click("[data-question=switch]")
        self.browser.type("dialog [name=paradigm]", "sp")
        self.browser.click("dialog button.strong")
        until("the coordinator's error is shown", lambda: "INVALID_ARGUMENT" in
              self.browser.text("dialog .problem"))
        [told] = self.browser.complaints()
        self.assertRegex(told, "SwitchParadigm.*400")
        self.browser.type("dialog [name=paradigm]", "asp")
        self.browser.type("dialog [name=reason]", NASTY)
        self.picture("question")
        self.browser.click("dialog button.strong")
        until("it says what was done", lambda: "switched to asp" in
              self.browser.text("#done"))
        until("asp is what the page shows", lambda: self.browser.text(
            "#head .facts dd").startswith("asp"))
        # The decision falls into the list, as a text.
        until("the decision is there", lambda: NASTY in
              self.browser.text("#decisions .log"))
        self.assertNotEqual(self.browser.run("return document.title"), "hurt")
        self.assertEqual(self.browser.run(
            "return document.querySelectorAll('#decisions img').length"), 0)
        self.await_points(self.points() + 2)
        self.assertTrue(
            self.jobs.job("live")["progress"]["paradigm"].startswith("asp"))
        until("there is advice", lambda: self.browser.run(
            "return !document.getElementById('advice').hidden"))
        self.picture("job")

        # The other way to measure progress, and again by seconds.
        self.browser.click("#curves .choices button:nth-child(2)")
        self.await_points(self.points())
        self.browser.click("#curves .choices button:nth-child(1)")

    def test_somebody_without_a_mouse_pauses_and_resumes(self):
        self.browser.find("#cluster-jobs td a")
        self.go_to("live")
        self.browser.find("[data-question=pause]:enabled")
        self.browser.run("document.querySelector('[data-question=pause]').focus()")
        self.browser.press("enter")
        self.browser.find("dialog[open] button.strong")
        self.browser.press("escape")
        self.assertFalse(self.browser.run(
            "return document.querySelector('dialog').open"))
        self.assertEqual(self.jobs.job("live")["state"], "RUNNING")
        # The focus is back where it was.
        for key in ("enter", "tab", "enter"):
            self.browser.press(key)
        self.jobs.await_state("live", "PAUSED")
        self.browser.find("[data-question=resume]:enabled")
        self.browser.run("document.querySelector('[data-question=resume]').focus()")
        for key in ("enter", "tab", "enter"):
            self.browser.press(key)
        self.jobs.await_state("live", "RUNNING")
        until("the page shows it", lambda: self.browser.text(
            "#head .state") == "RUNNING")

    def test_jobs_and_finished_runs_are_compared(self):
        for box in ("#cluster-jobs", "#finished-runs"):
            self.browser.find(f"{box} td a")
        for box in ("#cluster-jobs", "#finished-runs"):
            for row in self.browser.run(
                    "return [...document.querySelectorAll(arguments[0] + "
                    "' input')].map((box) => box.ariaLabel)", box):
                self.browser.click(f"[aria-label=\"{row}\"]")
        self.browser.click("#compare:enabled")
        until("three courses are drawn", lambda: self.browser.run(
            "return document.querySelectorAll('#compare-table tbody tr').length")
              == 3)
        self.browser.find("#compare-curves .chart")
        self.picture("compare")
        self.go_to("1-bsp")
        until("its curve is there", lambda: self.points() > 2)
        self.assertFalse(self.browser.run(
            "return [...document.querySelectorAll('[data-question]')]"
            ".some((button) => !button.hidden)"))
        self.picture("run")

    def test_a_tab_without_the_token_says_what_to_do(self):
        self.browser.run("sessionStorage.clear()")
        self.browser.open("about:blank")
        self.browser.open(f"{self.page.root}/")
        until("it says what to do", lambda: "whole address" in
              self.browser.text("#problem"))
        # The browser itself tells of the answer 401.
        self.assertRegex(" ".join(self.browser.complaints()), "401")

    def test_it_fits_a_phone(self):
        self.browser.look_like(480, 900, "dark")
        self.browser.find("#cluster-jobs td a")
        self.go_to("live")
        self.await_points(0)
        until("there is advice", lambda: self.browser.run(
            "return !document.getElementById('advice').hidden"))
        wide = self.browser.run(
            "return document.documentElement.scrollWidth")
        self.assertLessEqual(wide, 480)


if __name__ == "__main__":
    missing = what_is_missing()
    WHY_NOT = (f"there is no {' and no '.join(missing)}" if missing else
               why_no_page(BIN, SCRATCH))
    if WHY_NOT:
        print(f"skipped: {WHY_NOT}")
        sys.exit(77)
    try:
        unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

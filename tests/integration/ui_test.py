#!/usr/bin/python3
"""`paceline ui` on a cluster of real processes: who may ask it, and that what is
asked happens.

    ui_test.py BIN_DIR SOURCE_DIR
"""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from job_commands import JobCommands
from real_cluster import LONG, RealCluster, free_port, until
from ui_page import ServedPage, UiPage, why_no_page

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-ui-"))
JOB = "namespaces/default/jobs/live"
WORKERS = [(f"w{i}", ["--step-time", "20ms", "--slowdown", str(slower)])
           for i, slower in enumerate((1, 3))]


def spec():
    return {"model": "logreg", "data": "synthetic:shapes", "paradigm": "bsp",
            "batch_size": 32, "workers": {"min": len(WORKERS)},
            "stop": {"samples": 1_000_000_000}, "evaluation": {"every": 1000}}


class OfACluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = RealCluster(BIN, SCRATCH, 1, WORKERS)
        cls.addClassCleanup(cls.cluster.stop)
        cls.jobs = JobCommands(BIN, SCRATCH, cls.cluster.address)
        cls.page = ServedPage(BIN, SCRATCH, "--address", cls.cluster.address)
        cls.addClassCleanup(cls.page.end)
        cls.jobs.create("live", **spec())
        cls.addClassCleanup(cls.jobs, "job", "cancel", "live")

    def refused(self, code, wrong, body="{}", path="/api/ListJobs", **headers):
        """With what a page of ours says, but for `headers`."""
        right = {"Content_Type": "application/json",
                 "Authorization": f"Bearer {self.page.token}"}
        answer = self.page.ask(path, body, **{**right, **headers})
        self.assertEqual(answer[0], code, wrong)
        self.assertNotIn("Access-Control-Allow-Origin", answer[1])
        return answer[2]

    def test_the_page_itself_holds_no_secret_and_asks_nobody_else(self):
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"),
                           ("/page.js", "text/javascript"),
                           ("/echarts.js", "text/javascript")):
            code, headers, text = self.page.ask(path)
            self.assertEqual(code, 200)
            self.assertIn(kind, headers["Content-Type"])
            policy = headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("connect-src 'self'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertNotIn("Set-Cookie", headers)
            self.assertNotIn(self.page.token, text)
        self.assertNotIn("://", self.page.ask("/")[2])
        self.assertEqual(self.page.ask("/../page.css")[0], 404)

    def test_it_listens_on_loopback_alone(self):
        """/proc/net has addresses and ports as hexadecimal numbers."""
        heard = []
        for table in ("tcp", "tcp6"):
            path = pathlib.Path("/proc/net") / table
            lines = path.read_text().splitlines()[1:] if path.exists() else []
            for line in lines:
                local, state = line.split()[1], line.split()[3]
                address, port = local.split(":")
                if state == "0A" and int(port, 16) == self.page.port:
                    heard.append(address)
        self.assertEqual(heard, ["0100007F"])

    def test_nobody_else_may_ask(self):
        port = self.page.port
        # The address of another site was made that of this machine.
        for host in (f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}",
                     f"0.0.0.0:{port}", f"127.0.0.1.evil.example:{port}"):
            self.refused(403, host, Host=host)
            self.assertEqual(self.page.ask("/", Host=host)[0], 403, host)
        self.refused(200, "it has this name, too", Host=f"localhost:{port}",
                     body=json.dumps({"parent": "namespaces/-"}))
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}"):
            self.refused(403, origin, Origin=origin)
        for token in ("", "Bearer ", self.page.token, "Bearer " + "0" * 64,
                      f"Bearer {self.page.token}0", f"Basic {self.page.token}"):
            said = self.refused(401, token, Authorization=token)
            self.assertNotIn(self.page.token, said)
        # What a form of another site could send.
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            self.refused(400, kind, Content_Type=kind)
        self.refused(400, "a GET", body=None)
        self.refused(404, "a method that the page has not",
                     path="/api/CancelJob", body=json.dumps({"name": JOB}))
        self.refused(400, "no JSON", body="{")
        self.refused(413, "a large body", body="x" * (65 << 10))
        self.jobs.await_state("live", "RUNNING")

    def test_an_error_has_its_code_and_one_sentence(self):
        code, answer = self.page.call("GetJob", name="namespaces/default/jobs/no")
        self.assertEqual(code, 404)
        error = answer["error"]
        self.assertEqual(error["code"], "NOT_FOUND")
        self.assertEqual(error["reason"], "RESOURCE_NOT_FOUND")
        code, answer = self.page.call("SwitchParadigm", name=JOB, paradigm="sp")
        self.assertEqual(code, 400)
        self.assertIn("paradigm: ", answer["error"]["message"])
        self.assertNotIn("\n", answer["error"]["message"])

    def test_what_is_asked_happens(self):
        self.jobs.await_state("live", "RUNNING")
        code, listed = self.page.call("ListJobs", parent="namespaces/-")
        self.assertEqual(code, 200)
        self.assertEqual([job["name"] for job in listed["jobs"]], [JOB])
        code, job = self.page.call("SwitchParadigm", name=JOB, paradigm="asp",
                                   reason="by the page")
        self.assertEqual((code, job["spec"]["paradigm"]), (200, "asp"))
        until("asp has taken over", lambda: self.jobs.job("live")["progress"]
              ["paradigm"].startswith("asp"))
        until("its log says why",
              lambda: "by the page" in self.jobs("job", "logs", "live"))

        change = {"name": JOB, "spec": {"batching": "balanced",
                                        "learning_rate": 0.5}}
        code, _ = self.page.call("UpdateJob", job=change,
                                 updateMask="spec.batching")
        self.assertEqual(code, 200)
        spec_now = self.jobs.job("live")["spec"]
        self.assertEqual(spec_now["batching"], "balanced")
        self.assertNotEqual(spec_now["learningRate"], 0.5)
        code, answer = self.page.call("UpdateJob", job=change,
                                      updateMask="spec.batching,spec.learningRate")
        self.assertEqual((code, answer["error"]["code"]),
                         (400, "INVALID_ARGUMENT"))

        self.assertEqual(self.page.call("PauseJob", name=JOB)[0], 200)
        self.jobs.await_state("live", "PAUSED")
        self.assertEqual(self.page.call("ResumeJob", name=JOB)[0], 200)
        job = self.jobs.await_state("live", "RUNNING")
        self.jobs.await_more_samples("live", int(job["progress"]["samples"]))
        report = json.loads(
            self.page.call("GetJobReport", name=JOB)[1]["json"])
        self.assertEqual([done["to"] for done in report["switches"]], ["asp"])
        self.assertGreater(len(report["workers"]), 0)


class WithOwnCredentials(unittest.TestCase):
    """The page may do what whoever has started it may do."""

    @classmethod
    def setUpClass(cls):
        roles = {"ann": "admin", "vic": "viewer"}
        (SCRATCH / "tokens").write_text("".join(
            f"{name} {role} sha256:{hashlib.sha256(name.encode() * 20).hexdigest()}\n"
            for name, role in roles.items()))
        for name in roles:
            (SCRATCH / f"{name}.token").write_text(name * 20)
        cls.address = f"127.0.0.1:{free_port()}"
        with open(SCRATCH / "guarded.log", "wb") as log:
            coordinator = subprocess.Popen(
                [BIN / "paceline-coordinator", "--listen", cls.address, "--store",
                 SCRATCH / "guarded.db", "--token-file", SCRATCH / "tokens"],
                stdout=subprocess.PIPE, stderr=log)
        cls.addClassCleanup(coordinator.communicate, timeout=LONG)
        cls.addClassCleanup(coordinator.terminate)
        if not coordinator.stdout.readline():
            raise AssertionError((SCRATCH / "guarded.log").read_text()[-2000:])

    def answers(self, *flags):
        """Code and reason of a call that reads, and of one that changes."""
        page = ServedPage(BIN, SCRATCH, "--address", self.address, *flags)
        self.addCleanup(page.end)
        answers = [page.call("ListJobs", parent="namespaces/-"),
                   page.call("PauseJob", name="namespaces/default/jobs/no")]
        return [(code, answer.get("error", {}).get("reason", ""))
                for code, answer in answers]

    def test_a_viewer_reads_and_an_administrator_changes(self):
        self.assertEqual(
            self.answers("--token-file", SCRATCH / "vic.token"),
            [(200, ""), (403, "ROLE_NOT_ALLOWED")])
        self.assertEqual(
            self.answers("--token-file", SCRATCH / "ann.token"),
            [(200, ""), (404, "RESOURCE_NOT_FOUND")])
        self.assertEqual([code for code, _ in self.answers()], [401, 401])


class WithoutACluster(unittest.TestCase):
    def serve(self, *flags):
        page = ServedPage(BIN, SCRATCH, *flags)
        self.addCleanup(lambda: page.process.poll() is not None or page.end())
        return page

    def test_finished_runs_are_shown(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        (folder / "secret.json").write_text('{"secret": 1}')
        runs = folder / "runs"
        result = {"paradigm": "bsp", "seconds": 2.5, "samples": 64,
                  "final_accuracy": 0.5, "workers": [{"worker": "w0"}]}
        for name in ("01-bsp", "today/01-cgp", "a/b/01-too-deep"):
            (runs / name).mkdir(parents=True)
            (runs / name / "result.json").write_text(json.dumps(result))
        (runs / "01-bsp" / "job.json").write_text('{"model": "logreg"}')
        (runs / "02-broken").mkdir()
        (runs / "02-broken" / "result.json").write_text("[" * 100)
        (runs / "out").symlink_to(folder)
        page = self.serve("--runs", str(runs))
        code, listed = page.call("ListRuns")
        self.assertEqual(code, 200)
        self.assertEqual([run["name"] for run in listed["runs"]],
                         ["01-bsp", "today/01-cgp"])
        self.assertEqual(listed["runs"][0]["accuracy"], 0.5)
        code, run = page.call("GetRun", name="01-bsp")
        self.assertEqual((code, run["report"], run["spec"]),
                         (200, result, {"model": "logreg"}))
        for name in ("../secret", "..", "", "/", "out", "a/b/01-too-deep", None):
            self.assertEqual(page.call("GetRun", name=name)[0], 404, name)
        self.assertIsNone(page.call("Session")[1]["cluster"])
        code, answer = page.call("ListJobs", parent="namespaces/-")
        self.assertEqual((code, answer["error"]["code"]),
                         (409, "FAILED_PRECONDITION"))

    def test_it_ends_at_once_and_says_who_is_away(self):
        page = self.serve("--address", f"127.0.0.1:{free_port()}",
                          "--request-timeout", "1s")
        code, answer = page.call("ListJobs", parent="namespaces/-")
        self.assertEqual((code, answer["error"]["code"]), (503, "UNAVAILABLE"))
        code, said = page.end()
        self.assertEqual(code, 130)
        self.assertNotIn(page.token, said)

    def test_what_is_wrong_is_told_before_it_serves(self):
        for code, words, flags in (
                (2, "no coordinator is named", []),
                (3, "--runs nowhere", ["--runs", "nowhere"]),
                (2, "--port", ["--address", "127.0.0.1:1", "--port", "70000"])):
            done = subprocess.run(
                [BIN / "paceline", "ui", *flags], env={"HOME": str(SCRATCH)},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                timeout=LONG, check=False)
            self.assertEqual((done.returncode, done.stdout), (code, ""))
            self.assertIn(words, done.stderr)

    def test_a_local_run_has_a_page_if_it_is_asked_for(self):
        command = [BIN / "paceline", "local", "--workers", "1", "--servers", "1",
                   "--model", "logreg", "--no-eval", "--run-dir"]
        env = {"HOME": str(SCRATCH), "PATH": "/usr/bin:/bin"}
        run = subprocess.Popen(
            [*command, str(SCRATCH / "shown"), "--ui", "--step-time", "10ms",
             "--epochs", "1000", "-o", "json"],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.communicate, timeout=LONG)
        self.addCleanup(run.terminate)
        url = next(found[1] for found in
                   (re.search(r"page: (\S+)", line) for line in run.stderr)
                   if found)
        page = UiPage(url)
        until("its job runs", lambda: any(
            job["state"] == "RUNNING" for job
            in page.call("ListJobs", parent="namespaces/-")[1].get("jobs", [])))
        quiet = subprocess.run(
            [*command, str(SCRATCH / "quiet"), "--epochs", "1", "-o", "json"],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LONG, check=False)
        self.assertEqual(quiet.returncode, 0, quiet.stderr)
        self.assertNotIn("page", quiet.stderr)


if __name__ == "__main__":
    WHY_NOT = why_no_page(BIN, SCRATCH)
    if WHY_NOT:
        print(f"skipped: {WHY_NOT}")
        sys.exit(77)
    try:
        unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

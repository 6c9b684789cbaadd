#!/usr/bin/python3
"""The last lines of members' logs by the command: of workers that work, that are
stopped, that are lost, of one with a program, and of a parameter server.

    member_logs_test.py BIN_DIR SOURCE_DIR
"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from job_commands import JobCommands
from real_cluster import LONG, RealCluster, until

BIN = None
PROGRAM = pathlib.Path(__file__).resolve().parent / "plain_program.py"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-logs-"))
NOT_FOUND = 3
UNAVAILABLE = 6


class MemberLogsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = RealCluster(
            BIN, SCRATCH, 1,
            [("w0", []), ("w1", []), ("w2", []), ("w3", ["--pool", "odd"]),
             ("p0", ["--program", "plain", "--exec",
                     f"exec {sys.executable} {PROGRAM} {SCRATCH}"])],
            # Longer than a member that is asked has to answer.
            lease="12s")
        cls.commands = JobCommands(BIN, SCRATCH, cls.cluster.address)

    @classmethod
    def tearDownClass(cls):
        codes = cls.cluster.stop()
        if set(codes) != {0}:
            raise AssertionError(f"exit codes {codes}")

    def lines(self, noun, name, *flags):
        text = self.commands(noun, "logs", name, "-o", "json", *flags)
        return json.loads(text)["lines"]

    def refused(self, *words):
        """What the command says on standard error, and its exit code."""
        done = subprocess.run(
            [BIN / "paceline", *words],
            env={"HOME": str(SCRATCH),
                 "PACELINE_ADDRESS": self.cluster.address},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LONG, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout, "")
        return done.stderr, done.returncode

    def own_log(self, name):
        """What the process itself has written to its standard error."""
        text = (self.cluster.folder / f"{name}.log").read_text()
        return [json.loads(line) for line in text.splitlines()
                if line.startswith("{")]

    def test_what_is_told_is_what_was_logged(self):
        self.commands.create("short", model="logreg", data="synthetic:tiny",
                             batch_size=32, stop={"epochs": 1},
                             workers={"min": 2, "max": 2})
        self.commands.await_state("short", "SUCCEEDED")

        def told():
            lines = self.lines("worker", "workers/w0")
            return lines if len(lines) == len(self.own_log("w0")) else None
        lines = until("all lines are told", told)
        for line, own in zip(lines, self.own_log("w0")):
            self.assertEqual(line["source"], "PROCESS")
            self.assertEqual(line["message"], own["message"])
            self.assertEqual(line["severity"].lower(), own["level"])
            fields = {key: value if isinstance(value, str)
                      else json.dumps(value, separators=(",", ":"))
                      for key, value in own.items()
                      if key not in ("time", "level", "role", "message")}
            self.assertEqual(line.get("fields", {}), fields)
            # To the second: the line is cut to the millisecond.
            self.assertEqual(line["time"][:17], own["time"][:17])
        self.assertIn("registered", [line["message"] for line in lines])
        self.assertEqual(self.lines("worker", "w0", "--tail", "2"), lines[-2:])
        text = self.commands("worker", "logs", "w0", "--tail", "1")
        self.assertEqual(text.count("\n"), 1)
        self.assertIn(lines[-1]["message"], text)

    def test_parameter_servers_tell_theirs(self):
        lines = self.lines("server", "s0")
        self.assertEqual([line["message"] for line in lines],
                         [own["message"] for own in self.own_log("s0")])
        self.assertIn("listening", [line["message"] for line in lines])

    def test_what_a_program_prints_is_told_beside_it(self):
        self.commands.create("own", model="program:plain", data="program",
                             arguments={"task": "classify"}, batch_size=32,
                             stop={"epochs": 1000})

        def printed():
            return [line for line in self.lines("worker", "p0")
                    if line["source"] == "PROGRAM"]
        lines = until("the program has printed", printed)
        own = (self.cluster.folder / "p0.log").read_text().splitlines()
        for line in lines:
            self.assertIn(line["message"], own)
            self.assertNotIn("severity", line)
        self.assertIn(" program  ", self.commands("worker", "logs", "p0"))
        self.commands("job", "cancel", "own", "--yes")

    def test_a_worker_that_is_stopped_does_not_hold_up_anybody(self):
        process = self.cluster.processes["w1"]
        process.send_signal(signal.SIGSTOP)
        try:
            asked = [subprocess.Popen(
                [BIN / "paceline", "worker", "logs", "w1"],
                env={"HOME": str(SCRATCH),
                     "PACELINE_ADDRESS": self.cluster.address},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(8)]
            # Answered while they wait: more of them than threads that decide.
            self.assertTrue(self.lines("worker", "w0"))
            self.assertTrue(all(one.poll() is None for one in asked))
            for one in asked:
                out, error = one.communicate(timeout=LONG)
                self.assertEqual(out, "")
                self.assertIn("workers/w1 is connected and has not answered "
                              "within 5s", error)
                self.assertIn("MEMBER_SILENT", error)
                self.assertNotEqual(one.returncode, 0)
        finally:
            process.send_signal(signal.SIGCONT)

        def told():
            try:
                return self.lines("worker", "w1")
            except AssertionError:
                return None
        until("it goes on and tells its log", told)

    def test_of_a_worker_that_is_lost_is_said_what_is_known(self):
        self.cluster.kill("w2")

        def lost():
            error, code = self.refused("worker", "logs", "w2",
                                       "--request-timeout", "2s")
            if code != NOT_FOUND:
                self.assertIn("MEMBER_ABSENT", error)
                return None
            return error
        error = until("it is given up", lost)
        self.assertIn("workers/w2 is not connected: it was given up at", error)
        self.assertIn("because the lease ended", error)
        self.assertIn("standard error", error)
        error, code = self.refused("worker", "logs", "nobody")
        self.assertEqual(code, NOT_FOUND)
        self.assertIn("has not seen it lately", error)

    def test_a_log_is_followed_until_the_process_is_gone(self):
        told = SCRATCH / "followed"
        with told.open("w") as out:
            process = subprocess.Popen(
                [BIN / "paceline", "worker", "logs", "w3", "-f", "--tail", "1",
                 "--request-timeout", "2s"],
                env={"HOME": str(SCRATCH),
                     "PACELINE_ADDRESS": self.cluster.address},
                stdout=out, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        lines = until("its last line is told",
                      lambda: told.read_text().splitlines())
        self.assertEqual(len(lines), 1)
        self.commands.create("followed", model="logreg", data="synthetic:tiny",
                             batch_size=32, stop={"epochs": 1},
                             workers={"min": 1, "pools": ["odd"]})
        self.commands.await_state("followed", "SUCCEEDED")
        until("it is told that the job was assigned",
              lambda: "  assigned" in told.read_text())
        self.cluster.kill("w3")
        _, error = process.communicate(timeout=LONG)
        self.assertIn("workers/w3", error)
        self.assertIn(process.returncode, (NOT_FOUND, UNAVAILABLE))
        # Each line is told once, in the order of the log, beginning with the
        # last one at the time.
        shown = told.read_text().splitlines()
        self.assertGreater(len(shown), len(lines))
        logged = [own["message"] for own in self.own_log("w3")]
        begin = next(i for i, message in enumerate(logged)
                     if f"  {message}" in shown[0])
        for line, message in zip(shown, logged[begin:], strict=False):
            self.assertIn(f"  {message}", line)

    def test_wrong_requests_are_refused(self):
        self.assertIn("must not be negative",
                      self.refused("worker", "logs", "w0", "--tail", "-1")[0])
        self.assertIn("has no name",
                      self.refused("worker", "logs", "w0", "-o", "name")[0])
        self.assertIn("INVALID_FIELD", self.refused("worker", "logs", "a b")[0])


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1]).resolve()
    outcome = unittest.main(argv=[sys.argv[0]], verbosity=2, exit=False)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    sys.exit(not outcome.result.wasSuccessful())

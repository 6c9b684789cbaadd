#!/usr/bin/python3
"""Jobs whose model is a program, with real processes of every kind.

    program_job_test.py BIN_DIR SOURCE_DIR

The program is plain_program.py, which has nothing but the standard library.
PACELINE_KILLS says how often programs are killed in the middle of their work
(30).
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from real_cluster import LONG, RealCluster, until

BIN = None
PROGRAM = pathlib.Path(__file__).resolve().parent / "plain_program.py"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-programs-"))


def pause(seconds):
    threading.Event().wait(seconds)


class ProgramJobTest(unittest.TestCase):
    def start(self, workers, *flags):
        """A cluster whose workers, and evaluator, start the program."""
        own = ["--program", "plain", "--exec",
               f"exec {sys.executable} {PROGRAM} {SCRATCH}"]
        self.cluster = RealCluster(
            BIN, SCRATCH, 2, [(name, [*own, *flags]) for name in workers],
            own, lease="3s")
        self.addCleanup(self.cluster.stop)

    def paceline(self, *words):
        """What the command prints as JSON."""
        done = subprocess.run(
            [BIN / "paceline", *words],
            env={"HOME": str(SCRATCH),
                 "PACELINE_ADDRESS": self.cluster.address},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def create(self, name, task, arguments=(), **spec):
        job = {"name": name,
               "spec": {"model": "program:plain", "data": "program",
                        "arguments": {"task": task, **dict(arguments)},
                        "batch_size": 32, "learning_rate": 1,
                        "optimizer": "sgd", "schedule": "constant", **spec}}
        path = SCRATCH / f"{name}.json"
        path.write_text(json.dumps(job))
        self.paceline("job", "create", "-f", str(path))

    def job(self, name):
        return json.loads(self.paceline("job", "get", name, "-o", "json"))

    def await_end(self, name):
        ends = ("SUCCEEDED", "FAILED", "CANCELLED")
        until(f"{name} ends", lambda: self.job(name)["state"] in ends)
        return self.job(name)

    def test_a_model_of_ones_own_is_trained(self):
        self.start(["w0", "w1"])
        for paradigm in ("bsp", "asp"):
            lives = SCRATCH / f"classify-{paradigm}"
            lives.mkdir()
            self.create(paradigm, "classify", {"lives": str(lives)},
                        paradigm=paradigm, learning_rate=0.1,
                        micro_batch=8, wire="FP32", stop={"epochs": 4})
            job = self.await_end(paradigm)
            self.assertEqual(job["state"], "SUCCEEDED", job)
            self.assertEqual(int(job["progress"]["samples"]), 4 * 1024)
            figures = json.loads((lives / "evaluated").read_text())
            self.assertGreater(figures["accuracy"], 0.85)
            self.assertLess(figures["loss"], 0.6)
        self.assertEqual(set(self.cluster.stop()), {0})

    def test_a_script_with_a_mistake_fails_clearly(self):
        self.start(["w0"])
        self.create("wrong", "break", stop={"epochs": 100})
        job = self.await_end("wrong")
        self.assertEqual(job["state"], "FAILED")
        self.assertIn("IndexError: the list is too short", job["stateReason"])

    def test_killed_programs_lose_no_sample(self):
        kills = int(os.environ.get("PACELINE_KILLS", "30"))
        workers = ["w0", "w1", "w2"]
        self.start(workers, "--step-time", "5ms")
        lives = SCRATCH / "lives"
        lives.mkdir()
        epochs = 8 + 5 * kills  # Long enough for sanitizers too.
        # One block, of which a push is taken or not.
        self.create("counts", "count", {"lives": str(lives)}, paradigm="asp",
                    servers=1, stop={"epochs": epochs})
        draw = random.Random(kills)
        killed = 0
        while killed < kills:
            # One that has done something in this life.
            path = lives / draw.choice(workers)
            try:
                pid = int(path.read_text())
                path.unlink()
                pause(draw.uniform(0, 0.03))
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except FileNotFoundError:
                self.assertIn(self.job("counts")["state"],
                              ("PENDING", "STARTING", "RUNNING"), killed)
                pause(0.01)
            except ProcessLookupError:
                pass
        job = self.await_end("counts")
        self.assertEqual(job["state"], "SUCCEEDED", job)
        self.assertEqual(int(job["progress"]["samples"]), epochs * 1024)
        figures = json.loads((lives / "evaluated").read_text())
        self.assertAlmostEqual(figures["least"], epochs, places=2)
        self.assertAlmostEqual(figures["most"], epochs, places=2)
        log = "".join((self.cluster.folder / f"{name}.log").read_text()
                      for name in workers)
        self.assertIn("exited with 137 (killed: out of memory?) in step", log)
        # Nobody is left of those that were killed, nor of the others.
        self.assertEqual(set(self.cluster.stop()), {0})
        left = subprocess.run(["pgrep", "-f", f"{PROGRAM.name} {SCRATCH}"],
                              stdout=subprocess.PIPE, check=False).stdout
        self.assertEqual(left.decode(), "")


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1]).resolve()
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

#!/usr/bin/python3
"""Links between members and the coordinator that break for less than a lease,
and servers that stall for more than one, under jobs that train: nobody is lost
for that, and nothing is.

    control_links_test.py BIN_DIR SOURCE_DIR

PACELINE_BREAKS says how often links are cut or held up (48).
"""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from real_cluster import LONG, RealCluster, until
from relay import Relay

BIN = None
PROGRAM = pathlib.Path(__file__).resolve().parent / "plain_program.py"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-links-"))
BREAKS = int(os.environ.get("PACELINE_BREAKS", "48"))
PARADIGMS = ("bsp", "asp", "ssp:s=3", "cgp:warmup_rounds=1", "saps:s=3",
             "kasync:k=2")
SAMPLES = 1024  # Of an epoch of the program that counts.
# A third of a lease may have passed since a member was heard the last time.
LONGEST = 1.2  # Seconds, of a lease of 3.
STALLS = (3.5, 5, 6.5)  # Seconds: more than a lease, and two.
RESUMED = re.compile(
    r"^paceline_coordinator_sessions_resumed_total (\d+)", re.MULTILINE)
LOST = re.compile(r"^paceline_coordinator_workers_lost_total\S* [1-9]",
                  re.MULTILINE)


def pause(seconds):
    threading.Event().wait(seconds)


class RelayedCluster(RealCluster):
    """Each member has a relay of its own to the coordinator."""

    def coordinator_of(self, name):
        self.relays = getattr(self, "relays", {})
        self.relays[name] = Relay(self.address)
        return self.relays[name].address

    def stop(self):
        codes = super().stop()
        for relay in self.relays.values():
            relay.close()
        return codes

    def resumed(self):
        return int(RESUMED.search(self.metrics()).group(1))


class BrokenLinksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        own = ["--program", "plain", "--exec",
               f"exec {sys.executable} {PROGRAM} {SCRATCH}"]
        cls.cluster = RelayedCluster(
            BIN, SCRATCH, 2,
            [(f"w{i}", [*own, "--step-time", "5ms"]) for i in range(3)], own,
            lease="3s")

    @classmethod
    def tearDownClass(cls):
        codes = cls.cluster.stop()
        if set(codes) != {0}:
            raise AssertionError(f"exit codes {codes}")

    def paceline(self, *words):
        done = subprocess.run(
            [BIN / "paceline", *words],
            env={"HOME": str(SCRATCH),
                 "PACELINE_ADDRESS": self.cluster.address},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def job(self, name):
        return json.loads(self.paceline("job", "get", name, "-o", "json"))

    def samples(self, name):
        return int(self.job(name).get("progress", {}).get("samples", 0))

    def create(self, name, paradigm, lives):
        job = {"name": name,
               "spec": {"model": "program:plain", "data": "program",
                        "arguments": {"task": "count", "lives": str(lives)},
                        "batch_size": 32, "learning_rate": 1,
                        "optimizer": "sgd", "schedule": "constant",
                        "paradigm": paradigm, "servers": 2,
                        "stop": {"epochs": 100000}}}
        path = SCRATCH / f"{name}.json"
        path.write_text(json.dumps(job))
        self.paceline("job", "create", "-f", str(path))

    def test_nobody_is_lost_and_each_sample_counts_once(self):
        draw = random.Random(BREAKS)
        kinds = collections.Counter()
        for place, paradigm in enumerate(PARADIGMS):
            with self.subTest(paradigm):
                kinds += self.train(f"links-{place}", paradigm,
                                    BREAKS // len(PARADIGMS), draw)
        print(", ".join(f"{kind}: {count}" for kind, count in kinds.items()),
              flush=True)

    def test_a_server_that_stalls_is_waited_for(self):
        for paradigm in ("bsp", "asp"):
            with self.subTest(paradigm):
                self.train_beside_a_stalled_server(f"stalls-{paradigm}",
                                                   paradigm)

    def train_beside_a_stalled_server(self, name, paradigm):
        lives = SCRATCH / name
        lives.mkdir()
        self.create(name, paradigm, lives)
        for stall in STALLS:
            trained = self.samples(name)
            until(f"{name} goes on", lambda: self.samples(name) > trained)
            self.cluster.processes["s0"].send_signal(signal.SIGSTOP)
            pause(stall)
            self.cluster.processes["s0"].send_signal(signal.SIGCONT)
        self.see_that_nothing_is_lost(name, lives)

    def train(self, name, paradigm, breaks, draw):
        lives = SCRATCH / name
        lives.mkdir()
        self.create(name, paradigm, lives)
        until(f"{name} trains", lambda: self.samples(name) > 0)
        kinds = collections.Counter()
        for _ in range(breaks):
            kinds[self.break_one(draw)] += 1
        self.see_that_nothing_is_lost(name, lives)
        return kinds

    def see_that_nothing_is_lost(self, name, lives):
        """It goes on, and to an end at which every sample has counted once an
        epoch and is in the weights."""
        trained = self.samples(name)
        until(f"{name} goes on", lambda: self.samples(name) > trained)
        self.paceline("job", "pause", name)
        until("it is paused", lambda: self.job(name)["state"] == "PAUSED")
        epochs = self.samples(name) // SAMPLES + 2
        self.paceline("job", "update", name, "--set",
                      f"spec.stop.epochs={epochs}")
        self.paceline("job", "resume", name)
        until(f"{name} ends", lambda: self.job(name)["state"] in (
            "SUCCEEDED", "FAILED", "CANCELLED"))
        job = self.job(name)
        self.assertEqual(job["state"], "SUCCEEDED", job)
        self.assertEqual(int(job["progress"]["samples"]), epochs * SAMPLES)
        figures = json.loads((lives / "evaluated").read_text())
        self.assertAlmostEqual(figures["least"], epochs, delta=0.01)
        self.assertAlmostEqual(figures["most"], epochs, delta=0.01)
        self.assertNotRegex(self.cluster.metrics(), LOST)

    def break_one(self, draw):
        """A link of some member, or of all at once, for less than a lease."""
        everybody = list(self.cluster.relays.items())
        names = draw.choice([[name] for name, _ in everybody] +
                            [[name for name, _ in everybody]])
        kind = draw.choice(["cut", "half_open"])
        before = self.cluster.resumed()
        for name in names:
            getattr(self.cluster.relays[name], kind)()
        pause(draw.uniform(0, LONGEST))
        for name in names:
            self.cluster.relays[name].mend()
        until(f"{', '.join(names)} are back",
              lambda: self.cluster.resumed() >= before + len(names))
        return kind + (" of all" if len(names) > 1 else "")


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1]).resolve()
    outcome = unittest.main(argv=[sys.argv[0]], verbosity=2, exit=False)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    sys.exit(not outcome.result.wasSuccessful())

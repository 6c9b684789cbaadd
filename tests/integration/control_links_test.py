#!/usr/bin/python3
"""Links between members and the coordinator that break for less than a lease,
and servers that stall for more than one, under jobs that train: nobody is lost
for that, and nothing is.

    control_links_test.py BIN_DIR SOURCE_DIR

PACELINE_BREAKS says how often links are cut or held up (30).
"""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import unittest

from job_commands import JobCommands
from real_cluster import RealCluster, until
from relay import Relay

BIN = None
PROGRAM = pathlib.Path(__file__).resolve().parent / "plain_program.py"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-links-"))
BREAKS = int(os.environ.get("PACELINE_BREAKS", "30"))
PARADIGMS = ("bsp", "asp", "ssp:s=3", "cgp:warmup_rounds=1", "saps:s=3",
             "kasync:k=2")
SAMPLES = 1024  # Of an epoch of the program that counts.
# A third of a lease may have passed since a member was heard the last time.
LONGEST = 1.2  # Seconds, of a lease of 5.
STALLS = (5.5, 8, 10.5)  # Seconds: more than a lease, and two.
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


class ControlLinksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        own = ["--program", "plain", "--exec",
               f"exec {sys.executable} {PROGRAM} {SCRATCH}"]
        cls.cluster = RelayedCluster(
            BIN, SCRATCH, 2,
            [(f"w{i}", [*own, "--step-time", "5ms"]) for i in range(3)], own,
            # What goes by another way no relay sees.
            lease="5s", coordinator=["--no-local-sockets"])
        cls.commands = JobCommands(BIN, SCRATCH, cls.cluster.address)

    @classmethod
    def tearDownClass(cls):
        codes = cls.cluster.stop()
        if set(codes) != {0}:
            raise AssertionError(f"exit codes {codes}")

    def create(self, name, paradigm):
        """Returns the folder in which the program says what it has done."""
        lives = SCRATCH / name
        lives.mkdir()
        self.commands.create(
            name, model="program:plain", data="program",
            arguments={"task": "count", "lives": str(lives)}, batch_size=32,
            learning_rate=1, optimizer="sgd", schedule="constant",
            paradigm=paradigm, servers=2, stop={"epochs": 100000})
        return lives

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
        lives = self.create(name, paradigm)
        server = self.cluster.processes["s0"]
        trained = 0
        for stall in STALLS:
            trained = self.commands.await_more_samples(name, trained)
            server.send_signal(signal.SIGSTOP)
            pause(stall)
            server.send_signal(signal.SIGCONT)
        self.see_that_nothing_is_lost(name, lives)

    def train(self, name, paradigm, breaks, draw):
        lives = self.create(name, paradigm)
        self.commands.await_more_samples(name, 0)
        kinds = collections.Counter()
        for _ in range(breaks):
            kinds[self.break_one(draw)] += 1
        self.see_that_nothing_is_lost(name, lives)
        return kinds

    def see_that_nothing_is_lost(self, name, lives):
        """It goes on, and to an end at which every sample has counted once an
        epoch and is in the weights."""
        commands = self.commands
        commands.await_more_samples(name, commands.samples(name))
        commands("job", "pause", name)
        commands.await_state(name, "PAUSED")
        epochs = commands.samples(name) // SAMPLES + 2
        commands("job", "update", name, "--set", f"spec.stop.epochs={epochs}")
        commands("job", "resume", name)
        job = commands.await_state(name, "SUCCEEDED")
        self.assertEqual(int(job["progress"]["samples"]), epochs * SAMPLES)
        figures = json.loads((lives / "evaluated").read_text())
        self.assertAlmostEqual(figures["least"], epochs, delta=0.01)
        self.assertAlmostEqual(figures["most"], epochs, delta=0.01)
        metrics = self.cluster.metrics()
        self.assertIn("paceline_coordinator_workers_lost_total", metrics)
        self.assertNotRegex(metrics, LOST)

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

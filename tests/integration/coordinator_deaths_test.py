#!/usr/bin/python3
"""The coordinator is killed and stopped while a job trains, and nobody notices:
the job goes on where it was, and its weights count each sample once an epoch.

    coordinator_deaths_test.py BIN_DIR SOURCE_DIR

Deaths of others at the same time, and how long training rests, are the trial
`failovers`.
"""

import array
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import unittest

from job_commands import JobCommands
from real_cluster import LONG, RealCluster

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-coordinators-"))
# Each weight counts how often a sample was used.
PROGRAM = pathlib.Path(__file__).resolve().parent / "plain_program.py"
BATCH = 32
COUNTED = 1024
JOB = "counts"
LEASE = 4.0  # Seconds.
KILLS = 3  # Under each paradigm.


def pause(seconds):
    threading.Event().wait(seconds)


class CoordinatorDeathsTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(self.id())
        program = ["--step-time", "10ms", "--program", "plain", "--exec",
                   f"exec {sys.executable} {PROGRAM}"]
        self.cluster = RealCluster(
            BIN, SCRATCH, 3, [(name, program) for name in ("w0", "w1")],
            lease=f"{LEASE:g}s")
        self.addCleanup(self.cluster.stop)
        self.commands = JobCommands(BIN, SCRATCH, self.cluster.address)
        self.commands.create(
            JOB, model="program:plain", data="program",
            arguments={"task": "count"}, paradigm="ssp:s=3", batch_size=BATCH,
            learning_rate=1, optimizer="sgd", schedule="constant",
            wire="FP32", servers=1, replicas=1,
            workers={"min": 1, "max": 2}, stop={"epochs": 1_000_000},
            evaluation={"disabled": True})
        self.commands.await_more_samples(JOB, 0)

    def trains_on(self):
        self.commands.await_more_samples(
            JOB, self.commands.samples(JOB) + 4 * BATCH)

    def kill(self):
        """Another one is there at once, or within a lease."""
        before = self.commands.samples(JOB)
        self.cluster.coordinator.kill()
        self.cluster.coordinator.wait(timeout=LONG)
        self.cluster.coordinator.stdout.close()
        if self.random.random() < 0.3:
            pause(self.random.uniform(0, LEASE))
        self.cluster.start_coordinator()
        job = self.commands.job(JOB)
        self.assertEqual(job["state"], "RUNNING")
        self.assertGreaterEqual(int(job["progress"]["samples"]), before)

    def test_a_job_outlives_its_coordinators(self):
        for paradigm in ("bsp", "asp", "cgp:warmup_rounds=1", "dssp"):
            self.commands("job", "switch", JOB, "--paradigm", paradigm)
            for _ in range(KILLS):
                self.trains_on()
                self.kill()
            self.trains_on()
        # Workers went on with their sessions, in the iterations that they were
        # in, and their programs did not notice.
        self.assertNotIn("lost (", self.commands("job", "logs", JOB))
        for worker in ("w0", "w1"):
            log = (self.cluster.folder / f"{worker}.log").read_text()
            self.assertNotIn("registering anew", log)
        self.counts_each_sample()

    def test_nobody_is_lost_while_it_is_stopped(self):
        for leases in (1.5, 2.5):
            self.trains_on()
            self.cluster.coordinator.send_signal(signal.SIGSTOP)
            pause(leases * LEASE)
            self.cluster.coordinator.send_signal(signal.SIGCONT)
            self.trains_on()
        self.assertNotIn("lost (", self.commands("job", "logs", JOB))
        self.counts_each_sample()

    def counts_each_sample(self):
        self.commands("job", "pause", JOB)
        self.commands.await_state(JOB, "PAUSED")
        epochs = self.commands.samples(JOB) // COUNTED + 2
        self.commands("job", "update", JOB, "--set",
                      f"spec.stop.epochs={epochs}")
        self.commands("job", "resume", JOB)
        self.commands.await_state(JOB, "SUCCEEDED")
        self.assertEqual(self.commands.samples(JOB), epochs * COUNTED)
        blocks = {int(name.rpartition("/")[2]): data for name, data
                  in self.commands.tensors(JOB).items()
                  if name.rpartition("/")[0] == "counts"}
        counts = array.array("f")
        for _, block in sorted(blocks.items()):
            counts.frombytes(block)
        self.assertEqual(len(counts), COUNTED)
        self.assertEqual({round(count) for count in counts}, {epochs})


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

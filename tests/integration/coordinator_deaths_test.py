#!/usr/bin/python3
"""The coordinator is killed or stopped while a job trains, or the whole machine
stands still, and nobody notices: the job goes on where it was, and its weights
count each sample once an epoch.

    coordinator_deaths_test.py BIN_DIR SOURCE_DIR

Deaths of others at the same time, and how long training rests, are the trial
`failovers`; a second coordinator is standby_test.
"""

import os
import pathlib
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import unittest

from counting_job import CountingJob
from real_cluster import LONG, RealCluster

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-coordinators-"))
LEASE = 4.0  # Seconds.
KILLS = 2  # Under each paradigm.


def pause(seconds):
    threading.Event().wait(seconds)


class CoordinatorDeathsTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(self.id())
        self.cluster = RealCluster(BIN, SCRATCH, 3,
                                   CountingJob.workers("w0", "w1"),
                                   lease=f"{LEASE:g}s")
        self.addCleanup(self.cluster.stop)
        self.job = CountingJob(self, BIN, SCRATCH, self.cluster)
        self.job.create()

    def kill(self, by=signal.SIGKILL, start=True):
        """Another one is there at once, or within a lease."""
        before = self.job.samples()
        self.cluster.coordinator.send_signal(by)
        self.cluster.coordinator.wait(timeout=LONG)
        self.cluster.coordinator.stdout.close()
        if not start:
            return
        if self.random.random() < 0.3:
            pause(self.random.uniform(0, LEASE))
        self.cluster.start_coordinator()
        job = self.job.commands.job(self.job.name)
        self.assertEqual(job["state"], "RUNNING")
        self.assertGreaterEqual(int(job["progress"]["samples"]), before)

    def test_a_job_outlives_its_coordinators(self):
        for paradigm in ("bsp", "asp", "cgp:warmup_rounds=1", "dssp"):
            self.job.switch(paradigm)
            for _ in range(KILLS):
                self.job.trains_on()
                self.kill()
            self.job.trains_on()
        self.job.nobody_was_lost()
        self.job.counts_each_sample()

    def test_a_job_outlives_those_that_end_in_order(self):
        """One without a folder of checkpoints is told to stop, and one cannot
        listen: neither end is the job's."""
        root, self.cluster.checkpoint_root = self.cluster.checkpoint_root, None
        self.kill()
        self.job.trains_on()
        self.kill(signal.SIGTERM)
        self.job.trains_on()
        self.kill(start=False)
        with socket.create_server(("127.0.0.1", self.cluster.port)):
            with self.assertRaisesRegex(AssertionError, "has ended"):
                self.cluster.start_coordinator()
            self.cluster.coordinator.wait(timeout=LONG)
            self.cluster.coordinator.stdout.close()
        self.cluster.checkpoint_root = root
        self.cluster.start_coordinator()
        self.job.trains_on()
        self.job.nobody_was_lost()
        self.job.counts_each_sample()

    def test_nobody_is_lost_while_it_is_stopped(self):
        for leases in (1.5, 2.5):
            self.job.trains_on()
            self.cluster.coordinator.send_signal(signal.SIGSTOP)
            pause(leases * LEASE)
            self.cluster.coordinator.send_signal(signal.SIGCONT)
            self.job.trains_on()
        self.job.nobody_was_lost()
        self.job.counts_each_sample()

    def test_nobody_is_lost_when_the_whole_machine_stands_still(self):
        """As a machine does that is suspended: all processes at one moment, the
        workers' programs too. They wake up in any order."""
        for paradigm, leases in (("bsp", 1.5), ("asp", 3)):
            self.job.switch(paradigm)
            self.job.trains_on()
            everybody = self.cluster.process_ids()
            for pid in everybody:
                os.kill(pid, signal.SIGSTOP)
            pause(leases * LEASE)
            self.random.shuffle(everybody)
            for pid in everybody:
                os.kill(pid, signal.SIGCONT)
            self.job.trains_on()
        self.job.nobody_was_lost()
        self.job.counts_each_sample()


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

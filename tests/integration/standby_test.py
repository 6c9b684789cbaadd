#!/usr/bin/python3
"""A second coordinator follows the one that leads, and takes its place: the job
goes on where it was, and its weights count each sample once an epoch.

    standby_test.py BIN_DIR SOURCE_DIR

What a Kubernetes Lease does in place of PostgreSQL is looked at by
kubernetes_lock_test and by the chart's tests.
"""

import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest

from counting_job import CountingJob
from own_postgres import OwnPostgres
from real_cluster import until
from standby_cluster import StandbyCluster

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-standby-"))


def pause(seconds):
    threading.Event().wait(seconds)


def other(name):
    return "c1" if name == "c0" else "c0"


class Progress:
    """Looks at a job's samples all the time, until told to end."""

    def __init__(self, job):
        self.job = job
        self.longest = 0.0  # Seconds without more of them, as far as was seen.
        self.trouble = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        samples, since = -1, time.monotonic()
        try:
            while not self.over.wait(0.05):
                found = self.job.samples()
                now = time.monotonic()
                self.longest = max(self.longest, now - since)
                if found > samples:
                    samples, since = found, now
        except AssertionError as error:  # For who asks.
            self.trouble = error

    def end(self):
        self.over.set()
        self.thread.join()
        if self.trouble is not None:
            raise self.trouble


class StandbyCase(unittest.TestCase):
    def start(self, lock=(), restarts=False):
        self.cluster = StandbyCluster(
            BIN, SCRATCH, 3, CountingJob.workers("w0", "w1"), lock=lock,
            restarts=restarts)
        self.addCleanup(self.cluster.stop)
        self.job = CountingJob(self, BIN, SCRATCH, self.cluster)
        self.job.create()

    def takes_over(self, name):
        """The job goes on there as if nothing had been."""
        until(f"{name} leads", lambda: self.cluster.leader() == name)
        self.job.trains_on()


class PromotedByHand(StandbyCase):
    def setUp(self):
        self.start()

    def promote(self, name, *flags):
        return self.job.commands("coordinator", "promote", "--address",
                                 self.cluster.places[name], *flags)

    def test_the_leader_dies(self):
        self.assertEqual(self.cluster.await_standby(), "c0")
        self.job.trains_on()
        before = self.job.samples()
        self.cluster.kill_one("c0")
        # It cannot know that nobody leads.
        until("c1 knows that it does not follow",
              lambda: not self.cluster.list_coordinators(
                  self.cluster.places["c1"])["c1"].get("ready"))
        with self.assertRaisesRegex(AssertionError, "--accept-loss"):
            self.promote("c1")
        self.promote("c1", "--accept-loss", "--yes")
        self.takes_over("c1")
        self.assertGreaterEqual(self.job.samples(), before)
        # One that is started as if nothing had happened ends again.
        self.cluster.start_one("c0")
        self.cluster.watches["c0"].join()
        self.assertEqual(self.cluster.codes, [3])
        self.job.trains_on()
        self.job.nobody_was_lost()
        self.job.counts_each_sample()

    def test_the_lead_is_handed_over(self):
        self.cluster.await_standby()
        self.job.trains_on()
        self.promote("c1")
        self.takes_over("c1")
        self.cluster.watches["c0"].join()
        self.assertEqual(self.cluster.codes, [3])
        with self.assertRaisesRegex(AssertionError, "leads already"):
            self.promote("c1")
        self.job.nobody_was_lost()
        self.job.counts_each_sample()


    def test_the_leader_is_told_to_stop(self):
        """Nobody follows it, so it saves what runs, as if it were alone."""
        self.cluster.await_standby()
        self.job.trains_on()
        self.cluster.coordinators["c0"].send_signal(signal.SIGTERM)
        self.cluster.watches["c0"].join()
        self.assertEqual(self.cluster.codes, [0])
        self.cluster.start_one("c0")
        self.takes_over("c0")
        saved = self.job.commands.newest_checkpoint(self.job.name)
        self.assertGreater(int(saved["samples"]), 0)
        self.job.counts_each_sample()


class AgreedByPostgres(StandbyCase):
    @classmethod
    def setUpClass(cls):
        cls.postgres = OwnPostgres()
        cls.addClassCleanup(cls.postgres.stop)

    def setUp(self):
        self.postgres.query("DROP TABLE IF EXISTS paceline_leader")
        self.start(["--leader-lock", self.postgres.url], restarts=True)

    def test_leaders_die(self):
        watch = self.job.watch()
        for paradigm in "bsp", "asp", "ssp:s=3":
            leader = self.cluster.await_standby()
            self.job.trains_on()
            self.job.switch(paradigm)
            decided = self.job.decisions()  # They are kept from here on.
            before = self.job.samples()
            self.cluster.kill_one(leader)
            self.takes_over(other(leader))
            self.assertGreaterEqual(self.job.samples(), before)
            self.assertEqual(self.job.decisions()[:len(decided)], decided)
            self.cluster.start_one(leader)
        self.job.nobody_was_lost()
        self.job.counts_each_sample()
        # Who has watched all the time has missed nothing, and got nothing
        # twice.
        watched = watch()
        self.assertEqual(watched, self.job.decisions()[-len(watched):])
        self.assertGreater(len(watched), 6)

    def test_a_leader_is_told_to_stop(self):
        leader = self.cluster.await_standby()
        self.job.trains_on()
        self.cluster.coordinators[leader].send_signal(signal.SIGTERM)
        self.takes_over(other(leader))
        self.job.nobody_was_lost()
        self.job.counts_each_sample()

    def test_both_are_told_to_stop(self):
        """The leader trains on until the other one is back, and hands over to
        it: nothing is saved, for nothing needs to be."""
        leader = self.cluster.await_standby()
        self.job.trains_on()
        progress = Progress(self.job)
        self.addCleanup(progress.over.set)
        for name in leader, other(leader):
            self.cluster.coordinators[name].send_signal(signal.SIGTERM)
        self.takes_over(other(leader))
        progress.end()
        print(f"both were told to stop; {progress.longest:.2f} s at most "
              "without more samples", flush=True)
        self.assertEqual(self.cluster.codes, [0, 0])
        self.job.nobody_was_lost()
        self.assertNotIn("PENDING",
                         self.job.commands("job", "logs", self.job.name))
        self.job.counts_each_sample()

    def test_all_are_replaced_while_it_trains(self):
        """One after the other, as an upgrade of a whole cluster does it."""
        leader = self.cluster.await_standby()
        self.job.trains_on()
        progress = Progress(self.job)
        self.addCleanup(progress.over.set)
        for name in other(leader), leader:
            self.cluster.coordinators[name].send_signal(signal.SIGTERM)
            until(f"{name} has ended", lambda name=name:
                  len(self.cluster.codes) > (name == leader))
            self.cluster.await_standby()
            self.job.trains_on()
        for program, names in (("paceline-server", ("s0", "s1", "s2")),
                               ("paceline-worker", ("w0", "w1"))):
            for name in names:
                self.replace(program, name)
                self.job.trains_on()
        progress.end()
        print(f"all were replaced; {progress.longest:.2f} s at most without "
              "more samples", flush=True)
        self.assertEqual(self.cluster.codes, [0, 0])
        self.assertNotIn("was lost with its server",
                         self.job.commands("job", "logs", self.job.name))
        self.job.counts_each_sample()

    def replace(self, program, name):
        """It ends as it is told to, and another one takes its name."""
        self.assertEqual(self.cluster.end(name), 0)
        flags = dict(CountingJob.workers(name))[name]
        self.cluster.start(program, name,
                           *(flags if program == "paceline-worker" else ()))

    def test_a_leader_is_stopped_for_longer_than_its_lease(self):
        leader = self.cluster.await_standby()
        self.job.trains_on()
        frozen = self.cluster.coordinators[leader]
        frozen.send_signal(signal.SIGSTOP)
        self.takes_over(other(leader))
        frozen.send_signal(signal.SIGCONT)
        # It leads no more, ends, is started again and stands by.
        self.assertEqual(self.cluster.await_standby(), other(leader))
        self.assertEqual(self.cluster.codes, [3])
        self.job.nobody_was_lost()
        self.job.counts_each_sample()

    def test_without_the_database_who_leads_goes_on(self):
        leader = self.cluster.await_standby()
        self.job.trains_on()
        self.postgres.kill()
        pause(8)  # More than a lease.
        self.job.trains_on()
        self.postgres.start()
        self.assertEqual(self.cluster.await_standby(), leader)
        self.job.trains_on()
        self.assertEqual(self.cluster.codes, [])
        self.job.nobody_was_lost()
        self.job.counts_each_sample()


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

#!/usr/bin/python3
"""Servers are killed while a job trains that has backups, and where there are
rounds the weights have the bits that they have without a death.

    server_deaths_test.py BIN_DIR SOURCE_DIR

Two workers: a round is a sum of two, whichever comes first. What a death costs
under every paradigm, and that no sample is lost, is the trial `failovers`.
"""

import pathlib
import random
import shutil
import sys
import tempfile
import unittest

from job_commands import ENDS, JobCommands
from real_cluster import RealCluster, until

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-deaths-"))
BATCH = 32
ROUNDS = 300
SAMPLES = ROUNDS * 2 * BATCH
SERVERS = ("s0", "s1", "s2")
LEAST = 3  # Deaths, for a job to have been through something.


class ServerDeathsTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(self.id())
        self.cluster = RealCluster(
            BIN, SCRATCH, len(SERVERS),
            [(name, ["--step-time", "20ms"]) for name in ("w0", "w1")],
            lease="2s")
        self.addCleanup(self.cluster.stop)
        self.commands = JobCommands(BIN, SCRATCH, self.cluster.address)

    def train(self, name, paradigm, deaths=False):
        """The tensors that a job comes to."""
        self.commands.create(
            name, model="mlp", data="synthetic:shapes", paradigm=paradigm,
            batch_size=BATCH, learning_rate=0.01, seed=5, servers=2, replicas=1,
            optimizer="sgd:momentum=0.9", schedule="constant",
            workers={"min": 2, "max": 2}, stop={"samples": SAMPLES},
            evaluation={"every": SAMPLES // 5})
        died = 0
        while deaths and not self.ends_before(
                name, lambda: self.samples_since(name, died)):
            self.kill_one(name)
            died += 1
        until(f"{name} ends", lambda: self.ended(name))
        self.commands.await_state(name, "SUCCEEDED")
        self.assertEqual(self.commands.samples(name), SAMPLES)
        if deaths:
            print(f"{name}: {died} servers died", flush=True)
            self.assertGreaterEqual(died, LEAST)
            self.assertNotIn(f'{self.series("failovers_total", name)} 0',
                             self.cluster.metrics().splitlines())
        return self.commands.tensors(name)

    def samples_since(self, name, died):
        """Whether all have backups, and it is time for the next death."""
        return (self.has_backups(name) and self.commands.samples(name) >
                SAMPLES * (died + 1) / (LEAST + 3))

    def has_backups(self, name):
        return (f'{self.series("shards_without_backup", name)} 0' in
                self.cluster.metrics().splitlines())

    @staticmethod
    def series(metric, name):
        return (f"paceline_coordinator_{metric}"
                f'{{job_id="namespaces/default/jobs/{name}"}}')

    def ended(self, name):
        return self.commands.job(name)["state"] in ENDS

    def ends_before(self, name, seen):
        """Whether the job ends before something is seen."""
        return until("one of both",
                     lambda: (self.ended(name) and "ended") or
                     (seen() and "seen")) == "ended"

    def kill_one(self, name):
        server = self.random.choice(SERVERS)
        self.cluster.kill(server)
        self.cluster.start("paceline-server", server)
        self.ends_before(name, lambda: self.has_backups(name))

    def comes_to_the_same_bits(self, paradigm):
        calm = self.train("calm", paradigm)
        self.assertTrue(calm)
        self.assertEqual(self.train("deaths", paradigm, deaths=True), calm)

    def test_bsp_comes_to_the_same_bits(self):
        self.comes_to_the_same_bits("bsp")

    def test_cgp_comes_to_the_same_bits(self):
        # One group of both is never without a member.
        self.comes_to_the_same_bits("cgp:beta=0,patience=inf")


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

#!/usr/bin/python3
"""Links between workers and servers break while a job trains, and nobody but
the links notices: no worker is lost, every sample counts once, and where there
are rounds the weights have the bits that they have without a break.

    parameter_links_test.py BIN_DIR SOURCE_DIR

Each server is reached through a relay, which is cut, or says nothing for a
while, at random moments. Two workers: a round is a sum of two, whichever comes
first.
"""

import json
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time
import unittest

from job_commands import ENDS, JobCommands
from real_cluster import RealCluster, until
from relay import Relay

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-links-"))
# A worker that brings nothing for a lease is stuck, and a connection that is
# forgotten is noticed after three quarters of one.
LEASE = "8s"
BATCH = 32
SAMPLES = 150 * 2 * BATCH
LEAST = 8  # Breaks, for a job to have been through something.


def series(text, name):
    """The sum of a metric's series."""
    return sum(float(line.split()[-1]) for line in text.splitlines()
               if line.startswith((name + "{", name + " ")))


class Trouble:
    """Breaks one relay after the other until it is told to end."""

    def __init__(self, relays, seed):
        self.relays = relays
        self.random = random.Random(seed)
        self.breaks = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.wait(self.random.uniform(0.1, 0.5)):
            relay = self.random.choice(self.relays)
            kind = self.random.random()
            if kind < 0.25:
                relay.cut_one(self.random.randrange(100))
            elif kind < 0.6:
                relay.cut()
                self.over.wait(self.random.uniform(0, 0.4))
            else:
                relay.half_open()
                self.over.wait(self.random.uniform(0.1, 1))
            relay.mend()
            self.breaks += 1

    def end(self):
        self.over.set()
        self.thread.join()
        return self.breaks


def start_server(cluster, name, *flags):
    """The relay that it is reached through."""
    relay = Relay(None)
    # As between machines: what goes through shared memory no relay sees.
    cluster.start("paceline-server", name, "--advertise", relay.address,
                  "--share-memory", "false", *flags)
    log = (cluster.folder / f"{name}.log").read_text()
    relay.target = next(json.loads(line)["address"]
                        for line in log.splitlines() if '"listening"' in line)
    return relay


class CutLinksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.relays = []
        cls.cluster = RealCluster(BIN, SCRATCH, 0, [], lease=LEASE)
        cls.addClassCleanup(cls.cluster.stop)
        for name in ("s0", "s1"):
            relay = start_server(cls.cluster, name)
            cls.addClassCleanup(relay.close)
            cls.relays.append(relay)
        for name in ("w0", "w1"):
            cls.cluster.start("paceline-worker", name, "--step-time", "20ms")
        cls.commands = JobCommands(BIN, SCRATCH, cls.cluster.address)
        cls.calm = cls.train("calm", "bsp")

    @staticmethod
    def spec(paradigm, samples):
        return {"model": "mlp", "data": "synthetic:shapes",
                "paradigm": paradigm, "batch_size": BATCH,
                "learning_rate": 0.01, "seed": 5, "servers": 2,
                "optimizer": "sgd:momentum=0.9", "schedule": "constant",
                "workers": {"min": 2, "max": 2}, "stop": {"samples": samples},
                "evaluation": {"every": samples // 5}}

    @classmethod
    def train(cls, name, paradigm, seed=None):
        """The tensors that a job comes to, in trouble if there is a seed."""
        trouble = Trouble(cls.relays, seed) if seed is not None else None
        try:
            cls.commands.create(name, **cls.spec(paradigm, SAMPLES))
            job = until(f"{name} ends", lambda: cls.ended(name))
        finally:
            if trouble is not None:
                print(f"{name}: {trouble.end()} breaks", flush=True)
        if job["state"] != "SUCCEEDED":
            raise AssertionError(f"{name}: {job}")
        if trouble is not None and trouble.breaks < LEAST:
            raise AssertionError(f"{name}: {trouble.breaks} breaks")
        assert int(job["progress"]["samples"]) == SAMPLES, job
        return cls.commands.tensors(name)

    @classmethod
    def ended(cls, name):
        job = cls.commands.job(name)
        return job if job["state"] in ENDS else None

    def assert_nobody_was_lost(self, least=1):
        self.assertEqual(series(self.cluster.metrics(),
                                "paceline_coordinator_workers_lost_total"), 0)
        for name in ("w0", "w1"):
            metrics = self.cluster.ask(name, "/metrics")[1]
            self.assertGreaterEqual(
                series(metrics, "paceline_worker_redials_total"), least)

    def test_rounds_come_to_the_same_bits(self):
        self.assertTrue(self.calm)
        self.assertEqual(self.train("calm-again", "bsp"), self.calm)
        self.assertEqual(self.train("cut", "bsp", seed=1), self.calm)
        self.assert_nobody_was_lost(LEAST / 2)

    def test_a_connection_that_is_forgotten_is_noticed_in_time(self):
        self.commands.create("forgotten", **self.spec("bsp", 3 * SAMPLES))
        self.commands.await_more_samples("forgotten", SAMPLES // 10)
        for relay in self.relays:
            relay.forget()
        until("it ends", lambda: self.ended("forgotten"))
        self.commands.await_state("forgotten", "SUCCEEDED")
        self.assert_nobody_was_lost()

    def test_without_rounds_every_sample_counts(self):
        for paradigm, seed in (("asp", 2), ("ssp:s=2", 3)):
            name = paradigm.split(":", maxsplit=1)[0]
            self.assertEqual(set(self.train(name, paradigm, seed)),
                             set(self.calm))
        self.assert_nobody_was_lost(LEAST / 2)


class SeveralConnectionsTest(unittest.TestCase):
    """The same with several connections for each worker and server."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = RealCluster(BIN, SCRATCH, 0, [], lease=LEASE)
        cls.addClassCleanup(cls.cluster.stop)
        cls.relay = start_server(cls.cluster, "s0", "--connections", "4")
        cls.addClassCleanup(cls.relay.close)
        for count in (1, 2, 4):
            for name in (f"a{count}", f"b{count}"):
                cls.cluster.start(
                    "paceline-worker", name, "--step-time", "20ms", "--pool",
                    f"of-{count}", "--connections", str(count))
        cls.commands = JobCommands(BIN, SCRATCH, cls.cluster.address)

    def train(self, count, paradigm="bsp", seed=None):
        """The tensors that the workers with so many connections come to."""
        name = "-".join((paradigm[:3], str(count), str(seed or "calm")))
        spec = CutLinksTest.spec(paradigm, SAMPLES)
        spec["servers"] = 1
        spec["workers"]["pools"] = [f"of-{count}"]
        self.commands.create(name, **spec)
        until("all connections are there",
              lambda: self.relay.connections() >= 2 * count)
        trouble = Trouble([self.relay], seed) if seed is not None else None
        try:
            job = until(f"{name} ends", lambda: self.ended(name))
        finally:
            if trouble is not None:
                print(f"{name}: {trouble.end()} breaks", flush=True)
        self.assertEqual(job["state"], "SUCCEEDED", job)
        self.assertEqual(int(job["progress"]["samples"]), SAMPLES)
        if trouble is not None:
            self.assertGreaterEqual(trouble.breaks, LEAST)
        until("none is left", lambda: self.relay.connections() == 0)
        return self.commands.tensors(name)

    def ended(self, name):
        job = self.commands.job(name)
        return job if job["state"] in ENDS else None

    def test_the_bits_are_those_of_one(self):
        one = self.train(1)
        self.assertTrue(one)
        for count in (2, 4):
            self.assertEqual(self.train(count), one)
            self.assertEqual(self.train(count, seed=count), one)
        # Without rounds there is no such sum, but every sample counts.
        self.train(4, "asp", seed=7)
        self.assertEqual(series(self.cluster.metrics(),
                                "paceline_coordinator_workers_lost_total"), 0)


class SharedMemoryTest(unittest.TestCase):
    def test_one_of_several_connections_has_the_memory(self):
        cluster = RealCluster(BIN, SCRATCH, 0, [], lease=LEASE)
        self.addCleanup(cluster.stop)
        cluster.start("paceline-server", "s0", "--connections", "4")
        tensors = []
        commands = JobCommands(BIN, SCRATCH, cluster.address)
        for count in (1, 4):
            for name in (f"a{count}", f"b{count}"):
                cluster.start("paceline-worker", name, "--pool", f"of-{count}",
                              "--connections", str(count))
            spec = CutLinksTest.spec("bsp", SAMPLES)
            spec["servers"] = 1
            spec["workers"]["pools"] = [f"of-{count}"]
            commands.create(f"shared-{count}", **spec)
            commands.await_state(f"shared-{count}", "SUCCEEDED")
            tensors.append(commands.tensors(f"shared-{count}"))
            metrics = cluster.ask("s0", "/metrics")[1]
            lane = series(metrics, "paceline_server_lane_bytes_total")
            pushed = series(metrics, "paceline_server_push_bytes_total")
            # But for what came before the memory was there.
            self.assertGreater(lane, 0.9 * pushed)
        self.assertEqual(*tensors)


class SlowLinkTest(unittest.TestCase):
    def test_an_exchange_may_take_longer_than_a_lease(self):
        """gRPC's question whether the peer lives waits behind the exchange."""
        cluster = RealCluster(BIN, SCRATCH, 0, [], lease="1s")
        self.addCleanup(cluster.stop)
        relay = start_server(cluster, "s0")
        self.addCleanup(relay.close)
        cluster.start("paceline-worker", "w0", "--step-time", "20ms")
        commands = JobCommands(BIN, SCRATCH, cluster.address)
        commands.create(
            "slow", model="mlp", data="synthetic:shapes", paradigm="asp",
            batch_size=BATCH, learning_rate=0.01, workers={"min": 1},
            stop={"epochs": 1000}, evaluation={"disabled": True})
        commands.await_more_samples("slow", 10 * BATCH)
        relay.throttle(300_000)  # Of some 440 kB.
        trained = commands.samples("slow")
        began = time.monotonic()
        commands.await_more_samples("slow", trained + 3 * BATCH)
        # As a rule the stream is cut once; a busy machine is patient by then.
        self.assertGreater(time.monotonic() - began, 3, "the link is not slow")
        relay.throttle(None)
        commands("job", "cancel", "slow", "--yes")


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

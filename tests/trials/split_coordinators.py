#!/usr/bin/python3
"""Two coordinators, whose clocks are half a minute apart, do not hear each other,
their database, or the members, while a job trains.

    split_coordinators.py BIN_DIR

Each coordinator reaches PostgreSQL, and is reached by the other one and by members,
over relays of its own. The weights of the job count its samples.
"""

import os
import struct

# First: it knows where the others are.
from trial_cluster import BIN, SCRATCH, Trial, main, pause

from counting_job import CountingJob
from own_postgres import OwnPostgres
from relay import Relay
from standby_cluster import StandbyCluster

LEASE = 4  # Seconds.
APART = 30  # So much is the clock of c1 ahead.


def other(name):
    return "c1" if name == "c0" else "c0"


class SplitCluster(StandbyCluster):
    """c0 and c1 with all that is between them and others."""

    def __init__(self, postgres):
        self.ahead = SCRATCH / "ahead"
        self.ahead.write_bytes(struct.pack("<q", APART * 1_000_000_000))
        self.to_database = {name: Relay(f"127.0.0.1:{postgres.port}")
                            for name in ("c0", "c1")}
        self.to_other = {name: Relay(None) for name in ("c0", "c1")}
        self.to_members = {name: Relay(None) for name in ("c0", "c1")}
        super().__init__(BIN, SCRATCH, 3, CountingJob.workers("w0", "w1"),
                         restarts=True, lease=f"{LEASE}s")

    def start_coordinator(self):
        for name, place in self.places.items():
            self.to_other[name].target = place
            self.to_members[name].target = place
        super().start_coordinator()

    def flags_of(self, name):
        return ["--advertise", self.to_other[name].address, "--leader-lock",
                f"postgresql://postgres@{self.to_database[name].address}/postgres"]

    def start_one(self, name):
        self.environment = dict(os.environ)
        if name == "c1":
            self.environment |= {"LD_PRELOAD": str(BIN / "wall_clock.so"),
                                 "PACELINE_WALL_CLOCK": str(self.ahead)}
        try:
            super().start_one(name)
        finally:
            self.environment = None

    def coordinator_of(self, name):
        return ",".join(relay.address for relay in self.to_members.values())

    def stop(self):
        codes = super().stop()
        for relays in (self.to_database, self.to_other, self.to_members):
            for relay in relays.values():
                relay.close()
        return codes


class SplitCoordinators(Trial):
    @classmethod
    def setUpClass(cls):
        cls.postgres = OwnPostgres()
        cls.addClassCleanup(cls.postgres.stop)

    def setUp(self):
        super().setUp()
        self.postgres.query("DROP TABLE IF EXISTS paceline_leader")
        self.cluster = SplitCluster(self.postgres)
        self.addCleanup(self.cluster.stop)
        self.job = CountingJob(self, BIN, SCRATCH, self.cluster)
        self.job.create()
        self.leader = self.cluster.await_standby()
        self.job.trains_on()

    def all_is_well(self):
        self.cluster.await_standby()
        self.job.trains_on()

    def is_exact(self):
        self.job.nobody_was_lost()
        self.job.counts_each_sample()

    def test_from_each_other(self):
        """The lock says who leads, so the standby waits."""
        for way in ("cut", "half_open"):
            relay = self.cluster.to_other[self.leader]
            getattr(relay, way)()
            pause(2 * LEASE)
            self.job.trains_on()
            self.assertEqual(self.cluster.leader(), self.leader)
            relay.mend()
            self.all_is_well()
        self.assertEqual(self.cluster.codes, [])
        self.is_exact()

    def test_the_leader_from_its_database(self):
        """Nobody else may lead while it does; and it stays with its members, or
        the other one takes over, once."""
        for way in ("cut", "half_open"):
            leader = self.cluster.await_standby()
            relay = self.cluster.to_database[leader]
            getattr(relay, way)()
            pause(3 * LEASE)
            self.job.trains_on()
            relay.mend()
            self.all_is_well()
        self.is_exact()

    def test_the_leader_from_its_members(self):
        """It leads on, and they come back."""
        for way in ("cut", "half_open"):
            relay = self.cluster.to_members[self.leader]
            getattr(relay, way)()
            pause(LEASE / 2)
            relay.mend()
            self.all_is_well()
        self.assertEqual(self.cluster.leader(), self.leader)
        self.is_exact()

    def test_the_standby_from_all(self):
        """Nobody notices but who looks after it."""
        standby = other(self.leader)
        for way in ("cut", "half_open"):
            relays = [self.cluster.to_database[standby],
                      self.cluster.to_other[self.leader],
                      self.cluster.to_members[standby]]
            for relay in relays:
                getattr(relay, way)()
            pause(2 * LEASE)
            self.job.trains_on()
            self.assertEqual(self.cluster.leader(), self.leader)
            for relay in relays:
                relay.mend()
            self.all_is_well()
        self.is_exact()


if __name__ == "__main__":
    main()

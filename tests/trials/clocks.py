#!/usr/bin/python3
"""The wall clock is set back by an hour, and forward by a day, while a job
trains: for all processes at once, as on one machine or after a wrong NTP.

    clocks.py BIN_DIR

The machine's clock stays: the processes are given another one by wall_clock.so.
"""

import json
import os
import signal
import struct

from trial_cluster import (BIN, SCRATCH, Trial, TrialCluster, main, pause,
                           until)

JOB = "timeless"
LEASE = 2  # Seconds.
HOUR = 3600
DAY = 24 * HOUR
EVERYBODY = {"s0", "s1", "w0", "w1", "w2", "e0"}


class SetClock(TrialCluster):
    """Whose processes see another wall clock than this one."""

    def __init__(self, **options):
        self.ahead = SCRATCH / "ahead"
        self.ahead.write_bytes(bytes(8))
        self.environment = {
            **os.environ, "LD_PRELOAD": str(BIN / "wall_clock.so"),
            "PACELINE_WALL_CLOCK": str(self.ahead)}
        super().__init__(**options)

    def set_clock(self, seconds):
        with open(self.ahead, "r+b", buffering=0) as file:
            file.write(struct.pack("<q", seconds * 1_000_000_000))

    def losses(self):
        return sum(float(line.rsplit(" ", 1)[1])
                   for line in self.metrics().splitlines()
                   if line.startswith("paceline_coordinator_workers_lost_total"
                                      "{"))


class Clocks(Trial):
    def test_a_clock_that_is_set_costs_nothing(self):
        cluster = self.cluster(SetClock, workers=3, lease=f"{LEASE}s")
        cluster.create(JOB, paradigm="bsp", workers={"min": 1, "max": 2},
                       checkpoints={"interval": "1s", "keep": 3})
        cluster.trains_on(JOB)
        for ahead in (-HOUR, DAY):
            with self.subTest(ahead=ahead):
                self.goes_on(cluster, ahead)
        self.is_exact(cluster, JOB)
        self.ends_well(cluster)

    def goes_on(self, cluster, ahead):
        losses = cluster.losses()
        cluster.set_clock(ahead)
        cluster.trains_on(JOB)
        # Whoever had stopped to beat would be found out by now, be it one that
        # has nothing else to say.
        pause(2 * LEASE)
        self.assertEqual(cluster.losses(), losses)
        self.assertEqual(cluster.members(), EVERYBODY)
        self.assertEqual(cluster.job(JOB)["state"], "RUNNING")
        self.misses(cluster, cluster.working()[0], losses)
        self.saves(cluster)
        # Whoever comes now finds certificates that hold.
        cluster.start_worker("late")
        cluster.trains_on(JOB)
        cluster.end("late")

    def misses(self, cluster, name, losses):
        """One that stands still is lost after a lease, whatever the time: in
        step, all others would wait for it."""
        process = cluster.processes[name]
        process.send_signal(signal.SIGSTOP)
        until(f"{name} is lost", lambda: cluster.losses() > losses, seconds=60)
        cluster.trains_on(JOB)
        process.send_signal(signal.SIGCONT)
        until(f"{name} is back", lambda: name in cluster.members())

    def saves(self, cluster):
        """And the last that was made is the first that is told of, from which
        a job would go on."""
        before = cluster.counted(JOB)

        def newest():
            listed = cluster.shown("checkpoint", "list", JOB)["checkpoints"]
            ready = [one for one in listed if one["state"] == "READY"]
            samples = [int(one.get("samples", 0)) for one in ready]
            self.assertEqual(samples, sorted(samples, reverse=True),
                             json.dumps(ready, indent=1))
            return samples[:1]
        until("a checkpoint of what is trained now",
              lambda: newest() >= [before])


if __name__ == "__main__":
    main()

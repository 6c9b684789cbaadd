#!/usr/bin/python3
"""Servers and workers die or stall, and links between any two processes break,
under jobs whose shards have backups: nothing that was acknowledged is lost,
nothing is counted twice, and training goes on.

    failovers.py BIN_DIR

There are 20 kills of servers, 20 of the coordinator and a few faults of each other
kind, one after the other; the next one comes when every shard has a backup again.
tests/trials/run.sh has flags for how many: PACELINE_KILLS of servers,
PACELINE_WORKER_KILLS, PACELINE_STOPS of servers for 0.3 to 3 leases,
PACELINE_UPGRADES of servers that are replaced by a new process, drained before or
told to stop alone, PACELINE_COORDINATOR_KILLS of the coordinator, of which every
third comes with the death of a worker or a server, and of each kind of link
PACELINE_CUTS, PACELINE_HALF_OPENS and PACELINE_THROTTLES; PACELINE_LOSSES are
kills of servers whose shards have no backup. PACELINE_LEASE is the cluster's,
PACELINE_STEP that of a worker, PACELINE_SEED draws another course of things.

The weights of two jobs count their samples: `counts` has one block, `parts` some
on each server.
"""

import json
import os
import pathlib
import random
import re
import signal
import sys
import time

from failover_cluster import LinkedCluster, Timeline, Times
from trial_cluster import (BATCH, COUNTED, COUNTING_SPEC, SERVER, Trial, main,
                           pause, until)


def number(name, usual):
    return int(os.environ.get(f"PACELINE_{name}", usual))


KILLS = number("KILLS", 20)
WORKER_KILLS = number("WORKER_KILLS", 4)
STOPS = number("STOPS", 4)
UPGRADES = number("UPGRADES", 4)
LOSSES = number("LOSSES", 3)
COORDINATOR_KILLS = number("COORDINATOR_KILLS", 20)
ON_LINKS = {"cut": number("CUTS", 2), "half_open": number("HALF_OPENS", 2),
            "throttle": number("THROTTLES", 1)}
SEED = number("SEED", 1)
LEASE = os.environ.get("PACELINE_LEASE", "1s")
# What a batch takes a worker, imitated. Beside other tests it needs longer.
STEP = os.environ.get("PACELINE_STEP", "100ms")
SECONDS = float(LEASE.removesuffix("s"))

# After so many faults the jobs end, and their weights are looked at.
LEG = 40
SERVERS = ["s0", "s1", "s2"]
WORKERS = ["c0", "c1", "c2", "c3"]
LINKS = ("worker-server", "server-server", "server-coordinator",
         "worker-coordinator")
# Those that apply a gradient as often as its samples say.
PARADIGMS = ("asp", "bsp", "bsp:steal=true", "ssp:s=3", "dssp:lower=3,upper=15",
             "cgp:warmup_rounds=1", "saps:s=3", "abs:pieces=8", "elastic:r=5")
# What became of the push of a worker that died: some of its blocks had arrived
# and count, and its samples are dealt again.
IN_PART = re.compile(r"of its push of iteration .* taken")
# Of a shard that nobody had a backup of.
LACKS = re.compile(r"it lacks (?:\d+ pushes of )?(\d+) samples at most")


def shared_memory(process):
    """What it has mapped, or has a descriptor of, of memory that it shared."""
    folder = pathlib.Path(f"/proc/{process.pid}")
    held = (folder / "maps").read_text().splitlines()
    for descriptor in (folder / "fd").iterdir():
        try:
            held.append(os.readlink(descriptor))
        except FileNotFoundError:  # Closed meanwhile.
            continue
    # A certificate is in such memory as well.
    return [line for line in held
            if "/memfd:" in line and "paceline-tls" not in line]


class Kind:
    """What came of the faults of one kind."""

    def __init__(self):
        self.faults = 0
        self.epochs = 0
        self.lost = 0  # Uses of a sample that a weight lacks.
        self.doubled = 0  # That it has too many,
        self.recorded = 0  # and of these, those that decisions tell of.
        self.stalls = Times()
        self.backups = Times()

    def figures(self):
        return {"faults": self.faults, "epochs": self.epochs,
                "lost": self.lost, "doubled": self.doubled,
                "recorded": self.recorded,
                "without_training": self.stalls.figures(),
                "without_backups": self.backups.figures()}


class Failovers(Trial):
    def setUp(self):
        super().setUp()
        # Each test its own, whatever else runs.
        self.draw = random.Random(f"{SEED} {self.id()}")
        print(f"seed {SEED}, lease {LEASE}", flush=True)
        self.kinds = {}
        self.legs = 0
        self.switches = 0
        self.rarest = 0.0
        self.timeline = None

    def tearDown(self):
        if self.timeline is not None:
            self.timeline.over.set()
            self.timeline.thread.join()
        super().tearDown()

    def test_deaths(self):
        cluster = self.cluster(servers=3, workers=0, counting=4, step=STEP,
                               lease=LEASE)
        for kind, fault, count in (("kill_server", self.kill_server, KILLS),
                                   ("stop_server", self.stop_server, STOPS),
                                   ("upgrade_server", self.upgrade_server,
                                    UPGRADES),
                                   ("kill_worker", self.kill_worker,
                                    WORKER_KILLS)):
            self.go_through(cluster, kind, [fault] * count)
        self.tell()
        self.ends_well(cluster)

    def test_deaths_of_the_coordinator(self):
        cluster = self.cluster(servers=3, workers=0, counting=4, step=STEP,
                               lease=LEASE)
        self.go_through(cluster, "kill_coordinator",
                        [self.kill_coordinator] * COORDINATOR_KILLS)
        self.tell()
        self.ends_well(cluster)

    def test_links(self):
        cluster = self.cluster(LinkedCluster, servers=3, workers=0, counting=4,
                               step=STEP, lease=LEASE)
        for link in LINKS:
            ways = [way for way, count in ON_LINKS.items()
                    for _ in range(count)]
            self.draw.shuffle(ways)
            self.go_through(cluster, link, [
                lambda cluster, way=way, link=link: self.break_link(
                    cluster, link, way) for way in ways])
        self.tell()
        self.ends_well(cluster)

    def test_without_backups(self):
        """A shard that is lost goes on from a worker's copy, and lacks no more
        than is said."""
        cluster = self.cluster(servers=3, workers=0, counting=4, step=STEP,
                               lease=LEASE)
        for fault in range(LOSSES):
            job = f"alone-{fault}"
            cluster.create(job, COUNTING_SPEC, replicas=0, servers=3,
                           arguments={"task": "parts"},
                           paradigm=PARADIGMS[fault % len(PARADIGMS)])
            cluster.trains_on(job)
            pause(self.draw.uniform(0, 1))
            name = self.draw.choice(SERVERS)
            cluster.kill(name)
            cluster.start(SERVER, name)
            until("the shard is somewhere again",
                  lambda job=job: LACKS.search(cluster.command("job", "logs",
                                                               job)))
            reason = cluster.job(job)["stateReason"]
            self.assertRegex(reason, LACKS)
            cluster.trains_on(job)
            self.lacks_what_is_said(cluster, job, f"{name} killed: {reason}")
        self.ends_well(cluster)

    def lacks_what_is_said(self, cluster, job, what):
        epochs = self.ends_after_epochs(cluster, job)
        logs = cluster.command("job", "logs", job)
        said = sum(int(samples) for samples in LACKS.findall(logs))
        in_part = len(IN_PART.findall(logs)) * BATCH
        lost = {}
        for tensor, each in (("counts", 1), ("again", 1), ("wide", COUNTED)):
            off = [round(value - epochs * each)
                   for value in cluster.weights(job, tensor)]
            lost[tensor] = -(sum(off) if each == 1 else min(off))
            self.assertLessEqual(lost[tensor], said, tensor)
            self.assertGreaterEqual(lost[tensor], -in_part, tensor)
        print(f"{job}: {what}; {lost} samples are lost, {said} said",
              flush=True)

    def tell(self):
        for name, kind in self.kinds.items():
            print(f"{name}: {kind.faults} faults in {kind.epochs} epochs, "
                  f"{kind.lost} lost, {kind.doubled} doubled of which "
                  f"{kind.recorded} are on record; seconds without training: "
                  f"{kind.stalls}; until all backups were back: {kind.backups}")
        print(json.dumps({
            "trial": self.id().rpartition(".")[2], "seed": SEED,
            "lease": LEASE, "switches": self.switches,
            "rarest_look": round(self.rarest, 3),
            "kinds": {name: kind.figures()
                      for name, kind in self.kinds.items()}}))
        sys.stdout.flush()

    def go_through(self, cluster, name, faults):
        kind = self.kinds[name] = Kind()
        for first in range(0, len(faults), LEG):
            self.go_a_leg(cluster, kind, name, faults[first:first + LEG])

    def go_a_leg(self, cluster, kind, name, faults):
        counts, parts = jobs = [f"{job}-{self.legs}"
                                for job in ("counts", "parts")]
        self.legs += 1
        spec = {"replicas": 1, "workers": {"min": 1, "max": 2}}
        cluster.create(counts, COUNTING_SPEC, **spec)
        cluster.create(parts, COUNTING_SPEC, **spec, servers=3,
                       arguments={"task": "parts"})
        for job in jobs:
            cluster.trains_on(job)
        self.timeline = Timeline(cluster, jobs)
        until("all shards have backups", self.timeline.have_backups)
        for fault in faults:
            self.one(cluster, kind, name, fault, jobs)
        self.timeline.end()
        self.rarest = max(self.rarest, self.timeline.rarest)
        self.timeline = None
        self.add_up(cluster, kind, counts, {"counts": 1})
        self.add_up(cluster, kind, parts,
                    {"counts": 1, "again": 1, "wide": COUNTED})
        self.assertEqual(kind.lost, 0, name)
        self.assertEqual(kind.doubled, kind.recorded, name)
        until("no memory is shared any more",
              lambda: not any(map(shared_memory,
                                  cluster.everybody().values())))

    def one(self, cluster, kind, name, fault, jobs):
        """Begins when all have backups and ends when they have them again."""
        paradigm = PARADIGMS[self.switches % len(PARADIGMS)]
        self.switches += 1
        for job in jobs:
            cluster.command("job", "switch", job, "--paradigm", paradigm)
        pause(self.draw.uniform(0, 0.5))
        until("all shards have backups", self.timeline.have_backups)
        began = time.monotonic()
        what = fault(cluster)
        mended = time.monotonic()
        self.settles(cluster, f"{what} under {paradigm}", mended, jobs)
        kind.faults += 1
        kind.stalls.add(self.timeline.stall(began))
        kind.backups.add(self.timeline.backups_back(began))
        print(f"{name} {kind.faults}: {what}, {paradigm}: without training "
              f"{self.timeline.stall(began):.2f} s, backups after "
              f"{self.timeline.backups_back(began) or 0:.2f} s", flush=True)

    def settles(self, cluster, what, since, jobs):
        """All is as before: jobs count, all shards have backups, everybody is
        there; and stays so, for what is noticed late."""
        def settled():
            # Commands cost more than the rest of it: they come last.
            if not (self.timeline.have_backups() and
                    self.timeline.counts_after(since)):
                return False
            for job in jobs:
                state = cluster.job(job)
                self.assertEqual(state["state"], "RUNNING", (what, state))
            return set(SERVERS + WORKERS) <= cluster.members()

        try:
            until(f"all is well after: {what}", settled)
            pause(0.5 * SECONDS)
            until(f"all is well after: {what}", settled)
        except AssertionError:
            print(f"{what}: not well", json.dumps(
                cluster.shown("server", "list")), file=sys.stderr)
            raise
        for name, process in cluster.everybody().items():
            self.assertIsNone(process.poll(), f"{name} has ended: {what}")

    def add_up(self, cluster, kind, job, tensors):
        """`tensors`: what each weight counts an epoch."""
        epochs = self.ends_after_epochs(cluster, job)
        kind.epochs += epochs
        in_part = len(IN_PART.findall(cluster.command("job", "logs", job)))
        lost = doubled = 0
        for tensor, each in tensors.items():
            off = [round(value - epochs * each)
                   for value in cluster.weights(job, tensor)]
            self.assertGreaterEqual(len(off), COUNTED)
            lost += -sum(value for value in off if value < 0)
            # Each weight of some counts all samples: the worst one speaks.
            doubled += (sum(value for value in off if value > 0) if each == 1
                        else max(off))
        if lost or doubled:
            print(f"{job}: {lost} lost, {doubled} doubled in {epochs} epochs, "
                  f"{in_part} pushes taken in part", flush=True)
        kind.lost += lost
        kind.doubled += doubled
        kind.recorded += min(doubled, in_part * BATCH * len(tensors))

    # The faults. Each returns what it was, when it is over.

    def kill_server(self, cluster):
        name = self.draw.choice(SERVERS)
        had = cluster.shards_of(name)
        cluster.kill(name)
        # Its successor is there before anybody has noticed, or late.
        delay = self.draw.choice([0, self.draw.uniform(0, 1.5 * SECONDS)])
        pause(delay)
        cluster.start(SERVER, name)
        until(f"what {name} had is elsewhere",
              lambda: not had & cluster.shards_of(name))
        return f"{name} killed, back after {delay:.2f} s"

    def kill_coordinator(self, cluster):
        also = None
        if self.draw.random() < 1 / 3:
            also = self.draw.choice([*SERVERS, *WORKERS])
        cluster.kill_coordinator()
        if also is not None:
            cluster.kill(also)
        delay = self.draw.choice([0, self.draw.uniform(0, 1.5 * SECONDS)])
        pause(delay)
        cluster.start_coordinator()
        if also in SERVERS:
            cluster.start(SERVER, also)
        elif also is not None:
            cluster.start_worker(also)
        with_it = "" if also is None else f" with {also}"
        return f"coordinator killed{with_it}, back after {delay:.2f} s"

    def kill_worker(self, cluster):
        name = self.draw.choice(WORKERS)
        cluster.kill(name)
        delay = self.draw.choice([0, self.draw.uniform(0, 1.5 * SECONDS)])
        pause(delay)
        cluster.start_worker(name)
        until(f"{name} is back", lambda: name in cluster.working())
        return f"{name} killed, back after {delay:.2f} s"

    def stop_server(self, cluster):
        name = self.draw.choice(SERVERS)
        seconds = SECONDS * self.draw.uniform(0.3, 3)
        cluster.processes[name].send_signal(signal.SIGSTOP)
        pause(seconds)
        cluster.processes[name].send_signal(signal.SIGCONT)
        return f"{name} stopped for {seconds:.2f} s"

    def upgrade_server(self, cluster):
        name = self.draw.choice(SERVERS)
        drained = self.draw.random() < 0.5
        if drained:
            cluster.command("server", "drain", name)
            until(f"{name} has nothing", lambda: not cluster.shards_of(name))
        self.assertEqual(cluster.end(name), 0)
        cluster.start(SERVER, name)
        if drained:
            cluster.command("server", "undrain", name)
        return f"{name} {'drained and ' if drained else ''}replaced"

    def break_link(self, cluster, link, way):
        name, relay = self.draw.choice(sorted(cluster.links(link).items()))
        seconds = SECONDS * self.draw.uniform(0.1, 3)
        if way == "throttle":
            relay.throttle(10 ** self.draw.uniform(4.5, 6.5))
            pause(seconds)
            relay.throttle(None)
        else:
            getattr(relay, way)()
            pause(seconds)
            relay.mend()
        return f"{way} {name} for {seconds:.2f} s"


if __name__ == "__main__":
    main()

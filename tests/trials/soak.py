#!/usr/bin/python3
"""A cluster that is never left alone: jobs under one paradigm after the other,
workers that are killed, strangers at every port. One of the two jobs counts its
samples in its weights.

    soak.py BIN_DIR

The short form has all of it happen a few times; PACELINE_TRIAL_MINUTES=30 is
the long one, in which it happens as often as on bad days.
"""

import hashlib
import json
import sys
import time

from hostile_callers import HostileCallers
from trial_cluster import (COUNTING_SPEC, MINUTES, SCRATCH, Course, Rhythm,
                           Trial, main, pause, until)

JOB = "soak"
COUNTS = "counts"
CALLERS = 20
WORKERS = ["w0", "c0", "w1", "c1", "w2", "w3"]
SECONDS = MINUTES * 60 or 20
SWITCH_EVERY = 10 if MINUTES else 2
KILL_EVERY = 20 if MINUTES else 5
LOOK_EVERY = 1 if MINUTES else 0.25

PARADIGMS = (
    "bsp", "asp", "ssp:s=3", "dssp:lower=3,upper=15", "cgp", "saps",
    "ksync:k=2", "kbatchsync:k=2", "backup:b=1", "kasync:k=2",
    "kbatchasync:k=2", "psp", "elastic", "abs", "saps:mode=damp",
    "saps:mode=drop", "dssp:mode=bounded", "syncswitch:first=bsp,then=asp")

# Those that apply a gradient as often as its samples say.
COUNTING_PARADIGMS = ("bsp", "asp", "ssp:s=3", "dssp:lower=3,upper=15",
                      "cgp:warmup_rounds=1", "saps:s=3", "abs:pieces=8",
                      "elastic:r=5")

# What the last third may have more than the first, in the middle: what the
# allocator keeps of the largest messages, and who is connected just then.
MORE_MEMORY = 24 << 20
MORE_DESCRIPTORS = 10


def open_to_tokens():
    """Flags of a coordinator to which one may come without a certificate."""
    tokens = SCRATCH / "tokens"
    digest = hashlib.sha256(b"nobody has it").hexdigest()
    tokens.write_text(f"nobody viewer sha256:{digest}\n")
    return ["--token-file", tokens, "--tls-client-auth", "optional"]


class Soak(Trial):
    def test_nothing_is_lost(self):
        cluster = self.cluster(servers=3, workers=4, counting=2, step="30ms",
                               coordinator=open_to_tokens())
        cluster.create(JOB)
        cluster.create(COUNTS, COUNTING_SPEC)
        cluster.trains_on(JOB)
        cluster.trains_on(COUNTS)
        callers = HostileCallers(
            CALLERS, [cluster.address, *cluster.server_addresses()],
            cluster.tls / "viewer", f"namespaces/default/jobs/{JOB}")
        try:
            course, switches, kills = self.bad_days(cluster)
        finally:
            callers.end()
        until("all workers are back",
              lambda: set(WORKERS) <= cluster.members())
        asked, job = self.is_exact(cluster, JOB)
        epochs = self.counts_each_sample(cluster, COUNTS)
        print(f"{epochs} epochs of samples that the weights have counted")
        self.tell(asked, switches, kills, callers, course)
        self.assertEqual(job.get("stateReason", ""), "")
        report = json.loads(cluster.command("job", "report", JOB))
        self.assertEqual(report["samples"], asked)
        self.all_have_tried(callers)
        self.is_flat(course)
        self.ends_well(cluster)

    def bad_days(self, cluster):
        course = Course()
        switches = kills = 0
        switch, kill, look = map(Rhythm, (SWITCH_EVERY, KILL_EVERY, LOOK_EVERY))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if switch.due():
                cluster.command("job", "switch", JOB, "--paradigm",
                                PARADIGMS[switches % len(PARADIGMS)])
                cluster.command(
                    "job", "switch", COUNTS, "--paradigm",
                    COUNTING_PARADIGMS[switches % len(COUNTING_PARADIGMS)])
                switches += 1
            if kill.due():
                name = WORKERS[kills % len(WORKERS)]
                cluster.kill(name)
                cluster.start_worker(name)
                kills += 1
            if look.due():
                course.look({
                    name: process for name, process
                    in cluster.everybody().items()
                    if name == "coordinator" or name.startswith("s")})
            for name, process in cluster.everybody().items():
                self.assertIsNone(process.poll(), f"{name} has ended")
            pause(0.05)
        return course, switches, kills

    def tell(self, asked, switches, kills, callers, course):
        print(f"{asked} samples, {switches} switches, {kills} kills")
        print("hostile:", dict(callers.done))
        print("answers:", {" ".join(key): count for key, count
                           in callers.answers.items()})
        for name, kind, first, last in course.thirds():
            unit = 1 << 20 if kind == "memory" else 1
            print(f"{name}: {kind} {first / unit:.1f} -> {last / unit:.1f}")
        sys.stdout.flush()

    def all_have_tried(self, callers):
        self.assertEqual(callers.broken, [])
        self.assertEqual(len(callers.done), 10, callers.done)
        for (deed, code), count in callers.answers.items():
            self.assertNotEqual(code, "OK", f"{deed}: {count} were served")
        for code in ("PERMISSION_DENIED", "UNAUTHENTICATED"):
            self.assertGreater(callers.answers["unary", code], 0, code)

    def is_flat(self, course):
        for name, kind, first, last in course.thirds():
            if kind == "descriptors":
                self.assertLess(last, first + MORE_DESCRIPTORS, name)
            else:
                self.assertLess(last, first + MORE_MEMORY, name)


if __name__ == "__main__":
    main()

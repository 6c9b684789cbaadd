"""What trials of failovers have: a look at whether jobs train and have backups
all the time, and a cluster each of whose links can be broken alone."""

import asyncio
import json
import math
import os
import pathlib
import threading
import time

# It says where `relay` is, so it comes first.
from trial_cluster import SERVER, TrialCluster, pause

from relay import Relay

LOOK_EVERY = 0.05  # Seconds.
PREFIX = "paceline_coordinator_"


class Timeline:
    """When pushes of jobs were counted, and shards were without a backup, as
    the coordinator says it. Looks until told to end."""

    def __init__(self, cluster, jobs):
        self.cluster = cluster
        self.keys = {
            f'{PREFIX}{metric}{{job_id="namespaces/default/jobs/{job}"}}':
                (metric, job)
            for metric in ("pushes_total", "shards_without_backup")
            for job in jobs}
        self.jobs = jobs
        # By metric and job: when it was seen to be another, and what it was.
        self.seen = {key: [] for key in self.keys.values()}
        self.rarest = 0.0  # Seconds between two looks.
        self.trouble = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        last = time.monotonic()
        try:
            while not self.over.wait(LOOK_EVERY):
                page = self.page()
                now = time.monotonic()
                self.rarest = max(self.rarest, now - last)
                last = now
                self.take(now, page)
        except Exception as error:  # For who asks.
            self.trouble = error

    def page(self):
        try:
            return self.cluster.metrics()
        except OSError:
            # The coordinator is dead, or just about to be.
            if self.cluster.coordinator_may_die:
                return ""
            raise

    def take(self, now, page):
        for line in page.splitlines():
            if not line.startswith(PREFIX):
                continue
            series, _, value = line.rpartition(" ")
            key = self.keys.get(series)
            if key is None:
                continue
            seen = self.seen[key]
            if not seen or seen[-1][1] != float(value):
                seen.append((now, float(value)))

    def end(self):
        self.over.set()
        self.thread.join()
        if self.trouble is not None:
            raise self.trouble

    def newest(self, metric, job):
        """None: nothing is known."""
        if self.trouble is not None:
            raise self.trouble
        seen = self.seen[metric, job]
        return seen[-1][1] if seen else None

    def have_backups(self):
        return all(self.newest("shards_without_backup", job) == 0
                   for job in self.jobs)

    def counts_after(self, moment):
        """Whether each job has counted something since then."""
        return all(self.seen["pushes_total", job][-1][0] > moment
                   for job in self.jobs)

    def stall(self, since):
        """The longest time without a counted push, of any of the jobs: what is
        before `since` does not count."""
        longest = 0.0
        for job in self.jobs:
            last = since
            for moment, _ in self.seen["pushes_total", job]:
                if moment > since:
                    longest = max(longest, moment - last)
                    last = moment
        return longest

    def backups_back(self, since):
        """How long after `since` the last backup was there again; None if none
        was missed."""
        back = [moment for job in self.jobs
                for moment, value in self.seen["shards_without_backup", job]
                if moment > since and value == 0]
        return max(back) - since if back else None


class Times:
    """How long something took, each time."""

    def __init__(self):
        self.seconds = []

    def add(self, seconds):
        if seconds is not None:
            self.seconds.append(seconds)

    def figures(self):
        if not self.seconds:
            return None
        ordered = sorted(self.seconds)
        last = len(ordered) - 1
        return {"times": len(ordered),
                "median": round(ordered[last // 2], 3),
                "p99": round(ordered[math.ceil(0.99 * last)], 3),
                "most": round(ordered[-1], 3)}

    def __str__(self):
        return " ".join(f"{name} {value}" for name, value
                        in (self.figures() or {"times": 0}).items())


class Switchboard(Relay):
    """In front of one server: a relay of its own for each who connects."""

    def __init__(self, who):
        """`who(port)` is the name of the process that connects from there;
        None: not known."""
        super().__init__(None)
        self.who = who
        self.relays = {}  # By who connects.
        self.making = threading.Lock()

    async def target_of(self, writer):
        port = writer.get_extra_info("peername")[1]
        return await self.loop.run_in_executor(None, self.address_for, port)

    def address_for(self, port):
        name = self.who(port)
        while self.target is None:  # The server has not said where it listens.
            pause(LOOK_EVERY)
        if name is None:
            raise OSError("nobody is known to connect from there")
        with self.making:
            if name not in self.relays:
                self.relays[name] = Relay(self.target)
            return self.relays[name].address

    def close(self):
        super().close()
        for relay in self.relays.values():
            relay.close()


def socket_of(port, to):
    """The inode of the socket with that local port that is connected with port
    `to`; None if there is none."""
    # gRPC's sockets are those of IPv6, whatever they connect to.
    for table in ("tcp6", "tcp"):
        for line in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            ends = [int(end.split(":")[1], 16) for end in fields[1:3]]
            if ends == [port, to]:
                return fields[9]
    return None


def has_socket(pid, inode):
    try:
        return any(os.readlink(entry.path) == f"socket:[{inode}]"
                   for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:  # It, or one of its files, has gone.
        return False


class LinkedCluster(TrialCluster):
    """All links between two processes go through a relay of their own."""

    def __init__(self, **options):
        self.switchboards = {}  # By server.
        self.controls = {}  # By member.
        # What goes by another way no relay sees.
        coordinator = ["--no-local-sockets", *options.pop("coordinator", ())]
        super().__init__(coordinator=coordinator, **options)

    def coordinator_of(self, name):
        if name not in self.controls:
            self.controls[name] = Relay(self.address)
        return self.controls[name].address

    def start(self, program, name, *flags):
        if program != SERVER:
            super().start(program, name, *flags)
            return
        board = Switchboard(
            lambda port: self.owner_of(port, int(board.address.split(":")[1])))
        self.switchboards[name] = board
        # As between machines: what goes through shared memory no relay sees.
        super().start(program, name, "--advertise", board.address,
                      "--share-memory", "false", *flags)
        log = (self.folder / f"{name}.log").read_text()
        board.target = [json.loads(line)["address"]
                        for line in log.splitlines() if '"listening"' in line
                        ][-1]

    def owner_of(self, port, to):
        inode = socket_of(port, to)
        if inode is None:
            return None
        return next((name for name, process in list(self.processes.items())
                     if has_socket(process.pid, inode)), None)

    def links(self, kind):
        """By a name of it: the relays of one kind."""
        ends = kind.split("-")
        if ends[1] == "coordinator":
            return {f"{name} with the coordinator": relay
                    for name, relay in self.controls.items()
                    if name.startswith("s") == (ends[0] == "server") and
                    name != "e0"}
        return {f"{name} with {server}": relay
                for server, board in self.switchboards.items()
                for name, relay in list(board.relays.items())
                if name.startswith("s") == (ends[0] == "server")}

    def stop(self):
        codes = super().stop()
        for relay in (*self.controls.values(), *self.switchboards.values()):
            relay.close()
        return codes

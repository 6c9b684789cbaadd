#!/usr/bin/python3
"""File descriptors are used up by callers who only hold their connections: of
a coordinator and of a server, while a job trains.

    descriptors.py BIN_DIR
"""

import os
import resource
import socket
import threading

from trial_cluster import Trial, main, pause, until

JOB = "held"
LEASE = 2  # Seconds.
ROOM = 20  # Descriptors that a process may have more than now.
CALLERS = 200


class Holders:
    """Callers who connect and say nothing, and come again when they are put
    out."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.place = (host, int(port))
        self.let_go = threading.Event()
        self.refused = 0
        self.thread = threading.Thread(target=self.hold)
        self.thread.start()

    def hold(self):
        held = []
        while not self.let_go.wait(0.01):
            while len(held) < CALLERS:
                caller = socket.create_connection(self.place)
                caller.setblocking(False)
                held.append(caller)
            held = [caller for caller in held if not self.is_put_out(caller)]
        for caller in held:
            caller.close()

    def is_put_out(self, caller):
        try:
            if caller.recv(65536):
                return False
        except BlockingIOError:
            return False
        except OSError:
            pass
        caller.close()
        self.refused += 1
        return True

    def end(self):
        self.let_go.set()
        self.thread.join()


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


class Descriptors(Trial):
    def test_of_the_coordinator(self):
        cluster = self.cluster(lease=f"{LEASE}s")
        self.are_used_up(cluster, cluster.coordinator, cluster.address)

    def test_of_a_server(self):
        cluster = self.cluster(lease=f"{LEASE}s")
        [place] = [one["address"] for one
                   in cluster.shown("server", "list")["servers"]
                   if one["name"].endswith("s0")]
        self.are_used_up(cluster, cluster.processes["s0"], place)

    def are_used_up(self, cluster, process, place):
        cluster.create(JOB)
        cluster.trains_on(JOB)
        before = cluster.counted(JOB)
        limits = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        full = descriptors(process) + ROOM
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE,
                         (full, limits[1]))
        holders = Holders(place)
        try:
            # All that there are, or as many as strangers may have.
            until("callers are refused",
                  lambda: holders.refused > CALLERS, seconds=60)
            # Whoever needed one to stay would be lost by now.
            pause(2 * LEASE)
        finally:
            holders.end()
        # The limit stays: it is the port that must be open again.
        cluster.start_worker("late")
        self.assertGreater(cluster.counted(JOB), before)
        cluster.trains_on(JOB)
        log = cluster.command("job", "logs", JOB)
        self.assertNotIn("lost (", log)
        self.is_exact(cluster, JOB)
        self.ends_well(cluster)


if __name__ == "__main__":
    main()

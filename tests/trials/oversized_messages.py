#!/usr/bin/python3
"""Callers who send messages of hundreds of megabytes to the coordinator and to
a server, with credentials and without, while a job trains: what a message
above the limit costs the processes.

    oversized_messages.py BIN_DIR

The short form has 8 callers with 200 megabytes each. With --minutes it is 100
with 1000, unless PACELINE_TRIAL_CALLERS and PACELINE_TRIAL_MEGABYTES say
otherwise, and it also measures how much slower training is in a window with an
attack. The callers have processors of their own then, as on other machines.
"""

import concurrent.futures
import multiprocessing
import os
import pathlib
import socket
import ssl
import statistics
import struct
import time

from http2 import (ACK, DATA, END_HEADERS, END_STREAM, HEADERS,
                   INITIAL_WINDOW_SIZE, PING, PREFACE, SETTINGS, WINDOW_UPDATE,
                   call_headers, frame)
from trial_cluster import LONG, MINUTES, Trial, TrialCluster, main, pause

JOB = "attacked"
MEGABYTE = 1 << 20
CALLERS = int(os.environ.get("PACELINE_TRIAL_CALLERS",
                             "100" if MINUTES else "8"))
MESSAGE = int(os.environ.get("PACELINE_TRIAL_MEGABYTES",
                             "1000" if MINUTES else "200")) * MEGABYTE
MAY_GROW = 64 * MEGABYTE

GET_CLUSTER = "/paceline.v1.ClusterService/GetCluster"
CREATE_JOB = "/paceline.v1.JobService/CreateJob"
EXCHANGE = "/paceline.v1.Parameters/Exchange"

FRAME = 16384
ZEROS = bytes(FRAME)
WINDOWS = 5  # Of training under attack; as many without.
PROCESSORS = sorted(os.sched_getaffinity(0))


class Caller:
    """One connection that speaks HTTP/2 as far as a client must that only
    sends: it minds the windows, and answers pings."""

    def __init__(self, address, tls):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=LONG)
        if tls is not None:
            context = ssl.create_default_context(cafile=tls / "ca.crt")
            context.set_alpn_protocols(["h2"])
            context.load_cert_chain(tls / "tls.crt", tls / "tls.key")
            self.socket = context.wrap_socket(self.socket,
                                              server_hostname="127.0.0.1")
        self.initial = 65535  # The window of a new stream.
        self.windows = {0: 65535}  # By stream; 0: of the connection.
        self.ended = set()  # Streams that the server has ended.
        self.unread = b""
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))
        self.read()

    def open(self, stream, path):
        self.windows[stream] = self.initial
        self.socket.sendall(
            frame(HEADERS, END_HEADERS, stream, call_headers(path)))

    def read(self):
        """Takes over what has come, at least something."""
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionResetError
        self.unread += got
        while len(self.unread) >= 9:
            size = int.from_bytes(self.unread[:3], "big")
            if len(self.unread) < 9 + size:
                break
            kind, flags, stream = struct.unpack(">BBI", self.unread[3:9])
            self.take(kind, flags, stream, self.unread[9:9 + size])
            self.unread = self.unread[9 + size:]

    def take(self, kind, flags, stream, payload):
        if kind == WINDOW_UPDATE and stream in self.windows:
            self.windows[stream] += int.from_bytes(payload, "big")
        elif kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack(">HI", payload[at:at + 6])
                if name == INITIAL_WINDOW_SIZE:
                    self.initial = value
            self.socket.sendall(frame(SETTINGS, ACK, 0, b""))
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        elif kind in (DATA, HEADERS) and flags & END_STREAM:
            self.ended.add(stream)

    def call(self, stream, path):
        """A call with an empty message, to its end."""
        self.open(stream, path)
        self.socket.sendall(frame(DATA, END_STREAM, stream, bytes(5)))
        while stream not in self.ended:
            self.read()

    def send(self, stream, size):
        """A message of `size` zeros; how many went out before the connection
        was ended, or the stream was."""
        self.socket.sendall(
            frame(DATA, 0, stream, b"\0" + struct.pack(">I", size)))
        self.windows[0] -= 5
        self.windows[stream] -= 5
        sent = 0
        while sent < size and stream not in self.ended:
            room = min(self.windows[0], self.windows[stream], size - sent)
            if room <= 0:
                self.read()
                continue
            frames = bytearray()
            for begin in range(0, min(room, 16 * FRAME), FRAME):
                frames += frame(DATA, 0, stream, ZEROS[:room - begin])
            went = min(room, 16 * FRAME)
            self.windows[0] -= went
            self.windows[stream] -= went
            self.socket.sendall(frames)
            sent += went
        while stream not in self.ended:
            self.read()
        return sent


def attack(address, tls, path, known):
    """How many bytes went out, and whether the connection was ended before the
    message was whole."""
    sent = 0
    try:
        caller = Caller(address, tls)
        if known:
            caller.call(1, GET_CLUSTER)
        caller.open(3, path)
        sent = caller.send(3, MESSAGE)
    except (ConnectionError, ssl.SSLError, BrokenPipeError):
        return True
    return sent < MESSAGE


class Plaintext(TrialCluster):
    """The same without certificates."""

    def issue(self, identities=None):
        pass

    def certificates(self, name):
        return []


def memory(process, line):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    [size] = [one.split()[1] for one in status.splitlines()
              if one.startswith(line)]
    return int(size) * 1024


class OversizedMessages(Trial):
    def test_over_tls(self):
        self.cost_no_more_than_the_limit(TrialCluster)

    def test_over_plaintext(self):
        self.cost_no_more_than_the_limit(Plaintext)

    def cost_no_more_than_the_limit(self, kind):
        apart = MINUTES > 0 and len(PROCESSORS) > 1
        os.sched_setaffinity(0, PROCESSORS[:1] if apart else PROCESSORS)
        cluster = self.cluster(kind)
        os.sched_setaffinity(0, PROCESSORS[1:] if apart else PROCESSORS)
        cluster.create(JOB)
        cluster.trains_on(JOB)
        tls = getattr(cluster, "tls") if kind is TrialCluster else None
        viewer = tls and tls / "viewer"
        worker = tls and tls / "worker"
        server = cluster.server_addresses()[0]
        before = self.rate(cluster)
        resident = {name: memory(process, "VmRSS")
                    for name, process in self.attacked(cluster).items()}
        for what, address, credentials, path, known in (
                ("strangers at the coordinator", cluster.address, viewer,
                 CREATE_JOB, False),
                ("known callers at the coordinator", cluster.address, viewer,
                 CREATE_JOB, True),
                ("strangers at a server", server, viewer, EXCHANGE, False),
                ("workers at a server", server, worker, EXCHANGE, False)):
            with self.subTest(what):
                self.under_attack(cluster, what, resident,
                                  (address, credentials, path, known))
                if MINUTES > 0:
                    self.slowed(cluster, what,
                                (address, credentials, path, known))
        print(f"{kind.__name__}: {before:.0f} samples/s before, "
              f"{self.rate(cluster):.0f} after")
        cluster.trains_on(JOB)
        self.is_exact(cluster, JOB)
        self.ends_well(cluster)

    def attacked(self, cluster):
        return {name: process for name, process in cluster.everybody().items()
                if name in ("coordinator", "s0", "s1")}

    def under_attack(self, cluster, what, resident, how):
        """`resident`: what the processes had before the first attack."""
        processes = self.attacked(cluster)
        held = {name: memory(process, "VmRSS") - resident[name]
                for name, process in processes.items()}
        for process in processes.values():
            # From here on the peak is counted anew.
            pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")
        counted, began = cluster.counted(JOB), time.monotonic()
        # Processes, or Python would be slower than the callers may be.
        with concurrent.futures.ProcessPoolExecutor(
                CALLERS, multiprocessing.get_context("fork")) as callers:
            ends = list(callers.map(attack, *zip(*[how] * CALLERS)))
        rate = (cluster.counted(JOB) - counted) / (time.monotonic() - began)
        grown = {name: memory(process, "VmHWM") - resident[name]
                 for name, process in processes.items()}
        print(f"{what}: {CALLERS} of {MESSAGE // MEGABYTE} MB, "
              f"{sum(ends)} ended early; {rate:.0f} samples/s; peak " +
              ", ".join(f"{name} +{size // MEGABYTE} MB (+"
                        f"{held[name] // MEGABYTE} MB before)"
                        for name, size in grown.items()))
        self.assertEqual(ends, [True] * CALLERS)
        for name, size in grown.items():
            self.assertLess(size, MAY_GROW, f"{name}: {what}")

    def slowed(self, cluster, what, how):
        """Windows that begin with an attack and others take turns."""
        lasts = MINUTES * 60 / 2 / WINDOWS
        rates = {False: [], True: []}
        attacks = []  # Seconds.
        with multiprocessing.get_context("fork").Pool(CALLERS) as callers:
            for turn in range(2 * WINDOWS):
                attacked = turn % 2 == 1
                counted, began = cluster.counted(JOB), time.monotonic()
                if attacked:
                    callers.starmap(attack, [how] * CALLERS)
                    attacks.append(time.monotonic() - began)
                pause(max(0, began + lasts - time.monotonic()))
                rates[attacked].append((cluster.counted(JOB) - counted) /
                                       (time.monotonic() - began))
        alone, under = (statistics.median(rates[k]) for k in (False, True))
        print(f"{what}, an attack each {lasts:.0f} s, which is over after "
              f"{statistics.median(attacks):.2f} s: {under:.0f} of "
              f"{alone:.0f} samples/s, {100 * (1 - under / alone):.1f} % fewer")

    def rate(self, cluster):
        """Samples a second, of three seconds."""
        counted, began = cluster.counted(JOB), time.monotonic()
        cluster.trains_on(JOB, more=20 * 32)
        return ((cluster.counted(JOB) - counted) /
                (time.monotonic() - began))


if __name__ == "__main__":
    main()

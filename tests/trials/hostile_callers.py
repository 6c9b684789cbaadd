"""Callers who want nothing good of a port: each does one of these things again
and again, until it is told to stop.

They know the certificate authority, as everybody may. Some have a viewer's
certificate and so come through the handshake; nobody may do what they ask.
"""

import collections
import os
import random
import socket
import ssl
import struct
import sys
import threading

from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS,
                   INITIAL_WINDOW_SIZE, PREFACE, SETTINGS, call_headers, frame)

try:
    import grpc
except ImportError:
    print("skipped: python3-grpcio is missing")
    sys.exit(77)

HOLD = 2  # Seconds; how long one holds a connection.
PAUSE = 0.05  # Seconds between two attempts, or this machine is theirs.
MEGABYTE = 1 << 20

EXCHANGE = "/paceline.v1.Parameters/Exchange"
CHANGES = ("/paceline.v1.JobService/CreateJob",
           "/paceline.v1.JobService/CancelJob",
           "/paceline.v1.JobService/DeleteJob",
           "/paceline.v1.ClusterService/DrainWorker")


class HostileCallers:
    """`count` of them at the ports `targets`, HOST:PORT, of which the first is
    the coordinator's. `tls` is the folder of a viewer's certificate, `job` the
    name of what they would watch."""

    def __init__(self, count, targets, tls, job, seed=1):
        self.targets = [tuple(target.rsplit(":", 1)) for target in targets]
        self.coordinator = targets[0]
        self.tls = tls
        self.job = job.encode()
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.done = collections.Counter()  # By what was done.
        self.answers = collections.Counter()  # (what was done, the code).
        self.broken = []  # What no caller had expected.
        deeds = (self.garbage, self.half_preface, self.no_handshake,
                 self.bogus_frames, self.endless_headers, self.huge_length,
                 self.slow_reader, self.unary, self.big_message, self.exchange)
        self.threads = [
            threading.Thread(target=self.act, args=(deeds[i % len(deeds)],
                                                    random.Random(seed + i)))
            for i in range(count)]
        for thread in self.threads:
            thread.start()

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def act(self, deed, chance):
        while not self.stop.is_set():
            try:
                deed(chance)
            except OSError:
                pass  # The port has closed the connection, as it should.
            except Exception as error:  # pylint: disable=broad-except
                self.broken.append(repr(error))
                return
            with self.lock:
                self.done[deed.__name__] += 1
            self.stop.wait(PAUSE)

    # Connections.

    def plain(self, chance):
        host, port = chance.choice(self.targets)
        return socket.create_connection((host, int(port)), timeout=HOLD)

    def through_tls(self, chance):
        """Half of the time as a viewer."""
        context = ssl.create_default_context(cafile=self.tls / "ca.crt")
        context.set_alpn_protocols(["h2"])
        if chance.random() < 0.5:
            context.load_cert_chain(self.tls / "tls.crt", self.tls / "tls.key")
        return context.wrap_socket(self.plain(chance),
                                   server_hostname="127.0.0.1")

    def channel(self, target, chance):
        def content(name):
            return (self.tls / name).read_bytes()
        pair = ((content("tls.key"), content("tls.crt"))
                if chance.random() < 0.5 else (None, None))
        return grpc.secure_channel(
            target, grpc.ssl_channel_credentials(content("ca.crt"), *pair),
            [("grpc.max_send_message_length", -1),
             ("grpc.use_local_subchannel_pool", 1),
             ("grpc.enable_retries", 0)])

    def read_on(self, connection):
        """Until it is closed, or long enough."""
        try:
            while connection.recv(65536) and not self.stop.is_set():
                pass
        except TimeoutError:
            pass

    def note(self, deed, call):
        """The code of a call that must not end well."""
        try:
            call()
            code = "OK"
        except grpc.RpcError as error:
            code = error.code().name
        with self.lock:
            self.answers[deed, code] += 1

    # What they do.

    def garbage(self, chance):
        with self.plain(chance) as connection:
            connection.sendall(os.urandom(65536))
            self.read_on(connection)

    def half_preface(self, chance):
        with self.through_tls(chance) as connection:
            connection.sendall(PREFACE[:chance.randrange(len(PREFACE))])
            self.stop.wait(HOLD)

    def no_handshake(self, chance):
        with self.plain(chance):
            self.stop.wait(HOLD)

    def bogus_frames(self, chance):
        with self.through_tls(chance) as connection:
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))
            for _ in range(50):
                connection.sendall(frame(
                    chance.randrange(16), chance.randrange(256),
                    chance.randrange(8), os.urandom(chance.randrange(4096))))
            self.read_on(connection)

    def endless_headers(self, chance):
        with self.through_tls(chance) as connection:
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0, b"") +
                               frame(HEADERS, 0, 1, call_headers(EXCHANGE)))
            literal = b"\0\1x\x7f\x81\x7f" + b"y" * 16384
            for _ in range(200):
                for begin in range(0, len(literal), 16384):
                    connection.sendall(frame(
                        CONTINUATION, 0, 1, literal[begin:begin + 16384]))
            self.read_on(connection)

    def huge_length(self, chance):
        """A message that says it has a gigabyte, of which a little comes."""
        with self.through_tls(chance) as connection:
            connection.sendall(
                PREFACE + frame(SETTINGS, 0, 0, b"") +
                frame(HEADERS, END_HEADERS, 1,
                      call_headers(chance.choice((EXCHANGE, *CHANGES)))) +
                frame(DATA, 0, 1, b"\0" + struct.pack(">I", 1 << 30) +
                      bytes(16000)) +
                frame(DATA, 0, 1, bytes(16000)))
            self.stop.wait(HOLD)

    def slow_reader(self, chance):
        """Watches a job twenty times, and gives the answers no room."""
        name = b"\x0a" + bytes([len(self.job)]) + self.job
        message = b"\0" + struct.pack(">I", len(name)) + name
        with self.through_tls(chance) as connection:
            connection.sendall(
                PREFACE + frame(SETTINGS, 0, 0, struct.pack(
                    ">HI", INITIAL_WINDOW_SIZE, 0)))
            for stream in range(1, 41, 2):
                connection.sendall(
                    frame(HEADERS, END_HEADERS, stream,
                          call_headers("/paceline.v1.JobService/WatchJob")) +
                    frame(DATA, END_STREAM, stream, message))
            self.stop.wait(HOLD)

    def unary(self, chance):
        with self.channel(self.coordinator, chance) as channel:
            call = channel.unary_unary(chance.choice(CHANGES))
            self.note("unary", lambda: call(b"", timeout=HOLD))

    def big_message(self, chance):
        zeros = bytes(chance.randrange(5, 9) * MEGABYTE)
        with self.channel(self.coordinator, chance) as channel:
            call = channel.unary_unary(chance.choice(CHANGES))
            self.note("big_message", lambda: call(zeros, timeout=HOLD))

    def exchange(self, chance):
        """A parameter stream by who is no worker."""
        messages = [os.urandom(chance.randrange(1, 100_000)) for _ in range(5)]
        target = ":".join(chance.choice(self.targets[1:]))
        with self.channel(target, chance) as channel:
            call = channel.stream_stream(EXCHANGE)
            self.note("exchange", lambda: list(
                call(iter(messages), timeout=HOLD)))

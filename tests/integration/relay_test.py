#!/usr/bin/python3
"""What the relay of other tests does to a connection."""

import contextlib
import socket
import threading
import time
import unittest

from relay import Relay

SOON = 0.3  # Seconds, in which nothing comes.
LONG = 20


class Echo:
    """Sends back what comes, after its own name."""

    def __init__(self, name):
        self.name = name
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                taken, _ = self.listener.accept()
                threading.Thread(target=self.answer, args=[taken],
                                 daemon=True).start()

    def answer(self, taken):
        with taken, contextlib.suppress(OSError):
            taken.sendall(self.name)
            while data := taken.recv(1 << 16):
                taken.sendall(data)


class RelayTest(unittest.TestCase):
    def setUp(self):
        self.echo = Echo(b"a")
        self.relay = Relay(self.echo.address)
        self.addCleanup(self.echo.listener.close)
        self.addCleanup(self.relay.close)

    def dial(self):
        host, port = self.relay.address.split(":")
        dialled = socket.create_connection((host, int(port)), timeout=LONG)
        self.addCleanup(dialled.close)
        return dialled

    def joined(self):
        dialled = self.dial()
        self.assertEqual(dialled.recv(1), b"a")
        return dialled

    def assert_broken(self, dialled):
        with contextlib.suppress(ConnectionError):
            self.assertEqual(dialled.recv(1), b"")

    def assert_silent(self, dialled):
        dialled.settimeout(SOON)
        with self.assertRaises(TimeoutError):
            dialled.recv(1)
        dialled.settimeout(LONG)

    def test_forwards_both_ways(self):
        dialled = self.joined()
        sent = bytes(range(256)) * 4096
        writing = threading.Thread(target=dialled.sendall, args=[sent])
        writing.start()
        got = b""
        while len(got) < len(sent):
            got += dialled.recv(1 << 16)
        writing.join()
        self.assertEqual(got, sent)

    def test_an_end_goes_on_to_the_other_side(self):
        dialled = self.joined()
        dialled.shutdown(socket.SHUT_WR)
        self.assert_broken(dialled)

    def test_a_cut_breaks_all_until_it_is_mended(self):
        old = self.joined()
        self.relay.cut()
        self.assert_broken(old)
        self.assert_broken(self.dial())
        self.relay.mend()
        self.joined()

    def test_half_open_says_nothing_until_it_is_mended(self):
        old = self.joined()
        self.relay.half_open()
        new = self.dial()
        for dialled in (old, new):
            dialled.sendall(b"x")
            self.assert_silent(dialled)
        self.relay.mend()
        for dialled in (old, new):
            self.assert_broken(dialled)
        self.joined()

    def test_what_is_forgotten_says_nothing_and_new_ones_are_forwarded(self):
        old = self.joined()
        self.relay.forget()
        new = self.joined()
        old.sendall(b"x")
        self.assert_silent(old)
        self.relay.mend()
        self.assert_broken(old)
        new.sendall(b"y")
        self.assertEqual(new.recv(1), b"y")

    def test_a_cut_breaks_what_was_held(self):
        held = self.joined()
        self.relay.half_open()
        self.relay.cut()
        self.assert_broken(held)

    def test_new_connections_go_to_a_new_target(self):
        other = Echo(b"b")
        self.addCleanup(other.listener.close)
        self.joined()
        self.relay.target = other.address
        self.assertEqual(self.dial().recv(1), b"b")

    def test_nobody_at_the_target_breaks_the_connection(self):
        nobody = socket.socket()  # Has a port, and does not listen.
        self.addCleanup(nobody.close)
        nobody.bind(("127.0.0.1", 0))
        self.relay.target = "127.0.0.1:%d" % nobody.getsockname()[1]
        self.assert_broken(self.dial())

    def test_a_delay_counts_each_way(self):
        dialled = self.joined()
        self.relay.delay(0.2)
        began = time.monotonic()
        dialled.sendall(b"x")
        self.assertEqual(dialled.recv(1), b"x")
        self.assertGreaterEqual(time.monotonic() - began, 0.4)

    def test_a_throttle_limits_the_bytes_of_a_second(self):
        dialled = self.joined()
        self.relay.throttle(1 << 16)
        began = time.monotonic()
        left = 1 << 15
        dialled.sendall(bytes(left))
        while left > 0:
            left -= len(dialled.recv(1 << 16))
        self.assertGreaterEqual(time.monotonic() - began, 0.5)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/python3
"""The command on a terminal: what it shows there, and how it leaves it.

    terminal_test.py BIN_DIR SOURCE_DIR

The terminal is a pseudo-terminal of this process, the command's controlling
one.
"""

import fcntl
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from job_commands import JobCommands
from real_cluster import LONG, RealCluster

BIN = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-terminal-"))
GREEN_RUNNING = "\x1b[32mRUNNING\x1b[0m"
LFLAG = 3  # Of what tcgetattr() gives.


class Terminal:
    """One command on a terminal of its own."""

    def __init__(self, address, words, **environment):
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 40, 160, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.shown = ""
        self.process = subprocess.Popen(
            [BIN / "paceline", *words], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={"HOME": str(SCRATCH), "PACELINE_ADDRESS": address,
                 "TERM": "xterm", **environment})

    def read(self, seconds):
        """More of what it shows; False if there is nothing more."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.shown += os.read(self.master, 65536).decode()
        return True

    def until(self, pattern):
        deadline = time.monotonic() + LONG
        while not re.search(pattern, self.shown):
            assert time.monotonic() < deadline, (pattern, self.shown)
            assert self.process.poll() is None or self.read(0), (
                pattern, self.shown)
            self.read(0.1)

    def type(self, text):
        os.write(self.master, text.encode())

    def takes_keys(self):
        return not termios.tcgetattr(self.slave)[LFLAG] & termios.ICANON

    def end(self):
        """The exit code; afterwards everything that it has shown is known."""
        deadline = time.monotonic() + LONG
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.shown
            self.read(0.1)
        while self.read(0):
            pass
        return self.process.returncode

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)


class TerminalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        slow = ["--step-time", "20ms"]
        cls.cluster = RealCluster(BIN, SCRATCH, 1, [("w0", slow), ("w1", slow)])
        cls.paceline = JobCommands(BIN, SCRATCH, cls.cluster.address)
        cls.create("long", epochs=100_000)
        cls.paceline.await_more_samples("long", 0)

    @classmethod
    def create(cls, name, epochs):
        cls.paceline.create(
            name, model="mlp", data="synthetic:tiny", batch_size=32,
            workers={"min": 1, "max": 1}, evaluation={"every": 320},
            stop={"epochs": epochs})

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def show(self, *words, **environment):
        terminal = Terminal(self.cluster.address, words, **environment)
        self.addCleanup(terminal.close)
        return terminal

    def test_q_quits_top_at_once(self):
        for words in (("top",), ("top", "long")):
            top = self.show(*words, "--interval", "1h")
            top.until("; q quits")
            self.assertTrue(top.takes_keys())
            self.assertFalse(termios.tcgetattr(top.slave)[LFLAG] & termios.ECHO)
            top.type("xq")
            self.assertEqual(top.end(), 0)
            self.assertTrue(top.is_as_before())
            self.assertIn(GREEN_RUNNING, top.shown)
            self.assertNotIn("xq", top.shown)

    def test_top_leaves_the_terminal_as_it_was(self):
        def by_keyboard(top):
            top.type("\x03")

        def by_signal(number):
            return lambda top: top.process.send_signal(number)

        for way, code in ((by_keyboard, 130), (by_signal(signal.SIGINT), 130),
                          (by_signal(signal.SIGTERM), 143),
                          (by_signal(signal.SIGHUP), 129)):
            top = self.show("top", "--interval", "1h")
            top.until("; q quits")
            self.assertTrue(top.takes_keys())
            way(top)
            self.assertEqual(top.end(), code)
            self.assertTrue(top.is_as_before())

    def test_top_leaves_the_terminal_as_it_was_when_it_fails(self):
        self.create("goes", epochs=100_000)
        top = self.show("top", "goes", "--interval", "100ms")
        top.until("; q quits")
        self.paceline("job", "cancel", "goes")
        self.paceline("job", "wait", "goes", "--for=state=CANCELLED")
        self.paceline("job", "delete", "goes")
        self.assertEqual(top.end(), 3)
        self.assertIn("goes", top.shown.splitlines()[-1])
        self.assertTrue(top.is_as_before())

    def test_top_without_a_terminal_takes_no_keys(self):
        # Its input is no terminal: there is nobody to type.
        top = subprocess.run(
            [BIN / "paceline", "top", "--once"], stdin=subprocess.DEVNULL,
            env={"HOME": str(SCRATCH), "PACELINE_ADDRESS": self.cluster.address},
            stdout=subprocess.PIPE, text=True, timeout=LONG, check=True)
        self.assertNotIn("q quits", top.stdout)
        self.assertNotIn("\x1b", top.stdout)

    def test_colors_only_where_they_are_wanted(self):
        listed = self.show("job", "list")
        self.assertEqual(listed.end(), 0)
        self.assertIn(GREEN_RUNNING, listed.shown)
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            for words in (("job", "list"), ("top", "--once")):
                plain = self.show(*words, **environment)
                self.assertEqual(plain.end(), 0)
                self.assertIn("RUNNING", plain.shown)
                self.assertNotIn("\x1b[3", plain.shown)
        self.assertNotIn("\x1b", self.paceline("job", "list"))

    def test_watch_says_no_less_than_to_a_pipe(self):
        self.create("watched", epochs=20)
        screen = self.show("job", "watch", "watched")
        screen.until(r"\[watched\] ")  # It misses nothing from now on.
        piped = self.paceline.start("job", "watch", "watched")
        self.paceline.await_more_samples("watched", 320)
        self.paceline("job", "switch", "watched", "asp", "--reason", "test")
        self.assertEqual(screen.end(), 0, screen.shown)
        lines, _ = piped.communicate(timeout=LONG)
        shown = screen.shown.replace("\r\n", "\n")
        for pattern in (r"evaluated version \d+ \(\d+ samples\): accuracy",
                        r"\[watched\] paradigm (bsp|asp)",
                        r"switched from bsp\S* to asp\S* \(test\)",
                        r"state SUCCEEDED"):
            self.assertRegex(lines, pattern)
            self.assertRegex(shown, pattern)
        # Each evaluation stays on the terminal, once.
        for line in re.findall(r"\[watched\] .* evaluated .*", lines):
            self.assertEqual(shown.count(line), 1, line)
        self.assertRegex(shown, r"\n  \d+ of \d+ samples  (bsp|asp)")
        last = lines.splitlines()[-1]
        found = re.fullmatch(
            r"watched SUCCEEDED with accuracy 0\.\d{4}, training loss \d\.\d{4}, "
            r"(\d+) samples in \d+\.\d+ s of training; weights in (\S+) "
            r"\(checkpoint \S+\)", last)
        self.assertTrue(found, last)
        self.assertEqual(int(found[1]), self.paceline.samples("watched"))
        self.assertTrue(list(pathlib.Path(found[2]).rglob("*.safetensors")))
        # Behind what erases the bars.
        self.assertTrue(shown.endswith(f"\x1b[J{last}\n"), shown[-500:])
        # Of a job that has ended there is the same line.
        self.assertEqual(
            self.paceline("job", "watch", "watched").splitlines()[-1], last)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1]).resolve()
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

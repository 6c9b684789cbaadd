#!/usr/bin/python3
"""What scripts show of steps that take minutes.

    progress_test.py SOURCE_DIR
"""

import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = None
DEADLINE = 60.0


def script(text):
    return ["bash", "-c",
            f"set -euo pipefail; source {SOURCE}/deploy/progress.sh\n{text}"]


class ProgressTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="paceline-progress-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_script(self, text):
        return subprocess.run(script(text), cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=DEADLINE, check=False)

    def test_a_step_says_how_long_it_took(self):
        done = self.run_script("run_step building log echo '[3/4] x'")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^building\nbuilding: done in \d+ s\n$")
        self.assertEqual((self.folder / "log").read_text(), "[3/4] x\n")

    def test_a_step_that_fails_ends_the_script_with_its_last_lines(self):
        done = self.run_script(
            "run_step building log sh -c 'echo no space left; exit 7'; echo on")
        self.assertEqual((done.returncode, done.stdout), (7, ""))
        self.assertIn("no space left", done.stderr)
        self.assertIn("the whole output is in log", done.stderr)

    def test_the_log_is_there_and_empty_before_the_command_starts(self):
        # The step turns job control on just before it starts the command.
        (self.folder / "log").write_text("[9/9] of an earlier run\n")
        done = self.run_script(
            'set() { builtin set "$@"; [[ "$1" != -m ]] || wc -c <"$log"; }\n'
            "run_step building log true\n"
            "rm log; run_step building log true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), ["0", "0"])

    def test_on_a_terminal_that_is_closed_the_command_ends(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.environ["TERM"] = "xterm"
            os.execvp("bash", script(
                "run_step building log sh -c 'echo $$ >child; exec sleep 300'"))
        shown = b""
        until = time.monotonic() + DEADLINE
        child = self.folder / "child"
        while not (child.exists() and child.read_text().strip()
                   and b"building" in shown):
            self.assertLess(time.monotonic(), until, shown)
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 4096)
        command = int(child.read_text())
        os.close(terminal)  # A hangup for the script.
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)
        while os.path.exists(f"/proc/{command}"):
            if time.monotonic() > until:
                os.kill(command, signal.SIGKILL)
                self.fail("the command goes on without its terminal")
            select.select([], [], [], 0.05)


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)

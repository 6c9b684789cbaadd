#!/usr/bin/python3
"""A new user's ten minutes: docs/own-models.md followed to its table.

    local_page_test.py BIN_DIR SOURCE_DIR

Scripts and commands are the page's own, run in a folder that looks like a clone
with its build; but for the number of epochs, word for word.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from real_cluster import LONG

BIN, SOURCE = None, None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-page-"))


def blocks(language):
    """Those of the page, in their order."""
    page = (SOURCE / "docs" / "own-models.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", page,
                      re.DOTALL | re.MULTILINE)


def the_block(language, words):
    """The one that has them."""
    [found] = [block for block in blocks(language) if words in block]
    return found


class LocalPageTest(unittest.TestCase):
    def test_four_unequal_workers_train_under_two_paradigms(self):
        (SCRATCH / "services").symlink_to(SOURCE / "services")
        (SCRATCH / "build" / "release").mkdir(parents=True)
        (SCRATCH / "build" / "release" / "bin").symlink_to(BIN)
        (SCRATCH / "train.py").write_text(the_block("python", "# train.py\n"))
        export = the_block("sh", "export PYTHONPATH=").split("\n")[0]
        command = the_block("sh", "paceline local --program")
        self.assertIn(" --epochs 2 ", command)
        done = subprocess.run(
            ["bash", "-c",
             f"{export}\n{command.replace(' --epochs 2 ', ' --epochs 1 ')}"],
            cwd=SCRATCH, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            # The python3 that has torch comes first.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                 "PATH": f"{pathlib.Path(sys.executable).parent}:"
                         f"{os.environ['PATH']}"},
            text=True, timeout=LONG, check=False)
        print(done.stdout, flush=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        # What the script's optimizer comes to.
        self.assertIn("--optimizer sgd:momentum=0.9 --learning-rate 0.01",
                      done.stderr)
        self.see_table(done.stdout)
        logs = [path.name for path
                in (SCRATCH / "paceline-runs").rglob("*.program.log")]
        self.assertGreaterEqual(len(logs), 2 * 5, logs)

    def see_table(self, printed):
        """The page's, with other numbers."""
        head, *rows = the_block("text", "PARADIGM").split("\n\n")[0].split("\n")
        lines = printed.split("\n")
        at = lines.index(next(line for line in lines
                              if line.split() == head.split()))
        found = [line.split() for line in lines[at + 1:at + 1 + len(rows)]]
        self.assertEqual([row[0] for row in found], ["bsp", "cgp"])
        for row in found:
            self.assertGreater(float(row[2]), 0.3)  # One of ten figures.
        # Four batches of 32 an update, of 8,192 samples.
        self.assertEqual(found[0][-1], "64")


if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    BIN, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

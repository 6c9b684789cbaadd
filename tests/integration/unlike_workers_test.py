#!/usr/bin/python3
"""Workers whose scripts do not agree: the job fails, and everybody hears why.

    unlike_workers_test.py BIN_DIR SOURCE_DIR

The script is unlike_program.py.
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

BIN = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-unlike-"))
SCRIPT = pathlib.Path(__file__).resolve().parent / "unlike_program.py"
HEARD = 60  # Seconds.


class UnlikeWorkersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def own(program, name, *words):
            command = " ".join([f"OMP_NUM_THREADS=1 exec {sys.executable}",
                                str(SCRIPT), *words])
            return name, ["--program", program, "--exec", command,
                          "--program-log", str(SCRATCH / f"{name}.program")]
        cls.cluster = RealCluster(
            BIN, SCRATCH, 2,
            [own("shapes", "w0", "3", "4096"), own("shapes", "w1", "5", "4096"),
             own("lengths", "v0", "3", "4096"),
             own("lengths", "v1", "3", "4095")])
        cls.commands = JobCommands(BIN, SCRATCH, cls.cluster.address)

    @classmethod
    def tearDownClass(cls):
        codes = cls.cluster.stop()
        if set(codes) != {0}:
            raise AssertionError(f"exit codes {codes}")

    def reason(self, program):
        """Why a job of two workers fails."""
        self.commands.create(
            program, model=f"program:{program}", data="program",
            optimizer="sgd", learning_rate=0.1, batch_size=32,
            workers={"min": 2, "max": 2}, stop={"epochs": 1},
            evaluation={"disabled": True})
        return self.commands.await_state(program, "FAILED")["stateReason"]

    def see_that_it_heard(self, sentence, name):
        """The agent has said it in its log, and the script has died of it."""
        until(f"the agent {name} says: {sentence}",
              lambda: any(sentence in line.get("reason", "")
                          for line in self.log(name)), HEARD)
        path = SCRATCH / f"{name}.program"
        until(f"{path} ends with: {sentence}", lambda: re.search(
            "^paceline.ProgramError: .*" + re.escape(sentence),
            path.read_text(), re.MULTILINE), HEARD)

    def log(self, name):
        """What an agent has logged; the last line may still be written."""
        text = (self.cluster.folder / f"{name}.log").read_text()
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def see_one_of(self, sentences, reason):
        """It is the reason, and both workers have heard it. `sentences` are by
        who says it: of two it is the second one that differs."""
        [(who, sentence)] = [(who, words) for who, words in sentences.items()
                             if f"{who}: {words}" in reason]
        print(f"{who}: {sentence}", flush=True)
        for name in sentences:
            self.see_that_it_heard(sentence, name)

    def test_other_shapes(self):
        reason = self.reason("shapes")
        self.see_one_of(
            {"w0": 'tensor "fc.weight" is [3, 8] here and [5, 8] at worker w1',
             "w1": 'tensor "fc.weight" is [5, 8] here and [3, 8] at worker w0'},
            reason)

    def test_other_lengths(self):
        reason = self.reason("lengths")
        self.see_one_of(
            {"v0": "the job wants 4,095 samples, this data set has 4,096",
             "v1": "the job wants 4,096 samples, this data set has 4,095"},
            reason)


if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    BIN, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    package = str(SOURCE / "services" / "worker" / "python")
    os.environ.update(PYTHONPATH=package, PYTHONDONTWRITEBYTECODE="1")
    from job_commands import JobCommands
    from real_cluster import RealCluster, until
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

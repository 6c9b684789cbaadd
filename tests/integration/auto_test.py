#!/usr/bin/python3
"""The coordinator chooses the paradigm of jobs whose workers are unequal: real
processes, of which one imitates a device that is four times as slow.

    auto_test.py BIN_DIR
"""

import pathlib
import shutil
import sys
import tempfile
import unittest

from job_commands import JobCommands
from real_cluster import RealCluster, until

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-auto-"))
STEP = "20ms"
WORKERS = [(f"w{i}", ["--step-time", STEP, "--slowdown", str(slower)])
           for i, slower in enumerate((1, 1, 1, 4))]


def spec(paradigm):
    return {"model": "logreg", "data": "synthetic:shapes",
            "paradigm": paradigm, "batch_size": 32,
            "workers": {"min": len(WORKERS)},
            "stop": {"samples": 1_000_000_000},
            "evaluation": {"disabled": True}}


class Auto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = RealCluster(BIN, SCRATCH, 1, WORKERS)
        cls.addClassCleanup(cls.cluster.stop)
        cls.jobs = JobCommands(BIN, SCRATCH, cls.cluster.address)

    def advice(self, name):
        return self.jobs.job(name).get("progress", {}).get("advice")

    def create(self, name, paradigm):
        self.jobs.create(name, **spec(paradigm))
        self.addCleanup(self.jobs, "job", "cancel", name)

    def paradigm_of(self, name):
        return self.jobs.job(name)["progress"]["paradigm"]

    def choice_of(self, name):
        """What its spec says: the paradigm, and how batches are divided."""
        spec = self.jobs.job(name)["spec"]
        return spec["paradigm"], spec["batching"]

    def test_the_noise_of_its_gradients_is_measured(self):
        self.create("noisy", "bsp")
        noise = until("rounds were measured",
                      lambda: self.jobs.job("noisy").get("progress", {}).get(
                          "gradientNoise"))
        self.assertGreater(noise["gradientNorm"], 0)
        self.assertGreater(noise["noiseScale"], 0)
        self.assertIn("noise scale", self.jobs("job", "describe", "noisy"))

    def test_every_job_is_advised(self):
        self.create("advised", "bsp")
        advice = until("there is advice", lambda: self.advice("advised"))
        played = {option["paradigm"].split(":")[0]: option
                  for option in advice["options"]}
        # Everybody at its own pace is three times as fast as the slowest, less
        # what is lost on the way.
        asp = float(played["asp"]["samplesPerSecond"])
        bsp = min(float(option["samplesPerSecond"])
                  for option in advice["options"]
                  if option["paradigm"] == "bsp")
        self.assertGreater(asp, 2 * bsp)
        self.assertGreater(advice["gain"], 1.5)
        self.assertNotEqual(advice["paradigm"], "bsp")
        # That is all.
        self.assertEqual(self.paradigm_of("advised"), "bsp")
        self.assertIn("Advice", self.jobs("job", "describe", "advised"))
        until("the log has it",
              lambda: "advice" in self.jobs("job", "logs", "advised"))

    def test_a_job_is_steered_until_somebody_else_chooses(self):
        self.create("steered", "auto")
        job = self.jobs.await_state("steered", "RUNNING")
        self.assertTrue(job["spec"]["auto"]["act"])
        # Balanced batches, mostly: then it is still BSP.
        until("something else is chosen",
              lambda: self.choice_of("steered") != ("bsp", "even"))
        until("the log says why",
              lambda: "(auto: " in self.jobs("job", "logs", "steered"))
        self.assertTrue(self.jobs.job("steered")["spec"]["auto"]["act"])

        self.jobs("job", "switch", "steered", "bsp")
        self.assertNotIn("auto", self.jobs.job("steered")["spec"])
        self.jobs("job", "update", "steered", "--set",
                  "spec.batching=even")
        # It is looked at again, and no more.
        advice = until("it is advised anew", lambda: next(
            (advice for advice in [self.advice("steered")]
             if advice and advice["paradigm"] != "bsp"), None))
        self.assertGreater(advice["gain"], 1.5)
        self.assertEqual(self.paradigm_of("steered"), "bsp")

        self.jobs("job", "switch", "steered", "auto")
        self.assertTrue(self.jobs.job("steered")["spec"]["auto"]["act"])
        until("it is steered again",
              lambda: self.choice_of("steered") != ("bsp", "even"))


def main():
    try:
        unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    main()

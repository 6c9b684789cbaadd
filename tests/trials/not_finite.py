#!/usr/bin/env python3
"""Jobs that can learn nothing, of a learning rate that is far too large or far
too small, say so under every kind of paradigm; a sound one says nothing."""

import time
import unittest

from trial_cluster import LONG, TrialCluster, main

SAMPLES = 12_000
PARADIGMS = ["bsp", "asp", "kbatchsync:k=2", "ksync:k=2", "cgp", "ssp:s=3",
             "saps", "asp:staleness_weight=inverse"]


class NotFinite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = TrialCluster(servers=2, workers=3, step="2ms")

    @classmethod
    def tearDownClass(cls):
        codes = cls.cluster.stop()
        if any(codes):
            raise AssertionError(f"exit codes {codes}")

    def train(self, paradigm, rate):
        name = f"{paradigm.replace(':', '-').replace('=', '-')}-{rate:g}"
        name = name.replace("+", "").replace("_", "-").replace(".", "-")
        self.cluster.create(name, paradigm=paradigm, learning_rate=rate,
                            stop={"samples": SAMPLES},
                            evaluation={"disabled": True})
        began = time.monotonic()
        code, text = self.cluster.ask_command(
            "job", "wait", name, "--for=state=SUCCEEDED", f"--timeout={LONG}s")
        job = self.cluster.job(name)
        print(f"{name}: {job['state']} after {time.monotonic() - began:.1f} s, "
              f"{job.get('progress', {}).get('samples', 0)} samples, "
              f"{job.get('progress', {}).get('samplesDiscarded', 0)} discarded:"
              f" {job.get('stateReason', '')}", flush=True)
        return code, text, job

    def test_a_job_that_diverges_fails(self):
        for paradigm in PARADIGMS:
            with self.subTest(paradigm=paradigm):
                code, _, job = self.train(paradigm, 1e6)
                self.assertNotEqual(code, 0)
                self.assertEqual(job["state"], "FAILED")
                self.assertIn("not finite", job["stateReason"])
                self.assertIn("lower learning rate", job["stateReason"])
                self.assertLess(int(job["progress"]["samples"]), SAMPLES)

    def test_a_job_that_learns_nothing_says_so(self):
        for paradigm in ["bsp", "asp"]:
            with self.subTest(paradigm=paradigm):
                code, _, job = self.train(paradigm, 1e-9)
                self.assertEqual(code, 0)
                self.assertIn("the loss has not fallen", job["stateReason"])

    def test_a_sound_job_says_nothing(self):
        for paradigm in PARADIGMS:
            with self.subTest(paradigm=paradigm):
                code, _, job = self.train(paradigm, 0.01)
                self.assertEqual(code, 0)
                self.assertEqual(job.get("stateReason", ""), "")


if __name__ == "__main__":
    main()

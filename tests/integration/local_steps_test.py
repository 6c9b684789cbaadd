#!/usr/bin/python3
"""Local steps that are pushed without waiting, in virtual time: the outer
optimizer's momentum, its delay and HeLoCo's correction, by the command.

    local_steps_test.py BIN_DIR
"""

import json
import pathlib
import subprocess
import sys
import unittest

BIN = pathlib.Path(sys.argv[1]).resolve()
PUSH_EVERY = 4
BATCH = 32
OUTER = "sgd:momentum=0.9,nesterov=true"


def simulate(optimizer, *paradigms, micro_batch=BATCH // PUSH_EVERY):
    """The runs' results, and all that was printed."""
    done = subprocess.run(
        [BIN / "paceline", "simulate", "--train", "mlp", "--data",
         "synthetic:tiny", "--iteration-times", "1,1,1,4", "--lease", "10m",
         "--epochs", "2", "--eval-every", "512", "--batch-size", str(BATCH),
         "--micro-batch", str(micro_batch), "--local-rate", "0.05",
         "--learning-rate", "0.3", "--optimizer", optimizer, "-o", "json",
         *(part for paradigm in paradigms
           for part in ("--paradigm", paradigm))],
        check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["runs"], done.stdout


def losses(run):
    return [point["loss"] for point in run["accuracy"]]


class LocalSteps(unittest.TestCase):
    def test_each_rule_of_the_momentum_is_another_one(self):
        told = {}
        for rule in ("", ",delay=4", ",correction=heloco",
                     ",delay=4,correction=heloco"):
            (run,), _ = simulate(OUTER + rule, "asp")
            self.assertGreater(run["staleness"]["p50"], 0)
            self.assertLess(losses(run)[-1], losses(run)[0], rule)
            told[rule] = tuple(losses(run))
        self.assertEqual(len(set(told.values())), len(told))

    def test_rounds_are_not_corrected(self):
        (plain,), _ = simulate(OUTER, "bsp")
        (corrected,), _ = simulate(OUTER + ",correction=heloco", "bsp")
        self.assertEqual(losses(plain), losses(corrected))

    def test_a_local_step_is_a_micro_batch(self):
        (four,), _ = simulate(OUTER, "asp")
        (one,), _ = simulate(OUTER, "asp", micro_batch=BATCH)
        self.assertEqual(four["pushes"], one["pushes"])
        self.assertNotEqual(losses(four), losses(one))

    def test_the_same_flags_give_the_same_output(self):
        _, first = simulate(OUTER + ",correction=heloco", "asp", "bsp")
        _, second = simulate(OUTER + ",correction=heloco", "asp", "bsp")
        self.assertEqual(first, second)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)

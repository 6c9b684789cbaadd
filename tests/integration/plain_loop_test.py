#!/usr/bin/python3
"""What a torch script may do comes to the numbers of a plain torch loop.

    plain_loop_test.py BIN_DIR SOURCE_DIR

The cases, with their tolerances, are those that the Python package's tests
have for an agent that they play; here the servers are the real ones, two of
them, with one worker under BSP. The script is plain_loop_program.py.
"""

import collections
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import unittest

BIN = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-loops-"))
SCRIPT = pathlib.Path(__file__).resolve().parent / "plain_loop_program.py"
LOSS_WITHIN = 1e-5
# Of weights and of losses. Beside an edge of rounding a weight goes to the
# other bf16, and what follows from that grows: two plain loops that begin 1e-7
# apart have ended 0.015 apart. The first steps meet no edge, and there a loop
# without autocast is 20 times as far away.
WIDER = {"bf16 autocast": (0.05, 0.02)}
FIRST = 10
LOCAL_STEPS = 50  # Outer ones.
# Local steps, which are torch's own, and the outer ones' order of roundings.
LOCAL_WITHIN = 1e-5
OUTER_RATE, OUTER_MOMENTUM = 0.7, 0.9
STOLEN_WITHIN = 1e-5  # Parts are added up in another order.
FAST, SLOW = "fast", "slow"  # 1 : 4.


class PlainLoopTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def own(program, *flags):
            return ["--program", program, "--exec",
                    f"OMP_NUM_THREADS=1 exec {sys.executable} {SCRIPT}",
                    *flags]
        cls.cluster = RealCluster(
            BIN, SCRATCH, 2,
            [("w0", own("alone")),
             (FAST, own("paced", "--step-time", "20ms")),
             (SLOW, own("paced", "--step-time", "80ms"))])
        cls.commands = JobCommands(BIN, SCRATCH, cls.cluster.address)

    @classmethod
    def tearDownClass(cls):
        codes = cls.cluster.stop()
        if set(codes) != {0}:
            raise AssertionError(f"exit codes {codes}")

    def train(self, name, case, epochs, program="alone", **spec):
        """From the weights of a new model. What the workers recorded."""
        initial = SCRATCH / f"{name}.initial"
        paceline.save_initial(script.make_model(case), initial)
        record = SCRATCH / f"{name}.record"
        self.commands.create(
            name, model=f"program:{program}", data="program",
            arguments={"case": case, "record": str(record)},
            batch_size=shared.BATCH, schedule="constant", wire="FP32",
            seed="3", servers=2, stop={"epochs": epochs},
            evaluation={"disabled": True},
            initial_weights=str(initial), **spec)
        job = self.commands.await_state(name, "SUCCEEDED")
        self.assertEqual(int(job["progress"]["samples"]),
                         epochs * shared.SAMPLES)
        return {path.suffix[1:]: [json.loads(line) for line
                                  in path.read_text().splitlines()]
                for path in SCRATCH.glob(f"{name}.record.*")}

    def weights(self, name):
        return paceline.load_checkpoint(
            self.commands.newest_checkpoint(name)["directory"])

    def assert_same(self, found, model, within):
        """`found` has all that a checkpoint can have of the model."""
        state = {name: value for name, value in model.state_dict().items()
                 if value.is_floating_point()}
        # Of two names of one tensor, the first.
        places = collections.Counter()
        for name, value in state.items():
            places[value.data_ptr()] += 1
            if places[value.data_ptr()] == 1:
                self.assertIn(name, found)
        self.assertEqual(len(found), len(places))
        off = max(float((value - state[name]).abs().max())
                  for name, value in found.items())
        self.assertLessEqual(off, within)
        return off

    def test_every_case_comes_to_the_plain_loop_s_numbers(self):
        for number, name in enumerate(shared.CASES):
            with self.subTest(name):
                self.see_case(f"case-{number}", name)

    def see_case(self, job, name):
        case = shared.CASES[name]
        micro_batch = case.get("micro_batch", shared.BATCH)
        [steps] = self.train(
            job, name, shared.STEPS * shared.BATCH // shared.SAMPLES,
            paradigm="bsp", micro_batch=micro_batch,
            learning_rate=case.get("rate", 0.05), optimizer=case["spec"],
            workers={"min": 1, "max": 1}).values()
        self.assertEqual(len(steps), shared.STEPS)
        order = [[(0, i) for part in step["samples"] for i in part]
                 for step in steps]
        plain = script.make_model(name)
        losses = shared.plain_loop(
            plain, case["make"](plain), shared.make_data(), order, micro_batch,
            case.get("clip_norm"), case.get("autocast"))
        self.assertLess(losses[-1], losses[0] - 0.2, "nothing was learnt")
        within, loss_within = WIDER.get(name, (case["within"], LOSS_WITHIN))
        off = self.assert_same(self.weights(job), plain, within)
        for number, (step, loss) in enumerate(zip(steps, losses)):
            self.assertAlmostEqual(
                step["loss"], loss,
                delta=LOSS_WITHIN if number < FIRST else loss_within)
        print(f"{name}: {off:.2g} of {within:g}", flush=True)

    def test_local_steps_are_diloco_s(self):
        # AdamW makes them, which keeps its state; the servers' Nesterov takes
        # what they come to for a gradient.
        case = "local adamw"
        [steps] = self.train(
            "outer", case, LOCAL_STEPS * shared.BATCH // shared.SAMPLES,
            paradigm="bsp", micro_batch=script.LOCAL_BATCH,
            learning_rate=OUTER_RATE,
            optimizer=f"sgd:momentum={OUTER_MOMENTUM},nesterov=true",
            workers={"min": 1, "max": 1}).values()
        self.assertEqual([len(step["samples"]) for step in steps],
                         [script.PUSH_EVERY] * LOCAL_STEPS)
        plain = script.make_model(case)
        self.train_as_diloco(plain, script.LOCAL[case](plain), steps)
        off = self.assert_same(self.weights("outer"), plain, LOCAL_WITHIN)
        print(f"{case}: {off:.2g} of {LOCAL_WITHIN:g}", flush=True)

    def train_as_diloco(self, model, inner, steps):
        """Douillard et al., "DiLoCo", 2023, algorithm 1, of one worker."""
        data = shared.make_data()
        shown = [value.detach().clone() for value in model.parameters()]
        outer = torch.optim.SGD(shown, OUTER_RATE, OUTER_MOMENTUM,
                                nesterov=True)
        losses = []
        for step in steps:
            order = [[(0, i) for i in part] for part in step["samples"]]
            losses += shared.plain_loop(model, inner, data, order,
                                        script.LOCAL_BATCH)
            with torch.no_grad():
                for before, value in zip(shown, model.parameters()):
                    before.grad = before - value
                outer.step()
                for before, value in zip(shown, model.parameters()):
                    value.copy_(before)
        self.assertLess(losses[-1], losses[0] - 0.2, "nothing was learnt")

    def test_a_stolen_round_is_a_step_over_all_of_its_samples(self):
        name, epochs, rate = "sgd", 6, 0.05
        found = self.train(
            "stolen", name, epochs, "paced", paradigm="bsp:steal=true",
            learning_rate=rate, optimizer="sgd",
            workers={"min": 2, "max": 2})
        self.assertEqual(set(found), {FAST, SLOW})
        rounds = collections.defaultdict(list)
        for steps in found.values():
            for step in steps:
                rounds[step["version"]] += [
                    (0, i) for part in step["samples"] for i in part]
        pushes = {step["iteration"] for step in found[FAST]}
        self.assertGreater(len(found[FAST]), len(pushes),
                           "nothing was extended")
        plain = script.make_model(name)
        for number in sorted(rounds):
            samples = rounds[number]
            # Two batches, but what was loaded ahead is not cut into crumbs.
            self.assertLessEqual(len(samples), 2.25 * shared.BATCH)
            # As much as a step of that many batches.
            of_round = torch.optim.SGD(plain.parameters(),
                                       rate * len(samples) / shared.BATCH)
            shared.plain_loop(plain, of_round, shared.make_data(), [samples],
                              len(samples))
        off = self.assert_same(self.weights("stolen"), plain, STOLEN_WITHIN)
        print(f"stolen: {len(found[FAST])} steps of {FAST} in {len(pushes)} "
              f"pushes, {len(rounds)} rounds, {off:.2g} of {STOLEN_WITHIN:g}",
              flush=True)

    def test_local_steps_go_by_pace(self):
        epochs = 20
        found = self.train(
            "paced", "local adamw", epochs, "paced", paradigm="bsp",
            batching="balanced", micro_batch=script.LOCAL_BATCH,
            learning_rate=OUTER_RATE, optimizer="sgd", workers={"min": 2})
        self.assertEqual(set(found), {FAST, SLOW})
        used = collections.Counter(
            i for steps in found.values() for step in steps
            for part in step["samples"] for i in part)
        self.assertEqual(used, {i: epochs for i in range(shared.SAMPLES)})
        # At first each has as many as the other, at an epoch's end what is
        # left; but for that, they are whole.
        local = {name: [len(step["samples"]) for step in steps]
                 for name, steps in found.items()}
        self.assertEqual([counts[0] for counts in local.values()],
                         [script.PUSH_EVERY] * 2)
        self.assertGreater(max(local[FAST]), script.PUSH_EVERY)
        later = {name: statistics.mean(counts[len(counts) // 2:])
                 for name, counts in local.items()}
        self.assertGreater(later[FAST], 1.5 * later[SLOW])
        for steps in found.values():
            for step in steps:
                for part in step["samples"][:-1]:
                    self.assertEqual(len(part), script.LOCAL_BATCH)
        print("local steps: " + ", ".join(
            f"{name} {mean:.2f}" for name, mean in later.items()), flush=True)


if __name__ == "__main__":
    try:
        import pytest  # noqa: F401
        import torch
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    BIN, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    package = SOURCE / "services" / "worker" / "python"
    folders = [str(package), str(package / "tests")]
    sys.path[:0] = folders
    os.environ.update(PYTHONPATH=os.pathsep.join(folders),
                      PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)
    import paceline
    import plain_loop_program as script
    import test_torch_same_numbers as shared
    from job_commands import JobCommands
    from real_cluster import RealCluster
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

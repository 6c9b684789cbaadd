#!/usr/bin/python3
"""The life of jobs whose model is a torch script, with real processes.

    own_model_test.py BIN_DIR SOURCE_DIR

The script is own_model.py, which counts how often each sample was used.
"""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-own-"))
SCRIPT = pathlib.Path(__file__).resolve().parent / "own_model.py"
FIGURES = ("accuracy", "loss", "perplexity", "top2")
ENDLESS = 1_000_000  # Epochs.


class OwnModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        own = ["--program", "own", "--exec",
               f"OMP_NUM_THREADS=1 exec {sys.executable} {SCRIPT} {SCRATCH}"]
        # So slow that what is done to a job is done in its middle.
        cls.cluster = RealCluster(
            BIN, SCRATCH, 2,
            [(name, [*own, "--step-time", "5ms"]) for name in ("w0", "w1")],
            own)
        cls.commands = JobCommands(BIN, SCRATCH, cls.cluster.address)

    @classmethod
    def tearDownClass(cls):
        codes = cls.cluster.stop()
        left = subprocess.run(["pgrep", "-f", f"{SCRIPT.name} {SCRATCH}"],
                              stdout=subprocess.PIPE, check=False).stdout
        if set(codes) != {0} or left:
            raise AssertionError(f"exit codes {codes}, programs left: {left}")

    def create(self, name, **spec):
        self.commands.create(
            name, **{"model": "program:own", "data": "program",
                     "batch_size": script.BATCH, "learning_rate": script.RATE,
                     "optimizer": "sgd", "schedule": "constant",
                     "workers": {"min": 2}, "evaluation": {"every": 2048},
                     **spec})

    def used(self, directory):
        """How often each sample has been, as a checkpoint has it."""
        counts = paceline.load_checkpoint(directory)["counts"]
        times = counts * script.BATCH / script.RATE
        # A gradient of part of a batch is a little rounded.
        self.assertLess(float((times - times.round()).abs().max()), 0.01)
        return times.round()

    def pause(self, name):
        """The job, and the folder that it is to go on from. Nothing is
        counted that was not used, and nothing twice."""
        self.commands("job", "pause", name)
        job = self.commands.await_state(name, "PAUSED")
        point = json.loads(self.commands(
            "checkpoint", "get", job["restoreFrom"], "-o", "json"))
        used = self.used(point["directory"])
        samples = int(job["progress"]["samples"])
        self.assertEqual(int(used.sum()), samples)
        # Two workers can be in two epochs. One that comes back later than the
        # other, after a restart, can have reserved some of a third.
        self.assertLessEqual(int(used.max() - used.min()), 2)
        self.assertGreaterEqual(int(used.min()), samples // script.TRAIN - 1)
        return samples

    def restart_coordinator(self, end):
        end(self.cluster.coordinator)
        self.cluster.coordinator.wait(timeout=LONG)
        self.cluster.coordinator.stdout.close()
        self.cluster.start_coordinator()

    def points(self, name):
        return json.loads(self.commands(
            "job", "accuracy", name, "-o", "json")).get("accuracyPoints", [])

    def test_a_job_s_whole_life(self):
        commands, name = self.commands, "life"
        self.create(name, paradigm="bsp", stop={"epochs": ENDLESS})
        samples = commands.await_more_samples(name, 0)
        for paradigm in ("asp", "cgp"):
            commands("job", "switch", name, "--paradigm", paradigm)
            until(f"it is {paradigm}", lambda p=paradigm: commands.job(name)[
                "spec"]["paradigm"].startswith(p))
            samples = commands.await_more_samples(name, samples)
        self.see_figures(name)

        before = self.pause(name)
        self.assertGreaterEqual(before, samples)
        commands("job", "resume", name)
        samples = commands.await_more_samples(name, before)
        self.restart_coordinator(lambda process: process.terminate())
        saved = commands.samples(name)
        self.assertGreaterEqual(saved, samples)
        samples = commands.await_more_samples(name, saved)
        # Another one goes on where that was.
        self.restart_coordinator(lambda process: process.kill())
        self.assertGreaterEqual(commands.samples(name), samples)
        commands.await_more_samples(name, samples)

        epochs = self.pause(name) // script.TRAIN + 2
        commands("job", "update", name, "--set", f"spec.stop.epochs={epochs}")
        commands("job", "resume", name)
        job = commands.await_state(name, "SUCCEEDED")
        self.assertEqual(int(job["progress"]["samples"]),
                         epochs * script.TRAIN)
        directory = commands.newest_checkpoint(name)["directory"]
        self.assertTrue(bool((self.used(directory) == epochs).all()))
        self.see_that_torch_reads(directory, self.points(name)[-1])
        self.see_another_job_go_on(directory, epochs + 1)

    def see_figures(self, name):
        """What the evaluator's program says comes to everybody who asks."""
        points = until("there are two evaluations",
                       lambda: self.points(name)[1:])
        for figure in FIGURES:
            self.assertIn(figure.upper(), self.commands(
                "job", "accuracy", name).split("\n")[0])
        for point in points:
            self.assertAlmostEqual(point["metrics"]["perplexity"],
                                   math.exp(point["loss"]), places=4)
            self.assertGreaterEqual(point["metrics"]["top2"],
                                    point["accuracy"])
        self.assertIn("accuracy", self.commands.job(name)["progress"])
        name = f"namespaces/default/jobs/{name}"
        for line in (f'accuracy_ratio{{job_id="{name}"}} ',
                     f'evaluation_metric{{job_id="{name}",metric="top2"}} ',
                     f'evaluation_metric{{job_id="{name}",'
                     'metric="perplexity"} '):
            until(f"Prometheus sees {line}",
                  lambda wanted=line: "paceline_coordinator_" + wanted in
                  self.cluster.metrics(), 20)

    def see_that_torch_reads(self, directory, last):
        """The model that the last evaluation had."""
        model = script.Model()
        model.load_state_dict(paceline.load_checkpoint(directory))
        self.assertEqual(float(model.scale), 0.75)
        found = script.evaluate(model.eval())
        self.assertGreater(found["accuracy"], 0.9)
        self.assertAlmostEqual(found["accuracy"], last["accuracy"], places=6)
        self.assertAlmostEqual(found["loss"], last["loss"], places=6)

    def see_another_job_go_on(self, directory, epochs):
        self.create("again", initial_weights=directory, stop={"epochs": 1})
        job = self.commands.await_state("again", "SUCCEEDED")
        self.assertEqual(int(job["progress"]["samples"]), script.TRAIN)
        used = self.used(self.commands.newest_checkpoint("again")["directory"])
        self.assertTrue(bool((used == epochs).all()))

    def test_a_job_ends_at_its_target(self):
        self.create("aims", paradigm="asp",
                    stop={"epochs": ENDLESS, "at_target": True,
                          "target": {"metric": "perplexity", "value": 1.4,
                                     "direction": "AT_MOST"}})
        job = self.commands.await_state("aims", "SUCCEEDED")
        self.assertEqual(
            job["stateReason"],
            "ended early: two evaluations have reached perplexity<=1.4")
        self.assertIn(job["stateReason"], self.commands("job", "logs", "aims"))
        reached = [point["metrics"]["perplexity"] <= 1.4
                   for point in self.points("aims")]
        self.assertIn((True, True), list(zip(reached, reached[1:])))
        self.assertLess(int(job["progress"]["samples"]),
                        ENDLESS * script.TRAIN)


if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    BIN, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    package = str(SOURCE / "services" / "worker" / "python")
    sys.path.insert(0, package)
    os.environ.update(PYTHONPATH=package, PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    import own_model as script
    import paceline
    from job_commands import JobCommands
    from real_cluster import LONG, RealCluster, until
    torch.set_num_threads(1)
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

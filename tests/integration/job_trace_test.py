#!/usr/bin/python3
"""The trace of a cluster's job, beside the recording of the same job by
`paceline local`: simulations of both advise the same.

    job_trace_test.py BIN_DIR SOURCE_DIR
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

from job_commands import JobCommands
from real_cluster import LONG, RealCluster

BIN = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-trace-"))
STEP = 0.04
SLOWDOWNS = (1, 1, 1, 4)
# Of a batch, in seconds, by worker.
WANTED = {f"w{i}": STEP * slower for i, slower in enumerate(SLOWDOWNS)}
SAMPLES = 12_000  # An epoch of synthetic:shapes.
BATCH = 48  # Not what `advise` takes of itself.


def paceline(*words):
    done = subprocess.run(
        [BIN / "paceline", *words], env={"HOME": str(SCRATCH)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LONG,
        check=False)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stderr}")
    return done.stdout


def iterations(trace):
    return [json.loads(line) for line in trace.read_text().splitlines()]


def advice(trace):
    return json.loads(paceline("advise", "--trace", str(trace), "--repeat", "1",
                               "-o", "json"))


def speed(told, paradigm):
    """Samples a second that the advice foresees of it."""
    option = next(option for option in told["options"]
                  if option["paradigm"] == paradigm)
    return option["samples_per_second"]["median"]


class JobTraceTest(unittest.TestCase):
    def check_times(self, trace):
        lines = iterations(trace)
        self.assertEqual(sum(line["samples"] for line in lines), SAMPLES)
        for worker, wanted in WANTED.items():
            times = [line["load"] + line["compute"] for line in lines
                     if line["worker"] == worker and line["samples"] == BATCH]
            # A worker that computes on a busy machine is late now and then.
            self.assertAlmostEqual(statistics.median(times), wanted,
                                   delta=0.3 * wanted, msg=worker)

    def test_a_job_and_its_local_recording_are_advised_the_same(self):
        recorded = SCRATCH / "recorded.jsonl"
        paceline("local", "--model", "logreg", "--data", "synthetic:shapes",
                 "--workers", "4", "--servers", "1", "--paradigm", "asp",
                 "--no-eval", "--step-time", f"{STEP}s", "--slowdown",
                 ",".join(map(str, SLOWDOWNS)), "--batch-size", str(BATCH),
                 "--epochs", "1", "--run-dir", str(SCRATCH / "runs"),
                 "--record", str(recorded))
        self.check_times(recorded)

        workers = [(f"w{i}", ["--step-time", f"{STEP}s", "--slowdown", str(slower)])
                   for i, slower in enumerate(SLOWDOWNS)]
        cluster = RealCluster(BIN, SCRATCH, 1, workers)
        self.addCleanup(cluster.stop)
        jobs = JobCommands(BIN, SCRATCH, cluster.address)
        jobs.create("traced", model="logreg", data="synthetic:shapes",
                    paradigm="asp", batch_size=BATCH,
                    workers={"min": len(workers)}, stop={"samples": SAMPLES})
        # While it runs there is a part of it.
        jobs.await_more_samples("traced", BATCH * 20)
        part = jobs("job", "trace", "traced")
        self.assertEqual(set(json.loads(part.splitlines()[0])),
                         set(iterations(recorded)[0]))
        jobs.await_state("traced", "SUCCEEDED")
        traced = SCRATCH / "traced.jsonl"
        jobs("job", "trace", "traced", "-o", str(traced))
        self.check_times(traced)

        by_recording, by_trace = advice(recorded), advice(traced)
        # They were measured one after the other, on a machine that is busy now
        # and then, and of two rules that are worth the same either may win: what
        # one advises brings most of what the other sees to be gained.
        for one, other in ((by_recording, by_trace), (by_trace, by_recording)):
            bsp, best = speed(one, "bsp"), speed(one, one["advised"])
            self.assertGreater(best, 1.5 * bsp)
            self.assertGreater(speed(one, other["advised"]),
                               bsp + (best - bsp) / 2)
        # The same as with the file, byte for byte: of its own batches.
        self.assertEqual(
            jobs("advise", "--job", "traced", "--repeat", "1", "-o", "json"),
            paceline("advise", "--trace", str(traced), "--batch-size",
                     str(BATCH), "--repeat", "1", "-o", "json"))
        # It is worth something, or the test says nothing.
        self.assertNotEqual(by_trace["advised"], "bsp")

    def test_what_has_not_trained_has_no_trace(self):
        cluster = RealCluster(BIN, SCRATCH, 1, [])
        self.addCleanup(cluster.stop)
        jobs = JobCommands(BIN, SCRATCH, cluster.address)
        jobs.create("waits", model="logreg", data="synthetic:shapes",
                    workers={"min": 1}, stop={"epochs": 1})
        with self.assertRaisesRegex(AssertionError, "knows no iteration"):
            jobs("job", "trace", "waits")
        for flags, error in (
                (("--job", "waits"), "knows no iteration"),
                (("--job", "nobody"), "namespaces/default/jobs/nobody"),
                (("--job", "waits", "--trace", "x"), "--job contradicts --trace"),
                (("--iteration-times", "1,2", "-n", "default"), "need --job")):
            with self.assertRaisesRegex(AssertionError, error):
                jobs("advise", *flags)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1]).resolve()
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

#!/usr/bin/python3
"""A job's whole curve as the command shows and exports it, on real processes.

    job_curve_test.py BIN_DIR SOURCE_DIR

What `paceline job metrics` writes for TensorBoard is read by a reader of this
file's own, with a checksum of its own, and compared with the coordinator's
report.
"""

import csv
import datetime
import io
import json
import pathlib
import shutil
import struct
import sys
import tempfile
import threading
import unittest

from job_commands import JobCommands
from real_cluster import RealCluster

BIN = SOURCE = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-curve-"))
PAUSE = 3  # Seconds that a job stands still, at least.
SLACK = 1  # By which the coordinator of a busy machine is late with its notes.


def masked_crc32c(data):
    """Bit by bit, as RFC 3720 has it; then as TensorFlow masks it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The records of a TFRecord file."""
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        of_size, = struct.unpack_from("<I", data, at + 8)
        record = data[at + 12:at + 12 + size]
        of_record, = struct.unpack_from("<I", data, at + 12 + size)
        assert of_size == masked_crc32c(data[at:at + 8]), at
        assert of_record == masked_crc32c(record), at
        yield record
        at += 16 + size


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of every field of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert kind == 2, kind
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        yield tag >> 3, value


def read_scalars(path):
    """[(wall time, step, {tag: value})] of an event file."""
    first, *events = records(path.read_bytes())
    assert dict(fields(first))[3] == b"brain.Event:2"
    steps = []
    for event in events:
        known = dict(fields(event))
        values = {}
        for number, value in fields(known[5]):
            assert number == 1, number
            scalar = dict(fields(value))
            values[scalar[1].decode()] = scalar[2]
        steps.append((known[1], known[2], values))
    return steps


def as_float(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def unix(text):
    parsed = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return parsed.timestamp()


def measures(evaluation):
    """By their names, of an evaluation in `job metrics -o json`."""
    found = dict(evaluation["metrics"])
    for name in ("accuracy", "loss"):
        if evaluation[name] is not None:
            found[name] = evaluation[name]
    return found


class JobCurveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = SOURCE / "tests/testdata/programs/line_program.py"
        line = ["--program", "line", "--exec",
                f"exec {sys.executable} {program}"]
        cls.cluster = RealCluster(
            BIN, SCRATCH, 1, [("w0", ["--step-time", "20ms"]), ("p0", line)])
        cls.cluster.start("paceline-worker", "e1", "--evaluator", *line)
        cls.paceline = JobCommands(BIN, SCRATCH, cls.cluster.address)
        # Two that differ in how fast they learn, and one that was paused.
        spec = {"model": "mlp", "data": "synthetic:tiny", "batch_size": 32,
                "evaluation": {"every": 320}, "workers": {"min": 1, "max": 1}}
        cls.paceline.create("paused", **spec, stop={"epochs": 10})
        cls.paceline.await_more_samples("paused", 640)
        cls.paceline("job", "pause", "paused")
        cls.paceline.await_state("paused", "PAUSED")
        threading.Event().wait(PAUSE)
        cls.paceline("job", "switch", "paused", "asp")
        cls.paceline("job", "resume", "paused")
        cls.paceline.await_state("paused", "SUCCEEDED")
        cls.paceline.create("short", **spec, stop={"epochs": 2})
        cls.paceline.await_state("short", "SUCCEEDED")
        cls.paceline.create(
            "line", model="program:line", data="program", batch_size=32,
            learning_rate=0.1, evaluation={"every": 512},
            workers={"min": 1, "max": 1}, stop={"epochs": 4})
        cls.paceline.await_state("line", "SUCCEEDED")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def document(self, *words):
        return json.loads(self.paceline(*words, "-o", "json"))

    def test_the_curve_is_of_all_runs(self):
        curve = self.document("job", "metrics", "paused")
        report = json.loads(self.paceline("job", "report", "paused"))
        points = self.document("job", "accuracy", "paused")["accuracyPoints"]
        self.assertEqual(
            [(one["seconds"], one["samples"], one["accuracy"], one["loss"])
             for one in curve["evaluations"]],
            [(one["seconds"], one["samples"], one["accuracy"], one["loss"])
             for one in report["accuracy"]])
        self.assertEqual(
            [(one["seconds"], one["samples"]) for one in curve["evaluations"]],
            [(one["seconds"], int(one["samples"])) for one in points])
        self.assertEqual(curve["workers"], report["workers"])
        self.assertEqual(curve["switches"], report["switches"])

    def test_times_leave_the_pause_out(self):
        job = self.paceline.job("paused")
        began, ended = unix(job["startTime"]), unix(job["endTime"])
        curve = self.document("job", "metrics", "paused")["evaluations"]
        times = [unix(one["time"]) for one in curve]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(times[0], began - SLACK)
        self.assertLessEqual(times[-1], ended + SLACK)
        # Only across the pause do the clock and the seconds differ.
        apart = [later - earlier - (curve[i + 1]["seconds"] - curve[i]["seconds"])
                 for i, (earlier, later) in enumerate(zip(times, times[1:]))]
        self.assertGreater(max(apart), PAUSE - SLACK)
        apart.remove(max(apart))
        self.assertLess(max(map(abs, apart)), SLACK)

    def test_csv_has_the_same_numbers(self):
        for job in ("paused", "line"):
            curve = self.document("job", "metrics", job)["evaluations"]
            rows = list(csv.DictReader(io.StringIO(
                self.paceline("job", "metrics", job, "-o", "csv"))))
            self.assertEqual(len(rows), len(curve))
            for row, one in zip(rows, curve):
                self.assertEqual(row["time"], one["time"])
                self.assertEqual(int(row["samples"]), one["samples"])
                self.assertEqual(float(row["seconds"]), one["seconds"])
                found = measures(one)
                for name in ("accuracy", "loss", *found):
                    self.assertEqual(
                        row[name], json.dumps(found[name]) if name in found
                        else "", name)
            # What was measured, without the times.
            self.assertEqual(
                [(row["seconds"], row["loss"]) for row in csv.DictReader(
                    io.StringIO(self.paceline("job", "accuracy", job,
                                              "-o", "csv")))],
                [(row["seconds"], row["loss"]) for row in rows])

    def test_tensorboard_reads_the_same_numbers(self):
        self.assertEqual(masked_crc32c(b"123456789"),
                         (0xE3069283 >> 15 | 0xE3069283 << 17)
                         + 0xA282EAD8 & 0xFFFFFFFF)
        for job in ("paused", "line"):
            folder = SCRATCH / "runs"
            for _ in range(2):  # The second takes the first one's place.
                self.paceline("job", "metrics", job, "--tensorboard", folder)
            found, = (folder / job).iterdir()
            self.assertIn("tfevents", found.name)
            steps = read_scalars(found)
            curve = self.document("job", "metrics", job)["evaluations"]
            self.assertEqual(len(steps), len(curve))
            for (wall_time, step, values), one in zip(steps, curve):
                self.assertAlmostEqual(wall_time, unix(one["time"]), delta=0.001)
                self.assertEqual(step, one["samples"])
                self.assertEqual(values, {name: as_float(value) for name, value
                                          in measures(one).items()})
        # Beside a loss, this program has a metric of its own, and no accuracy.
        self.assertEqual(set(steps[0][2]), {"loss", "worst"})

    def test_compare(self):
        paused = json.loads(self.paceline("job", "report", "paused"))
        measured = [one["accuracy"] for one in paused["accuracy"]]
        compared = self.document("job", "compare", "short", "paused", "--target",
                                 f"accuracy>={measured[-1]}")
        short, long = compared["jobs"]
        self.assertEqual(short["paradigms"], ["bsp"])
        self.assertEqual([name.split(":")[0] for name in long["paradigms"]],
                         ["bsp", "asp"])
        self.assertEqual(long["samples"], paused["samples"])
        self.assertEqual(long["seconds"], paused["seconds"])
        self.assertEqual((long["last"], long["best"]),
                         (measured[-1], max(measured)))
        # Whether or not it was reached, and lost, before the end.
        self.assertLessEqual(long["seconds_to_target"],
                             paused["accuracy"][-1]["seconds"])
        self.assertLess(short["samples"], long["samples"])
        text = self.paceline("job", "compare", "short", "paused")
        self.assertEqual(text.splitlines()[-1],
                         self.document("job", "compare", "short", "paused")
                         ["conclusion"])
        self.assertIn("has the best accuracy", text)

    def test_tables(self):
        text = self.paceline("job", "metrics", "paused")
        self.assertRegex(text, r"^TIME +SECONDS +SAMPLES +VERSION +ACCURACY")
        self.assertRegex(text, r"\nWORKER|\n  WORKER")


if __name__ == "__main__":
    BIN, SOURCE = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

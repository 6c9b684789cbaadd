#!/usr/bin/python3
"""One session with the `paceline` command, from `job create` to `restore`.

    command_session_test.py BIN_DIR SOURCE_DIR

The sessions are transcripts, tests/testdata/session/*.txt: the lines that
begin with "$ " are run, what is between them is what they print. `... &` runs
beside the others, and "$ wait" waits for its end and prints what it printed.
What differs from run to run stands there as <time>, <n>, ...

PACELINE_UPDATE_GOLDEN=1 writes the transcripts anew. The data are those of
PACELINE_DATA/mnist or, without them, noise of the same size; a job that is to
reach its target needs the real ones.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from real_cluster import LONG, RealCluster

BIN = SOURCE = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-session-"))


def real_data():
    place = os.environ.get("PACELINE_DATA", str(SOURCE / "../shared/data"))
    return pathlib.Path(place).resolve()


def data_root():
    """Where there is no MNIST, images that show their label as a bar: what
    cannot be learned is told of, sooner or later."""
    if (real_data() / "mnist").is_dir():
        return real_data()
    folder = SCRATCH / "mnist"
    folder.mkdir(exist_ok=True)
    bars = [bytes(255 if pixel // 78 == label else 0
                  for pixel in range(28 * 28)) for label in range(10)]
    for split, size in (("train", 60_000), ("t10k", 10_000)):
        labels = bytes(byte % 10 for byte in os.urandom(size))
        (folder / f"{split}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 0x803, size, 28, 28) +
            b"".join(bars[label] for label in labels))
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, size) + labels)
    return SCRATCH


VOLATILE_TEXT = [
    # An evaluation may be over, or not.
    (r"\bwith (.*, )?\d+ samples in [\d.]+ s of training", "with <measures>"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z( \(\w+ ago\))?", "<time>"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uid>"),
    (r"\b[0-9a-f]{32}\b", "<etag>"),
    (r"\bpause-\d+-[0-9a-f]+\b", "pause-<n>"),
    (r"(?<![\w.:=/\"-])(\d+[smhd])+$", "<age>"),
    (r"(?<![\w.:=/\"-])\d+(\.\d+)?(?![\w.])", "<n>"),
    (r"<n> min <n> s", "<n> s"),
    (r"\bweights in \S+", "weights in <folder>"),
    (r"(?<=  )(yes|no)$", "<yes or no>"),
    # A job runs once two workers have loaded; the third may come later.
    (r"^  w\d(?=  )", "  <worker>"),
    (r"  +", "  "),
]
# How many of these there are is a matter of time, and whether somebody watches
# early enough to see a job wait and load, or enough batches for their noise.
OFTEN = re.compile(r"^\[mnist-lenet5\]|is a straggler|lost \(|dealt again|"
                   r"divided into|^ *auto-|^state (PENDING|STARTING):|"
                   r"  job  advice  |^  Gradient:")
SPEC = re.compile(r"^  ( *\w+: .*|\w+:)$")


def stable_text(text):
    lines = []
    in_spec = False
    for line in text.splitlines():
        in_spec = line == "Spec:" or (in_spec and SPEC.match(line))
        switched = "switched from" in line
        if OFTEN.search(line) and not switched:
            continue
        if not in_spec:
            for pattern, name in VOLATILE_TEXT:
                line = re.sub(pattern, name, line)
        if not lines or lines[-1] != line:
            lines.append(line.rstrip())
    return "\n".join(lines)


VOLATILE_FIELDS = {"uid", "etag", "resumeToken", "createTime", "updateTime",
                   "startTime", "endTime", "progress", "version", "samples",
                   "seconds", "bytes", "writeSeconds", "directory"}


def stable_tree(value, key=""):
    if key in VOLATILE_FIELDS:
        return f"<{key}>"
    if key == "spec":
        return value
    if isinstance(value, dict):
        return {k: stable_tree(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [stable_tree(v) for v in value
                if "/auto-" not in str(v)]
    if isinstance(value, str):
        return stable_text(value)
    return value


def happens_often(event):
    """Or may be over before somebody watches."""
    if "progress" in event or "accuracy" in event:
        return True
    if event.get("job", {}).get("state") in ("PENDING", "STARTING"):
        return True
    kind = event.get("decision", {}).get("kind")
    return kind not in (None, "switch") or "/auto-" in str(
        event.get("checkpoint", ""))


def documents(text):
    """What a program prints as JSON, of a stream only what must come."""
    decoder = json.JSONDecoder()
    rest = text.lstrip()
    while rest:
        document, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        if "resumeToken" not in document or not happens_often(document):
            yield stable_tree(document)


class Shell:
    """Runs commands, and leaves out what differs from run to run."""

    def __init__(self, cluster):
        self.environment = {
            "HOME": str(SCRATCH), "PACELINE_ADDRESS": cluster.address,
            "PATH": f"{BIN}:{os.environ['PATH']}",
        }
        self.beside = None
        self.last_spec = None

    def stable(self, output):
        if not output.startswith("{"):
            return stable_text(output)
        texts = []
        for document in documents(output):
            job = document.get("job", document)
            if "spec" in job:
                unchanged = job["spec"] == self.last_spec
                self.last_spec = job["spec"]
                if unchanged:
                    job["spec"] = "<unchanged>"
            text = json.dumps(document, indent=1)
            if not texts or texts[-1] != text:
                texts.append(text)
        return "\n".join(texts)

    def start(self, command):
        return subprocess.Popen(
            shlex.split(command), cwd=SOURCE, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)

    def run(self, command):
        """What it prints, and how it ends if not well."""
        if command.endswith(" &"):
            self.beside = self.start(command[:-2])
            return ""
        process = self.beside if command == "wait" else self.start(command)
        output, _ = process.communicate(timeout=LONG)
        printed = self.stable(output)
        if process.returncode != 0:
            printed += f"\n[exit {process.returncode}]"
        return printed.strip("\n")


class CommandSessionTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        flags = ["--data-root", str(data_root())]
        cls.cluster = RealCluster(
            BIN, SCRATCH, 2, [(f"w{i}", flags) for i in range(3)], flags)
        cls.shell = Shell(cls.cluster)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def check(self, name):
        path = SOURCE / "tests/testdata/session" / name
        golden = path.read_text()
        transcript = ""
        for command in re.findall(r"^\$ (.*)$", golden, re.MULTILINE):
            printed = self.shell.run(command)
            transcript += f"$ {command}\n" + (printed and printed + "\n")
        if "PACELINE_UPDATE_GOLDEN" in os.environ:
            path.write_text(transcript)
        self.assertEqual(golden, transcript)

    def test_text(self):
        self.check("text.txt")

    def test_json(self):
        self.check("json.txt")

    def test_what_was_cancelled_and_restored_reaches_its_target(self):
        if not (real_data() / "mnist").is_dir():
            self.skipTest(f"no mnist in {real_data()}; set PACELINE_DATA")
        job = "mnist-lenet5"
        for command in (
                "job create -f deploy/examples/mnist-lenet5.yaml",
                f"job wait {job} --for=state=RUNNING",
                f"checkpoint create {job} --name here --wait",
                f"job cancel {job}",
                f"job wait {job} --for=state=CANCELLED",
                f"job restore {job}",
                f"job wait {job} --for=state=SUCCEEDED --timeout={LONG}s"):
            self.assertNotIn("[exit", self.shell.run("paceline " + command))
        shown = self.shell.start(f"paceline job report {job}")
        report = json.loads(shown.communicate(timeout=LONG)[0])
        self.assertGreater(report["seconds_to_target"], 0)


if __name__ == "__main__":
    BIN, SOURCE = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

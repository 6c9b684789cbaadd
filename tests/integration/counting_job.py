"""A job whose weights count how often each sample was used."""

import array
import json
import pathlib
import sys

from job_commands import JobCommands
from real_cluster import LONG

PROGRAM = pathlib.Path(__file__).resolve().parent / "plain_program.py"
BATCH = 32
COUNTED = 1024  # Samples.


def documents(text):
    """JSON documents, one behind the other."""
    decoder = json.JSONDecoder()
    found = []
    while text := text.lstrip():
        one, end = decoder.raw_decode(text)
        found.append(one)
        text = text[end:]
    return found


def numbered(decision):
    return int(decision["sequence"]), decision["text"]


class CountingJob:
    """Of the cluster, with three servers or more."""

    name = "counts"

    def __init__(self, case, bin_dir, scratch, cluster):
        self.case = case
        self.cluster = cluster
        self.commands = JobCommands(bin_dir, scratch, cluster.address)

    @staticmethod
    def workers(*names):
        """As RealCluster takes them."""
        program = ["--step-time", "10ms", "--program", "plain", "--exec",
                   f"exec {sys.executable} {PROGRAM}"]
        return [(name, program) for name in names]

    def create(self, **spec):
        """Returns once it trains."""
        self.commands.create(self.name, **{
            "model": "program:plain", "data": "program",
            "arguments": {"task": "count"}, "paradigm": "ssp:s=3",
            "batch_size": BATCH, "learning_rate": 1, "optimizer": "sgd",
            "schedule": "constant", "wire": "FP32", "servers": 1,
            "replicas": 1, "workers": {"min": 1, "max": 2},
            "stop": {"epochs": 1_000_000}, "evaluation": {"disabled": True},
            **spec})
        self.commands.await_more_samples(self.name, 0)

    def samples(self):
        return self.commands.samples(self.name)

    def trains_on(self):
        self.commands.await_more_samples(self.name,
                                         self.samples() + 4 * BATCH)

    def switch(self, paradigm):
        self.commands("job", "switch", self.name, "--paradigm", paradigm)

    def decisions(self):
        """All so far, as (number, text)."""
        listed = self.commands("job", "logs", self.name, "-o", "json")
        return [numbered(one) for one in documents(listed)]

    def watch(self):
        """Begins to watch it; returns what says, after its end, which
        decisions were told."""
        process = self.commands.start("job", "watch", self.name, "-o", "json")
        self.case.addCleanup(process.kill)

        def told():
            output, _ = process.communicate(timeout=LONG)
            self.case.assertEqual(process.returncode, 0)
            return [numbered(event["decision"]) for event in documents(output)
                    if "decision" in event]
        return told

    def nobody_was_lost(self):
        """Workers went on with their sessions, in the iterations that they
        were in, and their programs did not notice."""
        self.case.assertNotIn("lost (", self.commands("job", "logs", self.name))
        for worker in ("w0", "w1"):
            log = (self.cluster.folder / f"{worker}.log").read_text()
            _, _, since = log.partition('"message":"registered"')
            self.case.assertNotIn("registering anew", since)
        self.case.assertNotIn("was lost with its server",
                              self.commands("job", "logs", self.name))

    def counts_each_sample(self):
        """Trains on to the end of an epoch, and looks at the weights."""
        commands, case = self.commands, self.case
        commands("job", "pause", self.name)
        commands.await_state(self.name, "PAUSED")
        epochs = self.samples() // COUNTED + 2
        commands("job", "update", self.name, "--set",
                 f"spec.stop.epochs={epochs}")
        commands("job", "resume", self.name)
        commands.await_state(self.name, "SUCCEEDED")
        case.assertEqual(self.samples(), epochs * COUNTED)
        blocks = {int(name.rpartition("/")[2]): data for name, data
                  in commands.tensors(self.name).items()
                  if name.rpartition("/")[0] == "counts"}
        counts = array.array("f")
        for _, block in sorted(blocks.items()):
            counts.frombytes(block)
        case.assertEqual(len(counts), COUNTED)
        case.assertEqual({round(count) for count in counts}, {epochs})

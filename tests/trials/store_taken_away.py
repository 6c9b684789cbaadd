#!/usr/bin/python3
"""Somebody deletes, replaces or overwrites the store of a coordinator that
runs, or its disk becomes read-only, while a job trains.

    store_taken_away.py BIN_DIR
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

# What other tests of real processes have.
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

from real_cluster import LONG, RealCluster, until  # noqa: E402

BIN = pathlib.Path(sys.argv[1]).resolve()
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-store-"))
LEASE = "3s"
JOB = "kept"
PRECONDITION = 4  # Of the command: docs/cli.md.
FAILED = 1


class Cluster(RealCluster):
    """One server, one worker, an evaluator, and a job that trains."""

    def __init__(self):
        # As long as it is there, nothing in the folder can be written.
        self.sign = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH)) / "read_only"
        super().__init__(BIN, SCRATCH, 1, [("w0", ["--step-time", "20ms"])],
                         lease=LEASE)
        self.store = self.folder / "jobs.db"
        file = self.folder / "job.json"
        file.write_text(json.dumps({"name": JOB, "spec": {
            "model": "logreg", "data": "synthetic:shapes", "paradigm": "asp",
            "batch_size": 32, "workers": {"min": 1},
            "stop": {"samples": 1_000_000_000},
            "evaluation": {"disabled": True},
            "checkpoints": {"interval": "1s"}}}))
        self.do("job", "create", "-f", str(file))
        self.await_training()

    def start_coordinator(self):
        self.environment = {
            **os.environ, "LD_PRELOAD": str(BIN / "broken_disk.so"),
            "PACELINE_DISK": str(self.folder),
            "PACELINE_DISK_READ_ONLY_WHILE": str(self.sign)}
        try:
            super().start_coordinator()
        finally:
            del self.environment

    def command(self, *arguments):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("PACELINE_")}
        return subprocess.run(
            [BIN / "paceline", *arguments, "--address", self.address],
            env={**environment, "PACELINE_CONFIG": str(self.folder / "none")},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LONG, check=False)

    def do(self, *arguments):
        """What a command says that must end well."""
        done = self.command(*arguments)
        if done.returncode != 0:
            raise AssertionError(f"paceline {arguments}: {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done.stdout

    def job(self):
        return json.loads(self.do("job", "get", JOB, "-o", "json"))

    def samples(self):
        return int(self.job().get("progress", {}).get("samples", 0))

    def await_training(self):
        """More samples than now are counted."""
        before = self.samples()
        until("it trains", lambda: self.samples() > before)

    def checkpoints(self):
        listed = json.loads(
            self.do("checkpoint", "list", JOB, "-o", "json"))
        return {checkpoint["name"]
                for checkpoint in listed.get("checkpoints", [])
                if checkpoint["state"] == "READY"}

    def ready(self):
        return self.ask("coordinator", "/readyz")

    def end_coordinator(self):
        self.coordinator.send_signal(signal.SIGTERM)
        code = self.coordinator.wait(timeout=LONG)
        self.coordinator.stdout.close()
        return code

    def refusal(self):
        """What a coordinator says that does not start."""
        ended = subprocess.run(
            [BIN / "paceline-coordinator", "--listen", self.address,
             "--store", self.store], capture_output=True, text=True,
            timeout=LONG, check=False)
        if ended.returncode == 0:
            raise AssertionError("it has started")
        return ended.stderr

    def store_errors(self):
        """Besides, once each, what the others say who cannot write to it."""
        log = (self.folder / "coordinator.log").read_text().splitlines()
        return [line["message"] for line in map(json.loads, log)
                if line["level"] == "error"
                and line["message"].startswith("store ")]


class StoreTakenAway(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.stop)

    def is_gone(self, reason, code):
        """Whatever promises something is refused, with the reason; and it is
        not ready."""
        for arguments in (["job", "switch", JOB, "--paradigm", "bsp"],
                          ["job", "pause", JOB], ["job", "cancel", JOB]):
            refused = self.cluster.command(*arguments)
            self.assertEqual(refused.returncode, code, refused.stderr)
            self.assertIn(reason, refused.stderr)
        code, text = self.cluster.ready()
        self.assertEqual(code, 503)
        self.assertIn(str(self.cluster.store), text)
        self.cluster.await_training()

    def rescued(self):
        return [file for file in self.cluster.folder.glob("jobs.db.rescued-*")
                if not file.name.endswith(("-wal", "-shm"))]

    def test_deleted(self):
        cluster = self.cluster
        for entry in cluster.folder.glob("jobs.db*"):
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        self.is_gone("STORE_GONE", PRECONDITION)
        self.assertEqual(len(cluster.store_errors()), 1)
        before = cluster.checkpoints()
        until("another checkpoint",
                 lambda: cluster.checkpoints() - before)
        counted = cluster.samples()
        self.assertEqual(cluster.end_coordinator(), 0)
        [rescued] = self.rescued()
        self.assertIn(rescued.name, cluster.refusal())
        rescued.rename(cluster.store)
        cluster.start_coordinator()
        # It was saved as it was told to stop, and goes on by itself.
        until("it goes on", lambda: cluster.samples() > counted)
        self.assertEqual(cluster.ready(), (200, "ok\n"))
        cluster.do("job", "switch", JOB, "--paradigm", "bsp")

    def test_noticed_without_a_request(self):
        cluster = self.cluster
        cluster.store.rename(cluster.folder / "elsewhere.db")
        until("it is not ready", lambda: cluster.ready()[0] == 503)
        self.assertEqual(len(self.rescued()), 1)

    def test_read_only(self):
        cluster = self.cluster
        answered = cluster.checkpoints()
        cluster.sign.touch()
        self.is_gone("Read-only file system", FAILED)
        self.assertLessEqual(answered, cluster.checkpoints())
        cluster.sign.unlink()
        until("it is ready", lambda: cluster.ready()[0] == 200)
        cluster.do("job", "switch", JOB, "--paradigm", "bsp")
        before = cluster.checkpoints()
        until("another checkpoint",
                 lambda: cluster.checkpoints() - before)
        # The run's journal lacks what was counted meanwhile.
        until("nobody can go on with it",
              lambda: not list((cluster.folder / "jobs.db.runs").iterdir()))
        cluster.coordinator.kill()
        cluster.coordinator.wait()
        cluster.coordinator.stdout.close()
        cluster.start_coordinator()
        job = cluster.job()
        self.assertEqual(job["state"], "PAUSED")
        self.assertIn(job["restoreFrom"], cluster.checkpoints() - before)
        self.assertEqual(job["spec"]["paradigm"], "bsp")
        cluster.do("job", "resume", JOB)
        cluster.await_training()

    def test_dies_while_read_only(self):
        cluster = self.cluster
        until("a checkpoint", cluster.checkpoints)
        cluster.sign.touch()
        # The journal ends before that.
        cluster.await_training()
        cluster.coordinator.kill()
        cluster.coordinator.wait()
        cluster.coordinator.stdout.close()
        cluster.sign.unlink()
        cluster.start_coordinator()
        until("what was counted is not counted again",
              lambda: cluster.job()["state"] == "PAUSED")
        job = cluster.job()
        self.assertIn("lacks what happened last", job["stateReason"])
        [saved] = [
            checkpoint for checkpoint in json.loads(cluster.do(
                "checkpoint", "list", JOB, "-o", "json"))["checkpoints"]
            if checkpoint["name"] == job["restoreFrom"]]
        self.assertEqual(job["progress"]["samples"], saved["samples"])
        cluster.do("job", "resume", JOB)
        cluster.await_training()

    def test_overwritten(self):
        cluster = self.cluster
        # All of it is in the one file then.
        self.assertEqual(cluster.end_coordinator(), 0)
        cluster.start_coordinator()
        until("it trains again",
                 lambda: cluster.job()["state"] == "RUNNING")
        noise = os.urandom(cluster.store.stat().st_size - 4096)
        with open(cluster.store, "r+b") as file:
            file.seek(4096)
            file.write(noise)
        self.is_gone("STORE_DAMAGED", FAILED)
        self.assertEqual(len(cluster.store_errors()), 1)
        cluster.end_coordinator()
        self.assertEqual(cluster.store.read_bytes()[4096:], noise)
        self.assertIn("DATA_LOSS", cluster.refusal())
        # So that everybody can end well.
        cluster.store.unlink()
        cluster.start_coordinator()


def main():
    try:
        unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The folder of the checkpoints is full, gone, or another one than the
coordinator's, when weights are to be saved: at a pause, at the end of a
training, while a process is told to stop.

    full_folder.py BIN_DIR

That a file stands in the folder's place does for a disk on which nothing can
be written, whoever runs this, root too.
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
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-full-folder-"))
LEASE = "3s"
BATCH = 32
JOB = "kept"


class Cluster(RealCluster):
    """One server with its flags, one worker, an evaluator."""

    def __init__(self, coordinator=(), server=()):
        super().__init__(BIN, SCRATCH, 0, [("w0", ["--step-time", "20ms"])],
                         coordinator=coordinator, lease=LEASE)
        self.start("paceline-server", "s0", *server)

    @property
    def saved(self):
        return self.folder / "checkpoints"

    def break_folder(self):
        self.saved.mkdir(exist_ok=True)
        self.saved.rename(self.folder / "away")
        self.saved.write_text("no folder\n")

    def mend_folder(self):
        self.saved.unlink()
        (self.folder / "away").rename(self.saved)

    def command(self, *arguments, ask=True):
        """What the command says; it must end well. Without `ask` it is one
        that asks no coordinator."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("PACELINE_")}
        done = subprocess.run(
            [BIN / "paceline", *arguments,
             *(["--address", self.address] if ask else [])],
            env={**environment, "PACELINE_CONFIG": str(self.folder / "none")},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LONG, check=False)
        if done.returncode != 0:
            raise AssertionError(f"paceline {arguments}: {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done.stdout

    def create(self, samples=1_000_000_000, **spec):
        file = self.folder / "job.json"
        file.write_text(json.dumps({"name": JOB, "spec": {
            "model": "logreg", "data": "synthetic:shapes", "paradigm": "asp",
            "batch_size": BATCH, "learning_rate": 0.01, "seed": 1,
            "schedule": "constant", "workers": {"min": 1},
            "stop": {"samples": samples}, "evaluation": {"disabled": True},
            **spec}}))
        self.command("job", "create", "-f", str(file))

    def job(self):
        return json.loads(self.command("job", "get", JOB, "-o", "json"))

    def await_more_attempts(self):
        before = self.await_job("PAUSING", "tried ")["stateReason"]
        until("it is tried again",
              lambda: self.job()["stateReason"] != before)
        self.await_job("PAUSING", "tried ")

    def samples(self):
        return int(self.job().get("progress", {}).get("samples", 0))

    def await_job(self, state, reason=""):
        """The job, once it is in that state with that in its reason."""
        def found():
            job = self.job()
            if job["state"] == state and reason in job.get("stateReason", ""):
                return job
            return None
        return until(f"{state}: {reason}", found)

    def train(self, more=20 * BATCH):
        before = self.samples()
        until("it trains", lambda: self.samples() >= before + more)

    def ready(self, name="coordinator"):
        return self.ask(name, "/readyz")

    def stop_coordinator(self):
        self.coordinator.send_signal(signal.SIGTERM)
        code = self.coordinator.wait(timeout=LONG)
        self.coordinator.stdout.close()
        return code

    def logs(self):
        return "\n".join(f"== {path.name}\n{path.read_text()[-4000:]}"
                         for path in sorted(self.folder.glob("*.log")))


class WithoutFolder(Cluster):
    """Whose folder cannot be made, until somebody mends that."""

    def start_coordinator(self):
        self.saved.symlink_to("/proc/none/checkpoints")
        super().start_coordinator()


class HangingDisk(Cluster):
    """Whose folder does not answer while a trial says so, to the coordinator or
    to the server."""

    def __init__(self, **options):
        self.signs = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        super().__init__(**options)

    def hangs_for(self, name):
        self.environment = {
            **os.environ, "LD_PRELOAD": str(BIN / "broken_disk.so"),
            "PACELINE_DISK": str(self.saved),
            "PACELINE_DISK_HANGS_WHILE": str(self.signs / name)}

    def start_coordinator(self):
        self.hangs_for("coordinator")
        super().start_coordinator()

    def start(self, program, name, *flags):
        self.hangs_for(name)
        super().start(program, name, *flags)

    def hang(self, name):
        (self.signs / name).touch()

    def answer(self, name):
        (self.signs / name).unlink()

    def checkpoints(self):
        listed = json.loads(self.command("checkpoint", "list", JOB, "-o",
                                         "json"))
        return {one["name"].split("/")[-1]: one["state"]
                for one in listed.get("checkpoints", [])}


class FullFolder(unittest.TestCase):

    def cluster(self, kind=Cluster, **options):
        cluster = kind(**options)
        self.addCleanup(self.end, cluster)
        return cluster

    def end(self, cluster):
        if not self._outcome.success:
            print(cluster.logs(), file=sys.stderr)
        cluster.stop()

    def test_a_pause_waits_for_its_folder(self):
        cluster = self.cluster()
        cluster.create()
        cluster.train()
        cluster.break_folder()
        cluster.command("job", "pause", JOB)
        pausing = cluster.await_job("PAUSING", "cannot be saved")
        self.assertIn("--directory DIR", pausing["stateReason"])
        trained = int(pausing["progress"]["samples"])
        # The servers alone wait; others may have the worker.
        until("its worker is free", lambda: "job" not in json.loads(
            cluster.command("worker", "list", "-o", "json"))["workers"][-1])
        code, said = until("the coordinator says so", lambda: (
            answer if "checkpoint folder" in (answer := cluster.ready())[1]
            else None))
        self.assertEqual(code, 200, said)
        cluster.await_more_attempts()
        cluster.mend_folder()
        paused = cluster.await_job("PAUSED")
        self.assertEqual(int(paused["progress"]["samples"]), trained)
        cluster.command("job", "resume", JOB)
        until("it goes on", lambda: cluster.samples() > trained)

    def test_a_pause_that_cannot_be_saved_is_taken_back(self):
        cluster = self.cluster()
        cluster.create()
        cluster.train()
        cluster.break_folder()
        cluster.command("job", "pause", JOB)
        cluster.await_more_attempts()
        trained = cluster.samples()
        cluster.command("job", "resume", JOB)
        self.assertEqual(cluster.job()["state"], "RUNNING")
        cluster.train()
        self.assertGreater(cluster.samples(), trained)
        cluster.mend_folder()
        cluster.command("job", "pause", JOB)
        cluster.await_job("PAUSED")

    def test_a_trained_model_is_saved_where_somebody_says(self):
        cluster = self.cluster()
        cluster.create(samples=60 * BATCH)
        cluster.await_job("RUNNING")
        cluster.break_folder()
        cluster.await_job("SAVING", "cannot be saved")
        self.assertEqual(cluster.samples(), 60 * BATCH)
        elsewhere = cluster.folder / "elsewhere"
        made = json.loads(cluster.command(
            "checkpoint", "create", JOB, "--name", "mine", "--directory",
            str(elsewhere), "--wait", "-o", "json"))
        cluster.await_job("SUCCEEDED")
        self.assertTrue(made["directory"].startswith(f"{elsewhere}/"), made)
        self.assertIn("whole", cluster.command(
            "checkpoint", "verify", made["directory"], ask=False))

    def test_another_folder_takes_it(self):
        other = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        cluster = self.cluster(coordinator=["--checkpoints", other])
        cluster.create()
        cluster.train()
        cluster.break_folder()
        cluster.command("job", "pause", JOB)
        cluster.await_job("PAUSED")
        trained = cluster.samples()
        cluster.mend_folder()
        cluster.command("job", "resume", JOB)
        until("it goes on", lambda: cluster.samples() > trained)

    def test_only_a_person_gives_it_up(self):
        cluster = self.cluster()
        cluster.create()
        cluster.train()
        cluster.break_folder()
        cluster.command("job", "pause", JOB)
        cluster.await_more_attempts()
        cluster.command("job", "cancel", JOB)
        cluster.await_job("CANCELLED")

    def test_a_coordinators_grace_is_used(self):
        cluster = self.cluster(coordinator=["--grace", f"{LONG}s"])
        cluster.create()
        cluster.train()
        cluster.break_folder()
        cluster.coordinator.send_signal(signal.SIGTERM)
        trained = int(cluster.await_job("SAVING", "cannot be saved")[
            "progress"]["samples"])
        cluster.mend_folder()
        self.assertEqual(cluster.stop_coordinator(), 0)
        cluster.start_coordinator()
        # By itself.
        until("it goes on", lambda: cluster.samples() > trained)

    def test_after_the_grace_of_a_coordinator_the_job_is_paused(self):
        cluster = self.cluster(coordinator=["--grace", "1s"])
        cluster.create()
        cluster.train()
        cluster.command("checkpoint", "create", JOB, "--name", "mine", "--wait")
        cluster.train()
        cluster.break_folder()
        self.assertEqual(cluster.stop_coordinator(), 0)
        cluster.mend_folder()
        cluster.start_coordinator()
        paused = cluster.await_job("PAUSED", "before the weights were saved")
        self.assertTrue(paused["restoreFrom"].endswith("/mine"), paused)
        saved = json.loads(cluster.command("checkpoint", "get", f"{JOB}/mine",
                                           "-o", "json"))
        self.assertEqual(paused["progress"]["samples"], saved["samples"])
        errors = [line for line in map(json.loads, (
            cluster.folder / "coordinator.log").read_text().splitlines())
            if line["level"] == "error"]
        self.assertEqual([line["message"] for line in errors],
                         ["what was trained is lost"])
        cluster.command("job", "resume", JOB)
        cluster.train()

    def test_after_the_grace_of_a_server_the_job_is_paused(self):
        cluster = self.cluster(server=["--grace", "2s"])
        cluster.create()
        cluster.train()
        cluster.break_folder()
        self.assertEqual(cluster.end("s0"), 0)
        paused = cluster.await_job("PAUSED", "before the weights were saved")
        self.assertIn("begins anew", paused["stateReason"])

    def test_a_coordinators_disk_that_hangs_holds_up_who_needs_it(self):
        cluster = self.cluster(HangingDisk)
        cluster.create()
        cluster.train()
        for name in ("old", "new"):
            cluster.command("checkpoint", "create", JOB, "--name", name,
                            "--wait")
        cluster.hang("coordinator")
        with self.assertRaisesRegex(AssertionError, "still being deleted"):
            cluster.command("checkpoint", "delete", f"{JOB}/old", "--yes")
        self.assertEqual(cluster.checkpoints()["old"], "FAILED")
        cluster.train()
        cluster.command("job", "pause", JOB)
        pausing = cluster.await_job("PAUSING", "the coordinator still writes")
        trained = int(pausing["progress"]["samples"])
        cluster.answer("coordinator")
        paused = cluster.await_job("PAUSED")
        self.assertEqual(int(paused["progress"]["samples"]), trained)
        until("it is deleted", lambda: "old" not in cluster.checkpoints())

    def test_a_coordinator_ends_though_its_disk_hangs(self):
        cluster = self.cluster(HangingDisk, coordinator=["--grace", "1s"])
        cluster.create()
        cluster.train()
        cluster.command("checkpoint", "create", JOB, "--name", "mine", "--wait")
        cluster.hang("coordinator")
        self.assertEqual(cluster.stop_coordinator(), 0)
        cluster.answer("coordinator")
        cluster.start_coordinator()
        cluster.await_job("PAUSED", "before the weights were saved")
        cluster.command("job", "resume", JOB)
        cluster.train()

    def test_a_server_ends_though_its_disk_hangs(self):
        cluster = self.cluster(HangingDisk, server=["--grace", "2s"])
        cluster.create()
        cluster.train()
        cluster.hang("s0")
        cluster.command("checkpoint", "create", JOB, "--name", "mine")
        self.assertEqual(cluster.end("s0"), 0)
        self.assertIn("ends without waiting for the disk",
                      (cluster.folder / "s0.log").read_text())
        cluster.await_job("PAUSED", "before the weights were saved")

    def test_a_server_that_sees_another_folder_gets_no_job(self):
        other = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        cluster = self.cluster(server=["--checkpoints", other])
        cluster.create()
        waits = cluster.await_job("PENDING", "does not lie within")
        self.assertIn("servers/s0: ", waits["stateReason"])
        servers = json.loads(cluster.command("server", "list", "-o", "json"))
        self.assertIn("does not lie within",
                      servers["servers"][0]["folderTrouble"])
        self.assertEqual(cluster.ready("s0")[0], 503)
        cluster.start("paceline-server", "s1")
        cluster.await_job("RUNNING")

    def test_a_folder_that_cannot_be_used_is_told_of_at_once(self):
        cluster = self.cluster(WithoutFolder)
        until("it is not ready", lambda: cluster.ready()[0] == 503)
        self.assertIn("checkpoint folder", cluster.ready()[1])
        cluster.create()
        cluster.await_job("PENDING", "waits for the checkpoint folder")
        cluster.saved.unlink()
        cluster.await_job("RUNNING")
        self.assertEqual(cluster.ready(), (200, "ok\n"))


def main():
    try:
        unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    main()

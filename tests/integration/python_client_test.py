#!/usr/bin/python3
"""A client that is not ours drives a real cluster through the admin API.

    python_client_test.py BIN_DIR SOURCE_DIR

BIN_DIR holds paceline's programs; stubs are generated from the protos of
SOURCE_DIR. PACELINE_KILLS says how often the coordinator is killed (10).
Exits with 77 where Python's gRPC or protoc is missing.
"""

import contextlib
import json
import os
import pathlib
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
import unittest
import uuid

from admin_stubs import grpc, make_stubs, open_stubs
from real_cluster import LONG, RealCluster, until

BIN = SOURCE = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-python-"))
PARENT = "namespaces/default"
GRACE = 20  # Seconds; the default of --grace.
SLACK = 20  # Of a busy machine.


class Cluster(RealCluster):
    """With the stubs of the admin API."""

    def __init__(self, servers, workers):
        super().__init__(BIN, SCRATCH, servers, workers)
        self.jobs, self.cluster = open_stubs(self.address)

    def create(self, job_id, metadata=(), **fields):
        request = jobs.CreateJobRequest(parent=PARENT, job_id=job_id,
                                        request_id=str(uuid.uuid4()))
        spec = request.job.spec
        spec.model, spec.data = "logreg", "synthetic:tiny"
        spec.workers.min = 1
        spec.stop.epochs = 1
        for key, value in fields.items():
            target, name = spec, key
            while "__" in name:
                head, name = name.split("__", 1)
                target = getattr(target, head)
            if isinstance(value, list):
                getattr(target, name).extend(value)
            else:
                setattr(target, name, value)
        return self.jobs.CreateJob(request, timeout=LONG, metadata=metadata)

    def get(self, name):
        return self.jobs.GetJob(jobs.GetJobRequest(name=name), timeout=LONG)

    def list_jobs(self):
        """All of them, as soon as the coordinator is back."""
        while True:
            try:
                return self.jobs.ListJobs(
                    jobs.ListJobsRequest(parent=PARENT, page_size=1000),
                    wait_for_ready=True, timeout=LONG).jobs
            except grpc.RpcError as error:
                # The connection to the one that was killed.
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise

    def watch(self, name):
        return self.jobs.WatchJob(jobs.WatchJobRequest(name=name),
                                  timeout=LONG)

    def await_state(self, name, *states):
        """The job once it is in one of the states."""
        for event in self.watch(name):
            if event.HasField("job") and event.job.state in states:
                return event.job
        raise AssertionError(f"{name} ended otherwise: {self.get(name)}")

    def await_samples(self, name, samples):
        for event in self.watch(name):
            if event.progress.samples >= samples:
                return
        raise AssertionError(f"{name} ended before it had so many samples")

    def await_more_samples(self, name, before):
        """While it trains; how many it has now."""
        for event in self.watch(name):
            if (event.progress.phase == "training"
                    and event.progress.samples > before):
                return event.progress.samples
        raise AssertionError(f"{name} ended before it had more samples")


class PythonClientTest(unittest.TestCase):
    def setUp(self):
        self.running = []

    def tearDown(self):
        for cluster in self.running:
            cluster.stop()

    def start(self, *args):
        cluster = Cluster(*args)
        self.running.append(cluster)
        return cluster

    def test_a_job_from_creation_to_its_end(self):
        slow = ["--step-time", "5ms"]
        cluster = self.start(2, [("w0", slow), ("w1", slow)])
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        job = cluster.create(
            "life", stop__epochs=40, workers__min=2,
            metadata=[("traceparent", f"00-{trace}-00f067aa0ba902b7-01")])
        self.assertEqual(job.state, jobs.Job.PENDING)
        self.assertEqual(job.spec.optimizer, "sgd:momentum=0.9")
        cluster.await_samples(job.name, 1)

        cluster.jobs.SwitchParadigm(jobs.SwitchParadigmRequest(
            name=job.name, paradigm="cgp", reason="the test wants it"))
        cluster.jobs.PauseJob(jobs.PauseJobRequest(name=job.name))
        paused = cluster.await_state(job.name, jobs.Job.PAUSED)
        self.assertTrue(paused.restore_from)
        self.assertTrue(paused.spec.paradigm.startswith("cgp"))
        before = cluster.get(job.name).progress.samples

        cluster.jobs.ResumeJob(jobs.ResumeJobRequest(name=job.name))
        cluster.await_samples(job.name, before + 1)
        watch = cluster.watch(job.name)
        next(watch)  # From now on it hears of everything.
        made = cluster.jobs.CreateCheckpoint(
            jobs.CreateCheckpointRequest(parent=job.name, checkpoint_id="mine"))
        for event in watch:
            if (event.checkpoint.name == made.name
                    and event.checkpoint.state == jobs.Checkpoint.READY):
                break
        ready = cluster.jobs.GetCheckpoint(
            jobs.GetCheckpointRequest(name=made.name))
        self.assertEqual(ready.state, jobs.Checkpoint.READY)

        cluster.jobs.CancelJob(jobs.CancelJobRequest(name=job.name))
        cluster.await_state(job.name, jobs.Job.CANCELLED)
        restored = cluster.jobs.RestoreJob(jobs.RestoreJobRequest(
            name=job.name, checkpoint=made.name))
        self.assertEqual(restored.restore_from, made.name)
        end = cluster.await_state(job.name, jobs.Job.SUCCEEDED)
        self.assertEqual(end.progress.samples, 40 * 1024)
        decisions = cluster.jobs.ListDecisions(
            jobs.ListDecisionsRequest(parent=job.name)).decisions
        self.assertTrue(any("the test wants it" in d.text for d in decisions))
        report = json.loads(cluster.jobs.GetJobReport(
            jobs.GetJobReportRequest(name=job.name)).json)
        self.assertEqual(report["samples"], 40 * 1024)
        audit = cluster.cluster.ListAuditRecords(
            members.ListAuditRecordsRequest()).audit_records
        self.assertIn("/paceline.v1.JobService/RestoreJob",
                      [record.method for record in audit])
        for name in ("coordinator", "s0", "s1", "w0", "w1"):
            log = (cluster.folder / f"{name}.log").read_text()
            self.assertIn(f'"trace_id":"{trace}"', log, name)

    def test_two_jobs_share_six_workers_of_two_pools(self):
        slow = ["--step-time", "5ms"]
        cluster = self.start(
            2, [(f"a{i}", slow + ["--pool", "a"]) for i in range(2)] +
            [(f"b{i}", slow + ["--pool", "b"]) for i in range(4)])
        target = {"model": "mlp", "stop__target_accuracy": 0.6,
                  "evaluation__every": 2048}
        short = cluster.create("short", workers__pools=["a"], workers__min=2,
                               workers__max=2, stop__epochs=400, **target)
        grows = cluster.create("grows", workers__min=4, workers__max=6,
                               stop__epochs=400, paradigm="asp", **target)
        cluster.await_samples(short.name, 1)
        cluster.await_samples(grows.name, 1)
        metrics = cluster.metrics()
        for job in (short, grows):
            self.assertIn(f'paceline_coordinator_pushes_total{{job_id="{job.name}"',
                          metrics)
        of = {w.name: w.job for w in cluster.cluster.ListWorkers(
            members.ListWorkersRequest()).workers}
        self.assertEqual({of["workers/a0"], of["workers/a1"]}, {short.name})
        self.assertEqual({of[f"workers/b{i}"] for i in range(4)}, {grows.name})

        def ends_after(job, epochs):
            cluster.jobs.UpdateJob(jobs.UpdateJobRequest(
                job=jobs.Job(name=job.name, spec={"stop": {"epochs": epochs}}),
                update_mask={"paths": ["spec.stop.epochs"]}))
            cluster.await_state(job.name, jobs.Job.SUCCEEDED)

        ends_after(short, 20)
        watch = cluster.watch(grows.name)
        next(watch)
        self.assertRegex(cluster.metrics(),
                         r"\npaceline_coordinator_watchers [1-9]")
        for event in watch:
            if len(event.progress.workers) == 6:
                break
        else:
            self.fail("the other job did not grow")
        ends_after(grows, 1)
        for job in (short, grows):
            report = json.loads(cluster.jobs.GetJobReport(
                jobs.GetJobReportRequest(name=job.name)).json)
            self.assertGreater(report["seconds_to_target"], 0)

    def test_errors_say_what_is_wrong(self):
        cluster = self.start(1, [("w0", [])])
        with self.assertRaises(grpc.RpcError) as caught:
            cluster.create("bad", batch_size=0, learning_rate=-1.0,
                           paradigm="bps")
        self.assertEqual(caught.exception.code(),
                         grpc.StatusCode.INVALID_ARGUMENT)
        details = dict(caught.exception.trailing_metadata())
        status = status_proto.Status.FromString(
            details["grpc-status-details-bin"])
        found = [d.type_url.rsplit(".", 1)[1] for d in status.details]
        self.assertEqual(found, ["ErrorInfo", "BadRequest"])
        with self.assertRaises(grpc.RpcError) as caught:
            cluster.get(PARENT + "/jobs/none")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_nothing_is_lost_when_the_coordinator_is_killed(self):
        kills = int(os.environ.get("PACELINE_KILLS", "10"))
        seed = int(os.environ.get("PACELINE_SEED", "1"))
        chance = random.Random(seed)
        print(f"{kills} kills, PACELINE_SEED={seed}")
        slow = ["--step-time", "2ms"]
        cluster = self.start(2, [("w0", slow), ("w1", slow)])
        job = cluster.create("survivor", stop__epochs=100_000, paradigm="asp")
        known = {job.name}
        samples = seen_points = seen_decisions = 0
        for kill in range(kills):
            samples = cluster.await_more_samples(job.name, samples)
            name = f"job{kill}"
            other = cluster.create(name, workers__min=50)  # It waits for ever.
            known.add(other.name)
            cluster.jobs.SwitchParadigm(jobs.SwitchParadigmRequest(
                name=job.name, paradigm=chance.choice(["bsp", "asp", "ssp"])))
            cluster.jobs.CreateCheckpoint(jobs.CreateCheckpointRequest(
                parent=job.name, checkpoint_id=f"c{kill}"))
            point = cluster.jobs.ListAccuracyPoints(
                jobs.ListAccuracyPointsRequest(parent=job.name, page_size=1000))
            seen_points = max(seen_points, len(point.accuracy_points))
            decisions = cluster.jobs.ListDecisions(
                jobs.ListDecisionsRequest(parent=job.name, page_size=1000))
            seen_decisions = max(seen_decisions, len(decisions.decisions))
            threading.Event().wait(chance.random() * 0.3)
            cluster.coordinator.kill()
            cluster.coordinator.wait(timeout=LONG)
            cluster.coordinator.stdout.close()
            with sqlite3.connect(cluster.folder / "jobs.db") as database:
                self.assertEqual(database.execute(
                    "PRAGMA integrity_check").fetchone(), ("ok",))
            database.close()
            cluster.start_coordinator()
            listed = cluster.list_jobs()
            self.assertEqual({j.name for j in listed}, known)
            after = cluster.get(job.name)
            self.assertEqual(after.state, jobs.Job.RUNNING, after.state_reason)
            self.assertGreaterEqual(after.progress.samples, samples)
            points = cluster.jobs.ListAccuracyPoints(
                jobs.ListAccuracyPointsRequest(parent=job.name, page_size=1000))
            self.assertGreaterEqual(len(points.accuracy_points), seen_points)
            decisions = cluster.jobs.ListDecisions(
                jobs.ListDecisionsRequest(parent=job.name, page_size=1000))
            self.assertGreaterEqual(len(decisions.decisions), seen_decisions)
            # One that was being written is written, or has failed.
            until("no checkpoint is being written", lambda: {
                point.state for point in cluster.jobs.ListCheckpoints(
                    jobs.ListCheckpointsRequest(parent=job.name)).checkpoints
            } <= {jobs.Checkpoint.READY, jobs.Checkpoint.FAILED})
        cluster.await_more_samples(job.name, samples)

    def test_members_are_ready_while_they_are_registered(self):
        cluster = self.start(1, [("w0", [])])
        for name in ("coordinator", "s0", "w0", "e0"):
            self.assertEqual(cluster.ask(name, "/readyz"), (200, "ok\n"))
        cluster.coordinator.kill()
        cluster.coordinator.wait(timeout=LONG)
        cluster.coordinator.stdout.close()
        for name in ("s0", "w0", "e0"):
            deadline = time.monotonic() + LONG
            while cluster.ask(name, "/readyz")[0] == 200:
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(cluster.ask(name, "/healthz"), (200, "ok\n"))
        cluster.start_coordinator()
        for name in ("s0", "w0", "e0"):
            deadline = time.monotonic() + LONG
            while cluster.ask(name, "/readyz")[0] == 503:
                self.assertLess(time.monotonic(), deadline)

    def test_a_job_outlives_a_rolling_upgrade(self):
        slow = ["--step-time", "5ms"]
        cluster = self.start(2, [("w0", slow), ("w1", slow)])
        job = cluster.create("lasts", stop__epochs=100_000, paradigm="ssp")
        samples = 0
        for server in ("s0", "s1"):
            samples = cluster.await_more_samples(job.name, samples)
            self.assertEqual(cluster.end(server), 0)
            cluster.start("paceline-server", server)
        samples = cluster.await_more_samples(job.name, samples)
        cluster.coordinator.terminate()
        self.assertEqual(cluster.coordinator.wait(timeout=LONG), 0)
        cluster.coordinator.stdout.close()
        cluster.start_coordinator()
        after = {j.name: j for j in cluster.list_jobs()}[job.name]
        self.assertNotIn(after.state, (jobs.Job.PAUSED, jobs.Job.FAILED))
        self.assertGreaterEqual(after.progress.samples, samples)
        cluster.await_more_samples(job.name, samples)
        checkpoints = cluster.jobs.ListCheckpoints(
            jobs.ListCheckpointsRequest(parent=job.name)).checkpoints
        self.assertTrue(checkpoints)
        self.assertTrue(all(c.exact for c in checkpoints))

    def test_a_checkpoint_goes_on_with_other_numbers_of_servers(self):
        slow = ["--step-time", "10ms"]
        cluster = self.start(2, [("w0", slow), ("w1", slow)])
        job = cluster.create("moves", model="mlp", workers__min=2,
                             stop__epochs=20, checkpoints__keep=10)
        cluster.await_samples(job.name, 4096)
        cluster.jobs.PauseJob(jobs.PauseJobRequest(name=job.name))
        point = cluster.await_state(job.name, jobs.Job.PAUSED).restore_from
        saved = cluster.jobs.GetCheckpoint(
            jobs.GetCheckpointRequest(name=point))
        self.assertEqual(saved.servers, 2)

        def accuracy_of_the_rest():
            cluster.jobs.RestoreJob(jobs.RestoreJobRequest(
                name=job.name, checkpoint=point))
            return cluster.await_state(
                job.name, jobs.Job.SUCCEEDED).progress.accuracy

        found = {2: accuracy_of_the_rest()}
        cluster.end("s1")
        found[1] = accuracy_of_the_rest()
        for count in (3, 5):
            for i in range(count):
                if f"s{i}" not in cluster.processes:
                    cluster.start("paceline-server", f"s{i}")
            found[count] = accuracy_of_the_rest()
        print("accuracy by number of servers:", found)
        for accuracy in found.values():
            self.assertAlmostEqual(accuracy, found[2], delta=0.03)

    def test_a_store_that_is_busy_costs_no_member(self):
        slow = ["--step-time", "5ms"]
        cluster = self.start(1, [("w0", slow)])
        job = cluster.create("trains", stop__epochs=100_000, paradigm="asp")
        other = cluster.create("waits", workers__min=50)
        cluster.await_samples(job.name, 1)
        with contextlib.closing(
                sqlite3.connect(cluster.folder / "jobs.db")) as database:
            database.execute("BEGIN IMMEDIATE")
            calls = [cluster.jobs.UpdateJob.future(jobs.UpdateJobRequest(
                job=jobs.Job(name=other.name, display_name=f"name {i}"),
                update_mask={"paths": ["display_name"]}), timeout=LONG)
                for i in range(6)]
            # They wait for the changes, which by then wait for the store.
            threading.Event().wait(0.5)
            watches = [cluster.watch(other.name) for _ in range(2)]
            # Longer than a lease, which is five seconds.
            threading.Event().wait(8)
            database.execute("ROLLBACK")
        for call in calls:
            call.exception(timeout=LONG)  # Whatever became of it.
        for watch in watches:
            self.assertEqual(next(watch).job.name, other.name)
            watch.cancel()
        samples = cluster.get(job.name).progress.samples
        cluster.await_samples(job.name, samples + 1)
        decisions = cluster.jobs.ListDecisions(
            jobs.ListDecisionsRequest(parent=job.name)).decisions
        self.assertNotIn("worker-lost", [decision.kind for decision in decisions])

    def test_everybody_ends_within_the_grace_on_sigterm(self):
        cluster = self.start(1, [("w0", ["--step-time", "5ms"])])
        job = cluster.create("busy", stop__epochs=1000)
        cluster.await_samples(job.name, 1)
        self.running.remove(cluster)
        begin = time.monotonic()
        self.assertEqual(set(cluster.stop()), {0})
        self.assertLess(time.monotonic() - begin, GRACE + SLACK)


if __name__ == "__main__":
    BIN, SOURCE = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    make_stubs(SOURCE, SCRATCH)
    from protos.google.rpc import status_pb2 as status_proto
    from protos.paceline.v1 import cluster_pb2 as members
    from protos.paceline.v1 import jobs_pb2 as jobs
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

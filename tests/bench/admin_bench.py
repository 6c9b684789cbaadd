#!/usr/bin/python3
"""What the admin API costs, on a cluster of real processes.

    tests/bench/admin_bench.py build/release/bin . [jobs] [watchers]

Lists pages of 100 jobs out of 10,000 while another job trains, and trains with
and without 200 watchers of that job, by turns in one run; a tenth of them never
reads. Workers imitate devices of a fixed speed, so what the coordinator loses
shows in the samples per second.
"""

import pathlib
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from admin_stubs import make_stubs, open_stubs  # noqa: E402
from real_cluster import LONG, RealCluster  # noqa: E402

PARENT = "namespaces/default"
WINDOW = 10  # Seconds of one measurement.


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def job_request(name, workers, epochs):
    request = pb.CreateJobRequest(parent=PARENT, job_id=name)
    spec = request.job.spec
    spec.model, spec.data, spec.paradigm = "logreg", "synthetic:tiny", "asp"
    spec.workers.min, spec.stop.epochs = workers, epochs
    spec.evaluation.disabled = True
    return request


def create_many(stub, count):
    """All but the last 100 have been cancelled then."""
    began = time.monotonic()
    for i in range(count):
        stub.CreateJob(job_request(f"job-{i}", 1000, 1), timeout=LONG)
        if i >= 100:
            stub.CancelJob(pb.CancelJobRequest(
                name=f"{PARENT}/jobs/job-{i - 100}"), timeout=LONG)
    seconds = time.monotonic() - began
    print(f"{count} jobs created, {count - 100} cancelled in {seconds:.1f} s")


def list_pages(stub, what, rounds, **fields):
    times = []
    for _ in range(rounds):
        token = ""
        while True:
            began = time.monotonic()
            page = stub.ListJobs(pb.ListJobsRequest(
                parent=PARENT, page_size=100, page_token=token, **fields),
                timeout=LONG)
            times.append((time.monotonic() - began) * 1000)
            token = page.next_page_token
            if not token:
                break
    print(f"{len(times)} pages, {what}: median {percentile(times, 0.5):.1f} ms,"
          f" p99 {percentile(times, 0.99):.1f} ms, max {max(times):.1f} ms")


class Watchers:
    def __init__(self, address, name, count):
        self.events = 0
        self.streams = []
        self.threads = []
        for i in range(count):
            stub, _ = open_stubs(address)
            stream = stub.WatchJob(pb.WatchJobRequest(name=name))
            self.streams.append(stream)
            if i % 10 == 0:
                continue  # It never reads.
            thread = threading.Thread(target=self.read, args=(stream,))
            thread.start()
            self.threads.append(thread)

    def read(self, stream):
        try:
            for _ in stream:
                self.events += 1
        except Exception:  # Cancelled.
            pass

    def stop(self):
        for stream in self.streams:
            stream.cancel()
        for thread in self.threads:
            thread.join()


def speed(stub, name):
    """Samples per second over one window."""
    get = lambda: stub.GetJob(pb.GetJobRequest(name=name), timeout=LONG)
    before, began = get().progress, time.monotonic()
    threading.Event().wait(WINDOW)
    after, ended = get().progress, time.monotonic()
    return (after.samples - before.samples) / (ended - began)


def train_watched(cluster, stub, name, count):
    ratios = []
    for _ in range(3):
        alone = speed(stub, name)
        watchers = Watchers(cluster.address, name, count)
        watched = speed(stub, name)
        events = watchers.events
        watchers.stop()
        ratios.append(watched / alone)
        print(f"{alone:.0f} samples/s alone, {watched:.0f} with {count} "
              f"watchers ({events} events read): {ratios[-1]:.3f}")
    print(f"median ratio {percentile(ratios, 0.5):.3f}")


def main(jobs, watchers):
    flags = ["--step-time", "5ms"]
    cluster = RealCluster(BIN, SCRATCH, 1,
                          [(f"w{i}", flags) for i in range(4)],
                          coordinator=["--max-requests", "0",
                                       "--max-streams", "0"])
    try:
        stub, _ = open_stubs(cluster.address)
        name = stub.CreateJob(job_request("trains", 4, 1_000_000),
                              timeout=LONG).name
        train_watched(cluster, stub, name, watchers)
        create_many(stub, jobs)
        list_pages(stub, "newest first", 5)
        list_pages(stub, "filtered", 50, filter="state = PENDING")
        list_pages(stub, "by state and name", 5, order_by="state desc, name")
    finally:
        cluster.stop()


if __name__ == "__main__":
    BIN, SOURCE = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bench-"))
    make_stubs(SOURCE, SCRATCH)
    from protos.paceline.v1 import jobs_pb2 as pb
    numbers = [int(arg) for arg in sys.argv[3:5]]
    try:
        main(*(numbers + [10_000, 200][len(numbers):]))
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)

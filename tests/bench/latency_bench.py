#!/usr/bin/python3
"""What an iteration costs over links that take a while.

    tests/bench/latency_bench.py build/release/bin [BIN_DIR...] [--latency-ms 5]

Two workers train a small model under `bsp`, and every message between any two
processes takes the same time one way. The first row of each folder has no such
links. Give the programs of two builds to compare them: they run by turns. A
column says how many messages an iteration waits for, one after the other.
"""

import argparse
import pathlib
import shutil
import statistics
import tempfile
import time

from distant_cluster import DistantCluster
from job_commands import JobCommands
from local_training import print_machine, print_table, spread

BATCH = 8
WORKERS = ("w0", "w1")


def measure(bin_dir: pathlib.Path, scratch: pathlib.Path, latency: float,
            iterations: int) -> float:
    """Milliseconds of an iteration."""
    cluster = DistantCluster(bin_dir, scratch,
                             [(name, ()) for name in WORKERS])
    try:
        commands = JobCommands(bin_dir, scratch, cluster.address)
        commands.create(
            "distant", model="logreg", data="synthetic:shapes",
            paradigm="bsp", batch_size=BATCH, learning_rate=0.01,
            workers={"min": 2, "max": 2}, stop={"epochs": 1000},
            evaluation={"disabled": True})
        commands.await_more_samples("distant", BATCH)
        for relay in cluster.relays:
            relay.delay(latency)
        before = commands.await_more_samples("distant",
                                             commands.samples("distant"))
        began = time.monotonic()
        wanted = before + iterations * len(WORKERS) * BATCH
        after = commands.await_more_samples("distant", wanted)
        took = time.monotonic() - began
        commands("job", "cancel", "distant", "--yes")
        return 1000 * took * len(WORKERS) * BATCH / (after - before)
    finally:
        cluster.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bins", type=pathlib.Path, nargs="+")
    parser.add_argument("--latency-ms", type=float, default=5)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print_machine()
    latencies = (0, args.latency_ms)
    found: dict = {(path, latency): [] for path in args.bins
                   for latency in latencies}
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bench-"))
    try:
        for _ in range(args.rounds):
            for path, latency in found:
                found[path, latency].append(measure(
                    path.resolve(), scratch, latency / 1000, args.iterations))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    rows = [["programs", "latency ms", "iteration ms", "messages"]]
    for (path, latency), times in found.items():
        near = statistics.median(found[path, 0])
        messages = (statistics.median(times) - near) / (latency or 1)
        rows.append([path, latency, spread(times, ".2f"),
                     f"{messages:.1f}" if latency else ""])
    print_table(rows)
    print("Medians of the rounds (least to most).")


if __name__ == "__main__":
    main()

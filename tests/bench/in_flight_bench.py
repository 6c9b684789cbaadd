#!/usr/bin/python3
"""What several iterations in flight are worth on links that take a while.

    tests/bench/in_flight_bench.py build/release/bin

Two workers of equal speed train LeNet-5. A device takes --step-ms for a batch,
which is imitated. The links are those of the machine, then every message takes
--latency-ms one way, then each worker's link to the server lets --megabits a
second through, each way. A relay limits a connection, and each iteration in
flight has one: it gets its part of the worker's link.
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

BATCH = 32
WORKERS = ("w0", "w1")
RULES = ("bsp", "asp")
IN_FLIGHT = (1, 2)


def slow_down(cluster: DistantCluster, link: str, in_flight: int) -> None:
    if link == "latency":
        for relay in cluster.relays:
            relay.delay(args.latency_ms / 1000)
    elif link == "rate":
        cluster.server.throttle(args.megabits * 1e6 / 8 / in_flight)


def measure(scratch: pathlib.Path, rule: str, link: str,
            in_flight: int) -> float:
    """Samples a second of both workers."""
    flags = ["--step-time", f"{args.step_ms}ms", "--in-flight", str(in_flight)]
    cluster = DistantCluster(args.bin.resolve(), scratch,
                             [(name, flags) for name in WORKERS])
    try:
        commands = JobCommands(args.bin.resolve(), scratch, cluster.address)
        members = len(WORKERS) * in_flight
        commands.create(
            "distant", model="lenet5", data="synthetic:shapes", paradigm=rule,
            batch_size=BATCH, learning_rate=0.001,
            workers={"min": members, "max": members}, stop={"epochs": 1000},
            evaluation={"disabled": True})
        commands.await_more_samples("distant", BATCH)
        slow_down(cluster, link, in_flight)
        before = commands.await_more_samples(
            "distant", commands.samples("distant") + members * BATCH)
        began = time.monotonic()
        after = before
        while time.monotonic() < began + args.seconds:
            after = commands.await_more_samples("distant", after)
        took = time.monotonic() - began
        commands("job", "cancel", "distant", "--yes")
        return (after - before) / took
    finally:
        cluster.stop()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--step-ms", type=float, default=40)
    parser.add_argument("--latency-ms", type=float, default=10)
    parser.add_argument("--megabits", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=8,
                        help="that a job is watched for, at least")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main() -> None:
    print_machine()
    links = {"none": "no limit", "latency": f"{args.latency_ms:g} ms a message",
             "rate": f"{args.megabits:g} Mb/s"}
    found: dict = {(rule, link, in_flight): [] for rule in RULES
                   for link in links for in_flight in IN_FLIGHT}
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bench-"))
    try:
        for _ in range(args.rounds):
            for case in found:
                found[case].append(measure(scratch, *case))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    rows = [["rule", "links", *(f"{n} in flight" for n in IN_FLIGHT), "gain"]]
    for rule in RULES:
        for link, called in links.items():
            one, two = (found[rule, link, n] for n in IN_FLIGHT)
            gain = statistics.median(two) / statistics.median(one)
            rows.append([rule, called, spread(one, ".0f"), spread(two, ".0f"),
                         f"{gain:.2f}"])
    print_table(rows)
    most = len(WORKERS) * BATCH * 1000 / args.step_ms
    print(f"Samples a second: medians of the rounds (least to most). The devices "
          f"compute {most:.0f}.")


if __name__ == "__main__":
    args = parse()
    main()

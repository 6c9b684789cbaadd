#!/usr/bin/python3
"""What a batch takes on a slow link, by what travels.

    tests/bench/link_bench.py build/release/bin [--links 1000,100]

Two workers train a torch model of a million parameters under `bsp`. Each has a
link to the server that lets so many megabits a second through, each way; 0 is a
link as fast as the machine. A row is a wire format, with all gradients pushed or
with local steps: one push for so many batches.
"""

import argparse
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import time

from distant_cluster import DistantCluster
from job_commands import JobCommands
from local_training import PACKAGE, print_machine, print_table, spread

BATCH = 32
WORKERS = ("w0", "w1")
PROGRAM = pathlib.Path(__file__).resolve().parent / "link_program.py"
ROWS = (("FP32", 1), ("BF16", 1), ("INT8", 1), ("FP32", 8), ("INT8", 8))


def start(bin_dir: pathlib.Path, scratch: pathlib.Path) -> DistantCluster:
    python = shlex.join([sys.executable, str(PROGRAM)])
    own = ["--program", "links", "--exec",
           f"OMP_NUM_THREADS=1 PYTHONPATH={shlex.quote(str(PACKAGE))} "
           f"exec {python}"]
    return DistantCluster(bin_dir, scratch, [(name, own) for name in WORKERS])


def look(commands: JobCommands, cluster: DistantCluster, name: str,
         before: float) -> tuple:
    """The samples, once there are more than `before`, and the bytes that the
    server has taken and given."""
    samples = commands.await_more_samples(name, before)
    text = cluster.ask("s0", "/metrics")[1]
    return samples, [
        float(re.search(rf"^paceline_server_{way}_bytes_total (.*)$", text,
                        re.MULTILINE).group(1)) for way in ("push", "pull")]


def measure(commands: JobCommands, cluster: DistantCluster, name: str,
            wire: str, push_every: int, megabits: float) -> tuple:
    """Milliseconds of a batch of each worker, and megabytes that each pushes
    and pulls for it."""
    commands.create(
        name, model="program:links", data="program", paradigm="bsp", wire=wire,
        batch_size=BATCH * push_every, micro_batch=BATCH, learning_rate=0.001,
        schedule="constant",
        arguments={"push_every": str(push_every)},
        workers={"min": 2, "max": 2}, stop={"epochs": 1000},
        evaluation={"disabled": True})
    commands.await_more_samples(name, 0)
    cluster.server.throttle(megabits * 1e6 / 8 or None)
    try:
        before, bytes_before = look(commands, cluster, name,
                                    commands.samples(name))
        began = time.monotonic()
        after = before
        while time.monotonic() < began + args.seconds:
            after, bytes_after = look(commands, cluster, name, after)
        took = time.monotonic() - began
    finally:
        cluster.server.throttle(None)
        commands("job", "cancel", name, "--yes")
    batches = (after - before) / BATCH
    return (1000 * took * len(WORKERS) / batches,
            [(now - then) / 1e6 / batches
             for now, then in zip(bytes_after, bytes_before)])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--links", default="0,1000,100",
                        help="megabits a second")
    parser.add_argument("--seconds", type=float, default=8,
                        help="that a job is watched for, at least")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main() -> None:
    links = [float(link) for link in args.links.split(",")]
    print_machine()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bench-"))
    times: dict = {(row, link): [] for row in ROWS for link in links}
    carried: dict = {}
    cluster = start(args.bin.resolve(), scratch)
    try:
        commands = JobCommands(args.bin.resolve(), scratch, cluster.address)
        for turn in range(args.rounds):
            for number, (row, link) in enumerate(times):
                took, carried[row] = measure(
                    commands, cluster, f"links-{turn}-{number}", *row, link)
                times[row, link].append(took)
    finally:
        cluster.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    rows = [["wire", "batches a push", "MB pushed", "pulled",
             *(f"{link:g} Mb/s" if link else "no limit" for link in links)]]
    for row in ROWS:
        rows.append([row[0].lower(), row[1],
                     *(f"{each:.2f}" for each in carried[row]),
                     *(spread(times[row, link], ".1f") for link in links)])
    print_table(rows)
    print("Of a batch: the megabytes of each worker, and milliseconds: medians "
          "of the rounds (least to most).")


if __name__ == "__main__":
    args = parse()
    main()

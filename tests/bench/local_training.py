"""What the benchmarks of own models have in common: `paceline local` with a
program, its figures, and how they are printed."""

import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "services" / "worker" / "python"
PHASES = ("load", "compute", "push", "wait", "pull")


def environment() -> dict:
    """Of every process that computes: one thread each, and memory that is kept,
    in plain scripts and in those of a job alike.

    Otherwise glibc gives a step's activations back to the kernel, or keeps
    them, by what happens to lie above them, and a step takes 10 ms in one loop
    of a process and 20 in another.
    """
    paths = [str(PACKAGE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "OMP_NUM_THREADS": "1",
            "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
            "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
            "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def print_machine() -> None:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load average {load}; one thread in every "
          "process, which keeps its memory", flush=True)


def run(command: list, log: pathlib.Path, seconds: float) -> str:
    """What the command prints; an error shows the end of what it told."""
    with open(log, "ab") as told:
        process = subprocess.Popen([str(word) for word in command],
                                   stdout=subprocess.PIPE, stderr=told,
                                   env=environment())
        try:
            printed = process.communicate(timeout=seconds)[0]
        except BaseException:
            process.terminate()  # It ends whom it has started.
            process.wait(timeout=30)
            raise
    if process.returncode != 0:
        lines = log.read_text(errors="replace").splitlines()[-20:]
        sys.exit("\n".join([f"exit status {process.returncode}: {command}",
                            *lines, f"all of it is in {log}"]))
    return printed.decode()


def train(bin_dir: pathlib.Path, folder: pathlib.Path, flags: list,
          seconds: float = 3600) -> list:
    """The runs of one `paceline local`, as its JSON has them."""
    folder.mkdir(parents=True)
    printed = run([bin_dir / "paceline", "local", "-o", "json", "--run-dir",
                   folder / "run", *flags], folder / "progress.log", seconds)
    return json.loads(printed)["runs"]


def parts(result: dict) -> dict:
    """Milliseconds of an iteration, by what they went to: a worker's mean."""
    workers = result["workers"]
    steps = max(1, sum(worker["iterations"] for worker in workers))
    return {phase: 1000 / steps * sum(worker["seconds"][phase]
                                      for worker in workers)
            for phase in PHASES}


def seconds_to(curve: list, accuracy: float) -> float:
    """When (seconds, accuracy) first reaches it; infinity: never."""
    return next((seconds for seconds, reached in curve
                 if reached >= accuracy), float("inf"))


def curve_of(result: dict) -> list:
    """(seconds, accuracy) of a run's evaluations."""
    return [(point["seconds"], point["accuracy"])
            for point in result["accuracy"]]


def spread(values: list, form: str) -> str:
    """Median, and in brackets the least and the most."""
    median, least, most = (format(value, form) for value in (
        statistics.median(values), min(values), max(values)))
    return f"{median} ({least} to {most})"


def print_table(rows: list) -> None:
    """The first row has the heads. Columns are as wide as they must be."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts)]
    for row in texts:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width)
                  for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells), flush=True)

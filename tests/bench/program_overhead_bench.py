#!/usr/bin/python3
"""What a step costs more as a worker's than in a plain torch loop.

    tests/bench/program_overhead_bench.py build/release/bin [small|large|loader]

One worker, one server. The script itself takes turns: some steps of the job,
then as many of a plain loop, so that both find the same machine. Three cases:

    small   1 MB of parameters, steps of --step-ms
    large   100 MB of parameters
    loader  as small, with two loading processes that just keep up

The target is at most 5 % for the first and the last. The last columns are the
worker's own parts of an iteration beside computing.

Two cores of a virtual machine may be one core with two threads. Then whatever
the worker and the server do slows the script down, also while it only computes.
So a plain step is also timed beside a process that is always busy.
"""

import argparse
import json
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

from local_training import (HERE, PHASES, parts, print_machine, print_table,
                            run, spread, train)

BESIDE = [phase for phase in PHASES if phase != "compute"]
SCRIPT = HERE / "overhead_program.py"
LONG = 600  # Seconds; ends only what would hang.


class Case:
    def __init__(self, name: str, net: str, steps: int, turn: int,
                 step_ms: float, loaders: int = 0) -> None:
        self.name = name
        self.net = net
        self.steps = steps
        self.turn = turn
        self.step_ms = step_ms  # What a batch is chosen for.
        self.loaders = loaders
        self.batch = 0
        self.sample_seconds = 0.0

    def words(self, figures: pathlib.Path, steps: int) -> list:
        return ["--net", self.net, "--batch", self.batch, "--steps", steps,
                "--turn", self.turn, "--loaders", self.loaders,
                "--sample-seconds", self.sample_seconds, "--figures", figures]


def measure_plain(case: Case, folder: pathlib.Path, steps: int) -> dict:
    figures = folder / "plain.json"
    run([sys.executable, SCRIPT, "--plain", *case.words(figures, steps)],
        folder / "plain.log", LONG)
    return json.loads(figures.read_text())


def measure_job(case: Case, bin_dir: pathlib.Path, folder: pathlib.Path,
                number: int, paradigm: str) -> tuple:
    figures = folder / f"job-{number}.json"
    command = shlex.join(str(word) for word in [
        sys.executable, SCRIPT, *case.words(figures, case.steps)])
    result, = train(bin_dir, folder / f"job-{number}", [
        "--program", command, "--workers", "1", "--servers", "1", "--no-eval",
        "--batch-size", case.batch, "--paradigm", paradigm], LONG)
    return json.loads(figures.read_text()), parts(result)


def choose_batch(case: Case, folder: pathlib.Path) -> None:
    """A batch for the wanted time, and loaders that just keep up with it."""
    loaders, case.loaders = case.loaders, 0
    case.batch = 8
    # A small batch's time is not in proportion, and a busy moment deceives.
    for _ in range(8):
        took = statistics.median(
            measure_plain(case, folder, min(case.steps, 30))["median"]
            for _ in range(3))
        if abs(took / case.step_ms - 1) < 0.1:
            break
        case.batch = max(1, round(case.batch * case.step_ms / took))
    case.loaders = loaders
    case.sample_seconds = args.loader_share * loaders * took / 1000 / case.batch
    print(f"{case.name}: batches of {case.batch}, about {took:.1f} ms"
          + (f"; {loaders} loading processes, "
             f"{1000 * case.sample_seconds:.2f} ms a sample: busy "
             f"{args.loader_share:.0%} of the time" if loaders else ""),
          flush=True)


def slowed_by_a_neighbour(case: Case, folder: pathlib.Path) -> str:
    """How much longer a plain step is while another core is always busy."""
    ratios = []
    for _ in range(3):
        alone = measure_plain(case, folder, min(case.steps, 30))["median"]
        neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            beside = measure_plain(case, folder, min(case.steps, 30))["median"]
        finally:
            neighbour.kill()
            neighbour.wait()
        ratios.append(beside / alone)
    return f"{spread(ratios, '.2f')} times as long beside a busy process"


def measure(case: Case, folder: pathlib.Path) -> list:
    """A row of the table."""
    choose_batch(case, folder)
    print(f"{case.name}: a plain step is "
          f"{slowed_by_a_neighbour(case, folder)}", flush=True)
    plain, ours, shares, phases = [], [], [], []
    for number in range(args.rounds):
        turns, part = measure_job(case, args.bin, folder, number,
                                  args.paradigm)
        turns = turns[1:]  # The first ones find a job that just begins.
        more = [100 * (turn["job"]["mean"] / turn["plain"]["mean"] - 1)
                for turn in turns]
        plain.append(statistics.median(turn["plain"]["mean"] for turn in turns))
        ours.append(statistics.median(turn["job"]["mean"] for turn in turns))
        shares.append(statistics.median(more))
        phases.append(part)
        print(f"{case.name}, round {number + 1}: {len(turns)} turns, plain "
              f"{plain[-1]:.2f} ms, job {ours[-1]:.2f} ms, a turn "
              f"{spread(more, '+.1f')} %", flush=True)
    return [case.name, spread(plain, ".2f"), spread(ours, ".2f"),
            spread(shares, "+.1f"),
            *(f"{statistics.median(part[phase] for part in phases):.2f}"
              for phase in BESIDE)]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", default=[],
                        help="small, large, loader; none: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--turn", type=int, default=25)
    parser.add_argument("--large-steps", type=int, default=60)
    parser.add_argument("--large-turn", type=int, default=10)
    parser.add_argument("--step-ms", type=float, default=20)
    parser.add_argument("--large-step-ms", type=float, default=200)
    parser.add_argument("--loader-share", type=float, default=0.9,
                        help="of its time that a loading process is busy")
    parser.add_argument("--paradigm", default="bsp")
    return parser.parse_args()


def main() -> None:
    cases = [Case("small", "small", args.steps, args.turn, args.step_ms),
             Case("large", "large", args.large_steps, args.large_turn,
                  args.large_step_ms),
             Case("loader", "small", args.steps, args.turn, args.step_ms,
                  loaders=2)]
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bench-"))
    print_machine()
    rows = [["case", "plain ms", "job ms", "more %", *BESIDE]]
    try:
        for case in cases:
            if args.cases and case.name not in args.cases:
                continue
            folder = scratch / case.name
            folder.mkdir()
            rows.append(measure(case, folder))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print_table(rows)
    print("Medians of the rounds (least to most), each the median of its turns; "
          "the parts are milliseconds of an iteration.")


if __name__ == "__main__":
    args = parse()
    main()

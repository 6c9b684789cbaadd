#!/usr/bin/python3
"""One script under torch's DistributedDataParallel and as a job's program.

    tests/bench/ddp_bench.py build/release/bin [--data FOLDER_OF_MNIST]

A small CNN, four workers: all alike, then one four times slower. Devices are
imitated by waiting, for DDP in the script and for a job by its agents, alike: a
batch takes --step-ms times the worker's factor. Batch, data, optimizer, rate
and samples are the same; the weights of the curves are kept while they train,
and evaluated afterwards. DDP has no overhead of starting in its seconds, nor
has a job.
"""

import argparse
import json
import pathlib
import shlex
import shutil
import sys
import tempfile

from local_training import (HERE, PHASES, curve_of, parts, print_machine,
                            print_table, run, seconds_to, train)

SCRIPT = HERE / "ddp_program.py"
LONG = 3600  # Seconds; ends only what would hang.
CLUSTERS = ("1,1,1,1", "1,1,1,4")
PARADIGMS = ("bsp", "bsp,batching=balanced", "asp", "cgp")


def script(*more: object) -> list:
    data = [] if args.data is None else ["--data", args.data.resolve()]
    return [sys.executable, SCRIPT, *data, "--train", args.train, "--test",
            args.test, "--batch", args.batch, *more]


def run_ddp(slowdown: str, folder: pathlib.Path) -> dict:
    figures = folder / "ddp.json"
    run(script("--ddp", figures, "--slowdown", slowdown, "--step-ms",
               args.step_ms, "--epochs", args.epochs, "--eval-every",
               args.eval_every), folder / "ddp.log", LONG)
    return json.loads(figures.read_text())


def run_jobs(slowdown: str, folder: pathlib.Path) -> list:
    paradigms = [word for name in args.paradigms
                 for word in ("--paradigm", name)]
    command = shlex.join(str(word) for word in script())
    results = train(args.bin, folder / "jobs", [
        "--program", command, "--workers", slowdown.count(",") + 1,
        "--slowdown", slowdown, "--step-time", f"{args.step_ms:g}ms",
        "--batch-size", args.batch, "--epochs", args.epochs, "--eval-every",
        args.eval_every, "--defer-eval", *paradigms], LONG)
    return [{"name": name, "seconds": result["seconds"],
             "samples": result["samples"], "curve": curve_of(result),
             "parts": parts(result)}
            for name, result in zip(args.paradigms, results)]


def row(slowdown: str, measured: dict, ddp: dict) -> list:
    reached = seconds_to(measured["curve"], args.accuracy)
    ddp_reached = seconds_to(ddp["curve"], args.accuracy)
    sooner = ddp_reached / reached if ddp_reached < float("inf") else None
    phases = measured.get("parts")
    return [slowdown, measured.get("name", "DDP"),
            f"{measured['seconds']:.2f}", measured["samples"],
            f"{measured['samples'] / measured['seconds']:.0f}",
            f"{measured['curve'][-1][1]:.4f}",
            f"{reached:.2f}" if reached < float("inf") else "-",
            f"{ddp['seconds'] / measured['seconds']:.2f}x",
            f"{sooner:.2f}x" if sooner else "-",
            *("-" if phases is None else f"{phases[phase]:.1f}"
              for phase in PHASES)]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path,
                        help="MNIST's files; none: drawn figures")
    parser.add_argument("--train", type=int, default=10_240,
                        help="images of an epoch")
    parser.add_argument("--test", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--step-ms", type=float, default=80)
    parser.add_argument("--eval-every", type=int, default=1024)
    parser.add_argument("--accuracy", type=float, default=0.95)
    parser.add_argument("--paradigms", nargs="+", default=PARADIGMS)
    return parser.parse_args()


def main() -> None:
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bench-"))
    print_machine()
    print(f"{args.epochs} epochs of {args.train} images of "
          f"{'MNIST' if args.data else 'drawn figures'}, batches of "
          f"{args.batch} a worker, {args.step_ms:g} ms each", flush=True)
    rows = [["workers", "trained by", "seconds", "samples", "samples/s",
             "accuracy", f"to {args.accuracy:g}", "sooner", "sooner to it",
             *(f"{phase} ms" for phase in PHASES)]]
    try:
        for number, slowdown in enumerate(CLUSTERS):
            folder = scratch / str(number)
            folder.mkdir()
            ddp = run_ddp(slowdown, folder)
            for measured in (ddp, *run_jobs(slowdown, folder)):
                rows.append(row(slowdown, measured, ddp))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print_table(rows)
    print("`sooner` is against DDP on the same workers; the parts are "
          "milliseconds of an iteration, a worker's mean.")


if __name__ == "__main__":
    args = parse()
    main()

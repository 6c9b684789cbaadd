#!/usr/bin/python3
"""ResNets on CIFAR-10 by torch, as a job's program.

    tests/bench/resnet_bench.py build/release/bin FOLDER_OF_CIFAR10 [accuracy|pace]

FOLDER has the files of the binary version. Two parts, all sizes are flags:

    accuracy  ResNet-20, the torch example beside the built-in model, under BSP:
              the test accuracy after the same samples, for some seeds. Same
              data and order, batches, optimizer, rate and schedule, nothing is
              augmented; the starting weights are drawn alike, and not the same.
    pace      four workers, of which one is four times slower: seconds to an
              accuracy under several paradigms. Devices are imitated, a batch
              takes --step-ms, so the network is a smaller one that two cores
              compute in that time.
"""

import argparse
import math
import pathlib
import shlex
import shutil
import statistics
import sys
import tempfile

from local_training import (PACKAGE, PHASES, curve_of, parts, print_machine,
                            print_table, seconds_to, train)

SCRIPT = PACKAGE / "examples" / "cifar_resnet.py"
RECORD = 3073  # Bytes of an image and its label.
PARADIGMS = ("bsp", "bsp,batching=balanced", "asp", "cgp", "saps")
OPTIMIZER = ["--optimizer", "sgd:momentum=0.9,weight_decay=0.0001"]


def cut(folder: pathlib.Path, train_images: int, test_images: int) -> None:
    """Writes the first images of each split, as files that both models read."""
    folder.mkdir()
    names = sorted(args.data.glob("data_batch_*.bin"))
    for kind, sources, images in (("data_batch_1.bin", names, train_images),
                                  ("test_batch.bin",
                                   [args.data / "test_batch.bin"],
                                   test_images)):
        left = images * RECORD
        with open(folder / kind, "wb") as to:
            for source in sources:
                with open(source, "rb") as read:
                    left -= to.write(read.read(left))
        if left > 0:
            sys.exit(f"{args.data} has {left // RECORD} images too few for "
                     f"{images} in {kind}")


def program(folder: pathlib.Path, **arguments: object) -> list:
    """The flags for the torch example with these arguments."""
    command = shlex.join([sys.executable, str(SCRIPT), str(folder)])
    told = [word for name, value in arguments.items()
            for word in ("--argument", f"{name}={value}")]
    return ["--program", command, "--argument", "augment=no", *told]


def compare_accuracy(scratch: pathlib.Path) -> None:
    """Torch and built-in by turns, seed after seed."""
    data = scratch / "data"
    cut(data, args.images, args.test)
    samples = args.images * args.epochs
    print(f"accuracy: ResNet-20, {args.epochs} epochs of {args.images} images, "
          f"{args.workers} workers with batches of {args.batch} under BSP, "
          f"rate {args.rate:g} of a batch, {args.schedule}; tested on "
          f"{args.test} images", flush=True)
    rows = [["seed", "model", "accuracy", "loss", "seconds", "images/s"]]
    differences = []
    for seed in range(1, args.seeds + 1):
        kinds = {"torch": program(data, seed=seed),
                 "built-in": ["--model", "resnet20", "--data",
                              f"cifar10:{data}"]}
        reached = {}
        for kind, flags in kinds.items():
            result, = train(args.bin, scratch / f"{kind}-{seed}", [
                *flags, *OPTIMIZER, "--paradigm", "bsp", "--workers",
                args.workers, "--servers", 1, "--batch-size", args.batch,
                "--learning-rate", args.rate, "--schedule", args.schedule,
                "--epochs", args.epochs, "--seed", seed, "--defer-eval",
                "--eval-every", samples])
            reached[kind] = result["final_accuracy"]
            rows.append([seed, kind, f"{reached[kind]:.4f}",
                         f"{result['final_metrics']['loss']:.4f}",
                         f"{result['seconds']:.1f}",
                         f"{result['samples'] / result['seconds']:.0f}"])
            print(f"seed {seed}, {kind}: {reached[kind]:.4f} after "
                  f"{result['samples']} images", flush=True)
        differences.append(reached["torch"] - reached["built-in"])
    print_table(rows)
    mean = statistics.mean(differences)
    # Of the difference of two runs, as far as the test images limit it.
    chance = math.sqrt(0.5 / args.test)
    print(f"torch less built-in: {mean:+.4f} on average, "
          + ", ".join(f"{value:+.4f}" for value in differences)
          + f"; {args.test} test images alone make up to {chance:.4f} of a "
          "difference by chance (one deviation)\n", flush=True)


def compare_pace(scratch: pathlib.Path) -> None:
    """One run of each paradigm, to its accuracy or its end."""
    data = scratch / "data-pace"
    cut(data, args.pace_images, args.pace_test)
    print(f"pace: ResNet-{args.depth} with {args.width} to {4 * args.width} "
          f"channels by torch, at most {args.pace_epochs} epochs of "
          f"{args.pace_images} images, four workers with batches of "
          f"{args.pace_batch}, {args.step_ms:g} ms each and one of them four "
          f"times that, rate {args.pace_rate:g} of a batch; tested on "
          f"{args.pace_test} images", flush=True)
    paradigms = [word for name in args.paradigms
                 for word in ("--paradigm", name)]
    results = train(args.bin, scratch / "pace", [
        *program(data, depth=args.depth, width=args.width), *OPTIMIZER,
        "--workers", 4, "--servers", 2, "--slowdown", "1,1,1,4",
        "--step-time", f"{args.step_ms:g}ms", "--batch-size", args.pace_batch,
        "--learning-rate", args.pace_rate, "--epochs", args.pace_epochs,
        "--target-accuracy", args.accuracy, "--stop-at-target", "--eval-every",
        args.eval_every, *paradigms])
    rows = [["paradigm", f"seconds to {args.accuracy:g}", "samples", "sooner",
             "samples/s", "best", *(f"{phase} ms" for phase in PHASES)]]
    first = seconds_to(curve_of(results[0]), args.accuracy)
    for name, result in zip(args.paradigms, results):
        curve = curve_of(result)
        seconds = seconds_to(curve, args.accuracy)
        samples = next((point["samples"] for point in result["accuracy"]
                        if point["accuracy"] >= args.accuracy), "-")
        known = max(first, seconds) < float("inf")
        measured = parts(result)
        rows.append([
            name, f"{seconds:.2f}" if seconds < float("inf") else "-", samples,
            f"{first / seconds:.2f}x" if known else "-",
            f"{result['samples'] / result['seconds']:.0f}",
            f"{max((reached for _, reached in curve), default=0):.4f}",
            *(f"{measured[phase]:.1f}" for phase in PHASES)])
    print_table(rows)
    print(f"`sooner` is against {args.paradigms[0]}; the parts are "
          "milliseconds of an iteration, a worker's mean.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("data", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("what", nargs="*", help="accuracy, pace; none: both")
    accuracy = parser.add_argument_group("accuracy")
    accuracy.add_argument("--images", type=int, default=10_240)
    accuracy.add_argument("--test", type=int, default=10_000)
    accuracy.add_argument("--epochs", type=int, default=8)
    accuracy.add_argument("--seeds", type=int, default=2)
    accuracy.add_argument("--workers", type=int, default=2)
    accuracy.add_argument("--batch", type=int, default=64)
    accuracy.add_argument("--rate", type=float, default=0.05)
    accuracy.add_argument("--schedule", default="step:at=0.5|0.75,factor=0.1")
    pace = parser.add_argument_group("pace")
    pace.add_argument("--depth", type=int, default=8)
    pace.add_argument("--width", type=int, default=8)
    pace.add_argument("--pace-images", type=int, default=5120)
    pace.add_argument("--pace-test", type=int, default=500)
    pace.add_argument("--pace-epochs", type=int, default=8)
    pace.add_argument("--pace-batch", type=int, default=32)
    pace.add_argument("--pace-rate", type=float, default=0.02)
    pace.add_argument("--step-ms", type=float, default=100)
    pace.add_argument("--accuracy", type=float, default=0.4)
    pace.add_argument("--eval-every", type=int, default=1024)
    pace.add_argument("--paradigms", nargs="+", default=PARADIGMS)
    return parser.parse_args()


def main() -> None:
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bench-"))
    print_machine()
    try:
        if not args.what or "accuracy" in args.what:
            compare_accuracy(scratch)
        if not args.what or "pace" in args.what:
            compare_pace(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    args = parse()
    main()

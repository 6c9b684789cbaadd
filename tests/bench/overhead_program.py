"""The loop that program_overhead_bench.py measures, for a job and plain by
turns.

Both are timed here by the same clock, in the loop's body: a step is the time
between two ends of the body, so all is in it that the loop waits for.
"""

import argparse
import json
import pathlib
import statistics
import threading
import time

import torch
import torch.nn.functional as F
from torch import nn


class Noise(torch.utils.data.Dataset):
    """Samples that are there at once, or take `seconds` each, as from a disk.

    Waiting and not computing, so that two cores are enough for both loops.
    """

    def __init__(self, shape: tuple, samples: int, seconds: float) -> None:
        self.images = torch.randn(256, *shape)
        self.samples = samples
        self.seconds = seconds

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple:
        if self.seconds > 0:
            threading.Event().wait(self.seconds)
        return self.images[index % 256], index % 10


def small_net() -> nn.Module:
    """260,000 parameters, 1 MB."""
    def layers(inputs: int, outputs: int) -> list:
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]

    return nn.Sequential(
        *layers(3, 64), *layers(64, 64), nn.MaxPool2d(2), *layers(64, 128),
        *layers(128, 128), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(128, 10))


def large_net() -> nn.Module:
    """25 million parameters, 100 MB."""
    hidden = [layer for _ in range(4)
              for layer in (nn.Linear(2500, 2500), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 2500), *hidden,
                         nn.Linear(2500, 10))


NETS = {"small": (small_net, (3, 16, 16)), "large": (large_net, (3, 8, 8))}


class Clock:
    """Notes when each step ends: the steps of one turn."""

    SKIPPED = 3  # The first ones of a turn find cold caches and full queues.

    def __init__(self) -> None:
        self.ends = []

    def note(self) -> None:
        self.ends.append(time.perf_counter())

    def figures(self) -> dict:
        """Milliseconds of a step."""
        ends = self.ends[self.SKIPPED:]
        steps = [after - before for before, after in zip(ends, ends[1:])]
        return {"mean": 1000 * statistics.fmean(steps),
                "median": 1000 * statistics.median(steps)}


class PlainLoop:
    """A plain loop over the same data, with a model of its own. It goes on
    where its last turn has ended."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.model, self.optimizer, self.data = make(args)
        self.args = args
        self.batches = iter(())

    def turn(self, steps: int) -> dict:
        clock = Clock()
        while len(clock.ends) < steps:
            for x, y in self.batches:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                clock.note()
                if len(clock.ends) == steps:
                    return clock.figures()
            self.batches = iter(torch.utils.data.DataLoader(
                self.data, batch_size=self.args.batch, shuffle=True,
                num_workers=self.args.loaders))
        return clock.figures()


def train_by_turns(args: argparse.Namespace) -> list:
    """A turn of the job's steps, one of plain ones, and so on: the machine is
    as fast in the one as in the other. Meanwhile the job has its next grant
    and waits for this script."""
    import paceline.torch as pl

    model, optimizer, data = make(args)
    plain = PlainLoop(args)
    job = pl.attach(model, optimizer=optimizer)
    turns = []
    clock = Clock()
    for x, y in job.batches(data, batch_size=args.batch,
                            num_workers=args.loaders):
        loss = F.cross_entropy(model(x), y)
        job.backward(loss)
        clock.note()
        if len(clock.ends) == args.turn:
            turns.append({"job": clock.figures(),
                          "plain": plain.turn(args.turn)})
            clock = Clock()
    return turns


def make(args: argparse.Namespace) -> tuple:
    """A model, its optimizer, and its data."""
    torch.manual_seed(0)
    build, shape = NETS[args.net]
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    return model, optimizer, Noise(shape, args.steps * args.batch,
                                   args.sample_seconds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", choices=NETS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--turn", type=int, default=25)
    parser.add_argument("--loaders", type=int, default=0)
    parser.add_argument("--sample-seconds", type=float, default=0)
    parser.add_argument("--plain", action="store_true",
                        help="only the plain loop, one turn of all steps")
    parser.add_argument("--figures", type=pathlib.Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.plain:
        figures = PlainLoop(args).turn(args.steps)
    else:
        figures = train_by_turns(args)
    if figures:  # A script that was only asked what it trains has none.
        args.figures.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()

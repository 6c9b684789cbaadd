"""The loop that program_overhead_bench.py measures, plain or for a job.

Both are timed here by the same clock, in the loop's body: a step is the time
between two ends of the body, so all is in it that the loop waits for.
"""

import argparse
import json
import pathlib
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
    """Notes when each step ends, and tells of those after `skip`."""

    def __init__(self, skip: int) -> None:
        self.skip = skip
        self.ends = []

    def note(self) -> None:
        self.ends.append(time.perf_counter())

    def figures(self) -> dict:
        ends = self.ends[self.skip:]
        steps = sorted(after - before for before, after in zip(ends, ends[1:]))
        return {"steps": len(steps),
                "mean": 1000 * (ends[-1] - ends[0]) / len(steps),
                "median": 1000 * steps[len(steps) // 2]}


def train_plain(model: nn.Module, optimizer: torch.optim.Optimizer,
                data: Noise, args: argparse.Namespace, clock: Clock) -> None:
    loader = torch.utils.data.DataLoader(data, batch_size=args.batch,
                                         shuffle=True,
                                         num_workers=args.loaders)
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        clock.note()


def train_job(model: nn.Module, optimizer: torch.optim.Optimizer, data: Noise,
              args: argparse.Namespace, clock: Clock) -> None:
    import paceline.torch as pl

    job = pl.attach(model, optimizer=optimizer)
    for x, y in job.batches(data, batch_size=args.batch,
                            num_workers=args.loaders):
        loss = F.cross_entropy(model(x), y)
        job.backward(loss)
        clock.note()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", choices=NETS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--skip", type=int, required=True)
    parser.add_argument("--loaders", type=int, default=0)
    parser.add_argument("--sample-seconds", type=float, default=0)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--figures", type=pathlib.Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    build, shape = NETS[args.net]
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    data = Noise(shape, args.steps * args.batch, args.sample_seconds)
    clock = Clock(args.skip)
    (train_plain if args.plain else train_job)(model, optimizer, data, args,
                                               clock)
    if clock.ends:  # A script that was only asked what it trains has none.
        args.figures.write_text(json.dumps(clock.figures()))
        print(clock.figures())


if __name__ == "__main__":
    main()

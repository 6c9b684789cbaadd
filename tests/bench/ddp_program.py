"""The script that ddp_bench.py trains: a small CNN on MNIST, under torch's own
DistributedDataParallel or for a job.

    python3 ddp_program.py [--data FOLDER] --ddp FIGURES --slowdown 1,1,1,4 ...
    paceline local --program "python3 ddp_program.py [--data FOLDER]" ...

For a job the agents imitate slow devices. Under DDP it is done here, alike: a
step of a worker takes --step-ms times its factor, from the beginning of the
forward pass, the rest of which is waited for. The wait lies before the backward
pass, which keeps its own time: DDP sends within it, so that what it hides there
is hidden here, too.
"""

import argparse
import copy
import gzip
import json
import os
import pathlib
import tempfile
import threading
import time

import torch
import torch.nn.functional as F
from torch import nn

RATE = 0.01  # Of one worker's batch.
MOMENTUM = 0.9


def read(folder: pathlib.Path, name: str) -> torch.Tensor:
    """The bytes of an IDX file, without its header."""
    packed = folder / f"{name}.gz"
    data = (gzip.decompress(packed.read_bytes()) if packed.exists()
            else (folder / name).read_bytes())
    # Byte 3 says how many numbers of four bytes follow.
    return torch.tensor(bytearray(data[4 + 4 * data[3]:]), dtype=torch.uint8)


def load(args: argparse.Namespace,
         split: str) -> torch.utils.data.TensorDataset:
    """The first images [N, 1, 28, 28], about -0.5 to 3, and labels [N]."""
    most = args.train if split == "train" else args.test
    if args.data is not None:
        images = read(args.data, f"{split}-images-idx3-ubyte")
        labels = read(args.data, f"{split}-labels-idx1-ubyte").long()[:most]
        images = images.view(-1, 1, 28, 28)[:most]
        return torch.utils.data.TensorDataset(
            (images / 255 - 0.1307) / 0.3081, labels)
    # Ten figures that are all over the image, and noise on each sample.
    figures = torch.randn(10, 1, 28, 28,
                          generator=torch.Generator().manual_seed(1))
    drawn = torch.Generator().manual_seed(2 if split == "train" else 3)
    labels = torch.randint(10, (most,), generator=drawn)
    noise = 4 * torch.randn(most, 1, 28, 28, generator=drawn)
    return torch.utils.data.TensorDataset(figures[labels] + noise, labels)


def build() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 10))


def accuracy(model: nn.Module, test: torch.utils.data.TensorDataset,
             samples: int) -> torch.Tensor:
    images, labels = test[:samples]
    logits = torch.cat([model(part) for part in images.split(256)])
    return (logits.argmax(1) == labels).float().mean()


def train_job(args: argparse.Namespace) -> None:
    import paceline.torch as pl

    model = build()
    train, test = load(args, "train"), load(args, "t10k")
    job = pl.attach(model, optimizer=torch.optim.SGD(
        model.parameters(), lr=RATE, momentum=MOMENTUM))

    @job.evaluator(test_samples=len(test))
    def evaluate(model: nn.Module, samples: int) -> dict:
        return {"accuracy": accuracy(model, test, samples)}

    for x, y in job.batches(train, batch_size=args.batch):
        job.backward(F.cross_entropy(model(x), y))


def backward_seconds(model: nn.Module, data: torch.utils.data.Dataset,
                     batch: int) -> float:
    """The median of a backward pass alone, so that the wait leaves room."""
    model = copy.deepcopy(model)
    x, y = data[:batch]
    took = []
    for _ in range(9):
        loss = F.cross_entropy(model(x), y)
        began = time.perf_counter()
        loss.backward()
        took.append(time.perf_counter() - began)
    return sorted(took)[4]


def train_ddp(rank: int, args: argparse.Namespace, meeting: str) -> None:
    """One of the workers; the first one keeps the weights to be evaluated."""
    torch.set_num_threads(1)
    factors = [float(factor) for factor in args.slowdown.split(",")]
    workers = len(factors)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=workers)
    train = load(args, "train")
    sampler = torch.utils.data.DistributedSampler(train, seed=1,
                                                  drop_last=True)
    loader = torch.utils.data.DataLoader(train, batch_size=args.batch,
                                         sampler=sampler)
    bare = build()
    takes = args.step_ms / 1000 * factors[rank]
    for turn in range(workers):  # One after the other: they share two cores.
        torch.distributed.barrier()
        if turn == rank:
            room = backward_seconds(bare, train, args.batch)
    model = nn.parallel.DistributedDataParallel(bare)
    # A round's step is that of all its batches, as in a job under BSP.
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE * workers,
                                momentum=MOMENTUM)
    every = max(1, args.eval_every // (args.batch * workers))
    kept, steps, pause = [], 0, threading.Event()
    torch.distributed.barrier()
    start = time.perf_counter()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            began = time.perf_counter()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            pause.wait(max(0, began + takes - room - time.perf_counter()))
            loss.backward()
            optimizer.step()
            steps += 1
            if rank == 0 and steps % every == 0:
                kept.append((time.perf_counter() - start,
                             copy.deepcopy(bare.state_dict())))
    torch.distributed.barrier()
    if rank == 0:
        kept.append((time.perf_counter() - start, bare.state_dict()))
        write_figures(args, bare, kept, steps * args.batch * workers)


def write_figures(args: argparse.Namespace, model: nn.Module, kept: list,
                  samples: int) -> None:
    """Evaluated after the training, as the jobs beside it are."""
    test = load(args, "t10k")
    curve = []
    with torch.no_grad():
        for seconds, weights in kept:
            model.load_state_dict(weights)
            curve.append((seconds, accuracy(model, test, args.test).item()))
    args.ddp.write_text(json.dumps({"seconds": kept[-1][0],
                                    "samples": samples, "curve": curve}))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=4096)
    parser.add_argument("--test", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--ddp", type=pathlib.Path, metavar="FIGURES")
    parser.add_argument("--slowdown", default="1,1,1,1")
    parser.add_argument("--step-ms", type=float, default=0)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--eval-every", type=int, default=1024)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.ddp is None:
        train_job(args)
        return
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(
            train_ddp, (args, f"{folder}/meeting"),
            nprocs=len(args.slowdown.split(",")))


if __name__ == "__main__":
    main()

"""Programs come and go, and leave nothing behind."""

from __future__ import annotations

import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any, List, Set, Tuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import paceline
import paceline.torch as pl
from conftest import HERE
from fake_agent import PATIENCE

DATA = torch.utils.data.TensorDataset(torch.ones(64, 4), torch.ones(64, 1))
PLAN = dict(samples=64, batch_size=16, micro_batch=8)


def what_is_open() -> Tuple[List[str], int, Set[str]]:
    return descriptors(), threading.active_count(), children()


def descriptors() -> List[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:
            pass  # Of the listing itself.
    return sorted(found)


def arenas() -> int:
    with open("/proc/self/maps") as maps:
        return sum("memfd:" in line for line in maps)


def children() -> Set[str]:
    with open(f"/proc/self/task/{os.getpid()}/children") as listed:
        return set(listed.read().split())


def train(model: nn.Module, workers: int, leave: str) -> None:
    job = pl.attach(model)
    try:
        for number, (x, y) in enumerate(
                job.batches(DATA, num_workers=workers)):
            if number == 3 and leave == "break":
                break
            if number == 3 and leave == "error":
                raise KeyError("of the user's")
            job.backward(F.mse_loss(model(x), y))
    finally:
        job.close()


@pytest.mark.parametrize("leave", ["", "break", "error"])
@pytest.mark.parametrize("workers", [0, 2])
def test_nothing_is_left_of_a_job(workers: int, leave: str, agent: Any
                                  ) -> None:
    model = nn.Linear(4, 1)

    def once() -> None:
        with agent(steps=4, **PLAN) as ours:
            try:
                train(model, workers, leave)
            except KeyError:
                assert leave == "error"
        assert len(ours.dones) == (4 if not leave else 1)
        # The agent is this process too.
        ours._weights.close()
        ours._gradients.close()

    once()  # What Python and torch open once.
    gc.collect()
    before = what_is_open()
    once()
    gc.collect()
    # A loader's threads are not waited for by torch.
    deadline = time.monotonic() + PATIENCE
    while what_is_open() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert what_is_open() == before
    assert arenas() == 0
    # The model has memory of its own, and its weights.
    assert model(torch.ones(1, 4)).isfinite().all()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_one_process_serves_job_after_job(agent: Any) -> None:
    model = nn.Linear(4, 1)
    for _ in range(3):
        with agent(steps=2, **PLAN) as ours:
            train(model, 0, "")
        assert len(ours.dones) == 2


def test_with_a_job(agent: Any) -> None:
    with agent(steps=4, **PLAN) as ours:
        with pytest.raises(KeyError):
            with pl.attach(nn.Linear(4, 1)) as job:
                for _ in job.batches(DATA):
                    raise KeyError("of the user's")
    assert ours.failed["code"] == "INTERNAL"


SCRIPT = """
import os, signal, sys
import torch
import paceline.torch as pl

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return torch.ones(4)

model = torch.nn.Linear(4, 1)
job = pl.attach(model)
for number, x in enumerate(job.batches(Data(), num_workers=2)):
    job.backward(model(x).mean())
    if number == 3:
        {act}
"""


@pytest.mark.parametrize("act, code, message, status", [
    ("raise KeyError('label 7')", "INTERNAL",
     "KeyError: 'label 7' (script.py:", 1),
    ("raise MemoryError('64 GB')", "RESOURCE_EXHAUSTED", "MemoryError", 1),
    ("raise RuntimeError('CUDA out of memory. Tried')", "RESOURCE_EXHAUSTED",
     "RuntimeError: CUDA out of memory", 1),
    ("signal.raise_signal(signal.SIGINT)", "CANCELLED", "interrupted",
     -signal.SIGINT),
    ("os.kill(os.getpid(), signal.SIGKILL)", "", "", -signal.SIGKILL),
    ("break", "", "", 0),
], ids=["exception", "memory", "device memory", "interrupt", "killed", "break"])
def test_how_a_script_ends(act: str, code: str, message: str, status: int,
                           agent: Any, tmp_path: pathlib.Path) -> None:
    """Its agent hears why, and sees it go though DataLoader workers live."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(act=act))
    with agent(steps=8, **PLAN) as ours:
        ended = subprocess.run(
            [sys.executable, str(script)], timeout=PATIENCE,
            env={**os.environ, "PYTHONPATH": str(HERE.parent)},
            stderr=subprocess.PIPE, text=True)
    assert ended.returncode == status, ended.stderr
    assert ours.failed.get("code", "") == code
    assert message in ours.failed.get("message", "")
    assert ours.gone == (not code) and len(ours.dones) < 8
    if code == "INTERNAL":
        assert "KeyError" in ended.stderr


def test_a_process_that_is_not_torch_s(agent: Any) -> None:
    """A child of the script does not keep the connection open."""
    from paceline import program

    with agent(steps=1, **PLAN):
        pl.attach(nn.Linear(4, 1))
        current = program._current
        assert current is not None and not current.closed
        child = os.fork()
        if child == 0:
            os._exit(0 if current.closed else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert not current.closed


def test_what_is_loaded_later() -> None:
    """A program needs neither torch nor gRPC to import the package."""
    ended = subprocess.run(
        [sys.executable, "-c", "import paceline, sys\n"
         "assert 'torch' not in sys.modules\n"
         "assert 'grpc' not in sys.modules\n"
         "assert 'numpy' not in sys.modules\n"
         "print(paceline.arguments())"],
        env={"PYTHONPATH": str(HERE.parent)}, timeout=PATIENCE,
        stdout=subprocess.PIPE, text=True)
    assert ended.stdout == "{}\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(paceline, "nothing")

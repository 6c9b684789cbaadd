"""A forward pass begins while weights come, and reads none before it came.

Until the second half of the weights is sent it is full of NaN, so that who
reads one of them early has a loss that is none.
"""

from __future__ import annotations

import copy
import io
import threading
from typing import Any, Callable, Dict, List

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import paceline.torch as pl

WIDTH = 400  # Two such layers have more bytes than gates are for.
DATA = torch.utils.data.TensorDataset(
    torch.randn(64, WIDTH, generator=torch.Generator().manual_seed(1)),
    torch.ones(64, 1))
PLAN = dict(samples=64, batch_size=16, micro_batch=8, steps=4, rate=0.01)
PATIENCE = 60.0  # Seconds; ends only what would hang.


class Layers(nn.Module):
    """Tells how often its first layer has been computed."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(WIDTH, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, 1)
        self.begun = threading.Semaphore(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.first(x))
        self.begun.release()
        return self.last(F.relu(self.second(x)))


class Attention(Layers):
    """out_proj is read by the module around it."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 1, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.unsqueeze(1)
        x = self.attention(x, x, x, need_weights=False)[0].squeeze(1)
        return super().forward(x)


class Normed(Layers):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(self.norm(x))


class Tied(Layers):
    """The second layer has the weight of one that is never called."""

    def __init__(self) -> None:
        super().__init__()
        self.store = nn.Linear(WIDTH, WIDTH)
        self.second.weight = self.store.weight


def weight_normed() -> nn.Module:
    model = Layers()
    nn.utils.weight_norm(model.second)
    return model


def spectrally_normed() -> nn.Module:
    """A hook computes its weight, and moves buffers on the way."""
    model = Layers()
    nn.utils.spectral_norm(model.second)
    return model


def plain_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor
               ) -> torch.Tensor:
    return F.mse_loss(model(x), y)


def penalized(model: nn.Module, x: torch.Tensor, y: torch.Tensor
              ) -> torch.Tensor:
    """Reads all weights before the first module is called."""
    penalty = sum(parameter.pow(2).sum() for parameter in model.parameters())
    return 1e-4 * penalty + F.mse_loss(model(x), y)


def train(agent: Callable[..., Any], make: Callable[[], nn.Module],
          loss_of: Callable[..., torch.Tensor] = plain_loss,
          overlap: bool = True, **fields: Any) -> Any:
    with agent(**{**PLAN, **fields}) as playing:
        model = make()
        job = pl.attach(model, overlap=overlap)
        for x, y in job.batches(DATA):
            job.backward(loss_of(model, x, y))
    return playing


def test_it_begins_before_the_last_weights_come(agent: Callable[..., Any]
                                                ) -> None:
    model = Layers()
    seen: List[bool] = []

    def between(iteration: int) -> None:
        # The first step shows what is read, so it has all weights.
        if iteration > 0:
            before = 1 if iteration > 1 else 2  # Batches of the step before.
            for _ in range(before):
                assert model.begun.acquire(timeout=PATIENCE)
            seen.append(model.begun.acquire(timeout=PATIENCE))

    playing = train(agent, lambda: model, between=between)
    assert seen == [True] * 3
    assert all(done.finite for done in playing.dones)


CASES: Dict[str, Any] = {
    "layers": (Layers, plain_loss),
    "a part that others read": (Attention, plain_loss),
    "statistics": (Normed, plain_loss),
    "tied": (Tied, plain_loss),
    "a penalty before the forward pass": (Layers, penalized),
    "weights that a hook computes": (weight_normed, plain_loss),
    "buffers that a hook moves": (spectrally_normed, plain_loss),
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_numbers_are_the_same(name: str, agent: Callable[..., Any]
                                  ) -> None:
    make, loss_of = CASES[name]
    pause = threading.Event()
    slow = train(agent, make, loss_of, between=lambda _: pause.wait(0.02))
    plain = train(agent, make, loss_of, overlap=False)
    for ours, theirs in zip(slow.tensors, plain.tensors):
        assert (ours.value == theirs.value).all(), ours.name
    assert all(done.finite for done in slow.dones)


def test_the_model_can_be_copied_and_saved_in_the_loop(
        agent: Callable[..., Any]) -> None:
    kept = io.BytesIO()
    with agent(**PLAN):
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1))
        job = pl.attach(model)
        for x, y in job.batches(DATA):
            job.backward(F.mse_loss(model(x), y))
            another = copy.deepcopy(model)
            kept.seek(0)
            torch.save(model, kept)
    kept.seek(0)
    for copied in (another, torch.load(kept)):
        assert copied(x).shape == y.shape  # It waits for nobody.


@pytest.mark.parametrize("event", ["abandon", "refresh", "stop", "drop"])
def test_what_comes_while_it_waits(event: str, agent: Callable[..., Any],
                                   capsys: Any) -> None:
    pause = threading.Event()
    playing = train(agent, Layers, events={2: event},
                    between=lambda _: pause.wait(0.02))
    assert playing.abandoned == ([2] if event == "abandon" else [])
    assert all(done.finite for done in playing.dones)
    assert "used up" not in capsys.readouterr().err

"""Models on a CUDA device: what is pinned, copied and awaited there."""

from __future__ import annotations

import copy
from typing import Any, List

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import paceline.torch as pl
from test_torch_same_numbers import (BATCH, SAMPLES, WithNorm, difference,
                                     make_data, plain_loop)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(),
                                reason="there is no CUDA device")

STEPS = 30
DEVICE = torch.device("cuda", 0)
# A device sums in another order than the CPU, and running statistics are
# recovered from two values, with up to 10 times their rounding error.
WITHIN = 2e-4


class Split(nn.Module):
    """The first half on the CPU, the second on the device, norms on both."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.first = nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16))
        self.last = nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8),
                                  nn.Linear(8, 5)).to(DEVICE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.relu(self.first(x)).to(DEVICE))


class Wide(nn.Module):
    """Its weights have more bytes than a bucket, and than gates are for."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.first = nn.Linear(12, 600)
        self.second = nn.Linear(600, 600)
        self.last = nn.Linear(600, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.first(x))
        return self.last(F.relu(self.second(x)))


def train(job: pl.Job, micro_batch: int) -> List[float]:
    """The mean loss of each step."""
    losses = []
    for step in job.steps(make_data(), batch_size=micro_batch):
        for x, y in step:
            x = x if isinstance(job.model, Split) else x.to(DEVICE)
            step.backward(F.cross_entropy(job.model(x), y.to(DEVICE)))
        losses.append(step.loss)
    return losses


MODELS = {"norms": lambda: WithNorm().to(DEVICE), "two devices": Split,
          "wide": lambda: Wide().to(DEVICE)}


@pytest.mark.parametrize("overlap", [True, False], ids=["overlap", "after"])
@pytest.mark.parametrize("wire", ["fp32", "bf16"])
@pytest.mark.parametrize("name", list(MODELS))
def test_a_device_trains_as_a_plain_loop(name: str, wire: str, overlap: bool,
                                         agent: Any) -> None:
    model = MODELS[name]()
    plain = copy.deepcopy(model).cpu()
    with agent(samples=SAMPLES, steps=STEPS, batch_size=BATCH,
               micro_batch=BATCH, optimizer="sgd:momentum=0.9", rate=0.05,
               wire=wire, overlap=overlap) as ours:
        losses = train(pl.attach(model), BATCH)
    if isinstance(plain, Split):
        plain.forward = lambda x: plain.last(  # type: ignore[assignment]
            F.relu(plain.first(x)))
    expected = plain_loop(
        plain, torch.optim.SGD(plain.parameters(), lr=0.05, momentum=0.9),
        make_data(), ours.steps, BATCH)
    within = WITHIN if wire == "fp32" else 5e-2
    assert difference(ours, plain.state_dict()) <= within
    assert losses == pytest.approx(expected, abs=1e-3 if wire == "fp32"
                                   else 5e-2)
    assert expected[-1] < expected[0] - 0.2
    assert bool(ours.ready[STEPS - 1]) == overlap
    if overlap:  # Each tensor is sent once, from whichever device.
        told = [i for first, end in ours.ready[STEPS - 1]
                for i in range(first, end)]
        assert sorted(told) == list(range(len(ours.tensors)))


@pytest.mark.parametrize("name", list(MODELS))
def test_micro_batches_add_up_on_a_device(name: str, agent: Any) -> None:
    """Gradients of plain sums, which no statistics make different."""
    model = MODELS[name]().eval()
    plain = copy.deepcopy(model)
    with agent(samples=SAMPLES, steps=4, batch_size=BATCH, micro_batch=8,
               rate=0.05) as ours:
        train(pl.attach(model), 8)
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.05)
    data = make_data()
    for samples in ours.steps:
        optimizer.zero_grad()
        x, y = data[[index for _, index in samples]]
        x = x if isinstance(plain, Split) else x.to(DEVICE)
        F.cross_entropy(plain(x), y.to(DEVICE)).backward()
        optimizer.step()
    state = {key: value.cpu() for key, value in plain.state_dict().items()}
    assert difference(ours, state) <= WITHIN


def test_the_arenas_are_pinned_for_a_device(agent: Any) -> None:
    model = MODELS["wide"]()
    pinned = []
    with agent(samples=SAMPLES, steps=2, batch_size=BATCH,
               micro_batch=BATCH):
        job = pl.attach(model)
        for x, y in job.batches(make_data()):
            arenas = job._exchange._arenas
            pinned.append((len(arenas._pinned),
                           arenas.weights[0].is_pinned(),
                           arenas.gradients[0].is_pinned()))
            job.backward(F.cross_entropy(model(x.to(DEVICE)), y.to(DEVICE)))
    assert pinned == [(2, True, True)] * 2
    assert arenas._pinned == []  # Given back with the job.


def test_weights_are_taken_without_waiting_for_the_device(agent: Any) -> None:
    """The copies queue behind what the device has to do."""
    model = MODELS["wide"]()
    before = []
    with agent(samples=SAMPLES, steps=3, batch_size=BATCH,
               micro_batch=BATCH):
        job = pl.attach(model, overlap=False)
        take = job._exchange.take_weights

        def take_behind_work(tensors: Any = None) -> None:
            busy = torch.cuda.Event()
            torch.cuda._sleep(500_000_000)  # Cycles: a quarter of a second.
            busy.record()
            take(tensors)
            before.append(busy.query())

        job._exchange.take_weights = take_behind_work  # type: ignore
        for x, y in job.batches(make_data()):
            job.backward(F.cross_entropy(model(x.to(DEVICE)), y.to(DEVICE)))
    assert before and not any(before)


def test_local_steps_on_a_device(agent: Any) -> None:
    model = MODELS["norms"]()
    plain = copy.deepcopy(model).cpu()
    with agent(samples=SAMPLES, steps=5, batch_size=BATCH, micro_batch=8,
               rate=1.0) as ours:
        train(pl.attach(model, local=torch.optim.SGD(
            model.parameters(), lr=0.05), push_every=4), 8)
    parts = [samples[at:at + 8] for samples in ours.steps
             for at in range(0, BATCH, 8)]
    plain_loop(plain, torch.optim.SGD(plain.parameters(), lr=0.05),
               make_data(), parts, 8)
    state = plain.state_dict()
    for tensor in ours.tensors:
        if tensor.kind == "trained":
            value = torch.from_numpy(tensor.value).view(tensor.shape)
            assert float((value - state[tensor.name]).abs().max()) <= WITHIN


def test_scaled_gradients_on_a_device(agent: Any) -> None:
    model = MODELS["wide"]()
    plain = copy.deepcopy(model).cpu()
    with agent(samples=SAMPLES, steps=STEPS, batch_size=BATCH, micro_batch=16,
               rate=0.05) as ours:
        train(pl.attach(model, amp=torch.float16, overlap_overflow=True), 16)
    plain_loop(plain, torch.optim.SGD(plain.parameters(), lr=0.05),
               make_data(), ours.steps, 16)
    assert difference(ours, plain.state_dict()) <= WITHIN
    assert all(done.finite for done in ours.dones)

"""The same numbers as a plain torch loop, for everything a loop may do.

Each case trains 100 steps twice from the same weights on the same samples:
once as a program of an agent, once in a plain loop. Tolerances are for the
greatest difference of a weight after the last step; the servers' arithmetic is
torch's in another order.
"""

from __future__ import annotations

import copy
from typing import Any, Dict, List, Optional, Tuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import paceline.torch as pl
from paceline import exchange

SAMPLES, STEPS, BATCH = 320, 100, 32


def make_data(inputs: int = 12, classes: int = 5) -> torch.utils.data.Dataset:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(SAMPLES, inputs, generator=generator)
    w = torch.randn(inputs, classes, generator=generator)
    return torch.utils.data.TensorDataset(x, (x @ w).argmax(1))


def make_mlp() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 5))


class WithNorm(nn.Module):
    """Batch normalization, and another float buffer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.first = nn.Linear(12, 16, bias=False)
        self.norm = nn.BatchNorm1d(16, momentum=0.2)
        self.last = nn.Linear(16, 5)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.seen += len(x)
        return self.last(F.relu(self.norm(self.first(x))))


class Tied(nn.Module):
    """The last layer has the first one's weight."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.first = nn.Linear(12, 12)
        self.again = nn.Linear(12, 12)
        self.again.weight = self.first.weight
        self.last = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.relu(self.again(F.relu(self.first(x)))))


class Partly(nn.Module):
    """A frozen layer, and one that nothing uses."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.frozen = nn.Linear(12, 12).requires_grad_(False)
        self.aux = nn.Linear(12, 3)
        self.last = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.relu(self.frozen(x)))


def loss_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor,
            autocast: Optional[torch.dtype] = None) -> torch.Tensor:
    if autocast is None:
        return F.cross_entropy(model(x), y)
    with torch.autocast("cpu", autocast):
        return F.cross_entropy(model(x), y)


def plain_loop(model: nn.Module, optimizer: torch.optim.Optimizer,
               data: Any, order: List[List[Tuple[int, int]]],
               micro_batch: int, clip_norm: Optional[float] = None,
               autocast: Optional[torch.dtype] = None) -> List[float]:
    """What a user wrote before; the mean loss of each step."""
    losses = []
    for samples in order:
        optimizer.zero_grad()
        total = 0.0
        for at in range(0, len(samples), micro_batch):
            part = [index for _, index in samples[at:at + micro_batch]]
            x, y = data[part]
            loss = loss_of(model, x, y, autocast) * len(part) / len(samples)
            loss.backward()
            total += loss.item()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        optimizer.step()
        losses.append(total)
    return losses


def difference(ours: Any, state: Dict[str, torch.Tensor]) -> float:
    """The greatest difference of the servers' tensors to `state`."""
    return max(float((torch.from_numpy(tensor.value).view(tensor.shape)
                      - state[tensor.name].float()).abs().max())
               for tensor in ours.tensors)


CASES: Dict[str, Dict[str, Any]] = {
    "sgd": dict(spec="sgd", make=lambda m: torch.optim.SGD(
        m.parameters(), lr=0.05), within=1e-6),
    "momentum": dict(spec="sgd:momentum=0.9,weight_decay=0.0005",
                     make=lambda m: torch.optim.SGD(
                         m.parameters(), lr=0.05, momentum=0.9,
                         weight_decay=5e-4), within=2e-6),
    "nesterov": dict(spec="sgd:momentum=0.9,nesterov=true",
                     make=lambda m: torch.optim.SGD(
                         m.parameters(), lr=0.05, momentum=0.9, nesterov=True),
                     within=2e-6),
    # With the usual epsilon of 1e-8 a gradient of almost nothing moves a weight
    # by a whole rate, to where the last bit of a matrix product points.
    "adam": dict(spec="adam:epsilon=1e-4", rate=0.01,
                 make=lambda m: torch.optim.Adam(m.parameters(), lr=0.01,
                                                 eps=1e-4), within=1e-4),
    "adamw two groups": dict(
        spec="adamw:weight_decay=0.05", rate=0.01,
        make=lambda m: torch.optim.AdamW([
            {"params": [p for p in m.parameters() if p.dim() > 1]},
            {"params": [p for p in m.parameters() if p.dim() == 1],
             "weight_decay": 0.0, "lr": 0.005}], lr=0.01, weight_decay=0.05),
        within=1e-4),
    "accumulation over 4": dict(
        spec="sgd:momentum=0.9", micro_batch=8, make=lambda m: torch.optim.SGD(
            m.parameters(), lr=0.05, momentum=0.9), within=2e-6),
    "clipping": dict(spec="sgd:momentum=0.9", clip_norm=0.3, micro_batch=16,
                     make=lambda m: torch.optim.SGD(
                         m.parameters(), lr=0.05, momentum=0.9), within=2e-6),
    # A weight beside an edge of rounding may go to the other bf16: 2^-9 of it.
    "bf16 autocast": dict(spec="sgd:momentum=0.9", autocast=torch.bfloat16,
                          make=lambda m: torch.optim.SGD(
                              m.parameters(), lr=0.05, momentum=0.9),
                          within=1e-3, loss_within=1e-3),
    # Scaled and unscaled by a power of two: exact but for what underflows.
    "fp16 scaling": dict(spec="sgd:momentum=0.9", amp=torch.float16,
                         make=lambda m: torch.optim.SGD(
                             m.parameters(), lr=0.05, momentum=0.9),
                         within=2e-6),
    "fp16 scaling, overlapped": dict(
        spec="sgd:momentum=0.9", amp=torch.float16, overlap_overflow=True,
        make=lambda m: torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9),
        within=2e-6),
    "tied": dict(model=Tied, spec="sgd:momentum=0.9",
                 make=lambda m: torch.optim.SGD(m.parameters(), lr=0.05,
                                                momentum=0.9), within=2e-6),
    # Plain SGD: a gradient of zero and none at all come to the same.
    "frozen and unused": dict(
        model=Partly, spec="sgd:momentum=0.9",
        make=lambda m: torch.optim.SGD(
            [p for p in m.parameters() if p.requires_grad], lr=0.05,
            momentum=0.9), within=2e-6),
    # A running value is recovered from two others: 1 / m = 5 times their
    # rounding error.
    "batch normalization": dict(
        model=WithNorm, spec="sgd:momentum=0.9",
        make=lambda m: torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9),
        within=1e-5),
}


@pytest.mark.parametrize("copied_from", [1 << 20, 0], ids=["added", "copied"])
@pytest.mark.parametrize("overlap", [True, False], ids=["overlap", "after"])
@pytest.mark.parametrize("name", list(CASES))
def test_a_program_and_a_plain_loop_agree(name: str, overlap: bool,
                                          copied_from: int, agent: Any,
                                          monkeypatch: Any) -> None:
    monkeypatch.setattr(exchange, "_COPIED_LEAST", copied_from)
    case = CASES[name]
    data = make_data()
    model = case.get("model", make_mlp)()
    plain = copy.deepcopy(model)
    micro_batch = case.get("micro_batch", BATCH)
    rate = case.get("rate", 0.05)
    autocast = case.get("autocast")
    losses = []
    with agent(samples=SAMPLES, steps=STEPS, batch_size=BATCH,
               micro_batch=micro_batch, optimizer=case["spec"], rate=rate,
               overlap=overlap) as ours:
        job = pl.attach(model, optimizer=case["make"](model),
                        clip_norm=case.get("clip_norm"), amp=case.get("amp"),
                        overlap_overflow=case.get("overlap_overflow", False))
        for step in job.steps(data, batch_size=micro_batch):
            for x, y in step:
                step.backward(loss_of(model, x, y, autocast))
            losses.append(step.loss)
    expected = plain_loop(plain, case["make"](plain), data, ours.steps,
                          micro_batch, case.get("clip_norm"), autocast)
    assert len(ours.dones) == STEPS
    assert difference(ours, plain.state_dict()) <= case["within"]
    assert losses == pytest.approx(
        expected, abs=case.get("loss_within", 1e-5))
    assert expected[-1] < expected[0] - 0.2  # It learned something.
    overlapped = (overlap and "clip_norm" not in case
                  and ("amp" not in case or "overlap_overflow" in case))
    assert bool(ours.ready[STEPS - 1]) == overlapped


def test_statistics_of_micro_batches_are_their_mean(agent: Any) -> None:
    """A step moves the running values once, by all of its micro-batches."""
    model = WithNorm()
    plain = copy.deepcopy(model)
    data = make_data()
    with agent(samples=SAMPLES, steps=STEPS, batch_size=BATCH, micro_batch=12,
               rate=0.05) as ours:
        job = pl.attach(model)
        for x, y in job.batches(data):
            job.backward(F.cross_entropy(model(x), y))
    # With a momentum of 1 the running values are the micro-batch's own.
    plain.norm.momentum = 1.0
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.05)
    kept = {name: getattr(plain.norm, name).clone()
            for name in ("running_mean", "running_var")}
    for samples in ours.steps:
        mean = {name: torch.zeros(16) for name in kept}
        optimizer.zero_grad()
        for at in range(0, BATCH, 12):  # 12, 12 and 8 samples.
            part = [index for _, index in samples[at:at + 12]]
            x, y = data[part]
            share = len(part) / BATCH
            (F.cross_entropy(plain(x), y) * share).backward()
            for name in kept:
                mean[name] += share * getattr(plain.norm, name)
        optimizer.step()
        for name in kept:
            kept[name] += 0.2 * (mean[name] - kept[name])
    for name, value in kept.items():
        assert torch.allclose(torch.from_numpy(ours.value(f"norm.{name}")),
                              value, atol=1e-5)
    assert not torch.allclose(kept["running_var"], torch.ones(16), atol=0.1)


@pytest.mark.parametrize("overlap", [True, False])
def test_a_buffer_may_change_until_the_step_ends(overlap: bool, agent: Any
                                                 ) -> None:
    model = WithNorm()
    with agent(samples=SAMPLES, steps=8, batch_size=BATCH,
               micro_batch=BATCH) as ours:
        job = pl.attach(model, overlap=overlap)
        for x, y in job.batches(make_data()):
            before = model.seen.clone()
            job.backward(F.cross_entropy(model(x), y))
            model.seen.copy_(before + 1)
    assert ours.value("seen") == 8


def test_a_frozen_part_may_lie_elsewhere(agent: Any) -> None:
    """As the second encoder of MoCo, which follows the first."""
    model = WithNorm()
    model.first.weight.requires_grad_(False)
    with agent(samples=SAMPLES, steps=3, batch_size=BATCH,
               micro_batch=BATCH) as ours:
        job = pl.attach(model)
        for x, y in job.batches(make_data()):
            job.backward(F.cross_entropy(model(x), y))
            model.first.weight.data = model.first.weight.data * 0.5
    assert len(ours.dones) == 3


def test_tensors_are_described_in_order(agent: Any) -> None:
    model = WithNorm()
    model.first.weight.requires_grad_(False)
    with agent(samples=SAMPLES, steps=1, batch_size=BATCH,
               micro_batch=BATCH) as ours:
        job = pl.attach(model)
        for x, y in job.batches(make_data()):
            job.backward(F.cross_entropy(model(x), y))
    assert [(fields["name"], fields["kind"], fields["shape"])
            for fields in ours.attach["tensors"]] == [
        ("seen", "averaged", []),
        ("first.weight", "frozen", [16, 12]),
        ("norm.weight", "trained", [16]), ("norm.bias", "trained", [16]),
        ("norm.running_mean", "statistic", [16]),
        ("norm.running_var", "statistic", [16]),
        ("last.weight", "trained", [5, 16]), ("last.bias", "trained", [5])]
    assert ours.attach["tensors"][4]["momentum"] == pytest.approx(0.2)
    assert ours.attach["train_samples"] == SAMPLES
    assert ours.attach["lookahead"] == BATCH
    # Each tensor that is not frozen is ready once.
    told = [i for first, end in ours.ready[0] for i in range(first, end)]
    assert sorted(told) == [0, 2, 3, 4, 5, 6, 7]


def test_the_servers_weights_overwrite_the_script_s(agent: Any) -> None:
    model = make_mlp()
    torch.manual_seed(99)
    others = {name: torch.randn_like(value).numpy()
              for name, value in model.state_dict().items()}
    seen = {}
    with agent(samples=SAMPLES, steps=1, batch_size=BATCH, micro_batch=BATCH,
               initialize=False, weights=others):
        job = pl.attach(model)
        for x, y in job.batches(make_data()):
            seen = {name: value.clone().numpy()
                    for name, value in model.state_dict().items()}
            job.backward(F.cross_entropy(model(x), y))
    assert all((seen[name] == others[name]).all() for name in others)


@pytest.mark.parametrize("wire, within", [("bf16", 2e-2), ("fp16", 2e-3)])
def test_gradients_travel_in_the_job_s_format(wire: str, within: float,
                                              agent: Any) -> None:
    model = make_mlp()
    plain = copy.deepcopy(model)
    data = make_data()
    with agent(samples=SAMPLES, steps=20, batch_size=BATCH, micro_batch=8,
               wire=wire, rate=0.05) as ours:
        job = pl.attach(model)
        for x, y in job.batches(data):
            job.backward(F.cross_entropy(model(x), y))
    plain_loop(plain, torch.optim.SGD(plain.parameters(), lr=0.05), data,
               ours.steps, 8)
    assert 0 < difference(ours, plain.state_dict()) <= within


def test_parameters_in_double_are_copied(agent: Any) -> None:
    """The servers keep them in fp32, to which each step rounds them."""
    model = make_mlp().double()
    plain = copy.deepcopy(model)
    x, y = make_data()[:]  # type: ignore[index]
    data = torch.utils.data.TensorDataset(x.double(), y)
    with agent(samples=SAMPLES, steps=STEPS, batch_size=BATCH, micro_batch=8,
               rate=0.05) as ours:
        job = pl.attach(model)
        for x, y in job.batches(data):
            job.backward(F.cross_entropy(model(x), y))
    plain_loop(plain, torch.optim.SGD(plain.parameters(), lr=0.05), data,
               ours.steps, 8)
    assert 0 < difference(ours, plain.state_dict()) <= 2e-6
    assert all(parameter.dtype == torch.float64
               for parameter in model.parameters())


def test_what_cannot_lie_in_an_arena_is_copied(agent: Any) -> None:
    """Parameters in another order of memory."""
    torch.manual_seed(5)
    model = nn.Sequential(nn.Unflatten(1, (3, 2, 2)),
                          nn.Conv2d(3, 4, 2), nn.Flatten(), nn.Linear(4, 5))
    model = model.to(memory_format=torch.channels_last)
    plain = copy.deepcopy(model)
    strides = model[1].weight.stride()
    assert not model[1].weight.is_contiguous()
    data = make_data()
    with agent(samples=SAMPLES, steps=STEPS, batch_size=BATCH,
               micro_batch=BATCH, rate=0.05) as ours:
        job = pl.attach(model)
        for x, y in job.batches(data):
            job.backward(F.cross_entropy(model(x), y))
    plain_loop(plain, torch.optim.SGD(plain.parameters(), lr=0.05), data,
               ours.steps, BATCH)
    assert difference(ours, plain.state_dict()) <= 2e-6
    assert model[1].weight.stride() == strides


def test_local_steps_push_how_far_the_weights_moved(agent: Any) -> None:
    """With plain SGD of rate 1 outside, the local optimizer alone decides."""
    model = WithNorm()
    plain = copy.deepcopy(model)
    data = make_data()
    with agent(samples=SAMPLES, steps=25, batch_size=BATCH, micro_batch=8,
               rate=1.0) as ours:
        job = pl.attach(model, local=torch.optim.Adagrad(
            model.parameters(), lr=0.05), push_every=4)
        for x, y in job.batches(data, batch_size=8):
            job.backward(F.cross_entropy(model(x), y))
    optimizer = torch.optim.Adagrad(plain.parameters(), lr=0.05)
    steps = [samples[at:at + 8] for samples in ours.steps
             for at in range(0, BATCH, 8)]
    plain_loop(plain, optimizer, data, steps, 8)
    state = plain.state_dict()
    for tensor in ours.tensors:
        if tensor.kind == "trained":
            ours_value = torch.from_numpy(tensor.value).view(tensor.shape)
            assert float((ours_value - state[tensor.name]).abs().max()) <= 1e-5
    assert not any(ours.ready.values())
    # So the coordinator grants whole batches, however many.
    assert ours.attach["micro_batch"] == 8


def test_local_steps_of_bf16_do_not_push_what_was_rounded(agent: Any) -> None:
    """The servers' fp32 keeps what the worker's type cannot hold."""
    model = make_mlp()
    fine = {name: value.numpy() + 1e-4
            for name, value in model.state_dict().items()}
    model = model.bfloat16()
    data = make_data()
    with agent(samples=SAMPLES, steps=3, batch_size=BATCH, micro_batch=BATCH,
               rate=1.0, initialize=False, weights=fine) as ours:
        job = pl.attach(model, local=torch.optim.SGD(model.parameters(),
                                                     lr=1e-12), push_every=1)
        for x, y in job.batches(data, batch_size=BATCH):
            job.backward(F.cross_entropy(model(x.bfloat16()), y))
    for name, value in fine.items():
        assert (ours.value(name) == value).all()


def test_a_drop_in_is_a_plain_loop_with_the_job_s_data(agent: Any) -> None:
    model = make_mlp()
    plain = copy.deepcopy(model)
    data = make_data()
    make = CASES["momentum"]["make"]
    with agent(samples=SAMPLES, steps=STEPS, batch_size=BATCH, micro_batch=8,
               optimizer=CASES["momentum"]["spec"], rate=0.05) as ours:
        job = pl.attach(model)
        optimizer = job.drop_in(make(model))
        for number, (x, y) in enumerate(job.batches(data)):
            # As a framework that accumulates over two batches.
            if number % 2 == 0:
                optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            (loss / 2).backward()
            if number % 2 == 1:
                job.note_loss(loss)
                optimizer.step()
    plain_loop(plain, make(plain), data, ours.steps, 8)
    assert len(ours.dones) == STEPS
    assert difference(ours, plain.state_dict()) <= 2e-6


def test_a_drop_in_clips_alone_too(alone: None) -> None:
    model = make_mlp()
    before = copy.deepcopy(model.state_dict())
    job = pl.attach(model, clip_norm=0.001,
                    alone=pl.Alone(batch_size=SAMPLES))
    optimizer = job.drop_in(torch.optim.SGD(model.parameters(), lr=1.0))
    for x, y in job.batches(make_data(), batch_size=SAMPLES):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        job.note_loss(loss)
        optimizer.step()
    moved = sum(float((value - before[name]).pow(2).sum())
                for name, value in model.state_dict().items()) ** 0.5
    assert moved == pytest.approx(0.001, rel=1e-3)


def test_alone_is_the_same_script_with_torch_s_optimizer(
        alone: None, capsys: Any) -> None:
    model = make_mlp()
    plain = copy.deepcopy(model)
    data = make_data()
    make = CASES["momentum"]["make"]
    seen: List[Tuple[torch.Tensor, torch.Tensor]] = []
    job = pl.attach(model, optimizer=make(model),
                    alone=pl.Alone(epochs=3, batch_size=BATCH))

    @job.evaluator
    def evaluate(model: nn.Module, samples: Optional[int]) -> Dict[str, float]:
        return {"accuracy": 0.5}

    for x, y in job.batches(data, batch_size=8):
        seen.append((x, y))
        job.backward(F.cross_entropy(model(x), y))
    optimizer = make(plain)
    for at in range(0, len(seen), 4):
        optimizer.zero_grad()
        for x, y in seen[at:at + 4]:
            (F.cross_entropy(plain(x), y) / 4).backward()
        optimizer.step()
    assert len(seen) == 3 * SAMPLES // 8
    for name, value in plain.state_dict().items():
        assert float((model.state_dict()[name] - value).abs().max()) <= 1e-6
    told = capsys.readouterr().err
    assert "PACELINE_PROGRAM is not set: this process trains alone" in told
    assert told.count("accuracy 0.5") == 3


DECAY = "adamw:weight_decay=0.05"
NO_DECAY = f"{DECAY},no_decay=norms_and_biases"


@pytest.mark.parametrize("said, named, job_s", [
    (DECAY, True, DECAY), (DECAY, True, NO_DECAY), (NO_DECAY, False, NO_DECAY),
    (NO_DECAY, True, DECAY)])
def test_alone_and_under_an_agent_agree(said: str, named: bool, job_s: str,
                                        agent: Any, monkeypatch: Any) -> None:
    """The script is one; only who applies the gradients differs.

    That norms and biases have no decay is said by the script's words, or by
    their names, or by the job.
    """
    def train(model: nn.Module) -> List[List[int]]:
        data = torch.utils.data.TensorDataset(
            *make_data()[:], torch.arange(SAMPLES))  # type: ignore[index]
        taken = []
        job = pl.attach(model, optimizer=said,
                        no_decay=pl.norms_and_biases(model) if named else (),
                        alone=pl.Alone(epochs=1, learning_rate=0.01))
        for x, y, index in job.batches(data, batch_size=BATCH):
            taken.append(index.tolist())
            job.backward(F.cross_entropy(model(x), y))
        return taken

    monkeypatch.delenv("PACELINE_PROGRAM", raising=False)
    first, second = make_mlp(), make_mlp()
    orders = train(first)
    with agent(samples=SAMPLES, steps=SAMPLES // BATCH, batch_size=BATCH,
               micro_batch=BATCH, optimizer=job_s, rate=0.01) as ours:
        # The same samples in the same order.
        ours._to_deal.extend((0, i) for part in orders for i in part)
        ours._dealt = 1
        assert train(second) == orders
    assert difference(ours, first.state_dict()) <= 1e-5
    assert ours.attach["tensors"][1].get("weight_decay") == (
        0 if named else None)
    assert ours.attach["optimizer"] == job_s
    plain = make_mlp()
    plain_loop(plain, torch.optim.AdamW([
        {"params": [p for p in plain.parameters() if p.dim() > 1]},
        {"params": [p for p in plain.parameters() if p.dim() < 2],
         "weight_decay": 0.0}], lr=0.01, weight_decay=0.05), make_data(),
        ours.steps, BATCH)
    assert difference(ours, plain.state_dict()) <= 1e-4

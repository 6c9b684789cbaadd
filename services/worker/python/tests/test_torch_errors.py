"""What a user is told when it goes wrong: one sentence, and never a hang."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import struct
import threading
from typing import Any, Callable, Dict, Iterator, List

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn

import paceline
import paceline.torch as pl
from paceline import program

DATA = torch.utils.data.TensorDataset(torch.ones(64, 4), torch.ones(64, 1))
PLAN = dict(samples=64, batch_size=16, micro_batch=8, steps=3)


def make() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))


def fit(job: pl.Job, data: Any = DATA, **options: Any) -> None:
    for x, y in job.batches(data, **options):
        job.backward(F.mse_loss(job.model(x), y))


# What attach() refuses by itself, without an agent.

class Wrapped(nn.Module):
    """Like DistributedDataParallel, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.module = make()


Wrapped.__name__ = "DistributedDataParallel"


def with_group(**fields: Any) -> torch.optim.Optimizer:
    model = make()
    return torch.optim.Adam([{"params": model.parameters(), **fields}])


def scheduled() -> Dict[str, Any]:
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    return dict(model=model, optimizer=optimizer)


def optimized(kind: Any, **fields: Any) -> Dict[str, Any]:
    model = make()
    return dict(model=model, optimizer=kind(model.parameters(), **fields))


def with_a_stranger() -> Dict[str, Any]:
    model = make()
    weight = nn.Parameter(torch.ones(1))
    return dict(model=model, optimizer=torch.optim.SGD(
        [*model.parameters(), weight], lr=1))


AT_ATTACH: Dict[str, Any] = {
    "RAdam": (lambda: optimized(torch.optim.RAdam),
              "optimizer RAdam: servers have sgd, adam, adamw; use local="),
    "amsgrad": (lambda: optimized(torch.optim.Adam, amsgrad=True),
                "optimizer Adam with amsgrad: .* use local="),
    "dampening": (lambda: optimized(torch.optim.SGD, lr=0.1, momentum=0.5,
                                    dampening=0.1), "with dampening"),
    "groups": (lambda: dict(optimizer=with_group(betas=(0.5, 0.9))),
               "groups differ in betas"),
    "a scheduler": (scheduled, "write schedule: in the job"),
    "a scheduler itself": (
        lambda: dict(optimizer=torch.optim.lr_scheduler.StepLR(
            torch.optim.SGD(make().parameters(), lr=1), 1)),
        "StepLR: the learning rate is the job's; write schedule:"),
    "parameters left out": (
        lambda: dict(optimizer=torch.optim.SGD(make().parameters(), lr=1)),
        r"4 parameters want a gradient .*: 0.weight, 0.bias"),
    "parameters of others": (with_a_stranger,
                             "1 parameters that the attached model has not"),
    "a word": (lambda: dict(optimizer="lion"),
               'unknown optimizer "lion"; use sgd, adam or adamw'),
    "a word's key": (lambda: dict(optimizer="adam:momentum=1"),
                     'adam has no "momentum"; it has weight_decay, beta1'),
    "both": (lambda: dict(optimizer="sgd", local=with_group()),
             "exclude each other"),
    "push_every alone": (lambda: dict(push_every=2), "push_every= needs local"),
    "amp": (lambda: dict(amp=torch.float64), "amp is torch.float64"),
    "halves": (lambda: dict(model=make().half(), amp=torch.float16),
               r"parameters are float16: 0.weight, .* float32 in torch"),
    "clip_norm": (lambda: dict(clip_norm=0), "clip_norm is 0"),
    "buffers": (lambda: dict(buffers="none"), '"average" or "local"'),
    "sparse": (lambda: dict(model=nn.Sequential(
        nn.Embedding(9, 2, sparse=True))),
        'sparse gradient of "0.weight": make the Embedding with sparse=False'),
    "momentum None": (lambda: dict(model=nn.Sequential(
        nn.Linear(2, 2), nn.BatchNorm1d(2, momentum=None))),
        '"1.running_mean": momentum=None'),
    "nothing to train": (lambda: dict(model=make().requires_grad_(False)),
                         "no parameter that requires a gradient"),
    "excluded and trained": (lambda: dict(exclude=["0.*"]),
                             '"0.weight" is excluded and requires a gradient'),
    "no such name": (lambda: dict(exclude=["head"]),
                     'the model has nothing named "head"'),
    "wrapped": (lambda: dict(model=Wrapped()),
                "wrapped in DistributedDataParallel: attach the bare model"),
    "no shape yet": (lambda: dict(model=nn.LazyLinear(3)), "has no shape yet"),
}


@pytest.mark.parametrize("name", list(AT_ATTACH))
def test_attach_refuses(name: str, alone: None) -> None:
    fields, sentence = AT_ATTACH[name]
    given = fields()
    with pytest.raises(paceline.ProgramError, match=sentence) as caught:
        pl.attach(given.pop("model", None) or make(), **given)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert "\n" not in str(caught.value)


# What the loop refuses, with an agent that hears of it.

def moved(job: pl.Job) -> None:
    job.model.half()
    fit(job)


def moved_in_the_loop(job: pl.Job) -> None:
    for x, y in job.batches(DATA):
        job.backward(F.mse_loss(job.model(x), y))
        job.model.double()
        job.model.float()


def replaced(job: pl.Job) -> None:
    def give_another() -> None:
        job.model[0].weight = nn.Parameter(torch.ones(4, 4))

    after_backward(job, give_another)


def grown(job: pl.Job) -> None:
    for x, y in job.batches(DATA):
        job.backward(F.mse_loss(job.model(x), y))
        job.model.add_module("more", nn.Linear(1, 1))


def no_backward(job: pl.Job) -> None:
    for x, y in job.batches(DATA):
        F.mse_loss(job.model(x), y).backward()


def twice(job: pl.Job) -> None:
    for x, y in job.batches(DATA):
        job.backward(F.mse_loss(job.model(x), y))
        job.backward(F.mse_loss(job.model(x), y))


def left_early(job: pl.Job) -> None:
    for step in job.steps(DATA, batch_size=8):
        for x, y in step:
            step.backward(F.mse_loss(job.model(x), y))
            break


def not_reduced(job: pl.Job) -> None:
    for x, y in job.batches(DATA):
        job.backward(F.mse_loss(job.model(x), y, reduction="none"))


def zeroed(job: pl.Job) -> None:
    for x, y in job.batches(DATA, batch_size=8):
        for parameter in job.model.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()
        job.backward(F.mse_loss(job.model(x), y))


def after_backward(job: pl.Job, act: Callable[[], Any]) -> None:
    for x, y in job.batches(DATA):
        job.backward(F.mse_loss(job.model(x), y))
        act()


def unfrozen(job: pl.Job) -> None:
    after_backward(job, lambda: job.model[0].requires_grad_(True))


def dropping(samples: List[Any]) -> Any:
    return torch.utils.data.default_collate(samples[1:])


def own_order(job: pl.Job) -> None:
    fit(job, torch.utils.data.DataLoader(DATA, batch_size=8))


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self) -> Iterator[Any]:
        return iter([DATA[0]] * 64)


def another_order(job: pl.Job) -> None:
    loader = torch.utils.data.DataLoader(DATA, batch_sampler=job.sampler(8))
    loader.in_order = False  # torch 2.6 has it.
    fit(job, loader)


IN_THE_LOOP: Dict[str, Any] = {
    "moved": (moved, "the model was moved after attach .* attach last"),
    "moved later": (moved_in_the_loop, "the model was moved after attach"),
    "replaced": (replaced, "the model was moved after attach"),
    "grown": (grown, "got or lost parameters after attach"),
    "no backward": (no_backward, r"no job.backward\(loss\) for a batch of 8"),
    "twice": (twice, "backward was called twice for one batch"),
    "left early": (left_early, "the loop took 8 of 16 samples"),
    "not reduced": (not_reduced, r"the loss has the shape \[8, 1\]"),
    "zeroed": (zeroed, r"changed after job.backward: remove zero_grad\(\)"),
    "zeroed at the end": (lambda job: after_backward(job, job.model.zero_grad),
                          r"changed after job.backward: remove zero_grad\(\)"),
    "clipped": (lambda job: after_backward(
        job, lambda: nn.utils.clip_grad_norm_(job.model.parameters(), 1.0)),
        r"attach\(clip_norm=\.\.\.\) in place of clip_grad_norm_"),
    "unfrozen": (unfrozen, '"0.weight" requires a gradient and was frozen'),
    "dropped samples": (
        lambda job: fit(job, batch_size=8, collate_fn=dropping),
        "gave 7 samples for 8 indices: collate_fn must not drop any"),
    "counted otherwise": (
        lambda job: fit(job, batch_size=8, count=lambda batch: 5),
        "gave 5 samples for 8 indices"),
    "own order": (own_order, r"batch_sampler=job.sampler\(batch_size="),
    "another order": (another_order, "in_order=False gives batches in"),
    "shuffle": (lambda job: fit(job, shuffle=True), "shuffle= cannot be given"),
    "iterable": (lambda job: fit(job, Endless(), batch_size=8, samples=64),
                 "write data: stream in the job"),
    "no length": (lambda job: fit(job, Endless(), batch_size=8), "samples=N"),
    "second loop": (lambda job: (fit(job), fit(job)),
                    "trained by one loop"),
    "backward outside": (lambda job: job.backward(torch.ones(())),
                         "backward outside of a step"),
    "late drop_in": (lambda job: (fit(job), job.drop_in(
        torch.optim.SGD(job.model.parameters(), lr=1))),
        "drop_in comes right after attach"),
}


@pytest.mark.parametrize("name", list(IN_THE_LOOP))
def test_the_loop_refuses(name: str, agent: Callable[..., Any]) -> None:
    run, sentence = IN_THE_LOOP[name]
    model = make()
    if run is unfrozen:
        model[0].requires_grad_(False)
    with agent(**PLAN):
        job = pl.attach(model)
        with pytest.raises(paceline.ProgramError, match=sentence) as caught:
            run(job)
        job.close()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fields", [
    dict(overlap=False), dict(overlap=False, wire="bf16"),
    dict(amp=torch.float16)], ids=["fp32", "bf16", "amp"])
@pytest.mark.parametrize("act", ["zero_grad", "clip"])
def test_gradients_that_change_before_they_leave(
        act: str, fields: Dict[str, Any], agent: Callable[..., Any]) -> None:
    wire = {"wire": fields["wire"]} if "wire" in fields else {}
    with agent(**PLAN, **wire):
        job = pl.attach(make(), **{key: value for key, value in fields.items()
                                   if key != "wire"})

        def zero() -> None:
            job.model.zero_grad(set_to_none=True)

        def clip() -> None:
            nn.utils.clip_grad_norm_(job.model.parameters(), 1.0)

        with pytest.raises(paceline.ProgramError,
                           match="gradients changed after job.backward"):
            after_backward(job, {"zero_grad": zero, "clip": clip}[act])
        job.close()


def set_by_hand(optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    def set_rate() -> None:
        for group in optimizer.param_groups:
            group["lr"] *= 0.5

    return set_rate


RATES: Dict[str, Any] = {
    "a scheduler": (lambda optimizer: torch.optim.lr_scheduler.StepLR(
        optimizer, 1).step, "has a learning rate scheduler"),
    "one cycle": (lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 0.1, total_steps=9).step, "has a learning rate scheduler"),
    "by hand": (set_by_hand, "has set the optimizer's lr"),
}


@pytest.mark.parametrize("name", list(RATES))
def test_rates_that_a_script_sets_after_attach(name: str,
                                               agent: Callable[..., Any]
                                               ) -> None:
    make_setter, sentence = RATES[name]
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with agent(**PLAN):
        job = pl.attach(model, optimizer=optimizer)
        with pytest.raises(paceline.ProgramError, match=sentence):
            after_backward(job, make_setter(optimizer))
        job.close()


def test_rates_that_a_framework_sets_are_told_once(agent: Callable[..., Any],
                                                   capsys: Any) -> None:
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with agent(**PLAN):
        job = pl.attach(model)
        theirs = job.drop_in(optimizer)
        scheduler = torch.optim.lr_scheduler.StepLR(theirs, 1)
        for x, y in job.batches(DATA, batch_size=16):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            job.note_loss(loss.detach())
            theirs.step()
            theirs.zero_grad()
            scheduler.step()
    assert capsys.readouterr().err.count("learning rate scheduler") == 1


class Sized(torch.utils.data.IterableDataset):
    """Its batches are made, as those of webdataset's batched()."""

    def __init__(self, sizes: List[int]) -> None:
        self.sizes = sizes

    def __iter__(self) -> Iterator[Any]:
        while True:
            for size in self.sizes:
                yield torch.ones(size, 4), torch.ones(size, 1)


@pytest.mark.parametrize("sizes", [[12], [4], [8, 4, 4]])
def test_a_stream_of_batches_of_another_size(sizes: List[int],
                                             agent: Callable[..., Any]
                                             ) -> None:
    with agent(data="stream", **{**PLAN, "steps": 9}):
        job = pl.attach(make())
        with pytest.raises(paceline.ProgramError,
                           match=f"gives batches of {sizes[-1]} samples, and 8 "
                                 "are expected: let its batches"):
            fit(job, torch.utils.data.DataLoader(Sized(sizes),
                                                 batch_size=None), samples=64)
        job.close()


def test_the_agent_hears_of_it(agent: Callable[..., Any]) -> None:
    with agent(**PLAN) as ours:
        job = pl.attach(make())
        with pytest.raises(paceline.ProgramError):
            no_backward(job)
    assert ours.failed["code"] == "FAILED_PRECONDITION"
    assert "no job.backward" in ours.failed["message"]


def test_an_optimizer_that_is_not_the_job_s(agent: Callable[..., Any]) -> None:
    model = make()
    with agent(optimizer="adam", **PLAN):
        with pytest.raises(
                paceline.ProgramError,
                match='the job\'s optimizer is "adam" and the script\'s comes '
                      'to "sgd:momentum=0.9": write optimizer:'):
            pl.attach(model, optimizer=torch.optim.SGD(
                model.parameters(), lr=0.1, momentum=0.9))


def test_a_rate_that_is_not_the_job_s_is_told(agent: Callable[..., Any],
                                              capsys: Any) -> None:
    model = make()
    with agent(**PLAN) as ours:
        fit(pl.attach(model, optimizer=torch.optim.SGD(model.parameters(),
                                                       lr=0.25)))
    assert ("the job's learning rate 0.1 counts, not the script's 0.25: write "
            "learning_rate: 0.25 in the job") in capsys.readouterr().err
    assert ours.attach["learning_rate"] == 0.25


def groups_of(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        [{"params": [model[0].weight, model[2].weight]},  # type: ignore
         {"params": [model[0].bias, model[2].bias],  # type: ignore
          "weight_decay": 0.0}], lr=0.1, weight_decay=0.1)


def test_a_job_may_say_what_has_no_decay(agent: Callable[..., Any]) -> None:
    """The script says it by groups, and they are the same."""
    job_s = "adamw:no_decay=norms_and_biases,weight_decay=0.1"
    model = make()
    with agent(optimizer=job_s, **PLAN) as ours:
        fit(pl.attach(model, optimizer=groups_of(model)))
    # The agent compares the words.
    assert ours.attach["optimizer"] == job_s
    assert [tensor.get("weight_decay") for tensor in ours.attach["tensors"]
            ] == [None, 0.0, None, 0.0]
    with agent(optimizer=job_s, **PLAN):
        with pytest.raises(paceline.ProgramError, match="the job's optimizer"):
            pl.attach(model, optimizer=torch.optim.AdamW(
                model.parameters(), lr=0.1, weight_decay=0.1))


@pytest.mark.parametrize("method", ["step", "zero_grad"])
def test_lines_that_were_left_in_the_script(method: str,
                                            agent: Callable[..., Any]) -> None:
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with agent(**PLAN):
        job = pl.attach(model, optimizer=optimizer)
        with pytest.raises(paceline.ProgramError, match="remove both lines"):
            for x, y in job.batches(DATA):
                job.backward(F.mse_loss(model(x), y))
                getattr(optimizer, method)()
        job.close()
    optimizer.zero_grad()  # Afterwards it is torch's again.


def test_a_stream_s_batches_must_fit_the_job_s(agent: Callable[..., Any]
                                               ) -> None:
    with agent(data="stream", **PLAN):
        job = pl.attach(make())
        with pytest.raises(paceline.ProgramError,
                           match="batch_size is 16 and this loader's batches "
                                 "have 6 samples: let .* be a multiple"):
            fit(job, Endless(), batch_size=6, samples=64)
        job.close()


def dropping_images(samples: List[Any]) -> Any:
    return torch.zeros(len(samples) - 1, 3, 8, 8), torch.zeros(
        len(samples) - 1)


def dropping_texts(samples: List[Any]) -> Any:
    return torch.zeros(len(samples) - 1, 8), torch.zeros(len(samples) - 1, 8)


@pytest.mark.parametrize("collate", [dropping_images, dropping_texts])
def test_a_size_that_is_no_number_of_samples(collate: Any,
                                             agent: Callable[..., Any]) -> None:
    """Images of 8 by 8, texts of 8 characters: a batch of 8 has 7 of them."""
    with agent(**PLAN):
        job = pl.attach(make())
        with pytest.raises(paceline.ProgramError,
                           match="gave 7 samples for 8 indices"):
            fit(job, batch_size=8, collate_fn=collate)


def test_push_every_is_checked(agent: Callable[..., Any]) -> None:
    model = make()
    with agent(**PLAN):
        job = pl.attach(model, local=torch.optim.SGD(model.parameters(), lr=1),
                        push_every=3)
        with pytest.raises(paceline.ProgramError,
                           match="push_every=3 local steps of 8 samples need a "
                                 "job with batch_size 24; it has 16"):
            fit(job)
        job.close()


@pytest.mark.parametrize("sentence", [
    'tensor "fc.weight" is [1000, 512] here and [10, 512] at worker w0',
    "the job wants 50,000 samples, this data set has 49,984"])
def test_what_the_coordinator_refuses_is_said(
        sentence: str, agent: Callable[..., Any]) -> None:
    with agent(refuse=sentence, **PLAN):
        job = pl.attach(make())
        with pytest.raises(paceline.ProgramError) as caught:
            fit(job)
    assert str(caught.value) == sentence


def test_an_agent_of_another_version(agent: Callable[..., Any]) -> None:
    with agent(protocol=2, **PLAN):
        with pytest.raises(paceline.ProgramError,
                           match="agent speaks version 2 .* this package "
                                 "version 1: install the same release"):
            pl.attach(make())


def test_an_evaluator_that_is_not_there(agent: Callable[..., Any]) -> None:
    with agent(role="evaluator", **PLAN) as ours:
        job = pl.attach(make())
        with pytest.raises(paceline.ProgramError, match="put @job.evaluator"):
            fit(job)
    assert ours.failed["code"] == "FAILED_PRECONDITION"
    with agent(role="evaluator", **PLAN):
        job = pl.attach(make())
        job.evaluator(lambda model, samples: {})
        with pytest.raises(paceline.ProgramError,
                           match=r"@job.evaluator\(test_samples=N\)"):
            fit(job)


@pytest.mark.parametrize("given, sentence", [
    (0.5, "returned a float"), ({"bleu": 1.0}, r'"bleu", which attach\(metr')])
def test_an_evaluator_s_answer_is_checked(
        given: Any, sentence: str, agent: Callable[..., Any]) -> None:
    with agent(role="evaluator", evaluations=1, **PLAN) as ours:
        job = pl.attach(make(), metrics=["top5"])
        job.evaluator(lambda model, samples: given, test_samples=8)
        with pytest.raises(paceline.ProgramError, match=sentence):
            fit(job)
    assert ours.failed["code"] == "INVALID_ARGUMENT"


def test_a_loss_that_is_not_finite(agent: Callable[..., Any],
                                   capsys: Any) -> None:
    with agent(**PLAN) as ours:
        job = pl.attach(make())
        for step in job.steps(DATA, batch_size=8):
            for x, y in step:
                loss = F.mse_loss(job.model(x), y)
                step.backward(loss / 0 if step.number == 2 else loss)
    assert "step 1: loss is inf; 16 samples are used up" in (
        capsys.readouterr().err)
    assert [(done.finite, done.samples) for done in ours.dones] == [
        (True, 16), (False, 16), (True, 16)]


def test_an_overflow_of_fp16_uses_the_step_up(agent: Callable[..., Any]
                                              ) -> None:
    with agent(**PLAN) as ours:
        job = pl.attach(make(), amp=torch.float16)
        before = []
        for x, y in job.batches(DATA):
            assert job._scale is not None
            before.append(job._scale.value)
            # In fp16 such a gradient would be infinite.
            loss = F.mse_loss(job.model(x), y)
            job.backward(loss if len(before) > 2 else
                         loss + _steep(next(job.model.parameters())))
    assert [done.finite for done in ours.dones] == [False, True, True]
    assert before[:4:2] == [2.0 ** 16, 2.0 ** 10]


def _steep(weight: torch.Tensor) -> torch.Tensor:
    """It is 0, and its gradient times the scale is beyond fp32."""
    return (weight - weight.detach()).sum() * 1e35


class Checkpointed(nn.Module):
    """A layer that is used twice, each time computed again for backward."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = torch.utils.checkpoint.checkpoint(self.layer, x)
        return x.mean(1, keepdim=True)


def test_a_second_gradient_is_an_error_once_the_first_is_sent(
        agent: Callable[..., Any]) -> None:
    for overlap in (True, False):
        with agent(**PLAN) as ours:
            job = pl.attach(Checkpointed(), overlap=overlap)

            def train() -> None:
                for x, y in job.batches(DATA):
                    job.backward(F.mse_loss(
                        job.model(x.requires_grad_()), y))

            if overlap:
                with pytest.raises(
                        paceline.ProgramError,
                        match='"layer.* got a second gradient after its first '
                              "was sent .* attach with overlap=False"):
                    train()
            else:
                train()
    assert len(ours.dones) == 3


def test_unused_parameters_are_told_once(agent: Callable[..., Any],
                                         capsys: Any) -> None:
    model = make()
    model.add_module("aux", nn.Linear(3, 3))
    with agent(**PLAN) as ours:
        job = pl.attach(model)
        for x, y in job.batches(DATA):
            job.backward(F.mse_loss(model[2](model[0](x)), y))
    told = capsys.readouterr().err
    assert told.count("2 parameters had no gradient: aux.weight, aux.bias; "
                      "counted as zero") == 1
    assert (ours.value("aux.weight").ravel()
            == ours.initial["aux.weight"]).all()


def test_replaced_gradients_are_copied_and_told_once(
        agent: Callable[..., Any], capsys: Any) -> None:
    model = make()
    twin = make()
    with agent(**{**PLAN, "micro_batch": 16}) as ours:
        job = pl.attach(model)
        for x, y in job.batches(DATA):
            for parameter in model.parameters():
                parameter.grad = None
            job.backward(F.mse_loss(model(x), y))
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (F.mse_loss(twin(DATA[:8][0]), DATA[:8][1])).backward()
        optimizer.step()
    assert capsys.readouterr().err.count("the script replaces gradients") == 1
    assert torch.allclose(torch.from_numpy(ours.value("0.weight")),
                          twin[0].weight, atol=1e-6)


def test_batches_are_no_larger_than_the_job_s(agent: Callable[..., Any],
                                              capsys: Any) -> None:
    with agent(**PLAN):
        fit(pl.attach(make()), batch_size=64)
    assert ("the job computes 8 samples at once (micro_batch), so batches have "
            "8 samples, not 64") in capsys.readouterr().err


def test_the_agent_dies(agent: Callable[..., Any]) -> None:
    with agent(events={1: "die"}, **PLAN):
        job = pl.attach(make())
        with pytest.raises(paceline.ProgramError,
                           match="closed the connection.*its log says why"):
            fit(job)


# Without an agent at all.

def test_there_is_no_agent(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    path = str(tmp_path / "program.sock")
    monkeypatch.setenv("PACELINE_PROGRAM", path)
    monkeypatch.setenv("PACELINE_CONNECT_SECONDS", "0.1")
    with pytest.raises(
            paceline.ProgramError,
            match=f"no agent at {path}: start paceline-worker --program NAME, "
                  "or unset PACELINE_PROGRAM to train alone"):
        pl.attach(make())


def test_an_agent_that_serves_another_program(tmp_path: pathlib.Path,
                                              monkeypatch: Any) -> None:
    path = str(tmp_path / "program.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    sentence = ("another program is connected to this agent; an agent has one")

    def refuse() -> None:
        """As ProgramSocket::Serve does; it reads nothing."""
        caller, _ = listener.accept()
        body = json.dumps({"code": "ALREADY_EXISTS",
                           "message": sentence}).encode()
        caller.sendall(struct.pack("<II", len(body), program.Kind.REFUSED)
                       + body)
        caller.close()

    thread = threading.Thread(target=refuse)
    thread.start()
    monkeypatch.setenv("PACELINE_PROGRAM", path)
    with pytest.raises(paceline.ProgramError) as caught:
        pl.attach(make())
    assert str(caught.value) == sentence
    assert caught.value.code == "ALREADY_EXISTS"
    thread.join()
    listener.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_an_agent_of_another_user(tmp_path: pathlib.Path, monkeypatch: Any
                                  ) -> None:
    path = str(tmp_path / "program.sock")
    tmp_path.chmod(0o755)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    os.chmod(path, 0o600)
    monkeypatch.setenv("PACELINE_PROGRAM", path)
    folders = [folder for folder in tmp_path.parents
               if folder != pathlib.Path("/tmp")]
    modes = [(folder, folder.stat().st_mode) for folder in folders]
    for folder in folders[:-1]:
        folder.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(paceline.ProgramError,
                           match="it is for the agent's own user"):
            program.connect()
    finally:
        os.seteuid(0)
        for folder, mode in modes[:-1]:
            folder.chmod(mode)
        listener.close()


def test_alone_without_an_optimizer(alone: None) -> None:
    with pytest.raises(paceline.ProgramError,
                       match=r"say attach\(model, optimizer=...\)"):
        fit(pl.attach(make()), batch_size=8)


def test_alone_without_a_batch_size(alone: None) -> None:
    with pytest.raises(paceline.ProgramError, match="say batch_size="):
        fit(pl.attach(make(), optimizer="sgd"))


def test_arguments_that_are_no_json(alone: None, monkeypatch: Any) -> None:
    monkeypatch.setenv("PACELINE_ARGUMENTS", "depth=3")
    with pytest.raises(paceline.ProgramError, match="is no JSON"):
        paceline.arguments()
    monkeypatch.setenv("PACELINE_ARGUMENTS", '{"depth": 3}')
    assert paceline.arguments() == {"depth": "3"}

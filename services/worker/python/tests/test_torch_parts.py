"""Parts of the torch side that need no agent."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, List, Tuple

import pytest
import torch
from torch import nn

import paceline.torch as pl
from paceline import ProgramError, exchange
from paceline.amp import LossScale, all_finite, clip_factor, norm_of
from paceline.exchange import make_buckets
from paceline.optimizers import OptimizerSpec, translate
from paceline.tensors import list_entries, norms_and_biases, select


@pytest.mark.parametrize("text", [
    "sgd", "sgd:momentum=0.9", "sgd:momentum=0.9,weight_decay=0.0005,"
    "nesterov=true", "adam", "adam:beta1=0.8,beta2=0.99,epsilon=1e-06",
    "adamw:weight_decay=0.05",
    "adamw:weight_decay=0.1,no_decay=norms_and_biases"])
def test_an_optimizer_s_words_are_read_and_written(text: str) -> None:
    assert str(OptimizerSpec.parse(text)) == text


def test_an_optimizer_s_words_come_back_from_torch() -> None:
    for text in ("sgd:momentum=0.9,nesterov=true", "adamw:weight_decay=0.05",
                 "adam:beta1=0.8"):
        spec = OptimizerSpec.parse(text)
        built = spec.build([{"params": [nn.Parameter(torch.ones(1))]}], 0.1)
        assert translate(built).spec == spec
        assert translate(built).rate == 0.1


def test_the_rate_may_be_that_of_the_groups() -> None:
    parameters = [nn.Parameter(torch.ones(1)) for _ in range(2)]
    translation = translate(torch.optim.SGD(
        [{"params": parameters[:1], "lr": 0.1},
         {"params": parameters[1:], "lr": 0.05}]))
    assert [translation.rate * translation.settings[id(each)].rate_factor
            for each in parameters] == pytest.approx([0.1, 0.05])


@pytest.mark.parametrize("text, sentence", [
    ("sgd:nesterov=yes", "true or false"), ("sgd:momentum=a", "must be a num"),
    ("adam:no_decay=biases", "no_decay must be norms_and_biases or none"),
    ("sgd:beta1=1", "sgd has no"), ("", 'unknown optimizer ""')])
def test_wrong_words(text: str, sentence: str) -> None:
    with pytest.raises(ProgramError, match=sentence):
        OptimizerSpec.parse(text)


NORMS = "no_decay=norms_and_biases"
PLAIN = [(2, None), (1, None)]  # A weight and a bias that say nothing.


@pytest.mark.parametrize("script, decays, job, agree", [
    ("adamw", PLAIN, "adamw", True), ("adamw", PLAIN, "adam", False),
    ("sgd:momentum=0.9", PLAIN, "sgd", False),
    ("sgd:weight_decay=0.1", PLAIN, "sgd", False),
    # A tensor's own decay goes before the job's words.
    ("adamw:weight_decay=0.1", [(2, None), (1, 0.0)], "adamw:weight_decay=0.1",
     True),
    (f"adamw:weight_decay=0.1,{NORMS}", PLAIN,
     f"adamw:weight_decay=0.1,{NORMS}", True),
    ("adamw:weight_decay=0.1", [(2, None), (1, 0.0)],
     f"adamw:weight_decay=0.1,{NORMS}", True),
    ("adamw:weight_decay=0.1", [(2, 0.0), (2, None), (0, 0.0)],
     f"adamw:weight_decay=0.1,{NORMS}", True),
    # The groups say all, the optimizer's own is of none.
    ("adamw:weight_decay=0.01", [(2, 0.1), (1, 0.0)],
     f"adamw:weight_decay=0.1,{NORMS}", True),
    ("adamw:weight_decay=0.01", [(2, 0.1), (1, None)],
     f"adamw:weight_decay=0.1,{NORMS}", False),
    # Where the job would leave the biases alone, and the script not.
    ("adamw:weight_decay=0.1", PLAIN, f"adamw:weight_decay=0.1,{NORMS}",
     False),
    (f"adamw:weight_decay=0.1,{NORMS}", PLAIN, "adamw:weight_decay=0.1",
     False),
    (f"adamw:weight_decay=0.1,{NORMS}", [(2, None)], "adamw:weight_decay=0.1",
     True),
])
def test_a_script_and_a_job_agree_if_they_do_the_same(
        script: str, decays: Any, job: str, agree: bool) -> None:
    assert OptimizerSpec.parse(script).agrees(OptimizerSpec.parse(job),
                                              decays) == agree


@pytest.mark.parametrize("sizes, apart, buckets", [
    ([4, 4, 4], [], [(0, 3)]), ([9, 4, 9, 9], [], [(3, 4), (2, 3), (0, 2)]),
    ([4, 9, 4, 4], [], [(1, 4), (0, 1)]), ([20], [], [(0, 1)]),
    ([4, 4, 4], [1], [(2, 3), (0, 1)]), ([4, 4, 4], [0, 2], [(1, 2)]),
    ([4, 4], [0, 1], []), ([9, 9, 9], [2], [(1, 2), (0, 1)])])
def test_buckets_go_backwards_and_around_frozen_tensors(
        sizes: List[int], apart: List[int], buckets: Any) -> None:
    assert make_buckets(sizes, [i in apart for i in range(len(sizes))],
                        least=9) == buckets


def test_names_are_selected() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), nn.Linear(2, 1))
    everything = ["0.weight", "0.bias", "1.weight", "1.bias", "2.weight",
                  "2.bias"]
    for selection, chosen in [
            (["0.*"], everything[:2]), (["0", "2.bias"], [*everything[:2],
                                                          "2.bias"]),
            (lambda name: name.endswith("bias"), everything[1::2]),
            ([model[2]], everything[4:]), (model[0].weight, ["0.weight"]),
            ((), [])]:
        assert select(model, selection) == set(chosen)
    assert norms_and_biases(model) == ["0.bias", "1.weight", "1.bias",
                                       "2.bias"]
    with pytest.raises(ProgramError, match="not of this model"):
        select(model, [torch.ones(1)])


def test_buffers_are_sorted() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, momentum=0.0))
    model.register_buffer("average", torch.zeros(1))
    model.register_buffer("count", torch.zeros(1, dtype=torch.long))
    model.register_buffer("scratch", torch.zeros(1), persistent=False)
    model.register_buffer("empty", torch.zeros(0))
    kinds = {entry.name: entry.kind for entry in list_entries(model)}
    # A momentum of 0 never changes them.
    assert kinds == {
        "average": "averaged", "0.weight": "trained", "0.bias": "trained",
        "1.weight": "trained", "1.bias": "trained",
        "1.running_mean": "frozen", "1.running_var": "frozen"}
    local = {entry.name for entry in list_entries(model, buffers="local")}
    assert "average" not in local and "1.running_mean" in local
    left = {entry.name for entry in list_entries(model, exclude=["1.running*"])}
    assert "1.running_var" not in left and "1.weight" in left


def test_the_loss_scale_follows_overflows() -> None:
    scale = LossScale()
    scale.update(finite=False)
    scale.update(finite=False)
    assert scale.value == 2.0 ** 4  # In time for any model.
    scale.update(finite=True)
    scale.update(finite=False)
    assert scale.value == 2.0 ** 3
    for _ in range(2000):
        scale.update(finite=True)
    assert scale.value == 2.0 ** 4
    for _ in range(50):
        scale.update(finite=False)
    assert scale.value == 1.0


def test_clipping_is_torch_s() -> None:
    parameters = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))]
    for parameter, value in zip(parameters, (3.0, -4.0)):
        parameter.grad = torch.full_like(parameter, value)
    gradients = [parameter.grad for parameter in parameters
                 if parameter.grad is not None]
    norm = norm_of(gradients)
    expected = float(nn.utils.clip_grad_norm_(parameters, 2.0))
    assert norm == pytest.approx(expected)
    assert 3.0 * clip_factor(norm, 2.0) == pytest.approx(
        float(gradients[0][0]))
    assert clip_factor(1.0, 2.0) == 1.0
    assert all_finite(gradients)
    gradients[1][0] = float("nan")
    assert not all_finite(gradients)
    # The sum of what is finite may not be.
    assert all_finite([torch.full((9,), 3e38)])


class Newer(nn.Parameter):
    """Has the hook of torch 2.1, which runs the older one's way."""

    def register_post_accumulate_grad_hook(
            self, hook: Callable[[torch.Tensor], None]) -> Any:
        calls.append(self)
        return exchange._NodeHook(self, lambda: hook(self))


calls: List[torch.Tensor] = []


def test_the_newer_hook_is_taken_where_there_is_one(agent: Any) -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    model.weight = Newer(model.weight.detach())
    data = torch.utils.data.TensorDataset(torch.ones(32, 3))
    with agent(samples=32, batch_size=16, micro_batch=16, steps=2) as ours:
        job = pl.attach(model)
        for (x,) in job.batches(data):
            job.backward(model(x).mean())
    assert len(calls) == 1 and calls[0] is model.weight
    # The gradient of the mean of w x is 1.
    assert ours.value("weight").ravel() == pytest.approx(
        ours.initial["weight"] - 0.2)


class Elsewhere(torch.Tensor):
    """A tensor of another device, as far as torch.stack() is concerned."""

    device = property(lambda self: torch.device("cuda", 0))  # type: ignore

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        if func is torch.stack and not all(
                isinstance(tensor, Elsewhere) for tensor in args[0]):
            raise RuntimeError("Expected all tensors to be on the same device")
        return super().__torch_function__(func, types, args, kwargs or {})


def test_batches_are_counted_on_each_device(agent: Any) -> None:
    data = torch.utils.data.TensorDataset(torch.rand(32, 3))
    values = []
    for moved in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2),
                              nn.BatchNorm1d(2), nn.Linear(2, 1))
        if moved:
            buffers = model[2]._buffers
            buffers["num_batches_tracked"] = torch.tensor(0).as_subclass(
                Elsewhere)  # type: ignore[arg-type]
        with agent(samples=32, batch_size=16, micro_batch=8, steps=2) as ours:
            job = pl.attach(model)
            for (x,) in job.batches(data):
                job.backward(model(x).mean())
        values.append([tensor.value for tensor in ours.tensors])
    assert len(values[0]) == 12
    assert all((a == b).all() for a, b in zip(*values))


class Slow(List[int]):
    """Others come between what is read and what is written."""

    def __getitem__(self, index: Any) -> Any:
        value = super().__getitem__(index)
        time.sleep(0.01)
        return value


class Told:
    """A program that is told what is ready."""

    def __init__(self) -> None:
        self.ranges: List[Tuple[int, int]] = []

    def ready(self, first: int, end: int) -> None:
        self.ranges.append((first, end))


def test_hooks_of_several_devices_take_turns() -> None:
    """Each device's part of a backward pass has a thread of its own."""
    told = Told()
    sent = exchange.ArenaExchange(list_entries(nn.Linear(3, 1)),
                                  told, "fp32")  # type: ignore[arg-type]
    sent._armed = True
    sent._waiting = Slow([2])  # One bucket, of the weight and the bias.
    hooks = [threading.Thread(target=sent._hook_of(i)) for i in range(2)]
    for hook in hooks:
        hook.start()
    for hook in hooks:
        hook.join()
    assert told.ranges == [(0, 2)]

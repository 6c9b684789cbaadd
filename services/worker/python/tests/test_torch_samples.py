"""Which samples a program computes: DataLoader, lots, steps that end early."""

from __future__ import annotations

import random
import time
from typing import Any, Dict, Iterator, List, Tuple

import pytest
import torch
from torch import nn

import paceline.torch as pl
from paceline import program


class Numbered(torch.utils.data.Dataset):
    """Sample i is [i, a random number, whether the socket is closed]."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> torch.Tensor:
        assert type(index) is int
        current = program._current
        closed = current is None or current.closed
        return torch.tensor([index, random.random(), closed],
                            dtype=torch.float64)


class Counted(torch.utils.data.IterableDataset):
    """A stream of 20 numbers."""

    def __iter__(self) -> Iterator[float]:
        return iter([float(i) for i in range(20)])


def train(job: pl.Job, steps: Iterator[pl.Step]) -> List[List[torch.Tensor]]:
    """The batches of each step."""
    taken: List[List[torch.Tensor]] = []
    for step in steps:
        taken.append([])
        for batch in step:
            taken[-1].append(batch)
            step.backward(job.model(torch.ones(1, 1)).mean())
    return taken


def indices_of(batches: List[torch.Tensor]) -> List[int]:
    return [int(row[0]) for batch in batches for row in batch]


SHAPES = [
    dict(samples=64, batch_size=16, micro_batch=8),
    dict(samples=50, batch_size=16, micro_batch=8),  # Epochs end unevenly.
    dict(samples=60, batch_size=20, micro_batch=8),  # Across a step's edge.
    dict(samples=64, batch_size=16, micro_batch=3),  # Less than is asked for.
]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_sample_comes_once_an_epoch(shape: Dict[str, int], workers: int,
                                          agent: Any) -> None:
    per_epoch = -(-shape["samples"] // shape["batch_size"])
    with agent(steps=3 * per_epoch, **shape) as ours:
        job = pl.attach(nn.Linear(1, 1))
        taken = train(job, job.steps(Numbered(shape["samples"]), batch_size=8,
                                     num_workers=workers))
    # The agent's samples in the agent's order.
    for batches, samples in zip(taken, ours.steps):
        assert indices_of(batches) == [index for _, index in samples]
        assert all(len(batch) <= min(8, shape["micro_batch"])
                   for batch in batches)
    assert len(taken) == 3 * per_epoch
    assert sorted(ours.trained) == [(epoch, i) for epoch in range(3)
                                    for i in range(shape["samples"])]
    size = min(8, shape["micro_batch"])
    assert ours.attach["lookahead"] == (5 * size if workers else size)


def test_what_lies_across_a_step_s_edge_is_drawn_alike(agent: Any) -> None:
    """Such a sample is not loaded by the worker process that was told to."""
    drawn = []
    for micro_batch in (20, 8):
        with agent(samples=60, batch_size=20, micro_batch=micro_batch,
                   steps=3) as ours:
            job = pl.attach(nn.Linear(1, 1))
            taken = train(job, job.steps(Numbered(60), num_workers=2))
        assert sum(map(indices_of, taken), []) == [i for _, i in ours.trained]
        drawn.append({int(row[0]): float(row[1]) for batches in taken
                      for batch in batches for row in batch})
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0].values())) == 60


@pytest.mark.parametrize("workers", [0, 2])
def test_one_s_own_loader_with_prefetch(workers: int, agent: Any) -> None:
    data = Numbered(64)
    with agent(samples=64, batch_size=16, micro_batch=8, steps=12) as ours:
        job = pl.attach(nn.Linear(1, 1))
        loader = torch.utils.data.DataLoader(
            data, batch_sampler=job.sampler(batch_size=8), num_workers=workers,
            **({"prefetch_factor": 4} if workers else {}))
        taken = train(job, job.steps(loader))
    assert [indices_of(batches) for batches in taken] == [
        [index for _, index in samples] for samples in ours.steps]
    assert "micro_batch" not in ours.attach  # A step may end with a part.
    assert ours.attach["lookahead"] == (9 * 8 if workers else 8)


@pytest.mark.parametrize("workers", [0, 2])
def test_steps_that_end_early(workers: int, agent: Any) -> None:
    events = {2: "refresh", 4: "abandon", 5: "drop", 7: "refresh",
              8: "abandon", 9: "abandon", 10: "drop"}
    with agent(samples=96, batch_size=16, micro_batch=4, steps=30,
               events=events) as ours:
        job = pl.attach(nn.Linear(1, 1))
        taken = train(job, job.steps(Numbered(96), batch_size=4,
                                     num_workers=workers))
    # A refresh ends a step after the micro-batch in hand, an abandon at once.
    assert ours.abandoned == [4, 8, 9]
    for done in ours.dones:
        assert done.samples == (4 if events.get(done.iteration) == "refresh"
                                else len(ours.steps[done.iteration]))
    counted = [batches for i, batches in enumerate(taken)
               if i not in ours.abandoned]
    assert sum(map(indices_of, counted), []) == [i for _, i in ours.trained]
    # What was withdrawn is dealt again, and every sample counts once.
    assert len(set(ours.trained)) == len(ours.trained)
    whole = [sample for sample in ours.trained if sample[0] < 3]
    assert sorted(whole) == [(e, i) for e in range(3) for i in range(96)]


def test_a_refreshed_step_has_the_mean_of_what_it_computed(agent: Any) -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 1.0)
    with agent(samples=64, batch_size=16, micro_batch=4, steps=1, rate=1.0,
               events={0: "refresh"}) as ours:
        job = pl.attach(model)
        for step in job.steps(Numbered(64), batch_size=4):
            for x in step:
                step.backward(model(x[:, :1].float() * 0 + 2).mean())
            assert step.loss == pytest.approx(2.0)
    # The gradient is 2, and a quarter of a batch moves a quarter as far.
    assert ours.value("weight").item() == pytest.approx(1 - 2 / 4)
    assert ours.dones[0].loss_sum == pytest.approx(2.0 * 4)


@pytest.mark.parametrize("workers", [0, 2])
def test_stop_in_the_middle_of_a_step(workers: int, agent: Any) -> None:
    with agent(samples=64, batch_size=16, micro_batch=4, steps=6,
               events={3: "stop"}) as ours:
        job = pl.attach(nn.Linear(1, 1))
        taken = train(job, job.steps(Numbered(64), batch_size=4,
                                     num_workers=workers))
    assert job.stopped == "enough"
    assert [len(batches) for batches in taken] == [4, 4, 4, 0]
    assert len(ours.dones) == 3


def test_stop_in_place_of_begin(agent: Any) -> None:
    with agent(stop_at_begin="the job was cancelled"):
        job = pl.attach(nn.Linear(1, 1))
        assert train(job, job.steps(Numbered(64))) == []
    assert job.stopped == "the job was cancelled"


def test_a_sample_that_is_dealt_again_is_drawn_alike(agent: Any) -> None:
    drawn: List[Dict[Tuple[int, int], float]] = []
    for events in ({}, {1: "abandon", 3: "drop", 5: "refresh"}):
        with agent(samples=32, batch_size=8, micro_batch=4, steps=12,
                   events=events) as ours:
            job = pl.attach(nn.Linear(1, 1))
            taken = train(job, job.steps(Numbered(32), batch_size=4,
                                         num_workers=2))
        drawn.append({sample: float(row[1])
                      for batches, samples in zip(taken, ours.steps)
                      for row, sample in zip(
                          (row for batch in batches for row in batch),
                          samples)})
    first, second = drawn
    both = set(first) & set(second)
    assert len(both) >= 64
    assert all(first[sample] == second[sample] for sample in both)
    # Another number in another epoch.
    assert first[0, 3] != first[1, 3]


def test_worker_processes_do_not_hold_the_socket(agent: Any) -> None:
    with agent(samples=32, batch_size=8, micro_batch=8, steps=4):
        job = pl.attach(nn.Linear(1, 1))
        taken = train(job, job.steps(Numbered(32), num_workers=2))
    assert all(row[2] == 1 for batches in taken for batch in batches
               for row in batch)


def test_a_stream_is_counted(agent: Any) -> None:
    with agent(samples=20, batch_size=8, micro_batch=4, steps=4,
               data="stream") as ours:
        job = pl.attach(nn.Linear(1, 1))
        taken = train(job, job.steps(Counted(), batch_size=4, samples=20))
    # It begins anew where it ends.
    values = [int(v) for batches in taken for batch in batches for v in batch]
    assert values == [i % 20 for i in range(32)]
    assert [done.samples for done in ours.dones] == [8] * 4
    assert ours.attach["train_samples"] == 16  # Of 20: whole batches.


def test_a_stream_s_steps_are_of_any_number_of_batches(agent: Any) -> None:
    """As where batches are balanced."""
    with agent(samples=64, batch_size=16, micro_batch=8, steps=4,
               data="stream", balanced=[1, 4, 7, 2]) as ours:
        job = pl.attach(nn.Linear(1, 1))
        loader = torch.utils.data.DataLoader(Counted(), batch_size=4)
        taken = train(job, job.steps(loader, samples=64))
    assert ours.attach["micro_batch"] == 4
    assert [len(batches) for batches in taken] == [1, 4, 7, 2]
    assert [done.samples for done in ours.dones] == [4, 16, 28, 8]


def test_a_data_set_of_a_stream_job_is_shuffled_here(agent: Any) -> None:
    with agent(samples=64, batch_size=8, micro_batch=4, steps=8,
               data="stream"):
        job = pl.attach(nn.Linear(1, 1))
        taken = train(job, job.steps(Numbered(64), batch_size=4))
    order = sum(map(indices_of, taken), [])
    assert sorted(order) == list(range(64)) and order != list(range(64))


def test_what_the_agent_said_is_there_before_the_model(agent: Any) -> None:
    import paceline

    with agent(samples=32, batch_size=8, micro_batch=8, steps=4,
               arguments={"depth": "3"}) as ours:
        assert paceline.arguments() == {"depth": "3"}
        job = pl.attach(nn.Linear(1, 1))
        assert (job.name, job.worker, job.role, job.seed) == (
            "test", "w0", "trainer", 7)
        assert job.arguments == {"depth": "3"}
        assert job.device == torch.device("cpu")
        seen = []
        for step in job.steps(Numbered(32)):
            for _ in step:
                step.backward(job.model(torch.ones(1, 1)).mean())
            seen.append((step.number, job.epoch, job.samples, job.rate,
                         job.version))
    assert seen == [(i + 1, 0, 8 * i, 0.1, i) for i in range(4)]
    assert ours.hello["protocol"] == 1
    assert ours.hello["language"].startswith("python 3.")


class Asking(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Its samples are what the job's arguments say."""

    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> torch.Tensor:
        import paceline

        return torch.tensor([float(paceline.arguments()["depth"])])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_loader_s_processes_know_the_arguments(method: str, agent: Any
                                                 ) -> None:
    with agent(samples=32, batch_size=16, micro_batch=16, steps=2,
               arguments={"depth": "3"}):
        job = pl.attach(nn.Linear(1, 1))
        seen = []
        for batch in job.batches(Asking(), num_workers=1,
                                 multiprocessing_context=method):
            seen += batch.flatten().tolist()
            job.backward(job.model(batch).mean())
    assert seen == [3.0] * 32


def test_an_evaluator_gets_the_weights(agent: Any) -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    weights = {"0.weight": [[2.0]], "0.bias": [1.0], "1.weight": [3.0],
               "1.bias": [0.5], "1.running_mean": [4.0],
               "1.running_var": [9.0]}
    seen = []
    with agent(role="evaluator", evaluations=2, initialize=False,
               weights={name: torch.tensor(value).numpy()
                        for name, value in weights.items()}) as ours:
        job = pl.attach(model, metrics=["perplexity"])

        @job.evaluator(test_samples=10)
        def evaluate(model: nn.Module, samples: int) -> Dict[str, float]:
            assert not model.training and not torch.is_grad_enabled()
            seen.append(samples)
            # (2 * 2 + 1 - 4) / 3 * 3 + 0.5
            y = model(torch.full((1, 1), 2.0))
            return {"loss": y, "perplexity": float("nan")}

        assert list(job.batches(Numbered(32))) == []
    assert seen == [10, 10]
    assert [answer["snapshot"] for answer in ours.evaluated] == [0, 1]
    assert ours.evaluated[0]["metrics"] == {
        "loss": pytest.approx(1.5, abs=1e-4)}
    assert ours.attach["test_samples"] == 10
    assert model.training


def test_loading_that_keeps_a_step_waiting_is_told(agent: Any) -> None:
    class Slow(Numbered):
        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(0.001)
            return super().__getitem__(index)

    with agent(samples=64, batch_size=16, micro_batch=16, steps=4) as ours:
        job = pl.attach(nn.Linear(1, 1))
        train(job, job.steps(Slow(64)))
    # The weights come while the first samples are loaded.
    assert any(done.load_ns >= 16_000_000 for done in ours.dones)

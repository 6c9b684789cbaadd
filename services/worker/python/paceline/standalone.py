"""Training without an agent, in this process alone.

It plays the agent: the same lots and steps, one worker, and the script's own
torch optimizer in place of the parameter servers.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any, Iterator, Mapping, Optional

import torch

from .errors import ProgramError, say
from .exchange import Exchange
from .program import (Begin, Evaluate, JobInfo, Lot, Message, StepOrder, Stop,
                      alone_arguments)


@dataclasses.dataclass(frozen=True)
class Alone:
    """What a job would say, for a script that trains alone."""

    epochs: int = 1
    batch_size: Optional[int] = None  # Samples a step; None: one batch.
    learning_rate: Optional[float] = None  # Of an optimizer given as text.
    seed: int = 0  # Of the order of samples.


class AloneProgram:
    """Says what an agent would say to the only worker of a job."""

    def __init__(self, alone: Alone) -> None:
        self.alone = alone
        self.evaluates = False
        self.rate = 0.0  # Of the learning rate, for logs.
        self.job = JobInfo(
            name="alone", worker="alone", role="trainer",
            arguments=alone_arguments(), seed=alone.seed,
            batch_size=alone.batch_size or 0, micro_batch=0, wire="fp32",
            optimizer="", learning_rate=alone.learning_rate or 0.0,
            data="program")
        self.closed = False
        self._messages: Iterator[Message] = iter(())
        self._loss_sum = 0.0
        self._samples = 0

    def resolve(self, batch_size: int, stream: bool, steps: int) -> None:
        """Takes the script's batch size where none was given.

        `steps` batches make a step then.
        """
        self.job = self.job._replace(
            batch_size=self.alone.batch_size or batch_size * steps,
            micro_batch=batch_size, data="stream" if stream else "program")

    def attach(self, description: Mapping[str, Any]) -> Begin:
        samples = int(description["train_samples"])
        size = self.job.batch_size
        say(f"PACELINE_PROGRAM is not set: this process trains alone, "
            f"{self.alone.epochs} epochs of {samples:,} samples, {size} a step")
        self._messages = self._course(samples)
        return Begin(True, None, None)

    def receive(self) -> Message:
        return next(self._messages)

    def poll(self) -> Optional[Message]:
        return None

    def initialized(self) -> None:
        pass

    def ready(self, first: int, end: int) -> None:
        pass

    def done(self, iteration: int, loss_sum: float, samples: int, finite: bool,
             load_ns: int, compute_ns: int) -> None:
        if finite:
            self._loss_sum += loss_sum
            self._samples += samples

    def abandoned(self, iteration: int) -> None:
        raise AssertionError("nobody abandons a step of a process alone")

    def evaluated(self, snapshot: int, metrics: Mapping[str, float]) -> None:
        say(f"epoch {snapshot}: " + ", ".join(
            f"{name} {value:.4g}" for name, value in metrics.items()))

    def fail(self, error: BaseException) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True

    def _course(self, samples: int) -> Iterator[Message]:
        size = self.job.batch_size
        iteration = 0
        for epoch in range(self.alone.epochs):
            indices = list(range(samples))
            random.Random(f"{self.alone.seed}/{epoch}").shuffle(indices)
            yield Lot(epoch, indices)
            end = samples
            if self.job.data == "stream":  # Whole batches alone.
                end -= samples % size
            for begin in range(0, end, size):
                yield StepOrder(
                    iteration, epoch, min(size, end - begin),
                    self.job.micro_batch, False, False, self.rate, iteration,
                    epoch * samples + begin)
                iteration += 1
            if self._samples:
                say(f"epoch {epoch + 1} of {self.alone.epochs}: loss "
                    f"{self._loss_sum / self._samples:.4g}")
            self._loss_sum, self._samples = 0.0, 0
            if self.evaluates:
                yield Evaluate(epoch + 1, 0)
        yield Stop(f"{self.alone.epochs} epochs are trained")


class AloneExchange(Exchange):
    """Applies gradients by torch's optimizer.

    `optimizer` is None where the script's local optimizer moves the weights.
    """

    def __init__(self, entries: Any,
                 optimizer: Optional[torch.optim.Optimizer]) -> None:
        super().__init__(entries)
        self.optimizer = optimizer

    def conclude(self) -> None:
        super().conclude()
        if self.optimizer is None:
            raise ProgramError(
                "alone there is no job that names an optimizer: say "
                "attach(model, optimizer=...)", "INVALID_ARGUMENT")
        # Not the script's attribute, which says that it must not be called.
        type(self.optimizer).step(self.optimizer)

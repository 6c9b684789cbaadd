"""One grant of the coordinator: its batches, its gradient, its end."""

from __future__ import annotations

import contextlib
import math
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Union

import torch

from .amp import all_finite, clip_factor, norm_of
from .data import Feed, StreamFeed
from .errors import ProgramError, invalid, say
from .exchange import ArenaExchange
from .program import StepOrder

if TYPE_CHECKING:
    from .job import Job


class Step:
    """One grant, or a part of it: some samples, computed in micro-batches.

    Iterating over it yields its batches; it may end early, at a
    micro-batch's edge, when the job wishes so.

    Attributes: number (of this program's steps, from 1), iteration (the
    job's), samples, epoch.
    """

    def __init__(self, job: Job, order: StepOrder,
                 feed: Union[Feed, StreamFeed], number: int) -> None:
        self.number = number
        self.iteration = order.iteration
        self.samples = order.samples
        self.epoch = order.epoch
        self._job = job
        self._order = order
        self._feed = feed
        self._taken = 0  # Samples computed.
        self._in_hand: Optional[int] = None  # Samples of the batch given.
        self._pending = 0  # By hand: samples since the last step().
        self._loss_sum: Union[float, torch.Tensor] = 0.0
        self._finite = True
        self._abandoned = False
        self._refreshed = False
        self._sent = False  # Gradients have left.
        self._mark = -1  # How often a gradient was written.
        self._began = 0  # ns
        self._loaded_before = feed.load_ns - feed.ahead_ns

    @property
    def loss(self) -> float:
        """The mean loss of the samples computed so far."""
        return float(self._loss_sum) / max(self._taken, 1)

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._batches()
        except ProgramError as error:
            raise self._job._failed(error)

    def _batches(self) -> Iterator[Any]:
        job = self._job
        while self._taken < self.samples:
            job._poll()
            if self._over():
                return
            batch, n = self._feed.next()
            if self._taken == 0:
                job._poll()
                if not job._exchange.has():
                    # It was loaded while the weights were on their way.
                    self._loaded_before = self._feed.load_ns
                # The servers have what the arena held, or the agent has added
                # it up: no step comes before. So it is made empty while
                # weights are awaited.
                job._exchange.start_step()
                if not job._await_weights(job._gates and job._gates.first):
                    return
                self._began = time.perf_counter_ns()
            job._exchange.begin_micro_batch()
            self._in_hand = n
            with self._watched():
                yield batch
            if job._by_hand:
                self._end_by_hand()
            elif self._in_hand is not None:
                raise self._no_backward()

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Sees in the first batch which weights its modules wait for."""
        gates = self._job._gates
        if gates is None or gates.settled:
            yield
            return
        gates.watch()
        try:
            yield
        finally:
            gates.settle()

    def backward(self, loss: torch.Tensor, **options: Any) -> None:
        """Computes the gradients of the batch in hand.

        loss: the batch's mean loss, a tensor of one element. It weighs by the
        batch's share of the step, and is scaled for fp16. Options are those
        of Tensor.backward. A loss that is not finite ends the step: its
        samples are used up, and nothing is sent.
        """
        try:
            self._backward(loss, options)
        except ProgramError as error:
            raise self._job._failed(error)

    def _backward(self, loss: torch.Tensor, options: Dict[str, Any]) -> None:
        job = self._job
        n, self._in_hand = self._in_hand, None
        if n is None:
            raise ProgramError("backward was called twice for one batch, or "
                               "for none: once for each batch")
        if loss.numel() != 1:
            raise invalid(f"the loss has the shape {list(loss.shape)}: give "
                          "its mean over the batch")
        if not job._await_weights():
            return  # The step is over.
        self._check_untouched()
        loss = loss.reshape(())
        last = self._taken + n == self.samples
        # On a device this waits for the forward pass, so it is done once.
        known = None
        if not loss.is_cuda or last or job._local is not None:
            known = float(loss.detach())
            whole = float(self._loss_sum) + known * n
            if not math.isfinite(whole):
                self._taken += n
                self._lose(f"loss is {known:g}" if not math.isfinite(known)
                           else "loss is not finite")
                return
            self._loss_sum = whole
        else:
            self._loss_sum = self._loss_sum + loss.detach().float() * n
        job._exchange.end_forward(n / self.samples)
        if job._local is not None:
            self._local_step(loss, options)
        else:
            self._gather(loss, n / self.samples, last, options)
        self._taken += n

    def _gather(self, loss: torch.Tensor, share: float, last: bool,
                options: Dict[str, Any]) -> None:
        """Adds this batch's part to the step's gradient."""
        job = self._job
        scale = job._scale.value if job._scale is not None else 1.0
        if share * scale != 1:
            loss = loss * (share * scale)
        overlap = (last and self._order.overlap and job._options.overlap
                   and job._options.clip_norm is None
                   and (job._scale is None or job._options.overlap_overflow))
        if overlap:
            job._poll()
            overlap = not self._abandoned and job.stopped is None
        if overlap:
            self._sent = True
            job._exchange.arm(1 / scale)
        loss.backward(**options)
        if overlap:
            job._exchange.disarm()
        self._mark = self._version()

    def _local_step(self, loss: torch.Tensor, options: Dict[str, Any]) -> None:
        """Moves the weights here, by the local optimizer."""
        job = self._job
        local = job._local
        assert local is not None
        scale = job._scale.value if job._scale is not None else 1.0
        (loss if scale == 1 else loss * scale).backward(**options)
        tensors = [entry.tensor for entry in job._exchange.trained]
        gradients = [tensor.grad for tensor in tensors
                     if tensor.grad is not None]
        usable = True
        if job._scale is not None:
            for gradient in gradients:
                gradient.mul_(1 / scale)
            usable = all_finite(gradients)
            job._scale.update(usable)
        if usable:
            self._clip(gradients)
            type(local).step(local)
        for tensor in tensors:
            tensor.grad = None

    def _clip(self, gradients: List[torch.Tensor]) -> bool:
        """Clips them; false if their norm is not finite."""
        most = self._job._options.clip_norm
        if most is None:
            return True
        norm = norm_of(gradients)
        if not math.isfinite(norm):
            return False
        factor = clip_factor(norm, most)
        if factor < 1:
            for gradient in gradients:
                gradient.mul_(factor)
        return True

    # By hand: what a DropIn does.

    def _take_by_hand(self, loss: Optional[float]) -> None:
        """Takes `.grad` as the mean over the batches since the last time."""
        samples = self._pending + (self._in_hand or 0)
        self._pending = 0
        if samples == 0:
            raise ProgramError("step() was called twice for the same batches")
        job = self._job
        if not job._await_weights():
            return  # The step is over.
        if self._in_hand is not None:
            job._exchange.end_forward(self._in_hand / self.samples)
            self._taken += self._in_hand
            self._in_hand = None
        if loss is None:
            raise invalid("drop_in does not know the loss: give step() a "
                          "closure, or call job.note_loss(loss) before it")
        if not math.isfinite(loss):
            self._lose(f"loss is {loss:g}")
            return
        assert isinstance(self._loss_sum, float)
        self._loss_sum += loss * samples
        job._exchange.add_by_hand(samples / self.samples)

    def _end_by_hand(self) -> None:
        """A batch is over whose gradients may come later."""
        if self._in_hand is not None:
            self._job._await_weights()
            self._job._exchange.end_forward(self._in_hand / self.samples)
            self._taken += self._in_hand
            self._pending += self._in_hand
            self._in_hand = None

    # The end.

    def _cut(self, abandon: bool) -> None:
        """The agent wishes the step to end."""
        if abandon:
            self._abandoned = True
        else:
            self._refreshed = True

    def _lose(self, why: str) -> None:
        """Nothing of this step will count."""
        self._finite = False
        say(f"step {self.iteration}: {why}; {self.samples} samples are used up")

    def _over(self) -> bool:
        return (self._abandoned or not self._finite
                or self._job.stopped is not None
                or (self._refreshed and self._taken > 0))

    def _finish(self) -> None:
        """Tells the agent what the step came to."""
        job = self._job
        if job._by_hand:
            self._end_by_hand()
        job._poll()
        if self._abandoned and not self._sent:
            job._program.abandoned(self.iteration)
            return
        if job.stopped is not None:
            return
        if self._finite:
            self._check_whole()
            self._check_untouched()
            self._conclude()
        job._program.done(
            self.iteration, float(self._loss_sum) if self._finite else 0.0,
            self._taken if self._finite else self.samples, self._finite,
            self._feed.load_ns - self._loaded_before,
            max(0, time.perf_counter_ns() - self._began
                - (self._feed.load_ns - self._loaded_before)))

    def _check_whole(self) -> None:
        """Raises unless the loop did what it was given."""
        if self._in_hand is not None:
            raise self._no_backward()
        if self._pending:
            raise invalid(
                f"step {self.iteration} has {self.samples} samples and the "
                f"script's optimizer.step() did not come for the last "
                f"{self._pending}: let the job's batch_size be what the "
                "script gathers between two calls")
        if self._taken < self.samples and not self._refreshed:
            raise ProgramError(
                f"step {self.iteration}: the loop took {self._taken} of "
                f"{self.samples} samples: take all batches of a step")

    def _conclude(self) -> None:
        job = self._job
        if not math.isfinite(float(self._loss_sum)):
            self._lose("loss is not finite")
            return
        rest = self.samples / self._taken
        if job._local is not None:
            job._exchange.scale(1, rest)
            if isinstance(job._exchange, ArenaExchange):
                job._exchange.conclude_local()
            return
        if not self._sent:
            unscale = 1 / job._scale.value if job._scale is not None else 1.0
            job._exchange.scale(rest * unscale, rest)
        gradients = job._exchange.gradients()
        if job._scale is not None:
            finite = all_finite(gradients)
            job._scale.update(finite)
            # What has left already, the servers look at.
            self._finite = finite or self._sent
            if not self._finite:
                return
        if not self._clip(gradients):
            self._lose("the gradient's norm is not finite")
            return
        job._exchange.conclude()

    def _version(self) -> int:
        for entry in self._job._exchange.trained:
            if entry.tensor.grad is not None:
                return int(entry.tensor.grad._version)
        return -1

    def _check_untouched(self) -> None:
        """Raises if gradients are others than backward() has left.

        Some may have left already, and a sum would lack what came before.
        """
        if (self._taken == 0 or self._job._by_hand
                or self._job._local is not None):
            return
        if self._version() != self._mark:
            self._job._exchange.check_memory()  # Others are not those.
            raise ProgramError(
                "gradients changed after job.backward: remove zero_grad(), and "
                "clip by attach(clip_norm=...) in place of clip_grad_norm_()")

    def _no_backward(self) -> ProgramError:
        return ProgramError(
            f"step {self.iteration}: no job.backward(loss) for a batch of "
            f"{self._in_hand} samples: call it once for each batch, in place "
            "of loss.backward()")

"""Weights from the agent into the model, gradients from the model to it.

On the CPU a parameter *is* a part of the weights arena and its gradient a part
of the gradient arena, so nothing is copied. What cannot be laid over an arena
(on a device, of another type or order in memory) is copied.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from .errors import ProgramError, few, say
from .program import Begin, Program, layout
from .tensors import AVERAGED, FROZEN, STATISTIC, TRAINED, Entry

# What leaves at once is about an eighth of the model, so that little is left to
# send when the backward pass ends; but no crumbs, each of which stops the pass
# for some 30 us, and no more than a message of the parameter stream has.
_BUCKETS = 8
_BUCKET_LEAST = 256 << 10
_BUCKET_MOST = 1 << 20

# From this many bytes on a gradient is copied into the arena, and not added to
# zeros there, which would be written before the forward pass begins. For a
# smaller one the copy is no more than a call more.
_COPIED_LEAST = 32 << 10

_WIRE = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Exchange:
    """What both ways of training have: alone, and under an agent.

    This much is all that training alone needs.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = list(entries)
        self.trained = [entry for entry in entries if entry.kind == TRAINED]
        self._sums: Dict[int, torch.Tensor] = {}

    def describe(self) -> List[Dict[str, Any]]:
        """Returns `tensors` of the frame `attach`."""
        return [entry.describe() for entry in self.entries]

    def take_by_hand(self) -> None:
        """Gradients come by add_by_hand() alone, not from hooks."""

    def begin(self, begin: Begin) -> None:
        """The job begins."""

    def expect_weights(self) -> None:
        """A step or an evaluation begins: the newest weights will come."""

    def arrived(self, first: int, end: int) -> None:
        """The weights of tensors [first, end) have come."""

    def has(self, tensors: Optional[Sequence[int]] = None) -> bool:
        """Whether the weights of these tensors, or of all, have come."""
        return True

    def take_weights(self, tensors: Optional[Sequence[int]] = None) -> None:
        """Makes the weights of these tensors, or of all, the model's."""

    def start_step(self) -> None:
        """Makes all gradients zero."""
        self._sums.clear()
        for entry in self.trained:
            entry.tensor.grad = None

    def begin_micro_batch(self) -> None:
        """A forward pass is about to begin."""

    def end_forward(self, share: float) -> None:
        """The forward pass of `share` of the step's samples has ended."""

    def arm(self, scale: float) -> None:
        """From now on gradients are sent as soon as they are final.

        They are multiplied by `scale` on their way.
        """

    def disarm(self) -> None:
        """The backward pass that was armed has ended."""

    def add_by_hand(self, share: float) -> None:
        """Adds all gradients times `share`, and forgets them."""
        for i, entry in enumerate(self.trained):
            gradient, entry.tensor.grad = entry.tensor.grad, None
            if gradient is None:
                continue
            part = gradient if share == 1 else gradient * share
            self._sums[i] = self._sums[i] + part if i in self._sums else part

    def gradients(self) -> List[torch.Tensor]:
        """Returns the gradients that the step has, in any type."""
        if self._sums:
            return list(self._sums.values())
        return [entry.tensor.grad for entry in self.trained
                if entry.tensor.grad is not None]

    def scale(self, gradients: float, statistics: float) -> None:
        """Multiplies what the step has gathered."""
        if gradients != 1:
            for gradient in self.gradients():
                gradient.mul_(gradients)

    def check_memory(self) -> None:
        """Raises if the model is not where it was."""

    def conclude(self) -> None:
        """The gradients are final: sends, or applies, what is left."""
        for i, total in self._sums.items():
            self.trained[i].tensor.grad = total

    def conclude_local(self) -> None:
        """The weights are final: sends how far they moved."""

    def release(self) -> None:
        """Gives the model memory of its own back."""


class Arenas:
    """The two arenas as tensors, one view for each entry."""

    def __init__(self, entries: Sequence[Entry], begin: Begin,
                 wire: torch.dtype) -> None:
        sizes = [entry.tensor.numel() for entry in entries]
        self.weights = self._views(begin.weights, entries, sizes,
                                   torch.float32, "weights")
        sent = [0 if entry.kind == FROZEN else size
                for entry, size in zip(entries, sizes)]
        self.gradients = self._views(begin.gradients, entries, sent, wire,
                                     "gradients")
        self._pinned: List[int] = []

    def pin(self, begin: Begin) -> None:
        """Lets a CUDA device copy to and from the arenas by itself."""
        for arena in (begin.weights, begin.gradients):
            assert arena is not None
            address = ctypes.addressof(ctypes.c_char.from_buffer(arena))
            runtime = torch.cuda.cudart()
            if int(runtime.cudaHostRegister(address, len(arena), 0)) == 0:
                self._pinned.append(address)

    def unpin(self) -> None:
        for address in self._pinned:
            torch.cuda.cudart().cudaHostUnregister(address)
        self._pinned.clear()

    @staticmethod
    def _views(arena: Optional[mmap.mmap], entries: Sequence[Entry],
               sizes: Sequence[int], dtype: torch.dtype,
               what: str) -> List[Optional[torch.Tensor]]:
        width = torch.empty(0, dtype=dtype).element_size()
        offsets, end = layout(sizes, width)
        if arena is None or len(arena) < end:
            raise ProgramError(
                f"the agent's arena of {what} has "
                f"{0 if arena is None else len(arena):,} bytes, and the "
                f"model's take {end:,}: install the same release of both",
                "INTERNAL")
        return [torch.frombuffer(arena, dtype=dtype, count=size,
                                 offset=offset).view(entry.tensor.shape)
                if size else None
                for entry, size, offset in zip(entries, sizes, offsets)]


class ArenaExchange(Exchange):
    """Exchanges with an agent.

    `shared`: parameters may lie in the arena; not so where a local optimizer
    moves them. `hooked`: gradients are taken as the backward pass makes them.
    """

    def __init__(self, entries: Sequence[Entry], program: Program, wire: str,
                 shared: bool = True, hooked: bool = True) -> None:
        super().__init__(entries)
        if wire not in _WIRE:
            raise ProgramError(f'unknown wire format "{wire}"', "INTERNAL")
        self._program = program
        self._wire = _WIRE[wire]
        self._hooked = hooked
        self._values_shared = [shared and _fits(entry) for entry in entries]
        self._copied = {i for i, values in enumerate(self._values_shared)
                        if not values}
        self._gradients_shared = [
            values and hooked and entry.kind == TRAINED
            and self._wire == torch.float32
            for values, entry in zip(self._values_shared, entries)]
        # Those that each step begins without.
        self._moved = [
            gradients and entry.tensor.numel() * 4 >= _COPIED_LEAST
            for gradients, entry in zip(self._gradients_shared, entries)]
        # What is trained, as hooks and checks meet it hundreds of times a step.
        self._parameters = [entry.tensor if entry.kind == TRAINED else None
                            for entry in entries]
        self._places = [entry.tensor.data_ptr() for entry in entries]
        self._kept_as = [(entry.tensor.device, entry.tensor.dtype)
                         for entry in entries]
        self._arenas: Optional[Arenas] = None
        self._views: List[Optional[torch.Tensor]] = [None] * len(entries)
        self._laid_over = False
        self._missing = set(range(len(entries)))
        self._untaken = set(self._missing)
        self._once = {i for i, entry in enumerate(entries)
                      if entry.kind == FROZEN}
        self._hooks: List[Any] = []
        self._fired = bytearray(len(entries))
        self._ready = bytearray(len(entries))
        self._told_unused = False
        self._told_copied = False
        self._scale = 1.0  # Of what armed hooks take.
        self._old_statistics: Dict[int, torch.Tensor] = {}
        self._old_counts: List[int] = []
        sizes = [0 if entry.kind == FROZEN else entry.tensor.numel() * 4
                 for entry in entries]
        # What a script may change until the step ends leaves then.
        self._late = [i for i, entry in enumerate(entries)
                      if entry.kind == AVERAGED]
        self._buckets = make_buckets(
            sizes, [entry.kind in (FROZEN, AVERAGED) for entry in entries],
            bucket_bytes(sum(sizes)))
        self._bucket_of = {tensor: bucket
                           for bucket, (first, end) in enumerate(self._buckets)
                           for tensor in range(first, end)}
        self._waiting = [0] * len(self._buckets)
        self._armed = False
        self._events: List[Tuple[int, List[Any]]] = []
        self._streams: Dict[torch.device, Any] = {}
        self._turn = threading.Lock()

    def take_by_hand(self) -> None:
        self._hooked = False
        self._gradients_shared = [False] * len(self.entries)
        self._moved = [False] * len(self.entries)

    def begin(self, begin: Begin) -> None:
        """Takes the arenas, and writes the starting weights if asked to."""
        self.check_memory()
        self._arenas = Arenas(self.entries, begin, self._wire)
        self._views = self._arenas.gradients
        if any(entry.tensor.is_cuda for entry in self.entries):
            self._arenas.pin(begin)
        if begin.initialize:
            with torch.no_grad():
                for entry, view in zip(self.entries, self._arenas.weights):
                    if view is not None:
                        view.copy_(entry.tensor)
            self._program.initialized()
        if self._hooked:
            for i, entry in enumerate(self.entries):
                if entry.kind == TRAINED:
                    self._hooks.append(_hook(entry.tensor, self._hook_of(i)))

    # Weights.

    def expect_weights(self) -> None:
        self._missing = {i for i, entry in enumerate(self.entries)
                         if entry.kind != FROZEN or i in self._once}
        self._untaken |= self._missing

    def arrived(self, first: int, end: int) -> None:
        if not 0 <= first <= end <= len(self.entries):
            raise ProgramError(f"the agent sent the weights [{first}, {end}) "
                               f"of {len(self.entries)}", "INTERNAL")
        for i in range(first, end):
            self._missing.discard(i)
            self._once.discard(i)

    def has(self, tensors: Optional[Sequence[int]] = None) -> bool:
        if tensors is None:
            return not self._missing
        return self._missing.isdisjoint(tensors)

    def take_weights(self, tensors: Optional[Sequence[int]] = None) -> None:
        if not self._untaken:
            return
        arenas = self._mapped()
        new = (self._untaken.intersection(tensors) if tensors is not None
               else set(self._untaken))
        self._untaken -= new
        if self._laid_over and self._copied.isdisjoint(new):
            return
        with torch.no_grad():
            if not self._laid_over:
                self._lay_over(arenas)
            for i in new & self._copied:
                entry, view = self.entries[i], arenas.weights[i]
                if view is not None:
                    entry.tensor.copy_(view, non_blocking=True)
                if entry.kind == STATISTIC and tensors is not None:
                    # The micro-batch has begun before it came.
                    self._old_statistics[i] = entry.tensor.detach().clone()

    def _lay_over(self, arenas: Arenas) -> None:
        """Moves what can be shared onto the arena, once it holds weights."""
        for i, entry in enumerate(self.entries):
            view = arenas.weights[i]
            if self._values_shared[i] and view is not None:
                entry.tensor.data = view
                self._places[i] = entry.tensor.data_ptr()
        self._laid_over = True

    def check_memory(self) -> None:
        for i, entry in enumerate(self.entries):
            tensor = entry.tensor
            # A script may well replace a buffer of its own. What is copied may
            # lie anywhere: an LSTM on a device moves its parameters together.
            moved = ((tensor.device, tensor.dtype) != self._kept_as[i]
                     if entry.kind == FROZEN or not self._values_shared[i]
                     else tensor.data_ptr() != self._places[i])
            # Hooks are those of the parameter that was attached.
            if entry.kind == TRAINED and tensor is not self._parameters[i]:
                moved = True
            if entry.kind != AVERAGED and moved:
                raise ProgramError(
                    f'the model was moved after attach ("{entry.name}" is '
                    "elsewhere): attach last", "FAILED_PRECONDITION")

    # A step's gradients.

    def start_step(self) -> None:
        arenas = self._mapped()
        added_to = [view for view, moved in zip(arenas.gradients, self._moved)
                    if view is not None and not moved]
        if added_to:
            torch._foreach_zero_(added_to)
        self._fired = bytearray(len(self.entries))
        self._ready = bytearray(len(self.entries))
        for i, parameter in enumerate(self._parameters):
            if parameter is not None:
                parameter.grad = (
                    self._views[i] if self._gradients_shared[i]
                    and not self._moved[i] else None)

    def begin_micro_batch(self) -> None:
        self._old_counts = self._counts()
        for i, entry in enumerate(self.entries):
            if entry.kind == STATISTIC and i not in self._untaken:
                self._old_statistics[i] = entry.tensor.detach().clone()

    def end_forward(self, share: float) -> None:
        """Adds the micro-batch's statistics to the step's mean of them.

        A running value came from the old one by k updates
        new = (1 - m) old + m x, of which x is the batch's own. With
        q = (1 - m)^k it is x = (new - q old) / (1 - q).
        """
        arenas = self._mapped()
        counts = self._counts()
        at = 0
        with torch.no_grad():
            for i, entry in enumerate(self.entries):
                if entry.kind != STATISTIC:
                    continue
                view = arenas.gradients[i]
                old = self._old_statistics[i]
                updates = counts[at] - self._old_counts[at]
                at += 1
                new = entry.tensor.detach()
                if updates > 0:
                    kept = (1 - entry.momentum) ** updates
                    new = (new - kept * old) / (1 - kept)
                if view is not None:
                    view.add_(new.to(view.device, torch.float32), alpha=share)

    def arm(self, scale: float) -> None:
        self._scale = scale
        self._armed = True
        self._waiting = [end - first for first, end in self._buckets]
        for i, entry in enumerate(self.entries):
            if entry.kind == STATISTIC:  # It is final already.
                self._final(i)

    def disarm(self) -> None:
        """Sends what had no gradient, as zeros, and what a device copies."""
        self._send_copied()
        for i, entry in enumerate(self.entries):
            if entry.kind == TRAINED and not self._ready[i]:
                self._take(i, self._scale)
                self._final(i)
        self._send_copied()
        self._armed = False
        self._tell_unused()

    def gradients(self) -> List[torch.Tensor]:
        if self._hooked:
            return super().gradients()
        arenas = self._mapped()
        return [view for entry, view in zip(self.entries, arenas.gradients)
                if entry.kind == TRAINED and view is not None]

    def scale(self, gradients: float, statistics: float) -> None:
        super().scale(gradients, statistics)
        if statistics != 1:
            for i, entry in enumerate(self.entries):
                view = self._mapped().gradients[i]
                if entry.kind == STATISTIC and view is not None:
                    view.mul_(statistics)

    def conclude(self) -> None:
        self._write_averaged()
        if any(self._ready):
            for i in self._late:
                self._program.ready(i, i + 1)
            return
        for i, entry in enumerate(self.entries):
            if entry.kind == TRAINED:
                self._take(i, 1.0)
        for stream in self._streams.values():
            stream.synchronize()
        self._tell_unused()

    def conclude_local(self) -> None:
        """Writes the weights before the step minus those after it."""
        arenas = self._mapped()
        with torch.no_grad():
            for i, entry in enumerate(self.entries):
                before, view = arenas.weights[i], arenas.gradients[i]
                if entry.kind == TRAINED and view is not None:
                    assert before is not None
                    after = entry.tensor.detach()
                    # It began where the tensor's type has rounded to.
                    began = before.to(after.dtype).float()
                    view.copy_(began - after.to(before.device).float())
        self._write_averaged()

    def add_by_hand(self, share: float) -> None:
        arenas = self._mapped()
        with torch.no_grad():
            for i, entry in enumerate(self.entries):
                gradient = entry.tensor.grad
                if entry.kind != TRAINED or gradient is None:
                    continue
                self._fired[i] = 1
                view = arenas.gradients[i]
                if view is not None:
                    view.add_(gradient.to(view.device, view.dtype),
                              alpha=share)
                entry.tensor.grad = None

    def release(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        with torch.no_grad():
            for i, entry in enumerate(self.entries):
                if self._laid_over and self._values_shared[i]:
                    entry.tensor.data = entry.tensor.data.clone()
                    self._places[i] = entry.tensor.data_ptr()
                entry.tensor.grad = None
        if self._arenas is not None:
            self._arenas.unpin()
        self._arenas = None
        self._views = [None] * len(self.entries)
        self._laid_over = False

    # Within a backward pass.

    def _hook_of(self, i: int) -> Callable[[], None]:
        def call() -> None:
            # Each device has a thread for its part of a backward pass.
            with self._turn:
                self._accumulated(i)

        return call

    def _accumulated(self, i: int) -> None:
        """Tensor i's gradient of this backward pass is complete."""
        first = not self._fired[i]
        self._fired[i] = 1
        parameter = self._parameters[i]
        assert parameter is not None
        gradient, view = parameter.grad, self._views[i]
        in_place = gradient is view
        if not in_place:
            if gradient is None or self._arenas is None:
                return
            self._check_dense(i, gradient)
            if self._gradients_shared[i]:
                self._put_in_place(i, gradient)
                in_place = True
                if not (first and self._moved[i]):
                    self._tell_copied()
        if not self._armed:
            return
        if self._ready[i]:
            raise ProgramError(
                f'"{self.entries[i].name}" got a second gradient after its '
                "first was sent (activation checkpointing of a tied "
                "parameter?): attach with overlap=False")
        if not in_place or self._scale != 1:
            self._take(i, self._scale)
        self._final(i)

    def _check_dense(self, i: int, gradient: torch.Tensor) -> None:
        if gradient.is_sparse:
            raise ProgramError(f'sparse gradient of "{self.entries[i].name}": '
                               "make the Embedding with sparse=False",
                               "INVALID_ARGUMENT")

    def _put_in_place(self, i: int, gradient: torch.Tensor) -> None:
        """Moves a gradient that lies elsewhere, where further ones are added."""
        view, parameter = self._views[i], self._parameters[i]
        assert view is not None and parameter is not None
        with torch.no_grad():
            # What was there before is in it, unless zero_grad() threw it away,
            # which _check_untouched() has seen to.
            view.copy_(gradient.detach())
        parameter.grad = view

    def _tell_copied(self) -> None:
        if not self._told_copied:
            self._told_copied = True
            say("the script replaces gradients (zero_grad, create_graph?), "
                "so they are copied: remove zero_grad()")

    def _take(self, i: int, scale: float) -> None:
        """Brings tensor i's gradient into the arena."""
        gradient = self.entries[i].tensor.grad
        view = self._mapped().gradients[i]
        if view is None:
            return
        with torch.no_grad():
            if self._moved[i] and not self._fired[i]:
                view.zero_()
            elif self._gradients_shared[i]:
                if scale != 1:
                    view.mul_(scale)
            elif gradient is None or not self._hooked:
                pass  # Zeros, or added by hand.
            elif gradient.is_cuda:
                self._download(gradient, view, scale)
            else:
                view.copy_(gradient if scale == 1 else gradient * scale)

    def _download(self, gradient: torch.Tensor, view: torch.Tensor,
                  scale: float) -> None:
        """Queues a copy from the device behind what has been computed."""
        device = gradient.device
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        stream = self._streams[device]
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            sent = gradient if scale == 1 else gradient * scale
            view.copy_(sent.to(view.dtype), non_blocking=True)

    def _final(self, i: int) -> None:
        """Tensor i can be sent; so can its bucket with its last tensor."""
        self._ready[i] = 1
        bucket = self._bucket_of[i]
        self._waiting[bucket] -= 1
        if self._waiting[bucket]:
            return
        if not self._streams:
            self._program.ready(*self._buckets[bucket])
            return
        # A bucket may have tensors of several devices.
        self._events.append((bucket, [stream.record_event()
                                      for stream in self._streams.values()]))

    def _send_copied(self) -> None:
        """Sends what a device has copied, as the copies end."""
        for bucket, events in self._events:
            for event in events:
                event.synchronize()
            self._program.ready(*self._buckets[bucket])
        self._events.clear()

    def _write_averaged(self) -> None:
        arenas = self._mapped()
        with torch.no_grad():
            for i, entry in enumerate(self.entries):
                view = arenas.gradients[i]
                if entry.kind == AVERAGED and view is not None:
                    view.copy_(entry.tensor)

    def _tell_unused(self) -> None:
        if self._told_unused:
            return
        unused = [entry.name for i, entry in enumerate(self.entries)
                  if entry.kind == TRAINED and not self._fired[i]]
        if unused:
            self._told_unused = True
            say(f"{len(unused)} parameters had no gradient: {few(unused)}; "
                "counted as zero")

    def _counts(self) -> List[int]:
        """Returns how often each statistic was updated."""
        on: Dict[torch.device, List[torch.Tensor]] = {}
        counters = [entry.counter for entry in self.entries
                    if entry.kind == STATISTIC and entry.counter is not None]
        for counter in counters:
            on.setdefault(counter.device, []).append(counter)
        # Each device is asked, and waited for, once.
        counts = {device: iter(torch.stack(theirs).tolist())
                  for device, theirs in on.items()}
        return [next(counts[counter.device]) for counter in counters]

    def _mapped(self) -> Arenas:
        if self._arenas is None:
            raise ProgramError("the job is over: its arenas are gone")
        return self._arenas


def _fits(entry: Entry) -> bool:
    """Whether an entry's values can be a part of the weights arena.

    A statistic changes during a step, and the agent's copy must not.
    """
    tensor = entry.tensor
    return (entry.kind in (TRAINED, FROZEN) and tensor.device.type == "cpu"
            and tensor.dtype == torch.float32 and tensor.is_contiguous()
            and isinstance(tensor, torch.nn.Parameter) and tensor.numel() > 0)


def bucket_bytes(total: int) -> int:
    """Returns how many bytes of `total` leave at once, at least."""
    return max(_BUCKET_LEAST, min(total // _BUCKETS, _BUCKET_MOST))


def make_buckets(sizes: Sequence[int], apart: Sequence[bool],
                 least: int) -> List[Tuple[int, int]]:
    """Returns ranges [first, end) of tensors, from the last backwards.

    Each has at least `least` bytes, but where a tensor is `apart`, which is in
    none (Li et al., "PyTorch Distributed", 2020, section 3.2.2).
    """
    buckets: List[Tuple[int, int]] = []
    end = len(sizes)
    gathered = 0
    for i in range(len(sizes) - 1, -1, -1):
        if apart[i]:
            if i + 1 < end:
                buckets.append((i + 1, end))
            end, gathered = i, 0
            continue
        gathered += sizes[i]
        if gathered >= least:
            buckets.append((i, end))
            end, gathered = i, 0
    if end > 0:
        buckets.append((0, end))
    return buckets


class _NodeHook:
    """A hook on the node that accumulates a parameter's gradient.

    torch below 2.1 has no other. The node must be held, or it is made anew.
    """

    def __init__(self, parameter: torch.Tensor,
                 call: Callable[[], None]) -> None:
        with torch.enable_grad():
            node = parameter.expand_as(parameter).grad_fn
        assert node is not None
        self._node = node.next_functions[0][0]
        self._handle = self._node.register_hook(lambda *_: call())

    def remove(self) -> None:
        self._handle.remove()


def _hook(parameter: torch.Tensor, call: Callable[[], None]) -> Any:
    register = getattr(parameter, "register_post_accumulate_grad_hook", None)
    if register is not None:  # torch 2.1
        return register(lambda _: call())
    return _NodeHook(parameter, call)

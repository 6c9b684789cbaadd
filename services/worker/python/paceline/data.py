"""Samples: from the agent's lots to batches.

The coordinator decides which samples a program trains on. It reserves them in
*lots*, ahead of the steps that will use them, so that a DataLoader can prefetch
batches. A batch is cut from the lots before the step that takes it is known;
whatever was withdrawn meanwhile is thrown away when it arrives.

Samples are numbered by their place in all lots together, from 0: their
*positions*. A step takes the positions behind those of the step before.
"""

from __future__ import annotations

import collections
import contextlib
import random
import sys
import time
from typing import (Any, Callable, Deque, Dict, Iterator, List, NamedTuple,
                    Optional, Sequence, Tuple)

from .errors import ProgramError, say
from .program import Lot, StepOrder

# Says how many samples a batch has; None: unknown.
Count = Optional[Callable[[Any], Optional[int]]]

# A worker process learns a sample's epoch from the high bits of its index.
_EPOCH_SHIFT = 40

# Samples that may be wanted beyond a step: docs/program-protocol.md.
_LOOKAHEAD_MOST = 1 << 20


class Span(NamedTuple):
    """Samples at positions [begin, end), all of one epoch."""

    begin: int
    end: int
    epoch: int
    indices: List[int]


class LotSampler:
    """Cuts batches of indices from lots; the `batch_sampler` of a DataLoader.

    An iteration ends when there is nothing to cut at the moment, as at the
    end of an epoch, and never waits: a DataLoader asks for the next batch
    before it hands out the one that is ready. The next iteration goes on
    where the last one ended.
    """

    def __init__(self, batch_size: int) -> None:
        if batch_size < 1:
            raise ProgramError(f"batch_size is {batch_size}; it must be at "
                               "least 1", "INVALID_ARGUMENT")
        self.batch_size = batch_size  # Samples, at most.
        self.limit = batch_size  # Samples, at most, by the latest step.
        self.encodes_epochs = False
        self.position = 0  # Of the next sample of the step in hand.
        self.step_end = 0
        self.cut: Deque[Span] = collections.deque()  # And not yet received.
        self._lots: Deque[Span] = collections.deque()
        self._lots_end = 0
        self._cursor = 0  # What was cut lies before it.
        self._next_step = 0
        self._skip_to = 0  # What was dropped behind the step in hand.

    def add(self, lot: Lot) -> None:
        """Appends the agent's lot."""
        begin = self._lots_end
        self._lots_end = begin + len(lot.indices)
        self._lots.append(Span(begin, self._lots_end, lot.epoch,
                               list(lot.indices)))

    def drop(self) -> None:
        """Withdraws whatever no step has taken."""
        self._skip_to = self._next_step = self._lots_end

    def end_step(self) -> bool:
        """Whether there is something to load for the step after this one."""
        self._cursor = max(self._cursor, self._next_step)
        return bool(self.cut) or self._cursor < self._lots_end

    def begin_step(self, order: StepOrder, limit: int) -> None:
        """Takes the front of the lots for a step, in pieces of `limit`."""
        self.position = self._next_step
        self.step_end = self._next_step = self.position + order.samples
        self.limit = max(1, min(self.batch_size, limit))
        self._cursor = max(self._cursor, self.position)
        if self.step_end > self._lots_end:
            raise ProgramError(
                f"the agent's step has {order.samples} samples and its lots "
                f"have {self._lots_end - self.position}", "INTERNAL")

    def __iter__(self) -> Iterator[List[int]]:
        while True:
            span = self._cut_next()
            if span is None:
                return
            self.cut.append(span)
            if self.encodes_epochs:
                high = span.epoch << _EPOCH_SHIFT
                yield [high | index for index in span.indices]
            else:
                yield span.indices

    def _cut_next(self) -> Optional[Span]:
        if self.step_end <= self._cursor < self._skip_to:
            self._cursor = self._skip_to
        while self._lots and self._lots[0].end <= self._cursor:
            self._lots.popleft()
        if not self._lots:
            return None
        # A step has no part of two lots, so a batch that had would be no use.
        lot, begin = self._lots[0], self._cursor
        end = min(begin + self.limit, lot.end)
        if begin < self.step_end:
            end = min(end, self.step_end)
        self._cursor = end
        return Span(begin, end, lot.epoch,
                    lot.indices[begin - lot.begin:end - lot.begin])


class Feed:
    """Gives the batches of each step, from a DataLoader over a LotSampler."""

    def __init__(self, loader: Any, sampler: LotSampler,
                 count: Count) -> None:
        self._loader = loader
        self._sampler = sampler
        self._count = count
        self._iterator: Optional[Iterator[Any]] = None
        self._by_hand: Deque[Span] = collections.deque()
        self._ahead: Optional[Tuple[Any, Span]] = None
        self._trouble: Optional[Exception] = None  # In loading ahead.
        self.load_ns = 0  # Waited for batches, in all.
        self.ahead_ns = 0  # Of these for the one that was loaded ahead.
        sampler.encodes_epochs = (
            getattr(loader, "num_workers", 0) > 0
            and isinstance(getattr(loader, "worker_init_fn", None), WorkerSeeds)
            and WorkerSeeds.fits(getattr(loader, "dataset", None)))

    @property
    def batch_size(self) -> int:
        """Samples of a batch, at most."""
        return self._sampler.batch_size

    def next(self) -> Tuple[Any, int]:
        """Returns the next batch of the step, and its number of samples."""
        began = time.perf_counter_ns()
        batch, span = self._next()
        self.load_ns += time.perf_counter_ns() - began
        wanted = span.end - span.begin
        given = samples_of(batch, wanted, self._count)
        if given != wanted:
            raise ProgramError(
                f"the loader gave {given} samples for {wanted} indices: "
                f"collate_fn must not drop any{_hint(self._count)}",
                "INVALID_ARGUMENT")
        self._sampler.position = span.end
        return batch, wanted

    def load_ahead(self) -> None:
        """Loads the batch that the next step will probably begin with.

        Between two steps a script waits for a grant and for weights. Nothing
        is loaded where nothing is reserved, as at the end of an epoch.
        """
        self.ahead_ns = 0
        if (self._sampler.end_step() and self._ahead is None
                and not self._by_hand):
            began = time.perf_counter_ns()
            try:
                self._ahead = self._receive()
            except Exception as error:  # The step's that takes the batch.
                self._trouble = error
            self.ahead_ns = time.perf_counter_ns() - began
            self.load_ns += self.ahead_ns

    def close(self) -> None:
        """Lets go of the loader, whose processes end unless they persist."""
        self._iterator = None
        self._loader = None
        self._ahead = None

    def _next(self) -> Tuple[Any, Span]:
        position, end = self._sampler.position, self._sampler.step_end
        while True:
            while self._by_hand and self._by_hand[0].end <= position:
                self._by_hand.popleft()
            if self._by_hand:
                return self._load_by_hand(self._by_hand[0])
            batch, span = self._receive()
            if span.begin == position and span.end <= end:
                return batch, span
            if span.begin > position:
                raise ProgramError(
                    f"samples {position} to {span.begin} of the lots were "
                    "never cut", "INTERNAL")
            if span.end > position:
                # It was cut before the step was known, and lies across its
                # edge. That is rare: steps are whole micro-batches but at the
                # end of an epoch.
                self._by_hand.append(span)

    def _receive(self) -> Tuple[Any, Span]:
        if self._trouble is not None:
            raise self._trouble
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            return ahead
        for _ in range(2):
            if self._iterator is None:
                self._sampler.cut.clear()
                self._iterator = iter(self._loader)
            try:
                batch = next(self._iterator)
            except StopIteration:
                self._iterator = None
                if self._sampler.cut:
                    break
                continue
            if not self._sampler.cut:
                break
            return batch, self._sampler.cut.popleft()
        raise ProgramError(
            "the loader does not give one batch for each of its batch_sampler: "
            "make it with batch_sampler=job.sampler(batch_size=...)",
            "INVALID_ARGUMENT")

    def _load_by_hand(self, span: Span) -> Tuple[Any, Span]:
        begin = self._sampler.position
        end = min(span.end, self._sampler.step_end,
                  begin + self._sampler.limit)
        indices = span.indices[begin - span.begin:end - span.begin]
        data = self._loader.dataset
        if self._sampler.encodes_epochs:
            seeds = self._loader.worker_init_fn
            samples = [seeds.draw(data, span.epoch, index)
                       for index in indices]
        else:
            samples = [data[index] for index in indices]
        batch = self._loader.collate_fn(samples)
        return batch, Span(begin, end, span.epoch, indices)


class StreamFeed:
    """Gives the batches of a loader whose samples are counted, not dealt.

    A batch that is smaller than the others is left out, as with drop_last:
    each process of a loader may have one at the end of its samples.
    """

    def __init__(self, loader: Any, batch_size: int, count: Count) -> None:
        self._loader = loader
        self.batch_size = batch_size  # Samples of each batch.
        self._count = count
        self._iterator: Optional[Iterator[Any]] = None
        self._sources = max(1, int(getattr(loader, "num_workers", 0)))
        self._smaller = 0  # Batches in a row.
        self.load_ns = 0
        self.ahead_ns = 0  # Nothing is.
        self.left = 0  # Samples of the step that were not given.

    def begin_step(self, order: StepOrder) -> None:
        self.left = order.samples
        if order.samples % self.batch_size:
            raise ProgramError(
                f"the job's step has {order.samples} samples and this loader's "
                f"batches {self.batch_size}: let the job's micro_batch be no "
                "less than that", "INVALID_ARGUMENT")

    def next(self) -> Tuple[Any, int]:
        """Returns the next batch, and its number of samples."""
        began = time.perf_counter_ns()
        batch = self._next()
        self.load_ns += time.perf_counter_ns() - began
        self.left -= self.batch_size
        return batch, self.batch_size

    def close(self) -> None:
        """Lets go of the loader."""
        self._iterator = None
        self._loader = None

    def _next(self) -> Any:
        begun = False
        while True:
            if self._iterator is None:
                if begun:
                    raise ProgramError(
                        "the data set gave no batch of "
                        f"{self.batch_size} samples{_hint(self._count)}",
                        "INVALID_ARGUMENT")
                begun = True
                self._iterator = iter(self._loader)
            for batch in self._iterator:
                size = samples_of(batch, self.batch_size, self._count)
                if size == self.batch_size:
                    self._smaller = 0
                    return batch
                self._smaller += 1
                if size > self.batch_size or self._smaller > self._sources:
                    raise ProgramError(
                        f"the data set gives batches of {size} samples, and "
                        f"{self.batch_size} are expected: let its batches, or "
                        "the job's micro_batch, be of that size"
                        f"{_hint(self._count)}", "INVALID_ARGUMENT")
            self._iterator = None


def samples_of(batch: Any, wanted: int, count: Count) -> int:
    """Returns how many samples `batch` has; `wanted` if nothing says it.

    `count` says it. Without it arrays of one dimension do, such as labels and
    lengths, because the first dimension of a larger array may be time. Where
    there are none, that first dimension counts.
    """
    if count is not None:
        given = count(batch)
        return wanted if given is None else given
    sizes = sizes_of(batch)
    flat = [size for size in sizes if len(size) == 1]
    firsts = [size[0] for size in flat or sizes]
    return wanted if not firsts or wanted in firsts else firsts[0]


def _hint(count: Count) -> str:
    """What is to be done if a batch was counted wrongly."""
    if count is not None:
        return ""
    return (" (if the first dimension of its arrays is not its samples, say "
            "count=)")


def sizes_of(batch: Any) -> List[Tuple[int, ...]]:
    """Returns the shapes of a batch's arrays, which may lie in containers."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return [tuple(shape)] if len(shape) else []
    parts: Sequence[Any] = ()
    if isinstance(batch, dict):
        parts = list(batch.values())
    elif isinstance(batch, (list, tuple)):
        parts = batch
    return [size for part in parts for size in sizes_of(part)]


class WorkerSeeds:
    """Seeds random augmentation by (seed, epoch, index) of each sample.

    The `worker_init_fn` of a DataLoader: a sample that is dealt again, maybe
    to another worker, is drawn alike. It counts in worker processes, where
    nothing else draws numbers, and for what is loaded in their place.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @staticmethod
    def fits(dataset: Any) -> bool:
        """Whether `dataset` is of a Python class, which can be extended."""
        heap_type = 1 << 9
        return bool(type(dataset).__flags__ & heap_type)

    def draw(self, dataset: Any, epoch: int, index: int) -> Any:
        """Returns a sample as a worker process would, in this process."""
        with _kept_generators():
            reseed(self.seed, epoch, index)
            return dataset[index]

    def __call__(self, worker: int) -> None:
        from torch.utils.data import get_worker_info

        info = get_worker_info()
        if info is None or not self.fits(info.dataset):
            return
        seed = self.seed
        base = type(info.dataset)

        def get(dataset: Any, position: int) -> Any:
            epoch, index = divmod(position, 1 << _EPOCH_SHIFT)
            reseed(seed, epoch, index)
            return base.__getitem__(dataset, index)

        # This process has a copy of the data set of its own.
        info.dataset.__class__ = type(
            base.__name__, (base,),
            {"__slots__": (), "__getitem__": get, "__getitems__": None})


@contextlib.contextmanager
def _kept_generators() -> Iterator[None]:
    """Lets the generators of this process go on where they were."""
    torch = sys.modules.get("torch")
    numpy = sys.modules.get("numpy")
    states = (random.getstate(), torch and torch.get_rng_state(),
              numpy and numpy.random.get_state())
    try:
        yield
    finally:
        random.setstate(states[0])
        if torch is not None:
            torch.set_rng_state(states[1])
        if numpy is not None:
            numpy.random.set_state(states[2])


def reseed(seed: int, epoch: int, index: int) -> None:
    """Seeds the generators of Python, torch and numpy for one sample."""
    mixed = random.Random(f"{seed}/{epoch}/{index}").getrandbits(63)
    random.seed(mixed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(mixed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(mixed & 0xFFFFFFFF)


_OURS = ("shuffle", "sampler", "batch_sampler", "drop_last", "batch_size",
         "in_order")


def make_loader(dataset: Any, sampler: LotSampler, seeds: WorkerSeeds,
                options: Dict[str, Any]) -> Any:
    """Returns a DataLoader over the sampler, with the user's `options`."""
    from torch.utils.data import DataLoader

    refuse_order(options)
    if options.get("num_workers", 0) > 0:
        options.setdefault("persistent_workers", True)
        options.setdefault("worker_init_fn", seeds)
    return DataLoader(dataset, batch_sampler=sampler, **options)


def make_stream_loader(dataset: Any, batch_size: int,
                       options: Dict[str, Any]) -> Any:
    """Returns a DataLoader that decides itself what comes next."""
    from torch.utils.data import DataLoader, IterableDataset

    refuse_order(options)
    if not isinstance(dataset, IterableDataset):
        options["shuffle"] = True
    return DataLoader(dataset, batch_size=batch_size, drop_last=True, **options)


def refuse_order(options: Dict[str, Any]) -> None:
    """Raises if the user wants to decide what the job decides."""
    for name in _OURS:
        if name in options:
            raise ProgramError(
                f"{name}= cannot be given: the job decides which samples come "
                "and in which order", "INVALID_ARGUMENT")


def lookahead(loader: Any, batch_size: int) -> int:
    """Returns how many samples beyond a step's `loader` wants to know of."""
    workers = getattr(loader, "num_workers", 0)
    if workers == 0:
        return min(batch_size, _LOOKAHEAD_MOST)  # For Feed.load_ahead().
    prefetch = getattr(loader, "prefetch_factor", None) or 2
    # One more, so that the last worker has work when a step ends.
    return (workers * prefetch + 1) * batch_size


def length_of(dataset: Any) -> Optional[int]:
    """Returns how many samples a data set has; None if it cannot say."""
    try:
        return len(dataset)
    except TypeError:
        return None


def tell_smaller_batches(wanted: int, limit: int) -> None:
    """Says that batches are smaller than the script asks for."""
    say(f"the job computes {limit} samples at once (micro_batch), so batches "
        f"have {limit} samples, not {wanted}")

"""From lots to batches, without torch and without an agent."""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import pytest

from paceline import ProgramError
from paceline.data import Feed, LotSampler, StreamFeed, sizes_of
from paceline.program import Lot, StepOrder


def order(samples: int, micro_batch: int = 100) -> StepOrder:
    return StepOrder(0, 0, samples, micro_batch, False, False, 0.1, 0, 0)


class Loader:
    """Asks `ahead` batches ahead, as a DataLoader with workers does."""

    num_workers = 0
    dataset = list(range(1000, 2000))

    def __init__(self, sampler: LotSampler, ahead: int) -> None:
        self._sampler, self._ahead = sampler, ahead

    @staticmethod
    def collate_fn(samples: List[int]) -> List[int]:
        return samples

    def __iter__(self) -> Any:
        cut, waiting = iter(self._sampler), []
        for _ in range(self._ahead + 1):
            waiting += [next(cut, None)]
        while waiting[0] is not None:
            waiting.append(next(cut, None))
            yield [self.dataset[index] for index in waiting.pop(0)]


def take(feed: Feed, sampler: LotSampler, samples: int,
         limit: int = 100) -> List[List[int]]:
    """The indices of a whole step's batches."""
    sampler.begin_step(order(samples), limit)
    batches = []
    while sampler.position < sampler.step_end:
        batch, n = feed.next()
        assert len(batch) == n
        batches.append([value - 1000 for value in batch])
    return batches


def make(batch_size: int, ahead: int) -> Tuple[Feed, LotSampler]:
    sampler = LotSampler(batch_size)
    return Feed(Loader(sampler, ahead), sampler, None), sampler


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_steps_take_the_lots_from_the_front(ahead: int) -> None:
    feed, sampler = make(4, ahead)
    sampler.add(Lot(0, range(0, 8)))
    sampler.add(Lot(0, range(8, 14)))
    sampler.add(Lot(0, range(14, 30)))
    assert take(feed, sampler, 8) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    # A batch ends with its lot, so that none is loaded in vain.
    assert take(feed, sampler, 6) == [[8, 9, 10, 11], [12, 13]]
    assert take(feed, sampler, 8) == [[14, 15, 16, 17], [18, 19, 20, 21]]
    sampler.add(Lot(0, range(30, 32)))
    assert sum(take(feed, sampler, 8), []) == list(range(22, 30))
    # The end of an epoch.
    assert take(feed, sampler, 2) == [[30, 31]]


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_a_batch_never_has_two_epochs(ahead: int) -> None:
    feed, sampler = make(4, ahead)
    sampler.add(Lot(0, range(0, 6)))
    sampler.add(Lot(1, range(10, 16)))
    assert take(feed, sampler, 6) == [[0, 1, 2, 3], [4, 5]]
    assert take(feed, sampler, 6) == [[10, 11, 12, 13], [14, 15]]


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_a_batch_never_lies_across_the_edge_of_a_step(ahead: int) -> None:
    feed, sampler = make(4, ahead)
    sampler.add(Lot(0, range(0, 40)))
    at = 0
    for samples in (6, 3, 1, 10, 7, 13):
        batches = take(feed, sampler, samples)
        assert sum(batches, []) == list(range(at, at + samples))
        assert all(len(batch) <= 4 for batch in batches)
        at += samples


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_what_is_dropped_never_comes(ahead: int) -> None:
    feed, sampler = make(4, ahead)
    sampler.add(Lot(0, range(0, 24)))
    sampler.begin_step(order(8), 100)
    assert feed.next()[0] == [1000, 1001, 1002, 1003]
    sampler.drop()  # In the middle of the step, which it leaves alone.
    assert feed.next()[0] == [1004, 1005, 1006, 1007]
    sampler.add(Lot(0, range(50, 62)))
    assert take(feed, sampler, 8) == [[50, 51, 52, 53], [54, 55, 56, 57]]


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_a_step_that_ends_early_leaves_its_rest(ahead: int) -> None:
    feed, sampler = make(4, ahead)
    sampler.add(Lot(0, range(0, 24)))
    sampler.begin_step(order(12), 100)
    assert feed.next()[0] == [1000, 1001, 1002, 1003]
    assert take(feed, sampler, 8) == [[12, 13, 14, 15], [16, 17, 18, 19]]


@pytest.mark.parametrize("seed", range(300))
def test_whatever_the_agent_does_a_step_gets_its_samples(seed: int) -> None:
    """Against a plain list of what is reserved, front first."""
    drawn = random.Random(seed)
    size = drawn.randint(1, 6)
    feed, sampler = make(size, drawn.randint(0, 5))
    reserved: List[Tuple[int, int]] = []  # Epoch and index.
    epoch, fresh = 0, 0

    def add() -> None:
        nonlocal epoch, fresh
        count = drawn.randint(1, 12)
        lot = [fresh + i for i in range(count)]
        fresh = (fresh + count) % 900
        sampler.add(Lot(epoch, lot))
        reserved.extend((epoch, index) for index in lot)
        epoch += drawn.random() < 0.3

    for _ in range(40):
        while drawn.random() < 0.6 or not reserved:
            add()
        in_epoch = sum(e == reserved[0][0] for e, _ in reserved)
        samples = drawn.randint(1, in_epoch)
        expected = [index for _, index in reserved[:samples]]
        del reserved[:samples]
        sampler.begin_step(order(samples), drawn.randint(1, 8))
        got: List[int] = []
        while sampler.position < sampler.step_end:
            batch, n = feed.next()
            assert 1 <= n == len(batch) <= size
            got += [value - 1000 for value in batch]
            chance = drawn.random()
            if chance < 0.1:
                sampler.drop()
                reserved.clear()
            elif chance < 0.2:
                add()
            elif chance < 0.3:
                break  # Refreshed or abandoned.
        assert got == expected[:len(got)]
        if drawn.random() < 0.5:
            feed.load_ahead()
        if drawn.random() < 0.1:
            sampler.drop()
            reserved.clear()


def test_the_next_batch_is_loaded_while_the_script_waits() -> None:
    feed, sampler = make(4, 0)
    loaded: List[List[int]] = []
    take_samples = Loader.__iter__

    def watched(self: Loader) -> Any:
        for batch in take_samples(self):
            loaded.append(batch)
            yield batch

    feed._loader = type("Watched", (Loader,), {"__iter__": watched})(sampler, 0)
    sampler.add(Lot(0, range(0, 12)))
    assert take(feed, sampler, 8) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    feed.load_ahead()
    feed.load_ahead()  # One, and no more.
    assert loaded[2:] == [[1008, 1009, 1010, 1011]]
    assert feed.ahead_ns >= 0 and feed.load_ns >= feed.ahead_ns
    assert take(feed, sampler, 4) == [[8, 9, 10, 11]]
    # Nothing is reserved: it is not waited for.
    feed.load_ahead()
    assert len(loaded) == 3 and feed.ahead_ns == 0


def test_nothing_of_a_step_that_ended_early_is_loaded_ahead() -> None:
    feed, sampler = make(4, 0)
    sampler.add(Lot(0, range(0, 24)))
    sampler.begin_step(order(12), 100)
    assert feed.next()[0] == [1000, 1001, 1002, 1003]
    feed.load_ahead()
    assert take(feed, sampler, 4) == [[12, 13, 14, 15]]


def test_a_step_may_wish_for_smaller_batches() -> None:
    feed, sampler = make(8, 0)
    sampler.add(Lot(0, range(0, 16)))
    assert [len(batch) for batch in take(feed, sampler, 8, 3)] == [3, 3, 2]


def test_a_step_beyond_its_lots_is_an_error() -> None:
    _, sampler = make(4, 0)
    sampler.add(Lot(0, range(0, 6)))
    with pytest.raises(ProgramError, match="7 samples and its lots have 6"):
        sampler.begin_step(order(7), 100)


def test_a_loader_that_does_not_follow_the_sampler_is_an_error() -> None:
    sampler = LotSampler(4)
    loader = Loader(LotSampler(4), 0)  # Another one's.
    sampler.add(Lot(0, range(0, 8)))
    sampler.begin_step(order(8), 100)
    with pytest.raises(ProgramError, match="batch_sampler=job.sampler"):
        Feed(loader, sampler, None).next()


class Array:
    """An array, as far as a feed looks at it."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


class Shaped(Loader):
    """Gives a batch of these shapes for each that is cut."""

    def __init__(self, sampler: LotSampler, shapes: List[Tuple[int, ...]]
                 ) -> None:
        super().__init__(sampler, 0)
        self._batch = [Array(*shape) for shape in shapes]

    def __iter__(self) -> Any:
        return (self._batch for _ in self._sampler)


COMPLETE: List[List[Tuple[int, ...]]] = [
    [(32, 3, 32, 32), (32,)],
    [(32, 20), (32, 20)],
    [(20, 32), (32,)],  # In time first, and labels.
    [(57, 4), (57,), (32,)],  # Boxes of all, and how many each has.
    [(2, 32, 8), (32,), ()],
    [()], [],  # Nothing says it.
]
INCOMPLETE: List[List[Tuple[int, ...]]] = [
    [(31, 3, 32, 32), (31,)],
    [(31, 3, 32, 32)],
    [(31, 32), (31, 32)],  # As many characters as there should be samples.
    [(32, 31), (31,)],  # As many points in time.
]


def feed_of(shapes: List[Tuple[int, ...]], count: Any = None) -> Feed:
    """A feed in front of a step of one batch of 32."""
    sampler = LotSampler(32)
    sampler.add(Lot(0, range(32)))
    sampler.begin_step(order(32), 100)
    return Feed(Shaped(sampler, shapes), sampler, count)


@pytest.mark.parametrize("shapes", COMPLETE, ids=str)
def test_a_batch_that_has_its_samples(shapes: Any) -> None:
    assert feed_of(shapes).next()[1] == 32
    stream = StreamFeed([[Array(*shape) for shape in shapes]], 32, None)
    stream.begin_step(order(32))
    assert stream.next()[1] == 32 and stream.left == 0


@pytest.mark.parametrize("shapes", INCOMPLETE, ids=str)
def test_a_batch_that_lacks_a_sample(shapes: Any) -> None:
    with pytest.raises(ProgramError, match="31 samples for 32 .* say count="):
        feed_of(shapes).next()
    # What count= says is believed.
    assert feed_of(shapes, lambda batch: 32).next()[1] == 32


@pytest.mark.parametrize("shapes", INCOMPLETE, ids=str)
def test_a_stream_leaves_a_smaller_batch_out(shapes: Any) -> None:
    small = [Array(*shape) for shape in shapes]
    whole = [Array(32)]
    feed = StreamFeed([whole, small], 32, None)
    feed.begin_step(order(96))
    assert [feed.next()[0] for _ in range(3)] == [whole] * 3
    feed = StreamFeed([small], 32, None)
    with pytest.raises(ProgramError, match="no batch of 32 .* say count="):
        feed.next()
    assert StreamFeed([small], 32, lambda batch: None).next()[1] == 32


def test_a_stream_s_step_is_whole_batches() -> None:
    with pytest.raises(ProgramError, match="12 samples .* batches 8: let"):
        StreamFeed([], 8, None).begin_step(order(12))


def test_sizes_are_found_in_containers() -> None:
    batch = {"x": Array(4, 3), "y": [Array(4), (Array(), "text")]}
    assert sizes_of(batch) == [(4, 3), (4,)]
    assert sizes_of(["a", "b"]) == []

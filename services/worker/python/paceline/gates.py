"""Lets a forward pass begin while weights are still on their way.

Weights come in the order of the modules, which is about that of a forward
pass. So each module waits for its own weights alone, just before it is called
("crossing the global barrier", Peng et al., "A Generic Communication
Scheduler for Distributed DNN Training Acceleration", SOSP 2019, section 4).
"""

from __future__ import annotations

from typing import (Any, Callable, Dict, Iterable, Iterator, List, Optional,
                    Sequence, Set, Tuple)

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from .tensors import Entry

# Less comes in one piece, or nearly.
LEAST_BYTES = 128 << 10


class Gates:
    """Hooks by which modules wait for weights. Not thread-safe.

    Not each module that has weights is called: others read those of a
    MultiheadAttention's `out_proj`, or of a whole model for a penalty. So all
    weights are awaited for the first batch, which shows what is read before
    its module is called, or never. That is awaited ahead of each later step.

    wait: makes the weights of these entries the model's. It may return
    without them if the step is over, so that nothing of it counts.
    """

    def __init__(self, model: nn.Module, entries: Sequence[Entry],
                 wait: Callable[[Sequence[int]], Any]) -> None:
        self._wait = wait
        self._gated: Set[int] = set()
        self._reads: Optional[_Reads] = None
        self.settled = False
        self.first: List[int] = list(range(len(entries)))
        self._places = {id(entry.tensor): i for i, entry in enumerate(entries)
                        if isinstance(entry.tensor, nn.Parameter)}
        # A script may replace a buffer of its own.
        buffers = {(id(entry.owner), entry.key): i
                   for i, entry in enumerate(entries)
                   if id(entry.tensor) not in self._places}
        self._handles = []
        for module in model.modules():
            tensors = [self._places[id(parameter)]
                       for parameter in module._parameters.values()
                       if id(parameter) in self._places]
            tensors += [buffers[id(module), key] for key in module._buffers
                        if (id(module), key) in buffers]
            if tensors:
                self._handles.append(self._put(module, tensors))

    def watch(self) -> None:
        """The first batch is about to be computed, with all weights."""
        self._reads = _Reads(self._places, self._gated)
        self._reads.__enter__()

    def settle(self) -> None:
        """It has been: says what has to be awaited ahead from now on."""
        if self._reads is None:
            return
        self.settled = True
        self._reads.__exit__(None, None, None)
        ungated = self._reads.before
        self._reads = None
        self.first = [i for i in self.first
                      if i in ungated or i not in self._gated]

    def remove(self) -> None:
        """Takes the hooks away."""
        self.settle()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _put(self, module: nn.Module, tensors: List[int]) -> Any:
        handle = module.register_forward_pre_hook(_Gate(self, tensors))
        # Others, such as spectral_norm's, read weights and write buffers.
        module._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def _reached(self, tensors: List[int]) -> None:
        """A module that has these is about to be called."""
        if self._reads is not None:
            self._gated.update(tensors)
        else:
            self._wait(tensors)


class _Gate:
    """The hook of one module. A copy of the module has none."""

    def __init__(self, gates: Gates, tensors: List[int]) -> None:
        self._gates = gates
        self._tensors = tensors

    def __call__(self, *_: Any) -> None:
        self._gates._reached(self._tensors)

    def __reduce__(self) -> Any:
        return _Open, ()


class _Open:
    """Waits for nothing."""

    def __call__(self, *_: Any) -> None:
        pass


class _Reads(TorchFunctionMode):
    """Sees which parameters are used before their modules are called."""

    def __init__(self, places: Dict[int, int], gated: Set[int]) -> None:
        super().__init__()
        self._places = places
        self._gated = gated
        self.before: Set[int] = set()

    def __torch_function__(self, func: Any, types: Any,
                           args: Tuple[Any, ...] = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        for tensor in _tensors((*args, *kwargs.values())):
            place = self._places.get(id(tensor))
            if place is not None and place not in self._gated:
                self.before.add(place)
        return func(*args, **kwargs)


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)

"""Which arrays of a model go to the parameter servers, and as what."""

from __future__ import annotations

import dataclasses
import fnmatch
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Optional,
                    Sequence, Set, Tuple, Union)

import torch
from torch import nn

from .errors import few, invalid

TRAINED = "trained"
STATISTIC = "statistic"
AVERAGED = "averaged"
FROZEN = "frozen"

# Names (with * and ?, as fnmatch has them), parameters, modules, or what says
# of a name whether it is meant.
Selection = Union[Iterable[Union[str, torch.Tensor, nn.Module]],
                  Callable[[str], bool]]

_Norms = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm,
          nn.LocalResponseNorm)


@dataclasses.dataclass
class Entry:
    """One tensor that the servers keep."""

    name: str  # As in state_dict().
    kind: str
    owner: nn.Module
    key: str  # Of the owner's parameter or buffer.
    rate_factor: float = 1.0
    weight_decay: Optional[float] = None  # None: the optimizer's.
    momentum: float = 0.1  # Of a statistic, torch's.

    @property
    def tensor(self) -> torch.Tensor:
        """The parameter or the buffer, of any float type."""
        parameter = self.owner._parameters.get(self.key)
        if parameter is not None:
            return parameter
        buffer = self.owner._buffers[self.key]
        assert buffer is not None
        return buffer

    @property
    def counter(self) -> Optional[torch.Tensor]:
        """Of a statistic: how often it was updated, one integer."""
        return self.owner._buffers.get("num_batches_tracked")

    def describe(self) -> Dict[str, Any]:
        """Returns what `attach` says of it."""
        fields: Dict[str, Any] = {"name": self.name,
                                  "shape": list(self.tensor.shape),
                                  "kind": self.kind}
        if self.rate_factor != 1:
            fields["rate_factor"] = self.rate_factor
        if self.weight_decay is not None:
            fields["weight_decay"] = self.weight_decay
        if self.kind == STATISTIC:
            fields["momentum"] = self.momentum
        return fields


def list_entries(model: nn.Module, exclude: Selection = (),
                 buffers: str = "average") -> List[Entry]:
    """Returns the model's tensors in the order of its modules.

    A tensor that is used twice comes once, under its first name. `buffers`
    says what becomes of float buffers that are no statistics of a batch
    normalization: "average" or "local".
    """
    if buffers not in ("average", "local"):
        raise invalid(f'buffers is "{buffers}"; use "average" or "local"')
    _refuse_wrapped(model)
    left_out = select(model, exclude)
    entries: List[Entry] = []
    seen: Set[int] = set()
    for prefix, module in model.named_modules():
        for name, tensor, buffer in _of(module):
            full = f"{prefix}.{name}" if prefix else name
            if id(tensor) in seen:
                continue
            seen.add(id(tensor))
            if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
                raise invalid(f'"{full}" has no shape yet: run one batch '
                              "through the model before attach")
            if tensor.numel() == 0:
                continue
            if full in left_out:
                if tensor.requires_grad:
                    raise invalid(
                        f'"{full}" is excluded and requires a gradient, which '
                        "nobody would apply: set requires_grad=False")
                continue
            entry = (_buffer_entry(full, name, tensor, module, buffers)
                     if buffer else
                     _parameter_entry(full, name, tensor, module))
            if entry is not None:
                entries.append(entry)
    if not any(entry.kind == TRAINED for entry in entries):
        raise invalid("the model has no parameter that requires a gradient")
    return entries


def refuse_halves(entries: Sequence[Entry]) -> None:
    """Raises if a gradient would be float16, too small to be unscaled."""
    halves = [entry.name for entry in entries
              if entry.kind == TRAINED and entry.tensor.dtype == torch.float16]
    if halves:
        raise invalid(f"parameters are float16: {few(halves)}; amp="
                      "torch.float16 is for a model of float32 in "
                      "torch.autocast")


def _of(module: nn.Module) -> Iterator[Tuple[str, torch.Tensor, bool]]:
    """Yields name, tensor and whether it is a buffer."""
    for name, parameter in module._parameters.items():
        if parameter is not None:
            yield name, parameter, False
    transient: Set[str] = getattr(module, "_non_persistent_buffers_set", set())
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in transient:
            yield name, buffer, True


def _parameter_entry(full: str, name: str, tensor: torch.Tensor,
                     module: nn.Module) -> Entry:
    if tensor.device.type == "meta":
        raise invalid(f'"{full}" is on the device meta: give it values '
                      "before attach")
    if not tensor.is_floating_point():
        if tensor.requires_grad:
            raise invalid(f'"{full}" is {tensor.dtype}; servers keep real '
                          "numbers")
        raise invalid(f'"{full}" is a parameter of {tensor.dtype}: make it a '
                      "buffer, or leave it off with exclude=")
    if tensor.requires_grad and getattr(module, "sparse", False) is True:
        raise invalid(f'sparse gradient of "{full}": make the '
                      f"{type(module).__name__} with sparse=False")
    return Entry(full, TRAINED if tensor.requires_grad else FROZEN, module,
                 name)


def _buffer_entry(full: str, name: str, tensor: torch.Tensor,
                  module: nn.Module, buffers: str) -> Optional[Entry]:
    statistic = (isinstance(module, nn.modules.batchnorm._BatchNorm)
                 and name in ("running_mean", "running_var"))
    if statistic:
        momentum = module.momentum
        if momentum is None:
            raise invalid(f'"{full}": momentum=None is an average over all '
                          "batches, which servers do not have; give the "
                          f"{type(module).__name__} a momentum, such as 0.1")
        if momentum == 0:  # It never changes.
            return Entry(full, FROZEN, module, name)
        return Entry(full, STATISTIC, module, name,
                     momentum=float(momentum))
    if not tensor.is_floating_point() or buffers == "local":
        return None
    return Entry(full, AVERAGED, module, name)


def select(model: nn.Module, selection: Selection) -> Set[str]:
    """Returns the names of the tensors that `selection` means."""
    names = {id(tensor): name for name, tensor in _named(model)}
    all_names = [name for name, _ in _named(model)]
    if callable(selection):
        return {name for name in all_names if selection(name)}
    if isinstance(selection, (str, torch.Tensor, nn.Module)):
        selection = [selection]
    chosen: Set[str] = set()
    for item in selection:
        if isinstance(item, str):
            found = {name for name in all_names
                     if fnmatch.fnmatchcase(name, item)
                     or name.startswith(item + ".")}
            if not found:
                raise invalid(f'the model has nothing named "{item}"; it has '
                              + few(all_names))
            chosen |= found
            continue
        tensors = ([item] if isinstance(item, torch.Tensor) else
                   [tensor for _, tensor in _named(item)])
        for tensor in tensors:
            if id(tensor) not in names:
                raise invalid("a tensor that was named in exclude= or "
                              "no_decay= is not of this model")
            chosen.add(names[id(tensor)])
    return chosen


def _named(model: nn.Module) -> Iterator[Tuple[str, torch.Tensor]]:
    seen: Set[int] = set()
    for prefix, module in model.named_modules():
        for name, tensor, _ in _of(module):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield (f"{prefix}.{name}" if prefix else name), tensor


def norms_and_biases(model: nn.Module) -> List[str]:
    """Returns the names of what usually has no weight decay.

    These are all parameters of normalizations, and all with one dimension.
    """
    chosen = []
    seen: Set[int] = set()
    for prefix, module in model.named_modules():
        # Norms of one's own, as RMSNorm, are known by their name.
        norm = (isinstance(module, _Norms)
                or type(module).__name__.endswith("Norm"))
        for name, parameter in module._parameters.items():
            if parameter is None or id(parameter) in seen:
                continue
            seen.add(id(parameter))
            if norm or parameter.dim() <= 1:
                chosen.append(f"{prefix}.{name}" if prefix else name)
    return chosen


def _refuse_wrapped(model: nn.Module) -> None:
    for module in model.modules():
        name = type(module).__name__
        if name in ("DataParallel", "DistributedDataParallel",
                    "FullyShardedDataParallel"):
            raise invalid(f"the model is wrapped in {name}: attach the bare "
                          "model, paceline does what the wrapper does")
    if any(type(parameter).__name__ == "DTensor"
           or hasattr(parameter, "device_mesh")
           for parameter in model.parameters()):
        raise invalid("the model's parameters are sharded (DTensor): each "
                      "program needs the whole model")


class Structure:
    """Sees that a model got or lost parameters or modules. It is cheap."""

    def __init__(self, model: nn.Module) -> None:
        self._tables = [table for module in model.modules()
                        for table in (module._parameters, module._modules)]
        self._sizes = [len(table) for table in self._tables]

    def changed(self) -> bool:
        return [len(table) for table in self._tables] != self._sizes

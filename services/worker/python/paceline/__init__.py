"""paceline: data-parallel training on many unequal machines, from Python.

`paceline.torch` makes a torch script a worker of a job. `Client` creates and
watches jobs; `load_checkpoint` and `save_initial` read and write weights. These
are loaded when they are first used, so that a script that trains needs neither
gRPC nor Protobuf, and one that only watches no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from .errors import ProgramError
from .program import arguments

if TYPE_CHECKING:
    from .api_errors import ApiError
    from .checkpoint import CheckpointError, load_checkpoint, save_initial
    from .client import Client

__all__ = ["ApiError", "CheckpointError", "Client", "ProgramError",
           "arguments", "load_checkpoint", "save_initial"]

ProgramError.__module__ = "paceline"  # Where people know it from.

_LATER = {"ApiError": "api_errors", "CheckpointError": "checkpoint",
          "Client": "client", "load_checkpoint": "checkpoint",
          "save_initial": "checkpoint"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'paceline' has no attribute '{name}'")
    import importlib

    module = importlib.import_module(f".{_LATER[name]}", __name__)
    return getattr(module, name)


def __dir__() -> List[str]:
    return sorted(__all__)

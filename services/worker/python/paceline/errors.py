"""What a user is told when training cannot go on."""

from __future__ import annotations

import sys


class ProgramError(RuntimeError):
    """One sentence that says what is wrong and what to do.

    `code` is one of gRPC's names ("INVALID_ARGUMENT", ...), which the agent
    passes on to the coordinator.
    """

    def __init__(self, message: str,
                 code: str = "FAILED_PRECONDITION") -> None:
        super().__init__(message)
        self.code = code


def invalid(message: str) -> ProgramError:
    """Returns the error of something that the script says."""
    return ProgramError(message, "INVALID_ARGUMENT")


def code_of(error: BaseException) -> str:
    """Returns the code under which `error` is reported to the agent."""
    if isinstance(error, ProgramError):
        return error.code
    if isinstance(error, KeyboardInterrupt):
        return "CANCELLED"
    if isinstance(error, MemoryError):
        return "RESOURCE_EXHAUSTED"
    # Of torch, which has no class for it before 1.13 and several after.
    if isinstance(error, RuntimeError) and "out of memory" in str(error):
        return "RESOURCE_EXHAUSTED"
    return "INTERNAL"


def say(text: str) -> None:
    """Writes a line to stderr, where the agent's log and people see it."""
    print(f"paceline: {text}", file=sys.stderr, flush=True)


def few(names: "list[str]", most: int = 5) -> str:
    """Returns the first of `names` as text, and that there are more."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, ..."

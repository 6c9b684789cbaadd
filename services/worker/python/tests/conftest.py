"""What all tests of the package share."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
from typing import Any, Callable, ContextManager, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import pytest  # noqa: E402

try:
    import torch
except ImportError:
    # Only what needs no torch is collected; run_pytest.py says so.
    collect_ignore_glob = ["test_torch_*"]
else:
    torch.set_num_threads(1)


@pytest.fixture
def agent(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
          ) -> Callable[..., ContextManager[Any]]:
    """Starts an agent that this process connects to: agent(samples=...)."""
    from fake_agent import FakeAgent, Plan
    from paceline import program

    @contextlib.contextmanager
    def start(**fields: Any) -> Iterator[FakeAgent]:
        with FakeAgent(tmp_path, Plan(**fields)) as playing:
            monkeypatch.setenv("PACELINE_PROGRAM", playing.path)
            try:
                yield playing
            finally:
                current, program._current = program._current, None
                if current is not None:
                    current.close()
        os.unlink(playing.path)

    return start


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent."""
    monkeypatch.delenv("PACELINE_PROGRAM", raising=False)
    monkeypatch.delenv("PACELINE_ARGUMENTS", raising=False)

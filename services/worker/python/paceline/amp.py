"""The scale of fp16 losses, constant within a step."""

from __future__ import annotations

import math
from typing import Iterable, List

import torch

_FIRST = 2.0 ** 16
_MOST = 2.0 ** 24
_GROWTH_STEPS = 2000
# Until the first step without one, an overflow divides by this: a job takes a
# worker for broken whose pushes are not finite time and again.
_SEARCH = 2.0 ** 6


class LossScale:
    """Keeps fp16 gradients away from zero and from infinity.

    Halved after a step whose gradients overflowed, doubled after 2,000 steps
    without one, as torch's GradScaler does. It is found faster: before the
    first usable step an overflow makes it 64 times smaller.
    """

    def __init__(self) -> None:
        self.value = _FIRST
        self._found = False
        self._steps = 0

    def update(self, finite: bool) -> None:
        """A step ended."""
        if not finite:
            self.value = max(self.value / (2 if self._found else _SEARCH), 1.0)
            self._steps = 0
            return
        self._found = True
        self._steps += 1
        if self._steps == _GROWTH_STEPS:
            self.value = min(self.value * 2, _MOST)
            self._steps = 0


def norm_of(gradients: Iterable[torch.Tensor]) -> float:
    """Returns the Euclidean norm of all gradients together."""
    norms: List[torch.Tensor] = [gradient.detach().float().norm()
                                 for gradient in gradients]
    return float(torch.stack(norms).norm()) if norms else 0.0


def clip_factor(norm: float, most: float) -> float:
    """Returns what brings `norm` down to `most`, as torch's clip_grad_norm_."""
    return min(1.0, most / (norm + 1e-6))


def all_finite(gradients: Iterable[torch.Tensor]) -> bool:
    """Whether no gradient has an infinity or a NaN."""
    # A sum of magnitudes is finite only if each of them is; in double, so
    # that it does not overflow by itself.
    return all(math.isfinite(float(gradient.detach().abs().sum(
        dtype=torch.float64))) for gradient in gradients)

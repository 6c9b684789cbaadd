"""What stands in for an optimizer in a loop that somebody else wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .errors import ProgramError

if TYPE_CHECKING:
    from .job import Job


class DropIn(torch.optim.Optimizer):
    """Looks like an optimizer; its step() hands gradients to the job."""

    def __init__(self, job: Job, optimizer: torch.optim.Optimizer) -> None:
        super().__init__(optimizer.param_groups, optimizer.defaults)
        self._job = job

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        job = self._job
        if job._step is None:
            raise ProgramError("step() outside of a step: call it in the loop "
                               "over job.batches or job.steps")
        noted, job._noted_loss = job._noted_loss, None
        job._step._take_by_hand(float(loss) if loss is not None else noted)
        return loss

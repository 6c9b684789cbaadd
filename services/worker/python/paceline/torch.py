"""Trains a torch model as a worker of a paceline job.

    import paceline.torch as pl

    job = pl.attach(model, optimizer=torch.optim.SGD(model.parameters(),
                                                     lr=0.1, momentum=0.9))
    for x, y in job.batches(data, batch_size=64, num_workers=4):
        loss = F.cross_entropy(model(x), y)
        job.backward(loss)

A *step* is what the coordinator grants at once: some samples, computed in
micro-batches, whose mean gradient goes to the parameter servers. What each
case means is in docs/own-models.md.
"""

from __future__ import annotations

from typing import Optional, Sequence, Union

import torch
from torch import nn

from .drop_in import DropIn
from .errors import ProgramError, invalid
from .job import Agent, Job, Options
from .optimizers import refuse_scheduler
from .program import arguments, connect
from .standalone import Alone, AloneProgram
from .step import Step
from .tensors import (Selection, list_entries, norms_and_biases,
                      refuse_halves)

__all__ = ["Alone", "DropIn", "Job", "ProgramError", "Step", "arguments",
           "attach", "norms_and_biases"]


def attach(model: nn.Module,
           optimizer: Union[torch.optim.Optimizer, str, None] = None, *,
           local: Optional[torch.optim.Optimizer] = None,
           push_every: Optional[int] = None,
           no_decay: Selection = (),
           exclude: Selection = (),
           buffers: str = "average",
           amp: Optional[torch.dtype] = None,
           overlap_overflow: bool = False,
           overlap: bool = True,
           clip_norm: Optional[float] = None,
           metrics: Optional[Sequence[str]] = None,
           alone: Optional[Alone] = None) -> "Job":
    """Makes `model` the one that this process trains for a job.

    Call it last, when the model is where it stays. It connects to the agent at
    PACELINE_PROGRAM and waits for a job, which can take hours; without
    PACELINE_PROGRAM the script trains alone, as `alone` says.

    optimizer: torch's SGD, Adam or AdamW, whose groups may differ in lr and
      weight_decay, or a job's words ("adamw:weight_decay=0.05"). It names what
      the parameter servers do; None: whatever the job says. Its lr counts
      alone only.
    local: any torch optimizer, which moves the weights after every
      micro-batch; what leaves is how far they moved in a step.
    push_every: with `local`: so many micro-batches make a full step; checked.
    no_decay: tensors without weight decay, as norms_and_biases(model).
    exclude: tensors that never leave this process: names (with * and ?), the
      names of modules, parameters, modules, or a predicate of a name.
    buffers: "average" (float buffers are averaged over workers) or "local".
    amp: torch.float16 scales the loss; torch.bfloat16 needs nothing.
    overlap_overflow: with float16: gradients leave during the backward pass,
      and the servers refuse what overflowed.
    overlap: False: all weights are there before a step begins, and gradients
      leave after the backward pass only.
    clip_norm: the most that this worker's gradient may have as its norm. All
      of it must be there first, so nothing leaves during the backward pass.
    metrics: names that the evaluator may give beside accuracy and loss; None:
      any.
    """
    refuse_scheduler(optimizer)
    refuse_scheduler(local)
    if local is not None and optimizer is not None:
        raise invalid("optimizer= and local= exclude each other: with local= "
                      "the job names the servers' optimizer")
    if local is None and push_every is not None:
        raise invalid("push_every= needs local=, the optimizer that makes "
                      "the steps in between")
    if push_every is not None and push_every < 1:
        raise invalid(f"push_every is {push_every}; it must be at least 1")
    if amp not in (None, torch.float16, torch.bfloat16):
        raise invalid(f"amp is {amp}; use torch.float16 or torch.bfloat16")
    if clip_norm is not None and not clip_norm > 0:
        raise invalid(f"clip_norm is {clip_norm}; it must be above 0")
    entries = list_entries(model, exclude, buffers)
    if amp is torch.float16:
        refuse_halves(entries)
    job = Job(model, entries, _connected(alone), Options(
        push_every=push_every, amp=amp, overlap_overflow=overlap_overflow,
        overlap=overlap, clip_norm=clip_norm, metrics=metrics))
    if local is not None:
        job.use_local(local)
    else:
        job.use_optimizer(optimizer, no_decay)
    return job


def _connected(alone: Optional[Alone]) -> Agent:
    program = connect()
    return AloneProgram(alone or Alone()) if program is None else program

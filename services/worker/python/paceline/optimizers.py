"""What a torch optimizer comes to in the words of a job.

The parameter servers have SGD, Adam and AdamW. Groups may differ by their
learning rate and their weight decay, which become settings of their tensors.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch

from .errors import ProgramError, few, invalid

_KEYS = {
    "sgd": ("momentum", "weight_decay", "nesterov", "no_decay"),
    "adam": ("weight_decay", "beta1", "beta2", "epsilon", "no_decay"),
    "adamw": ("weight_decay", "beta1", "beta2", "epsilon", "no_decay"),
}

# The words of what is no number: that for True, and that for False.
_CHOICES = {"nesterov": ("true", "false"),
            "no_decay": ("norms_and_biases", "none")}


@dataclasses.dataclass(frozen=True)
class OptimizerSpec:
    """An optimizer and its constants but the rate, as "sgd:momentum=0.9"."""

    kind: str = "sgd"  # "sgd", "adam" or "adamw".
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    # Tensors of fewer than two dimensions, which are norms and biases, have no
    # weight decay.
    no_decay: bool = False

    @staticmethod
    def parse(text: str) -> "OptimizerSpec":
        """Reads the words of a job's file."""
        kind, _, rest = text.strip().partition(":")
        if kind not in _KEYS:
            raise invalid(f'unknown optimizer "{kind}"; use sgd, adam or '
                          "adamw")
        fields: Dict[str, Any] = {}
        for part in filter(None, rest.split(",")):
            key, _, value = part.partition("=")
            if key not in _KEYS[kind]:
                raise invalid(f'optimizer {kind} has no "{key}"; it has '
                              + ", ".join(_KEYS[kind]))
            if key in _CHOICES:
                if value not in _CHOICES[key]:
                    raise invalid(f"optimizer: {key} must be "
                                  + " or ".join(_CHOICES[key]))
                fields[key] = value == _CHOICES[key][0]
                continue
            try:
                fields[key] = float(value)
            except ValueError:
                raise invalid(f'optimizer: {key} must be a number, not '
                              f'"{value}"') from None
        return OptimizerSpec(kind, **fields)

    def __str__(self) -> str:
        plain = OptimizerSpec(self.kind)
        fields = []
        for key in _KEYS[self.kind]:
            value = getattr(self, key)
            if value != getattr(plain, key):
                text = _CHOICES[key][0] if value is True else repr(value)
                fields.append(f"{key}={text}")
        return f"{self.kind}:{','.join(fields)}" if fields else self.kind

    def decay_of(self, dimensions: int, own: Optional[float]) -> float:
        """Returns the weight decay of a tensor, which may have its own."""
        if own is not None:
            return own
        return 0.0 if self.no_decay and dimensions < 2 else self.weight_decay

    def agrees(self, job: "OptimizerSpec",
               decays: Iterable[Tuple[int, Optional[float]]]) -> bool:
        """Whether a script with this does what the job says.

        decays: of each trained tensor its dimensions and its own weight decay,
          if it has one. Servers take a tensor's own decay, which may refine
          the job's weight_decay. A tensor without one must have the same by
          the script and by the job.
        """
        if _without_decay(self) != _without_decay(job):
            return False
        refined = self.weight_decay == job.weight_decay
        return all(
            (refined and own is not None)
            or self.decay_of(dimensions, own) == job.decay_of(dimensions, None)
            for dimensions, own in decays)

    def build(self, groups: List[Dict[str, Any]],
              rate: Optional[float]) -> torch.optim.Optimizer:
        """Returns torch's optimizer of the same arithmetic."""
        options: Dict[str, Any] = {"weight_decay": self.weight_decay}
        if rate is not None:
            options["lr"] = rate
        if self.kind == "sgd":
            options.setdefault("lr", 0.01)
            return torch.optim.SGD(groups, momentum=self.momentum,
                                   nesterov=self.nesterov, **options)
        options.update(betas=(self.beta1, self.beta2), eps=self.epsilon)
        if self.kind == "adam":
            return torch.optim.Adam(groups, **options)
        return torch.optim.AdamW(groups, **options)


def _without_decay(spec: OptimizerSpec) -> OptimizerSpec:
    return dataclasses.replace(spec, weight_decay=0.0, no_decay=False)


@dataclasses.dataclass
class Settings:
    """What one tensor has of its own; None: what the optimizer has."""

    rate_factor: float = 1.0  # Of the learning rate.
    weight_decay: Optional[float] = None


@dataclasses.dataclass
class Translation:
    """A torch optimizer in the servers' words."""

    spec: OptimizerSpec
    rate: float  # The optimizer's own; under an agent the job's counts.
    settings: Dict[int, Settings]  # By id of the parameter.


def translate(optimizer: torch.optim.Optimizer) -> Translation:
    """Returns what `optimizer` comes to.

    INVALID_ARGUMENT, naming `local=`, if the servers have nothing like it.
    """
    kind = type(optimizer)
    defaults = optimizer.defaults
    if kind is torch.optim.SGD:
        _refuse(optimizer, ("dampening", "maximize"))
        spec = OptimizerSpec("sgd", float(defaults["momentum"]),
                             bool(defaults["nesterov"]),
                             float(defaults["weight_decay"]))
        same: Tuple[str, ...] = ("momentum", "nesterov")
    elif kind in (torch.optim.Adam, torch.optim.AdamW):
        _refuse(optimizer, ("amsgrad", "maximize"))
        decoupled = (kind is torch.optim.AdamW
                     or defaults.get("decoupled_weight_decay", False))
        beta1, beta2 = defaults["betas"]
        spec = OptimizerSpec("adamw" if decoupled else "adam",
                             weight_decay=float(defaults["weight_decay"]),
                             beta1=float(beta1), beta2=float(beta2),
                             epsilon=float(defaults["eps"]))
        same = ("betas", "eps")
    else:
        raise invalid(f"optimizer {kind.__name__}: servers have sgd, adam, "
                      "adamw; use local=")
    # torch has a mark where SGD was given no rate but those of its groups.
    rate = float(defaults["lr"] if isinstance(defaults["lr"], (int, float))
                 else optimizer.param_groups[0]["lr"])
    settings: Dict[int, Settings] = {}
    for group in optimizer.param_groups:
        if "initial_lr" in group:
            raise scheduler_error()
        for key in same:
            if group[key] != defaults[key]:
                raise invalid(f"the optimizer's groups differ in {key}; "
                              "servers have lr and weight_decay for each "
                              "tensor; use local=")
        for parameter in group["params"]:
            settings[id(parameter)] = _settings(group, rate, spec)
    return Translation(spec, rate, settings)


def _settings(group: Dict[str, Any], rate: float,
              spec: OptimizerSpec) -> Settings:
    own = float(group["lr"])
    if own != rate and rate <= 0:
        raise invalid("the optimizer's lr is 0, so that those of its groups "
                      "are no multiples of it")
    factor = 1.0 if own == rate else own / rate
    decay = float(group["weight_decay"])
    return Settings(factor, None if decay == spec.weight_decay else decay)


def _refuse(optimizer: torch.optim.Optimizer, names: Iterable[str]) -> None:
    for group in optimizer.param_groups:
        for name in names:
            if group.get(name, False):
                raise invalid(f"optimizer {type(optimizer).__name__} with "
                              f"{name}: servers do not have it; use local=")


def scheduler_error() -> ProgramError:
    """Returns the error of an optimizer whose rate something else sets."""
    return invalid("the optimizer has a learning rate scheduler, and the rate "
                   "is the job's: remove the scheduler and write schedule: in "
                   "the job (or --schedule)")


class Rates:
    """Sees that a script sets the rates of its optimizer. It is cheap."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._groups = [(group, group["lr"])
                        for group in optimizer.param_groups]

    def trouble(self) -> Optional[ProgramError]:
        """Returns what there is to say of it, if they were set."""
        for group, rate in self._groups:
            if "initial_lr" in group:
                return scheduler_error()
            if group["lr"] != rate:
                return invalid("the script has set the optimizer's lr, and "
                               "the rate is the job's: write schedule: in the "
                               "job (or --schedule)")
        return None


def refuse_scheduler(candidate: Any) -> None:
    """Raises if `candidate` is a scheduler of torch's."""
    module = type(candidate).__module__
    if module.startswith("torch.optim.lr_scheduler"):
        raise invalid(f"{type(candidate).__name__}: the learning rate is the "
                      "job's; write schedule: in the job (or --schedule) "
                      "instead of a scheduler")


def check_covered(settings: Dict[int, Settings],
                  trained: List[Tuple[str, torch.Tensor]]) -> None:
    """Raises unless the optimizer has all of the trained parameters."""
    left_out = [name for name, parameter in trained
                if id(parameter) not in settings]
    if left_out:
        raise invalid(f"{len(left_out)} parameters want a gradient and the "
                      f"optimizer does not have them: {few(left_out)}; add "
                      "them, or set requires_grad=False")


def check_no_strangers(optimizer: torch.optim.Optimizer,
                       trained: List[torch.Tensor]) -> None:
    """Raises if the optimizer has parameters that the servers would not."""
    known = {id(parameter) for parameter in trained}
    strangers = sum(parameter.requires_grad and id(parameter) not in known
                    for group in optimizer.param_groups
                    for parameter in group["params"])
    if strangers:
        raise invalid(f"the optimizer has {strangers} parameters that the "
                      "attached model has not: put what has them (a loss "
                      "with weights?) and the model into one nn.Module, and "
                      "attach that")


def check_same(job: str, mine: OptimizerSpec,
               decays: Iterable[Tuple[int, Optional[float]]]) -> None:
    """Raises if the job names another optimizer than the script.

    decays: as in OptimizerSpec.agrees().
    """
    if job and not mine.agrees(OptimizerSpec.parse(job), decays):
        raise invalid(f'the job\'s optimizer is "{job}" and the script\'s '
                      f'comes to "{mine}": write optimizer: "{mine}" in the '
                      "job (or --optimizer), or change the script")

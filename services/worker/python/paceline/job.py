"""A job that this process works for: its optimizer, its data, its steps."""

from __future__ import annotations

import math
import types
from typing import (Any, Callable, Dict, Iterator, List, Mapping, Optional,
                    Sequence, Union)

import torch
from torch import nn

from . import data as feeding
from .amp import LossScale
from .data import Count, Feed, LotSampler, StreamFeed, WorkerSeeds
from .drop_in import DropIn
from .errors import ProgramError, invalid, say
from .exchange import ArenaExchange, Exchange
from .gates import LEAST_BYTES, Gates
from .optimizers import (OptimizerSpec, Rates, Settings, check_covered,
                         check_no_strangers, check_same, translate)
from .program import (Abandon, Drop, Evaluate, JobInfo, Lot, Message, Program,
                      Refresh, StepOrder, Stop, Weights)
from .standalone import AloneExchange, AloneProgram
from .step import Step
from .tensors import FROZEN, TRAINED, Entry, Selection, Structure, select

Evaluator = Callable[[nn.Module, Optional[int]], Mapping[str, float]]
Agent = Union[Program, AloneProgram]


class Options:
    """What attach() was told."""

    def __init__(self, push_every: Optional[int], amp: Optional[torch.dtype],
                 overlap_overflow: bool, overlap: bool,
                 clip_norm: Optional[float],
                 metrics: Optional[Sequence[str]]) -> None:
        self.push_every = push_every
        self.overlap_overflow = overlap_overflow
        self.overlap = overlap
        self.clip_norm = clip_norm
        self.metrics = metrics
        self.scaled = amp is torch.float16


class Job:
    """A job that this process works for. Not thread-safe.

    Attributes, of which all but the first line change with each step:
      name, worker, role, arguments, seed: what the agent said;
      epoch: of the step's samples; samples: trained by all workers so far;
      rate: the learning rate; version: of the weights; stopped: why the job
      needs this program no more, or None.
    """

    def __init__(self, model: nn.Module, entries: List[Entry], program: Agent,
                 options: Options) -> None:
        info = program.job
        assert info is not None
        self.model = model
        self.name = info.name
        self.worker = info.worker
        self.role = info.role
        self.arguments: Dict[str, str] = dict(info.arguments)
        self.seed = info.seed
        self.epoch = 0
        self.samples = 0
        self.rate = info.learning_rate
        self.version = 0
        self.stopped: Optional[str] = None
        self._entries = entries
        self._program = program
        self._options = options
        self._structure = Structure(model)
        self._exchange: Exchange = (
            ArenaExchange(entries, program, info.wire)
            if isinstance(program, Program) else AloneExchange(entries, None))
        self._gates: Optional[Gates] = None
        self._scale = LossScale() if options.scaled else None
        self._local: Optional[torch.optim.Optimizer] = None
        self._spec: Optional[OptimizerSpec] = None
        self._own_rate: Optional[float] = None
        self._rates: Optional[Rates] = None
        self._told_rates = False
        self._refused: List[torch.optim.Optimizer] = []
        self._by_hand = False
        self._noted_loss: Optional[float] = None
        self._evaluate: Optional[Evaluator] = None
        self._test_samples: Optional[int] = None
        self._sampler: Optional[LotSampler] = None
        self._feed: Union[Feed, StreamFeed, None] = None
        self._step: Optional[Step] = None
        self._steps = 0
        self._trouble: Optional[ProgramError] = None  # Of the next step.
        self._begun = False

    # What a script calls.

    @property
    def device(self) -> torch.device:
        """Where the model's first parameter is."""
        return self._entries[0].tensor.device

    @property
    def alone(self) -> bool:
        """Whether there is no agent."""
        return isinstance(self._program, AloneProgram)

    @property
    def worker_init_fn(self) -> WorkerSeeds:
        """For a DataLoader: seeds each sample by (seed, epoch, index)."""
        return WorkerSeeds(self.seed)

    def sampler(self, batch_size: int) -> LotSampler:
        """Returns the batch_sampler of one's own DataLoader.

        `batch_size`: samples of a batch, at most; the job's micro_batch may
        make them fewer.
        """
        if self._sampler is not None:
            raise invalid("a job has one sampler: make one loader")
        self._sampler = LotSampler(batch_size)
        return self._sampler

    def steps(self, data: Any, batch_size: Optional[int] = None, *,
              samples: Optional[int] = None,
              count: Count = None,
              accumulate: int = 1,
              **loader_options: Any) -> Iterator["Step"]:
        """Yields a Step for everything that the coordinator grants.

        data: a data set, or a DataLoader made with batch_sampler=
          job.sampler(...), or one over an IterableDataset.
        batch_size: samples of a micro-batch, at most; default: the job's
          micro_batch. Only with a data set.
        samples: what counts as an epoch where `data` has no length.
        count: tells how many samples a batch has, where neither its arrays
          of one dimension nor the first dimension of the others does; checked
          against what was asked for.
        accumulate: micro-batches of a step when training alone; a job says
          it by its batch_size.
        loader_options: of torch's DataLoader: num_workers, collate_fn, ...
        """
        if self._begun:
            raise invalid("a job is trained by one loop: attach again for "
                          "another job")
        self._begun = True
        feed, total, lookahead = self._feed_of(
            data, batch_size, samples, count, accumulate, loader_options)
        self._feed = feed
        return self._run(feed, total, lookahead)

    def batches(self, data: Any, batch_size: Optional[int] = None,
                **options: Any) -> Iterator[Any]:
        """Yields the batches of all steps, one after the other.

        Each takes one job.backward(loss). Options as of steps().
        """
        return self._batches(self.steps(data, batch_size, **options))

    @staticmethod
    def _batches(steps: Iterator["Step"]) -> Iterator[Any]:
        for step in steps:
            yield from step

    def backward(self, loss: torch.Tensor, **options: Any) -> None:
        """Computes the gradients of the batch in hand: Step.backward."""
        if self._step is None:
            raise ProgramError("backward outside of a step: call it in the "
                               "loop over job.batches or job.steps")
        self._step.backward(loss, **options)

    def evaluator(self, function: Optional[Evaluator] = None, *,
                  test_samples: Optional[int] = None) -> Any:
        """Registers what evaluates the model; a decorator.

        The function gets the model, in eval mode and without gradients, and
        how many samples of the test set to take, from its front (None: all,
        where `test_samples`, how many it has, is not given; alone that is
        allowed).
        It returns numbers by name; "accuracy" (a share) and "loss" have their
        usual meaning. Under an agent it is called in a process of the role
        evaluator; alone after every epoch.
        """
        def register(evaluate: Evaluator) -> Evaluator:
            self._evaluate = evaluate
            self._test_samples = test_samples
            if isinstance(self._program, AloneProgram):
                self._program.evaluates = True
            return evaluate

        return register if function is None else register(function)

    def drop_in(self, optimizer: torch.optim.Optimizer) -> "DropIn":
        """Returns what stands in for `optimizer` in a loop of others.

        For frameworks that write backward() and step() themselves. Its step()
        takes what backward() left in `.grad` as the mean over the batches
        since the last step(). Nothing leaves during a backward pass.
        """
        if self._begun or self._spec is not None or self._local is not None:
            raise invalid("drop_in comes right after attach(model), without "
                          "optimizer= or local= there")
        if self._scale is not None:
            raise invalid("amp=torch.float16 scales what job.backward does: "
                          "with drop_in the loop scales for itself")
        self.use_optimizer(optimizer, (), refuse=False)
        self._by_hand = True
        self._exchange.take_by_hand()
        return DropIn(self, optimizer)

    def note_loss(self, loss: Union[float, torch.Tensor]) -> None:
        """With drop_in: says the mean loss of the batches before step()."""
        self._noted_loss = float(loss)

    def close(self) -> None:
        """Leaves the job: the agent gives back what is in hand.

        The model keeps the weights it has, in memory of its own. It is called
        when the loop ends by itself.
        """
        self._release()
        self._program.close()

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException],
                 trace: Any) -> None:
        if error is not None:
            self._program.fail(error)
        self.close()

    # Setting up.

    @property
    def _info(self) -> JobInfo:
        """What the agent said; alone it is known once there is a loader."""
        info = self._program.job
        assert info is not None
        return info

    def use_optimizer(self, optimizer: Union[torch.optim.Optimizer, str, None],
                      no_decay: Selection, refuse: bool = True) -> None:
        settings: Dict[int, Settings] = {}
        rate = None
        if isinstance(optimizer, str):
            self._spec = OptimizerSpec.parse(optimizer)
            if self.alone:
                rate = self._info.learning_rate or None
        elif optimizer is not None:
            translation = translate(optimizer)
            self._rates = Rates(optimizer)
            self._spec, rate = translation.spec, translation.rate
            settings = translation.settings
            trained = [(entry.name, entry.tensor) for entry in self._entries
                       if entry.kind == TRAINED]
            check_covered(settings, trained)
            check_no_strangers(optimizer, [tensor for _, tensor in trained])
        undecayed = select(self.model, no_decay)
        for entry in self._entries:
            own = settings.get(id(entry.tensor), Settings())
            entry.rate_factor = own.rate_factor
            entry.weight_decay = own.weight_decay
            if entry.name in undecayed and entry.kind == TRAINED:
                entry.weight_decay = 0.0
        if self.alone:
            self._apply_alone(optimizer, rate, bool(undecayed))
        elif self._spec is not None:
            check_same(self._info.optimizer, self._spec,
                       [(entry.tensor.dim(), entry.weight_decay)
                        for entry in self._entries if entry.kind == TRAINED])
            self._own_rate = rate
            # Whoever only asks what the script trains names no optimizer.
            if (rate is not None and self._info.optimizer
                    and rate != self._info.learning_rate):
                say(f"the job's learning rate {self._info.learning_rate:g} "
                    f"counts, not the script's {rate:g}: write learning_rate: "
                    f"{rate:g} in the job (or --learning-rate) to have that")
        if refuse and isinstance(optimizer, torch.optim.Optimizer):
            self._refuse_calls(optimizer)
        if self._options.clip_norm is not None and not self.alone:
            say("clip_norm: gradients leave after the backward pass, so a "
                "step takes longer by their transfer")

    def _apply_alone(self, optimizer: Union[torch.optim.Optimizer, str, None],
                     rate: Optional[float], rebuild: bool) -> None:
        assert isinstance(self._program, AloneProgram)
        assert isinstance(self._exchange, AloneExchange)
        if self._spec is None:
            return
        if isinstance(optimizer, torch.optim.Optimizer) and not rebuild:
            self._exchange.optimizer = optimizer
        else:
            self._exchange.optimizer = self._spec.build(
                self._groups(rate), rate)
        self._program.rate = float(
            self._exchange.optimizer.param_groups[0]["lr"])

    def _groups(self, rate: Optional[float]) -> List[Dict[str, Any]]:
        assert self._spec is not None
        groups = []
        for entry in self._entries:
            if entry.kind != TRAINED:
                continue
            group: Dict[str, Any] = {
                "params": [entry.tensor],
                "weight_decay": self._spec.decay_of(entry.tensor.dim(),
                                                    entry.weight_decay)}
            if entry.rate_factor != 1 and rate is not None:
                group["lr"] = rate * entry.rate_factor
            groups.append(group)
        return groups

    def use_local(self, local: torch.optim.Optimizer) -> None:
        if not isinstance(local, torch.optim.Optimizer):
            raise invalid(f"local is a {type(local).__name__}; it must be a "
                          "torch optimizer")
        self._local = local
        covered = {id(parameter): Settings() for group in local.param_groups
                   for parameter in group["params"]}
        check_covered(covered, [(entry.name, entry.tensor)
                                for entry in self._entries
                                if entry.kind == TRAINED])
        if isinstance(self._program, Program):
            self._exchange = ArenaExchange(self._entries, self._program,
                                           self._info.wire, shared=False,
                                           hooked=False)
        self._refuse_calls(local)

    def _refuse_calls(self, optimizer: torch.optim.Optimizer) -> None:
        """Lets a step() that was left in the script say so."""
        def refuse(_self: Any, *_: Any, **__: Any) -> None:
            raise ProgramError(
                "optimizer.step() and zero_grad() are done by the job: remove "
                "both lines (job.backward is all), or use job.drop_in")

        # Methods, for a scheduler of torch's looks for what they belong to.
        setattr(optimizer, "step", types.MethodType(refuse, optimizer))
        setattr(optimizer, "zero_grad", types.MethodType(refuse, optimizer))
        self._refused.append(optimizer)

    def _feed_of(self, data: Any, batch_size: Optional[int],
                 samples: Optional[int], count: Count, accumulate: int,
                 options: Dict[str, Any]) -> Any:
        """Returns the feed, the samples of an epoch, and the lookahead."""
        loader = data if isinstance(data, torch.utils.data.DataLoader) else None
        dataset = data if loader is None else loader.dataset
        if loader is not None and (options or batch_size is not None):
            raise invalid("with a DataLoader its options are given to it, "
                          "not to job.steps or job.batches")
        stream = (isinstance(dataset, torch.utils.data.IterableDataset)
                  or feeding.length_of(dataset) is None)
        size = self._batch_size(loader, batch_size)
        if isinstance(self._program, AloneProgram):
            steps = self._options.push_every or accumulate
            self._program.resolve(size, stream, steps)
        info = self._info
        total = feeding.length_of(dataset) if samples is None else samples
        if total is None:
            raise invalid("an iterable data set has no length: say samples=N, "
                          "how many count as an epoch")
        if stream and info.data != "stream":
            raise invalid("an iterable data set cannot be dealt: write data: "
                          "stream in the job; its samples are counted then, "
                          "not dealt")
        size = self._fit(size, loader is None or not stream, info.micro_batch)
        self._check_push_every(size)
        if info.data == "stream":
            # A step is whole batches, at the end of an epoch too.
            total -= total % info.batch_size
            if total == 0:
                raise invalid(f"an epoch has fewer samples than a batch of "
                              f"the job, {info.batch_size}: say samples=N")
            return self._stream_of(loader, dataset, size, count, options), \
                total, 0
        if loader is None:
            loader = feeding.make_loader(dataset, self.sampler(size),
                                         self.worker_init_fn, options)
        elif self._sampler is None or loader.batch_sampler is not self._sampler:
            raise invalid("the loader decides itself which samples come: make "
                          "it with batch_sampler=job.sampler(batch_size=...)")
        elif not getattr(loader, "in_order", True):
            raise invalid("a loader with in_order=False gives batches in "
                          "another order than their samples were dealt in: "
                          "leave it out")
        assert self._sampler is not None
        self._sampler.batch_size = size
        return (Feed(loader, self._sampler, count), total,
                feeding.lookahead(loader, size))

    def _batch_size(self, loader: Any, batch_size: Optional[int]) -> int:
        if loader is not None and self._sampler is not None:
            return self._sampler.batch_size
        if loader is not None and loader.batch_size is not None:
            return int(loader.batch_size)
        info = self._info
        size = batch_size if batch_size is not None else info.micro_batch
        if size < 1:
            raise invalid("say batch_size=, how many samples a batch has")
        return size

    @staticmethod
    def _fit(size: int, ours: bool, micro_batch: int) -> int:
        """Returns how many samples a batch has, no more than the job's."""
        if size <= micro_batch or not ours:
            return size
        feeding.tell_smaller_batches(size, micro_batch)
        return micro_batch

    def _check_push_every(self, size: int) -> None:
        every = self._options.push_every
        info = self._info
        if every is None or info.batch_size == every * size:
            return
        raise invalid(
            f"push_every={every} local steps of {size} samples need a job "
            f"with batch_size {every * size}; it has {info.batch_size} (and "
            f"micro_batch {info.micro_batch})")

    def _stream_of(self, loader: Any, dataset: Any, size: int,
                   count: Count, options: Dict[str, Any]) -> StreamFeed:
        if self._sampler is not None:
            raise invalid("the job's data is a stream, which has no sampler: "
                          "give the data set or a plain DataLoader")
        if self._info.batch_size % size:
            raise invalid(f"the job's batch_size is {self._info.batch_size} "
                          f"and this loader's batches have {size} samples: "
                          "let the job's batch_size be a multiple")
        if loader is None:
            loader = feeding.make_stream_loader(dataset, size, options)
        return StreamFeed(loader, size, count)

    def _description(self, feed: Union[Feed, StreamFeed], samples: int,
                     lookahead: int) -> Dict[str, Any]:
        fields: Dict[str, Any] = {"tensors": self._exchange.describe(),
                                  "train_samples": samples,
                                  "lookahead": lookahead}
        if self._local is not None or isinstance(feed, StreamFeed):
            # All batches are of one size; else a step may end with a part.
            fields["micro_batch"] = feed.batch_size
        # What it does with the gradient of a whole step is not the same for
        # that of each part.
        fields["extends"] = (self._local is None
                             and self._options.clip_norm is None)
        if self._spec is not None:
            # The job's words, if there are: check_same() has compared them.
            fields["optimizer"] = self._info.optimizer or str(self._spec)
        if self._own_rate:
            fields["learning_rate"] = self._own_rate
        if self._test_samples is not None:
            fields["test_samples"] = self._test_samples
        return fields

    # Working.

    def _run(self, feed: Union[Feed, StreamFeed], samples: int,
             lookahead: int) -> Iterator["Step"]:
        """The steps, as long as the job needs this program."""
        if self.role == "evaluator":
            self._check_evaluator()
        try:
            begin = self._program.attach(
                self._description(feed, samples, lookahead))
            if isinstance(begin, Stop):
                self.stopped = begin.reason
            else:
                self._exchange.begin(begin)
                self._put_gates()
                self._trouble = self._trouble_of_model()
            while self.stopped is None:
                order = self._next_order()
                if isinstance(order, Stop):
                    self.stopped = order.reason
                elif isinstance(order, Evaluate):
                    self._run_evaluation(order)
                else:
                    self._step = self._begin_step(order, feed)
                    yield self._step
                    self._step._finish()
                    self._step = None
                    # Looked at while the grant is on its way: the script has
                    # no turn before the next step, if there is one.
                    self._trouble = self._trouble_of_model()
                    # Alone nobody waits. A stream may never give another batch.
                    if (self.stopped is None and isinstance(feed, Feed)
                            and isinstance(self._program, Program)):
                        feed.load_ahead()
        except GeneratorExit:
            # The loop was left, by break or by an exception. Of the latter
            # the agent hears when it ends the process, so the socket stays.
            self._release()
            raise
        except Exception as error:
            self._program.fail(error)
            self.close()
            raise
        self.close()

    def _put_gates(self) -> None:
        size = sum(4 * entry.tensor.numel() for entry in self._entries)
        if (isinstance(self._exchange, ArenaExchange) and self._options.overlap
                and self.role == "trainer" and size >= LEAST_BYTES):
            self._gates = Gates(self.model, self._entries,
                                self._await_weights)

    def _check_evaluator(self) -> None:
        if self._evaluate is None:
            raise self._failed(ProgramError(
                "this process is to evaluate and the script has no evaluator: "
                "put @job.evaluator(test_samples=N) in front of a function "
                "(model, samples)"))
        if self._test_samples is None:
            raise self._failed(invalid(
                "say how many samples the test set has: "
                "@job.evaluator(test_samples=N)"))

    def _failed(self, error: ProgramError) -> ProgramError:
        self._program.fail(error)
        self.close()
        return error

    def _release(self) -> None:
        if self._gates is not None:
            self._gates.remove()
            self._gates = None
        if self._feed is not None:
            self._feed.close()
        self._exchange.release()
        for optimizer in self._refused:
            for name in ("step", "zero_grad"):
                if name in optimizer.__dict__:
                    delattr(optimizer, name)
        self._refused.clear()

    def _next_order(self) -> Union[StepOrder, Evaluate, Stop]:
        message = self._program.poll()
        if message is None and self._feed is not None:
            # Nobody has waited for what was loaded ahead.
            self._feed.ahead_ns = 0
        while True:
            if message is None:
                message = self._program.receive()
            if isinstance(message, (StepOrder, Evaluate)):
                if not (isinstance(message, StepOrder) and message.goes_on):
                    self._exchange.expect_weights()
                return message
            if isinstance(message, Stop):
                return message
            self._handle(message)
            message = None

    def _begin_step(self, order: StepOrder,
                    feed: Union[Feed, StreamFeed]) -> "Step":
        if self._trouble is not None:
            raise self._trouble
        self.epoch, self.samples = order.epoch, order.trained
        self.rate, self.version = order.rate, order.version
        if isinstance(feed, StreamFeed):
            feed.begin_step(order)
        else:
            assert self._sampler is not None
            # Local steps are of one size, whatever the grant would like.
            limit = (self._sampler.batch_size if self._local is not None
                     else order.micro_batch or self._sampler.batch_size)
            self._sampler.begin_step(order, limit)
        self._steps += 1
        return Step(self, order, feed, self._steps)

    def _trouble_of_model(self) -> Optional[ProgramError]:
        """What no step can be computed with."""
        try:
            self._exchange.check_memory()
        except ProgramError as moved:
            return moved
        if self._structure.changed():
            return ProgramError("the model got or lost parameters after "
                                "attach: attach last")
        for entry in self._entries:
            if entry.kind == FROZEN and entry.tensor.requires_grad:
                return ProgramError(
                    f'"{entry.name}" requires a gradient and was frozen at '
                    "attach, so that the servers do not train it: let it "
                    "require one before attach")
        return self._trouble_of_rates()

    def _trouble_of_rates(self) -> Optional[ProgramError]:
        trouble = self._rates.trouble() if self._rates is not None else None
        if trouble is None or not self._by_hand:
            return trouble
        # The script of a framework cannot do without its scheduler.
        if not self._told_rates:
            self._told_rates = True
            say(str(trouble))
        return None

    def _handle(self, message: Message) -> None:
        """Takes note of what can come at any time."""
        if isinstance(message, Weights):
            self._exchange.arrived(message.first, message.end)
        elif isinstance(message, Lot):
            if self._sampler is not None:
                self._sampler.add(message)
        elif isinstance(message, Drop):
            if self._sampler is not None:
                self._sampler.drop()
        elif isinstance(message, (Refresh, Abandon)):
            step = self._step
            if step is not None and step.iteration == message.iteration:
                step._cut(abandon=isinstance(message, Abandon))
        elif isinstance(message, Stop):
            self.stopped = message.reason
        else:
            raise ProgramError(f"the agent sent {type(message).__name__} in "
                               "the middle of a step: install the same "
                               "release of both", "INTERNAL")

    def _poll(self) -> None:
        """Takes what has come meanwhile."""
        while self.stopped is None:
            message = self._program.poll()
            if message is None:
                return
            self._handle(message)

    def _await_weights(self, tensors: Optional[Sequence[int]] = None) -> bool:
        """Waits for the newest weights of these tensors, or of all.

        False if the step is over before.
        """
        while not self._exchange.has(tensors):
            if self.stopped is not None:
                return False
            if self._step is not None and self._step._abandoned:
                return False
            self._handle(self._program.receive())
        self._exchange.take_weights(tensors)
        return True

    def _run_evaluation(self, order: Evaluate) -> None:
        assert self._evaluate is not None
        if not self._await_weights():
            return
        # Each by itself: a script may hold some of them in evaluation mode.
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        with torch.no_grad():
            given = self._evaluate(self.model,
                                   order.samples or self._test_samples)
        for module, training in modes:
            module.training = training
        self._program.evaluated(order.snapshot, self._checked(given))

    def _checked(self, given: Any) -> Dict[str, float]:
        if not isinstance(given, Mapping):
            raise invalid("the evaluator returned a "
                          f"{type(given).__name__}; it must return numbers by "
                          'name, as {"accuracy": 0.97}')
        known = self._options.metrics
        metrics: Dict[str, float] = {}
        for name, value in given.items():
            if known is not None and name not in ("accuracy", "loss", *known):
                raise invalid(f'the evaluator returned "{name}", which '
                              "attach(metrics=[...]) does not name")
            number = float(value)
            if math.isfinite(number):
                metrics[str(name)] = number
            else:
                say(f"the evaluator's {name} is {number}; it is left out")
        return metrics

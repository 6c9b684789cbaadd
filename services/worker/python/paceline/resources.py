"""What the API tells, as plain values.

Each class has the fields of the message of its name (docs/api.md); times are
datetimes in UTC, durations and `seconds` are seconds, enums their names.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing

from paceline.field_kinds import (is_map, is_message, is_repeated,
                                  may_be_absent)

T = typing.TypeVar("T")

_UTC = datetime.timezone.utc


@dataclasses.dataclass(frozen=True)
class WorkerProgress:
    """A row of a job's table of workers."""

    worker: str = ""
    state: str = ""  # "computing", "waiting", "lost" (also of one that left).
    clock: int = 0
    gap: int = 0
    wait_seconds: float = 0.0  # In all.
    iterations: int = 0
    samples: int = 0
    samples_per_second: float = 0.0  # While it computes.
    # Its time for a sample over the median worker's.
    straggler_score: float = 0.0
    straggler: bool = False
    samples_discarded: int = 0  # Of `samples`.


@dataclasses.dataclass(frozen=True)
class PlayedParadigm:
    """What is foreseen of a paradigm with a job's workers."""

    paradigm: str = ""
    samples_per_second: float = 0.0  # Trained on: without discarded ones.
    staleness: float = 0.0  # Of a push, on average.
    # The speed times `efficiency`, less what staleness is thought to cost.
    value: float = 0.0
    excluded: str = ""  # Why it is not chosen; mostly "".
    # What a sample is worth beside one in an update of a single batch.
    efficiency: float = 0.0


@dataclasses.dataclass(frozen=True)
class Advice:
    """Which paradigm suits a job's workers, by what was measured of them."""

    paradigm: str = ""  # The present one: stay.
    gain: float = 1.0  # Times the value of the present one.
    reason: str = ""  # For people.
    time: typing.Optional[datetime.datetime] = None
    options: typing.Tuple[PlayedParadigm, ...] = ()  # The best first.


@dataclasses.dataclass(frozen=True)
class GradientNoise:
    """What a job's gradients are made of, as its servers have measured it."""

    # Of the gradient over all samples, its Euclidean norm; 0: it cannot be told
    # from none for all the noise.
    gradient_norm: float = 0.0
    # The samples of a batch in which noise and gradient are as large as each
    # other. None: the norm is 0.
    noise_scale: typing.Optional[float] = None


@dataclasses.dataclass(frozen=True)
class JobProgress:
    """Where a job stands. Seconds count from its first grant, pauses left
    out. None: not known yet."""

    phase: str = ""  # "loading", "training", "evaluating".
    seconds: float = 0.0
    samples: int = 0  # Counted: they will not be dealt again.
    samples_total: int = 0
    samples_per_second: float = 0.0
    version: int = 0  # Updates counted.
    loss: typing.Optional[float] = None
    accuracy: typing.Optional[float] = None
    paradigm: str = ""  # As it is now, in full.
    workers: typing.Tuple[WorkerProgress, ...] = ()
    seconds_left: typing.Optional[float] = None
    parameters: int = 0
    train_samples: int = 0  # Of one epoch.
    samples_discarded: int = 0  # Of `samples`.
    # Of the last evaluation, beside accuracy and loss.
    metrics: typing.Mapping[str, float] = dataclasses.field(
        default_factory=dict)
    advice: typing.Optional[Advice] = None  # None: not all are measured yet.
    # None: not enough rounds have measured it yet.
    gradient_noise: typing.Optional[GradientNoise] = None


@dataclasses.dataclass(frozen=True)
class AccuracyPoint:
    """One snapshot's evaluation, stamped when the snapshot was taken. None: a
    program's evaluation did not give it."""

    seconds: float = 0.0
    version: int = 0
    version_at_completion: int = 0  # When the last server had taken it.
    samples: int = 0
    accuracy: typing.Optional[float] = None
    loss: typing.Optional[float] = None
    # What a program's evaluation gave beside these, by name.
    metrics: typing.Mapping[str, float] = dataclasses.field(
        default_factory=dict)
    samples_discarded: int = 0  # Of `samples`.


@dataclasses.dataclass(frozen=True)
class Decision:
    """Something the coordinator decided, and why."""

    sequence: int = 0  # Of the job, from 1.
    time: typing.Optional[datetime.datetime] = None
    seconds: float = 0.0
    worker: str = ""  # "job" where it is about all.
    kind: str = ""  # "job", "switch", "worker-lost", "straggler", ...
    text: str = ""  # For people.
    omitted: int = 0  # Like it since the last that was recorded.


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A saved state of a job."""

    name: str = ""  # In full.
    state: str = ""  # "WRITING", "READY", "FAILED".
    state_reason: str = ""
    create_time: typing.Optional[datetime.datetime] = None
    write_seconds: float = 0.0
    bytes: int = 0
    version: int = 0
    version_at_completion: int = 0
    samples: int = 0
    exact: bool = False  # Nothing was in flight.
    directory: str = ""  # What load_checkpoint() reads.
    servers: int = 0  # That wrote it.
    samples_discarded: int = 0  # Of `samples`.

    @property
    def id(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]


@dataclasses.dataclass(frozen=True)
class Job:
    """A job as it was when it was asked for."""

    name: str = ""  # "namespaces/NAMESPACE/jobs/JOB"
    uid: str = ""
    display_name: str = ""
    labels: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)
    annotations: typing.Mapping[str, str] = dataclasses.field(
        default_factory=dict)
    # What is set of the spec, as create_job() takes it.
    spec: typing.Mapping[str, typing.Any] = dataclasses.field(
        default_factory=dict)
    state: str = ""  # "RUNNING", "SUCCEEDED", ...
    state_reason: str = ""
    progress: typing.Optional[JobProgress] = None
    create_time: typing.Optional[datetime.datetime] = None
    update_time: typing.Optional[datetime.datetime] = None
    start_time: typing.Optional[datetime.datetime] = None
    end_time: typing.Optional[datetime.datetime] = None
    etag: str = ""
    restore_from: str = ""
    traceparent: str = ""

    @property
    def id(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]

    @property
    def namespace(self) -> str:
        parts = self.name.split("/")
        return parts[1] if len(parts) > 1 else ""

    @property
    def ended(self) -> bool:
        return self.state in ("SUCCEEDED", "FAILED", "CANCELLED")


@dataclasses.dataclass(frozen=True)
class JobUpdate:
    """One event of a watch: the field that `kind` names is set."""

    kind: str  # "job", "progress", "accuracy", "decision", "checkpoint".
    job: typing.Optional[Job] = None
    progress: typing.Optional[JobProgress] = None
    accuracy: typing.Optional[AccuracyPoint] = None
    decision: typing.Optional[Decision] = None
    checkpoint: typing.Optional[Checkpoint] = None


@dataclasses.dataclass(frozen=True)
class Worker:
    """A worker or evaluator that is connected."""

    name: str = ""  # "workers/w0"
    pool: str = ""
    device: str = ""
    gpu_model: str = ""
    memory_bytes: int = 0
    evaluator: bool = False
    state: str = ""
    job: str = ""  # Its name; empty: none.
    draining: bool = False
    samples_per_second: float = 0.0
    straggler_score: float = 0.0
    straggler: bool = False
    connect_time: typing.Optional[datetime.datetime] = None
    labels: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)
    version: str = ""
    compute_capability: str = ""  # "9.0"; empty: no GPU.
    gpu_uuid: str = ""  # Workers on one card share it.
    programs: typing.Sequence[str] = ()  # That it has; none: built-in models.


_CLASSES: typing.Dict[str, typing.Any] = {
    "AccuracyPoint": AccuracyPoint, "Advice": Advice,
    "Checkpoint": Checkpoint, "Decision": Decision, "Job": Job,
    "JobProgress": JobProgress, "PlayedParadigm": PlayedParadigm,
    "Worker": Worker, "WorkerProgress": WorkerProgress}
# By the names of the events of a watch.
EVENTS: typing.Dict[str, typing.Any] = {
    "job": Job, "progress": JobProgress, "accuracy": AccuracyPoint,
    "decision": Decision, "checkpoint": Checkpoint}


def to_resource(message: typing.Any, kind: typing.Type[T]) -> T:
    """The message as the class of its name. What an older package does not
    know is left out, what an older coordinator does not send has its
    default."""
    values = {}
    known = message.DESCRIPTOR.fields_by_name
    for field in dataclasses.fields(typing.cast(typing.Any, kind)):
        descriptor = known.get(field.name)
        if descriptor is None:
            continue
        if may_be_absent(descriptor) and not message.HasField(field.name):
            continue
        values[field.name] = _to_value(getattr(message, field.name),
                                       descriptor)
    return kind(**values)


def to_dict(message: typing.Any) -> typing.Dict[str, typing.Any]:
    """What is set of the message, by the names of the fields; durations are
    texts as "30s"."""
    return {field.name: _to_value(value, field)
            for field, value in message.ListFields()}


def _to_value(value: typing.Any, field: typing.Any) -> typing.Any:
    if is_map(field):
        return dict(value)
    if is_repeated(field):
        items = [_to_single(item, field) for item in value]
        named = (field.message_type is not None and
                 field.message_type.name in _CLASSES)
        return tuple(items) if named else items
    return _to_single(value, field)


def _to_single(value: typing.Any, field: typing.Any) -> typing.Any:
    if field.cpp_type == field.CPPTYPE_ENUM:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known is not None else str(value)
    if not is_message(field):
        return value
    name = field.message_type.full_name
    if name == "google.protobuf.Timestamp":
        return (datetime.datetime(1970, 1, 1, tzinfo=_UTC) +
                datetime.timedelta(seconds=value.seconds,
                                   microseconds=value.nanos // 1000))
    if name == "google.protobuf.Duration":
        return value.ToJsonString()
    known_class = _CLASSES.get(field.message_type.name)
    if known_class is not None:
        return to_resource(value, known_class)
    return to_dict(value)

"""The connection to the agent: socket, frames, arenas.

The protocol is docs/program-protocol.md. Nothing but the standard library is
used, no thread is started, and nothing is unpickled: a frame is JSON or a
struct of numbers.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import enum
import errno
import json
import mmap
import multiprocessing
import os
import platform
import select
import socket
import struct
import sys
import time
import traceback
import weakref
from types import TracebackType
from typing import (Any, Callable, Dict, List, Mapping, NamedTuple, Optional,
                    Sequence, Tuple, Type, Union)

from .errors import ProgramError, code_of

PROTOCOL = 1
BODY_MAX = 16 << 20  # Bytes.
ALIGNMENT = 64  # Bytes, of each tensor in an arena.

# A pod starts the agent and the program at the same time, so the socket may
# come a little later than the program.
CONNECT_SECONDS = 10.0


class Kind(enum.IntEnum):
    """The kinds of frames."""

    HELLO = 1
    ATTACH = 2
    INITIALIZED = 3
    READY = 4
    DONE = 5
    ABANDONED = 6
    EVALUATED = 7
    FAILED = 8

    JOB = 64
    BEGIN = 65
    WEIGHTS = 66
    LOT = 67
    DROP = 68
    STEP = 69
    REFRESH = 70
    ABANDON = 71
    EVALUATE = 72
    STOP = 73
    REFUSED = 74


class JobInfo(NamedTuple):
    """What the program works for."""

    name: str
    worker: str
    role: str  # "trainer" or "evaluator".
    arguments: Dict[str, str]
    seed: int
    batch_size: int  # Samples of a full step.
    micro_batch: int  # Samples computed at once at most.
    wire: str  # Of the gradient arena: "fp32", "bf16" or "fp16".
    optimizer: str
    learning_rate: float
    data: str  # "program" or "stream".


class Begin(NamedTuple):
    """The job begins. The arenas are mapped until the last view is gone."""

    initialize: bool
    weights: Optional[mmap.mmap]
    gradients: Optional[mmap.mmap]


class Weights(NamedTuple):
    """The weights of tensors [first, end) are in the arena."""

    first: int
    end: int


class Lot(NamedTuple):
    """Samples reserved for this program, behind those it has."""

    epoch: int
    indices: Sequence[int]


class Drop(NamedTuple):
    """What no step has taken is withdrawn."""


class StepOrder(NamedTuple):
    """Compute the next `samples` samples of the lots."""

    iteration: int
    epoch: int
    samples: int
    micro_batch: int  # Samples.
    overlap: bool
    goes_on: bool  # With the iteration of the step before, on its weights.
    rate: float
    version: int
    trained: int  # Samples.


class Refresh(NamedTuple):
    """End the step after the micro-batch in hand."""

    iteration: int


class Abandon(NamedTuple):
    """Drop the step."""

    iteration: int


class Evaluate(NamedTuple):
    """Evaluate on the first `samples` of the test set; 0: all of it."""

    snapshot: int
    samples: int


class Stop(NamedTuple):
    """The job needs the program no more."""

    reason: str


Message = Union[JobInfo, Begin, Weights, Lot, Drop, StepOrder, Refresh,
                Abandon, Evaluate, Stop]

_READY = struct.Struct("<II")
_DONE = struct.Struct("<qdIIQQ")
_ITERATION = struct.Struct("<q")
_HEADER = struct.Struct("<II")
_RANGE = struct.Struct("<II")
_STEP = struct.Struct("<qIIIIdqq")
_EVALUATE = struct.Struct("<qQ")

# Of a read. Plain numbers: to combine two of an enumeration takes as long as
# the call.
_WAITING = int(getattr(socket, "MSG_CMSG_CLOEXEC", 0))
_LOOKING = _WAITING | int(socket.MSG_DONTWAIT)


def layout(sizes: Sequence[int], item_bytes: int) -> Tuple[List[int], int]:
    """Returns where tensors of `sizes` elements lie, and all they take.

    Bytes; each tensor lies at the next multiple of 64 behind the one before.
    A size of 0 takes no place.
    """
    offsets = []
    end = 0
    for size in sizes:
        begin = -(-end // ALIGNMENT) * ALIGNMENT
        offsets.append(begin)
        end = begin + size * item_bytes if size else end
    return offsets, end


class Program:
    """One program's side of the socket. Not thread-safe.

    A process forked from this one, as the workers of a DataLoader are, closes
    its copy of the socket, so that the agent sees at once when this process
    dies.
    """

    def __init__(self, connection: socket.socket,
                 where: str = "the agent") -> None:
        self._socket: Optional[socket.socket] = connection
        self._where = where
        self._received = bytearray()
        self._descriptors: List[int] = []
        self._failed = False
        self.job: Optional[JobInfo] = None
        _open_programs.add(self)

    # Setting up.

    def hello(self) -> JobInfo:
        """Says hello and waits for a job, which can take hours."""
        self._send_json(Kind.HELLO, {
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "language": _language(),
        })
        message = self.receive()
        if isinstance(message, Stop):
            raise ProgramError(
                f"the agent has no job for this program: {message.reason}",
                "CANCELLED")
        if not isinstance(message, JobInfo):
            raise _broken(f"{type(message).__name__} before a job")
        self.job = message
        return message

    def attach(self, description: Mapping[str, Any]) -> Union[Begin, Stop]:
        """Says what the program has, and waits for the job to begin."""
        self._send_json(Kind.ATTACH, description)
        message = self.receive()
        if not isinstance(message, (Begin, Stop)):
            raise _broken(f"{type(message).__name__} before begin")
        return message

    # What the program says.

    def initialized(self) -> None:
        """The weights arena holds the starting weights."""
        self._send(Kind.INITIALIZED, b"")

    def ready(self, first: int, end: int) -> None:
        """The gradients of tensors [first, end) are final."""
        self._send(Kind.READY, _READY.pack(first, end))

    def done(self, iteration: int, loss_sum: float, samples: int,
             finite: bool, load_ns: int, compute_ns: int) -> None:
        """The step is computed."""
        self._send(Kind.DONE, _DONE.pack(iteration, loss_sum, samples,
                                         0 if finite else 1, load_ns,
                                         compute_ns))

    def abandoned(self, iteration: int) -> None:
        """The step is dropped, as the agent wished."""
        self._send(Kind.ABANDONED, _ITERATION.pack(iteration))

    def evaluated(self, snapshot: int, metrics: Mapping[str, float]) -> None:
        """What the evaluation came to."""
        self._send_json(Kind.EVALUATED,
                        {"snapshot": snapshot, "metrics": dict(metrics)})

    def fail(self, error: BaseException) -> None:
        """Tells the agent why the program ends, once, and closes."""
        if self._socket is None or self._failed:
            return
        self._failed = True
        try:
            self._send_json(Kind.FAILED, {"code": code_of(error),
                                          "message": describe(error)})
        except (ProgramError, OSError):
            pass  # The agent is gone, and knows more than we do.
        self.close()

    # What the agent says.

    def receive(self) -> Message:
        """Waits for the next frame.

        There is no deadline: a grant may be hours away, and an agent that
        dies closes the socket.
        """
        while True:
            message = self._next()
            if message is not None:
                return message
            self._fill(block=True)

    def poll(self) -> Optional[Message]:
        """Returns the next frame if it is there; does not wait."""
        message = self._next()
        if message is None and self._fill(block=False):
            message = self._next()
        return message

    @property
    def closed(self) -> bool:
        return self._socket is None

    def close(self) -> None:
        """Closes the socket: the agent gives back what is in hand."""
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
        _open_programs.discard(self)

    # The socket.

    def _send_json(self, kind: Kind, body: Mapping[str, Any]) -> None:
        self._send(kind, json.dumps(body, allow_nan=False).encode())

    def _send(self, kind: Kind, body: bytes) -> None:
        if len(body) > BODY_MAX:
            raise ProgramError(
                f"{kind.name.lower()} has {len(body):,} bytes, and a frame of "
                f"the program protocol has {BODY_MAX:,} at most",
                "INVALID_ARGUMENT")
        rest = memoryview(_HEADER.pack(len(body), int(kind)) + body)
        while rest:
            connection = self._open()
            try:
                sent = connection.send(rest, socket.MSG_DONTWAIT)
                rest = rest[sent:]
            except BlockingIOError:
                self._wait_to_send(connection)
            except OSError as error:
                raise self._gone(error) from error

    def _wait_to_send(self, connection: socket.socket) -> None:
        # The agent may wait for us to read: both would wait for ever.
        waiting = select.poll()
        waiting.register(connection, select.POLLIN | select.POLLOUT)
        for _, events in waiting.poll():
            if events & (select.POLLIN | select.POLLHUP):
                self._fill(block=False)

    def _open(self) -> socket.socket:
        if self._socket is None:
            raise ProgramError("the connection to the agent is closed",
                               "UNAVAILABLE")
        return self._socket

    def _fill(self, block: bool) -> bool:
        """Reads what there is; false if nothing."""
        try:
            read = self._read(_WAITING if block else _LOOKING)
        except BlockingIOError:
            return False
        except OSError as error:
            raise self._gone(error) from error
        if not read:
            raise self._gone(None)
        return True

    def _read(self, flags: int) -> bool:
        """Reads once; false at the end of what the agent said."""
        data, control, _, _ = self._open().recvmsg(
            1 << 16, socket.CMSG_SPACE(8 * 4), flags)
        for level, kind, payload in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                whole = len(payload) - len(payload) % 4
                self._descriptors.extend(array.array("i", payload[:whole]))
        self._received += data
        return bool(data)

    def _gone(self, error: Optional[OSError]) -> ProgramError:
        """Returns what there is to say of a connection that has ended.

        An agent that refuses says why and closes, maybe while we send. So it
        raises what the agent said last, if that is an error.
        """
        with contextlib.suppress(OSError):  # There is no more.
            while self._read(_LOOKING):
                pass
        while self._next() is not None:
            pass
        why = f" ({os.strerror(error.errno)})" if error and error.errno else ""
        self.close()
        if self.job is None:
            return ProgramError(
                f"{self._where} closed the connection before it named a "
                f"job{why}: it serves one program at a time, of its own user; "
                "its log says which", "UNAVAILABLE")
        return ProgramError(
            f"{self._where} closed the connection{why}: its log says why",
            "UNAVAILABLE")

    def _next(self) -> Optional[Message]:
        if len(self._received) < _HEADER.size:
            return None
        length, kind = _HEADER.unpack_from(self._received)
        if length > BODY_MAX:
            raise _broken(f"a frame of {length:,} bytes")
        end = _HEADER.size + length
        if len(self._received) < end:
            return None
        body = bytes(self._received[_HEADER.size:end])
        del self._received[:end]
        return self._decode(kind, body)

    def _decode(self, kind: int, body: bytes) -> Message:
        if kind == Kind.WEIGHTS:
            return Weights(*_unpack(_RANGE, body))
        if kind == Kind.STEP:
            (iteration, epoch, samples, micro_batch, flags, rate, version,
             trained) = _unpack(_STEP, body)
            return StepOrder(iteration, epoch, samples, micro_batch,
                             bool(flags & 1), bool(flags & 2), rate, version,
                             trained)
        if kind == Kind.LOT:
            return _lot(body)
        if kind == Kind.DROP:
            return Drop()
        if kind == Kind.REFRESH:
            return Refresh(*_unpack(_ITERATION, body))
        if kind == Kind.ABANDON:
            return Abandon(*_unpack(_ITERATION, body))
        if kind == Kind.EVALUATE:
            return Evaluate(*_unpack(_EVALUATE, body))
        if kind == Kind.STOP:
            return Stop(str(_object(body).get("reason", "")))
        if kind == Kind.REFUSED:
            fields = _object(body)
            self.close()
            code = fields.get("code") or "FAILED_PRECONDITION"
            raise ProgramError(str(fields.get("message", "refused")),
                               str(code))
        if kind == Kind.JOB:
            return _job(_object(body))
        if kind == Kind.BEGIN:
            return self._begin(_object(body))
        raise _broken(f"a frame of kind {kind}")

    def _begin(self, fields: Dict[str, Any]) -> Begin:
        if len(self._descriptors) != 2:
            raise _broken(f"begin with {len(self._descriptors)} arenas")
        arenas: List[Optional[mmap.mmap]] = []
        for name in ("weights_bytes", "gradients_bytes"):
            descriptor = self._descriptors.pop(0)
            try:
                size = int(fields.get(name, 0))
                # An arena of nothing cannot be mapped.
                arenas.append(mmap.mmap(descriptor, size) if size else None)
            except (OSError, OverflowError, TypeError, ValueError) as error:
                raise _broken(f"an arena that cannot be mapped "
                              f"({name}: {error})") from error
            finally:
                os.close(descriptor)
        return Begin(bool(fields.get("initialize", False)), *arenas)


def _unpack(form: struct.Struct, body: bytes) -> Tuple[Any, ...]:
    if len(body) < form.size:
        raise _broken(f"a body of {len(body)} bytes in place of {form.size}")
    return form.unpack_from(body)


def _lot(body: bytes) -> Lot:
    epoch, count = _unpack(_RANGE, body)
    if len(body) < _RANGE.size + 4 * count:
        raise _broken(f"a lot of {count} samples in {len(body)} bytes")
    indices = array.array("I")
    indices.frombytes(body[_RANGE.size:_RANGE.size + 4 * count])
    if sys.byteorder == "big":
        indices.byteswap()
    return Lot(epoch, indices)


def _object(body: bytes) -> Dict[str, Any]:
    try:
        fields = json.loads(body.decode())
    except (RecursionError, ValueError) as error:
        raise _broken(f"a body that is no JSON ({error})") from error
    if not isinstance(fields, dict):
        raise _broken("a body that is no JSON object")
    return fields


def _job(fields: Dict[str, Any]) -> JobInfo:
    protocol = fields.get("protocol")
    if protocol != PROTOCOL:
        raise ProgramError(
            f"the agent speaks version {protocol} of the program protocol and "
            f"this package version {PROTOCOL}: install the same release of "
            "both", "UNIMPLEMENTED")
    try:
        batch_size = int(fields["batch_size"])
        micro_batch = int(fields.get("micro_batch", 0)) or batch_size
        if min(batch_size, micro_batch) < 1:
            raise ValueError(f"batch_size {batch_size}, micro_batch "
                             f"{micro_batch}")
        return JobInfo(
            name=str(fields["job"]),
            worker=str(fields.get("worker", "")),
            role=str(fields.get("role", "trainer")),
            arguments={str(key): str(value) for key, value
                       in dict(fields.get("arguments", {})).items()},
            seed=int(fields.get("seed", 0)),
            batch_size=batch_size,
            micro_batch=micro_batch,
            wire=str(fields.get("wire", "fp32")),
            optimizer=str(fields.get("optimizer", "")),
            learning_rate=float(fields.get("learning_rate", 0)),
            data=str(fields.get("data", "program")))
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise _broken(f"a job with a wrong field ({error})") from error


def _broken(what: str) -> ProgramError:
    return ProgramError(f"the agent sent {what}, which the program protocol "
                        "does not have: install the same release of both",
                        "INTERNAL")


def _language() -> str:
    text = f"python {platform.python_version()}"
    torch = sys.modules.get("torch")
    return f"{text}, torch {torch.__version__}" if torch is not None else text


def describe(error: BaseException) -> str:
    """Returns `error` as one line, with the place in the user's code."""
    if isinstance(error, ProgramError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    place = ""
    frames = traceback.extract_tb(error.__traceback__)
    own = os.path.dirname(os.path.abspath(__file__))
    for frame in reversed(frames):
        if os.path.dirname(os.path.abspath(frame.filename)) != own:
            place = f" ({os.path.basename(frame.filename)}:{frame.lineno})"
            break
    # A long text, as of a C++ exception, has the point at its beginning.
    text = " ".join(str(error).split())[:500]
    return f"{type(error).__name__}: {text}{place}"


# The one connection of this process.

_open_programs: "weakref.WeakSet[Program]" = weakref.WeakSet()
_current: Optional[Program] = None
_forked = False  # This process is a copy of the one that has connected.

# What tells processes that the script starts of the job's arguments.
_TOLD = "PACELINE_JOB_ARGUMENTS"


def connect() -> Optional[Program]:
    """Returns the connection of this process, made and greeted if need be.

    None without PACELINE_PROGRAM: then the script trains alone.
    """
    global _current
    path = os.environ.get("PACELINE_PROGRAM", "")
    if not path:
        return None
    if _current is None or _current.closed:
        _tell_of_exceptions()
        program = Program(_dial(path), f"the agent at {path}")
        try:
            program.hello()
        except ProgramError:
            program.close()
            raise
        _current = program
        if program.job is not None:
            os.environ[_TOLD] = json.dumps(program.job.arguments)
    return _current


def arguments() -> Dict[str, str]:
    """Returns the job's arguments, before there is a model.

    It connects to the agent and waits for a job. Alone they are what
    PACELINE_ARGUMENTS says, a JSON object. In a process that the script has
    started, for a DataLoader say, they are those that the script had then.
    """
    if _current is not None and _current.job is not None and _forked:
        return dict(_current.job.arguments)
    if multiprocessing.parent_process() is not None and _TOLD in os.environ:
        return dict(json.loads(os.environ[_TOLD]))
    program = connect()
    if program is not None and program.job is not None:
        return dict(program.job.arguments)
    return alone_arguments()


def alone_arguments() -> Dict[str, str]:
    """Returns what PACELINE_ARGUMENTS says, as texts."""
    text = os.environ.get("PACELINE_ARGUMENTS", "")
    if not text:
        return {}
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise ProgramError(f"PACELINE_ARGUMENTS is no JSON: {error}",
                           "INVALID_ARGUMENT") from error
    if not isinstance(fields, dict):
        raise ProgramError('PACELINE_ARGUMENTS must be a JSON object, as '
                           '{"depth": "20"}', "INVALID_ARGUMENT")
    return {str(key): str(value) for key, value in fields.items()}


def _dial(path: str) -> socket.socket:
    seconds = float(os.environ.get("PACELINE_CONNECT_SECONDS",
                                   CONNECT_SECONDS))
    deadline = time.monotonic() + seconds
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
            return connection
        except OSError as error:
            connection.close()
            waits = error.errno in (errno.ENOENT, errno.ECONNREFUSED)
            if waits and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            if waits:
                raise ProgramError(
                    f"no agent at {path}: start paceline-worker --program "
                    "NAME, or unset PACELINE_PROGRAM to train alone",
                    "UNAVAILABLE") from error
            raise ProgramError(
                f"the agent's socket {path} cannot be used "
                f"({error.strerror or error}): it is for the agent's own user",
                "PERMISSION_DENIED") from error


def _close_all() -> None:
    for program in list(_open_programs):
        program.close()


_Hook = Callable[[Type[BaseException], BaseException,
                  Optional[TracebackType]], Any]
_hooked = False


def _tell_of_exceptions() -> None:
    """Sees to it that the agent hears of an exception that ends us."""
    global _hooked
    if _hooked:
        return
    _hooked = True
    before: _Hook = sys.excepthook

    def tell(kind: Type[BaseException], error: BaseException,
             trace: Optional[TracebackType]) -> None:
        before(kind, error, trace)
        for program in list(_open_programs):
            program.fail(error)

    sys.excepthook = tell
    atexit.register(_close_all)


def _become_a_copy() -> None:
    global _forked
    _forked = True
    _close_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_become_a_copy)

"""An agent played by a thread: socket, arenas, lots, and parameter servers.

The updates are those of services/parameter_server/update_rule.cc for one
worker, in numpy's fp32.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import json
import mmap
import os
import pathlib
import random
import socket
import struct
import threading
from typing import (Any, Callable, Deque, Dict, List, Optional, Sequence,
                    Tuple)

import numpy as np

from paceline.optimizers import OptimizerSpec
from paceline.program import Kind, layout

PATIENCE = 300.0  # Seconds of a busy machine; ends only what would hang.

_WIDTH = {"fp32": 4, "bf16": 2, "fp16": 2}


@dataclasses.dataclass
class Done:
    iteration: int
    loss_sum: float
    samples: int
    finite: bool
    load_ns: int
    compute_ns: int


@dataclasses.dataclass
class Plan:
    """What the agent does."""

    samples: int = 64  # Of an epoch; 0: what the program says.
    steps: int = 4
    batch_size: int = 16
    micro_batch: int = 16
    # So many of the program's own micro-batches has each step of a stream, one
    # after the other, as where batches are balanced; none: a batch.
    balanced: Sequence[int] = ()
    optimizer: str = "sgd"
    rate: float = 0.1
    seed: int = 7
    wire: str = "fp32"
    role: str = "trainer"
    data: str = "program"
    initialize: bool = True
    overlap: bool = True
    protocol: int = 1
    arguments: Dict[str, str] = dataclasses.field(default_factory=dict)
    weights: Optional[Dict[str, np.ndarray]] = None  # Unless it initializes.
    # What happens in an iteration, sent in front of the last weights: any of
    # "refresh", "abandon", "drop", "stop", "die".
    events: Dict[int, str] = dataclasses.field(default_factory=dict)
    refuse: str = ""  # The answer to attach.
    stop_at_begin: str = ""
    evaluations: int = 0
    # Called between the first and the second half of a step's weights, of
    # which the second are no numbers until it returns.
    between: Optional[Callable[[int], None]] = None


class Tensor:
    """One tensor as the servers keep it."""

    def __init__(self, fields: Dict[str, Any]) -> None:
        self.name = fields["name"]
        self.shape = tuple(fields["shape"])
        self.kind = fields.get("kind", "trained")
        self.rate_factor = fields.get("rate_factor", 1.0)
        self.weight_decay = fields.get("weight_decay")
        self.momentum = fields.get("momentum", 0.1)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.value = np.zeros(self.size, np.float32)
        self.first = np.zeros(self.size, np.float32)
        self.second = np.zeros(self.size, np.float32)
        self.updates = 0

    def apply(self, spec: OptimizerSpec, gradient: np.ndarray, rate: float,
              share: float) -> None:
        """One update of `share` = n / B batches."""
        if self.kind == "statistic":
            part = 1 - (1 - self.momentum) ** share
            self.value += np.float32(part) * (gradient - self.value)
            return
        if self.kind == "averaged":
            self.value[:] = gradient
            return
        rate *= self.rate_factor
        decay = spec.decay_of(len(self.shape), self.weight_decay)
        w = self.value
        if spec.kind == "sgd":
            step = np.float32(share) * gradient
            if decay:
                step = step + np.float32(share * decay) * w
            if spec.momentum:
                self.first[:] = np.float32(spec.momentum) * self.first + step
                step = (step + np.float32(spec.momentum) * self.first
                        if spec.nesterov else self.first)
            w -= np.float32(rate) * step
            return
        self.updates += 1
        if spec.kind == "adam" and decay:
            gradient = gradient + np.float32(decay) * w
        beta1, beta2 = np.float32(spec.beta1), np.float32(spec.beta2)
        self.first[:] = beta1 * self.first + (1 - beta1) * gradient
        self.second[:] = beta2 * self.second + (1 - beta2) * gradient ** 2
        moved = share * rate
        keep = np.float32(1 - moved * decay if spec.kind == "adamw" else 1)
        size = np.float32(moved / (1 - spec.beta1 ** self.updates))
        correction = np.float32(1 / (1 - spec.beta2 ** self.updates))
        w[:] = keep * w - size * self.first / (
            np.sqrt(correction * self.second) + np.float32(spec.epsilon))


class FakeAgent:
    """Listens at `path`; serves one program. Use as a context manager."""

    def __init__(self, folder: pathlib.Path, plan: Plan) -> None:
        self.plan = plan
        self.path = str(folder / "program.sock")
        self.hello: Dict[str, Any] = {}
        self.attach: Dict[str, Any] = {}
        self.tensors: List[Tensor] = []
        self.initial: Dict[str, np.ndarray] = {}
        self.dones: List[Done] = []
        self.ready: Dict[int, List[Tuple[int, int]]] = {}
        self.abandoned: List[int] = []
        self.trained: List[Tuple[int, int]] = []  # Epoch and index, counted.
        self.steps: List[List[Tuple[int, int]]] = []
        self.evaluated: List[Dict[str, Any]] = []
        self.failed: Dict[str, Any] = {}
        self.gone = False  # The program closed before it was told to stop.
        self.error: Optional[BaseException] = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(1)
        self._listener.settimeout(PATIENCE)
        self._socket: Optional[socket.socket] = None
        self._received = bytearray()
        self._dealt = 0  # Epochs.
        self._to_deal: Deque[Tuple[int, int]] = collections.deque()
        self._reserved: Deque[Tuple[int, int]] = collections.deque()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "FakeAgent":
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the program did not end"
        if self.error is not None:
            raise self.error

    def value(self, name: str) -> np.ndarray:
        """The servers' value of a tensor, in its shape."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor.value.reshape(tensor.shape)
        raise KeyError(name)

    # The course.

    def _run(self) -> None:
        try:
            self._serve()
        except EOFError:
            self.gone = True
        except BaseException as error:  # For the test to raise.
            self.error = error
        finally:
            if self._socket is not None:
                self._socket.close()
            self._listener.close()

    def _serve(self) -> None:
        plan = self.plan
        self._socket, _ = self._listener.accept()
        self._socket.settimeout(PATIENCE)
        self.hello = self._expect_json(Kind.HELLO)
        self._send_json(Kind.JOB, {
            "protocol": plan.protocol, "job": "test", "worker": "w0",
            "role": plan.role, "arguments": plan.arguments, "seed": plan.seed,
            "batch_size": plan.batch_size, "micro_batch": plan.micro_batch,
            "wire": plan.wire, "optimizer": plan.optimizer,
            "learning_rate": plan.rate, "data": plan.data})
        self.attach = self._expect_json(Kind.ATTACH)
        if plan.refuse:
            self._send_json(Kind.REFUSED, {"code": "INVALID_ARGUMENT",
                                           "message": plan.refuse})
            return
        if plan.stop_at_begin:
            self._send_json(Kind.STOP, {"reason": plan.stop_at_begin})
            return
        plan.samples = plan.samples or self.attach["train_samples"]
        self.tensors = [Tensor(fields) for fields in self.attach["tensors"]]
        self._begin()
        for snapshot in range(plan.evaluations):
            self._evaluate(snapshot)
        spec = OptimizerSpec.parse(plan.optimizer)
        if plan.role == "trainer":
            for iteration in range(plan.steps):
                if not self._step(iteration, spec):
                    return
        self._send_json(Kind.STOP, {"reason": "the test is over"})
        # The program closes; whoever waits for that sees that it did.
        assert self._socket is not None
        while self._socket.recv(1 << 16):
            pass

    def _begin(self) -> None:
        plan = self.plan
        sizes = [tensor.size for tensor in self.tensors]
        self._weight_at, weight_bytes = layout(sizes, 4)
        sent = [0 if tensor.kind == "frozen" else tensor.size
                for tensor in self.tensors]
        self._gradient_at, gradient_bytes = layout(sent, _WIDTH[plan.wire])
        arenas = [os.memfd_create("weights"), os.memfd_create("gradients")]
        for arena, size in zip(arenas, (weight_bytes, gradient_bytes)):
            os.ftruncate(arena, size)
        self._weights = mmap.mmap(arenas[0], weight_bytes)
        self._gradients = mmap.mmap(arenas[1], gradient_bytes)
        body = json.dumps({"initialize": plan.initialize,
                           "weights_bytes": weight_bytes,
                           "gradients_bytes": gradient_bytes}).encode()
        assert self._socket is not None
        self._socket.sendmsg(
            [struct.pack("<II", len(body), Kind.BEGIN) + body],
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", arenas))])
        for arena in arenas:
            os.close(arena)
        if plan.initialize:
            self._expect(Kind.INITIALIZED)
            for i, tensor in enumerate(self.tensors):
                tensor.value[:] = self._weight(i)
        elif plan.weights is not None:
            for tensor in self.tensors:
                tensor.value[:] = plan.weights[tensor.name].ravel()
        self.initial = {tensor.name: tensor.value.copy()
                        for tensor in self.tensors}

    def _step(self, iteration: int, spec: OptimizerSpec) -> bool:
        plan = self.plan
        taken = self._take(plan.batch_size)
        self.steps.append(taken)
        self._send(Kind.STEP, struct.pack(
            "<qIIIIdqq", iteration, taken[0][0] if taken else 0,
            len(taken) or self._streamed(iteration), plan.micro_batch,
            1 if plan.overlap else 0, plan.rate, iteration, len(self.trained)))
        event = plan.events.get(iteration, "")
        self._send_weights(iteration, event)
        if event in ("stop", "die"):
            return False
        if event == "drop":
            self._to_deal.extendleft(reversed(self._reserved))
            self._reserved.clear()
        self.ready[iteration] = []
        while True:
            kind, body = self._frame()
            if kind == Kind.READY:
                self.ready[iteration].append(struct.unpack("<II", body))
            elif kind == Kind.ABANDONED:
                assert struct.unpack("<q", body) == (iteration,)
                self.abandoned.append(iteration)
                self._to_deal.extendleft(reversed(taken))
                return True
            elif kind == Kind.DONE:
                break
            elif kind == Kind.FAILED:
                self.failed = json.loads(body)
                return False
            else:
                raise AssertionError(f"frame {kind} in a step")
        number, loss_sum, samples, flags, load, compute = struct.unpack(
            "<qdIIQQ", body)
        assert number == iteration
        done = Done(iteration, loss_sum, samples, flags & 1 == 0, load, compute)
        self.dones.append(done)
        self.trained += taken[:samples]
        self._to_deal.extendleft(reversed(taken[samples:]))
        if done.finite:
            self._apply(spec, samples / plan.batch_size)
        return True

    def _send_weights(self, iteration: int, event: str) -> None:
        for i, tensor in enumerate(self.tensors):
            if tensor.kind != "frozen" or iteration == 0:
                self._weight(i)[:] = tensor.value
        half = len(self.tensors) // 2
        if self.plan.between is not None:
            for i in range(half, len(self.tensors)):
                self._weight(i)[:] = np.nan
        ranges = [(0, half), (half, len(self.tensors))]
        for place, (first, end) in enumerate(ranges):
            if place == 1 and event:
                self._send_event(iteration, event)
                if event == "die":
                    return
            if place == 1 and self.plan.between is not None:
                self.plan.between(iteration)
                for i in range(half, len(self.tensors)):
                    self._weight(i)[:] = self.tensors[i].value
            self._send(Kind.WEIGHTS, struct.pack("<II", first, end))

    def _send_event(self, iteration: int, event: str) -> None:
        if event == "refresh":
            self._send(Kind.REFRESH, struct.pack("<q", iteration))
        elif event == "abandon":
            self._send(Kind.ABANDON, struct.pack("<q", iteration))
        elif event == "drop":
            self._send(Kind.DROP, b"")
        elif event == "stop":
            self._send_json(Kind.STOP, {"reason": "enough"})
        elif event == "die":
            assert self._socket is not None
            self._socket.shutdown(socket.SHUT_RDWR)

    def _evaluate(self, snapshot: int) -> None:
        self._send(Kind.EVALUATE, struct.pack("<qQ", snapshot, 0))
        self._send_weights(0, "")
        kind, body = self._frame()
        if kind == Kind.FAILED:
            self.failed = json.loads(body)
            raise EOFError
        assert kind == Kind.EVALUATED
        self.evaluated.append(json.loads(body))

    def _apply(self, spec: OptimizerSpec, share: float) -> None:
        for i, tensor in enumerate(self.tensors):
            if tensor.kind != "frozen":
                tensor.apply(spec, self._gradient(i), self.plan.rate, share)

    # Samples.

    def _streamed(self, iteration: int) -> int:
        if not self.plan.balanced:
            return self.plan.batch_size
        return self.plan.balanced[iteration] * self.attach["micro_batch"]

    def _take(self, samples: int) -> List[Tuple[int, int]]:
        if self.plan.data == "stream":
            return []
        self._reserve(samples + self.attach.get("lookahead", 0))
        epoch = self._reserved[0][0]
        taken = []
        while (self._reserved and len(taken) < samples
               and self._reserved[0][0] == epoch):
            taken.append(self._reserved.popleft())
        return taken

    def _reserve(self, wanted: int) -> None:
        while len(self._reserved) < wanted:
            if not self._to_deal:
                order = list(range(self.plan.samples))
                random.Random(f"{self.plan.seed}/{self._dealt}").shuffle(order)
                self._to_deal.extend((self._dealt, i) for i in order)
                self._dealt += 1
            epoch = self._to_deal[0][0]
            lot = []
            while (self._to_deal and self._to_deal[0][0] == epoch
                   and len(lot) < self.plan.batch_size):
                lot.append(self._to_deal.popleft())
            self._reserved.extend(lot)
            self._send(Kind.LOT, struct.pack(
                f"<II{len(lot)}I", epoch, len(lot), *(i for _, i in lot)))

    # Memory and socket.

    def _weight(self, i: int) -> np.ndarray:
        return np.frombuffer(self._weights, np.float32, self.tensors[i].size,
                             self._weight_at[i])

    def _gradient(self, i: int) -> np.ndarray:
        size, at = self.tensors[i].size, self._gradient_at[i]
        if self.plan.wire == "fp16":
            return np.frombuffer(self._gradients, np.float16, size,
                                 at).astype(np.float32)
        if self.plan.wire == "bf16":
            high = np.frombuffer(self._gradients, np.uint16, size, at)
            return (high.astype(np.uint32) << 16).view(np.float32)
        return np.frombuffer(self._gradients, np.float32, size, at)

    def _send_json(self, kind: Kind, body: Dict[str, Any]) -> None:
        self._send(kind, json.dumps(body).encode())

    def _send(self, kind: Kind, body: bytes) -> None:
        assert self._socket is not None
        try:
            self._socket.sendall(struct.pack("<II", len(body), kind) + body)
        except (BrokenPipeError, ConnectionResetError):
            self._drain_failed()
            raise EOFError from None

    def _drain_failed(self) -> None:
        """What the program said before it closed."""
        try:
            while True:
                kind, body = self._frame()
                if kind == Kind.FAILED:
                    self.failed = json.loads(body)
        except (EOFError, OSError):
            pass

    def _expect(self, kind: Kind) -> bytes:
        got, body = self._frame()
        if got == Kind.FAILED:
            self.failed = json.loads(body)
            raise EOFError
        assert got == kind, f"frame {got} in place of {kind!r}"
        return body

    def _expect_json(self, kind: Kind) -> Dict[str, Any]:
        return json.loads(self._expect(kind))

    def _frame(self) -> Tuple[int, bytes]:
        length, kind = struct.unpack("<II", self._read(8))
        return kind, self._read(length)

    def _read(self, count: int) -> bytes:
        assert self._socket is not None
        while len(self._received) < count:
            try:
                data = self._socket.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                raise EOFError
            self._received += data
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

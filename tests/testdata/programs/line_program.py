#!/usr/bin/env python3
"""A program for tests: fits a line to points, over the protocol itself.

Needs nothing but Python. Its arguments, from the job: `trouble`, what goes
wrong in its third step ("exception"; "kill", of worker w1); `optimizer` and
`rate`, what it says that its own ones are.
"""

import array
import json
import mmap
import os
import signal
import socket
import struct
import sys

TRAIN_SAMPLES = 512
TEST_SAMPLES = 64
SLOPE, OFFSET = 2.0, -1.0

HELLO, ATTACH, INITIALIZED, DONE, ABANDONED, EVALUATED = 1, 2, 3, 5, 6, 7
JOB, BEGIN, WEIGHTS, LOT, DROP, STEP, REFRESH, ABANDON, EVALUATE, STOP = range(
    64, 74)
REFUSED = 74


def point(index: int) -> "tuple[float, float]":
    x = (index % 101) / 50 - 1
    return x, SLOPE * x + OFFSET


class Agent:
    """The other end of the socket."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(os.environ["PACELINE_PROGRAM"])
        self.descriptors: "list[int]" = []

    def send(self, kind: int, body: bytes = b"") -> None:
        self._socket.sendall(struct.pack("<II", len(body), kind) + body)

    def send_json(self, kind: int, **fields: object) -> None:
        self.send(kind, json.dumps(fields).encode())

    def receive(self) -> "tuple[int, bytes]":
        length, kind = struct.unpack("<II", self._read(8))
        return kind, self._read(length)

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part, descriptors, _, _ = socket.recv_fds(
                self._socket, count - len(data), 2)
            self.descriptors += descriptors
            if not part:
                print("the agent is gone", file=sys.stderr, flush=True)
                sys.exit(1)
            data += part
        return data


class Program:
    """Two tensors of one element each, 64 bytes apart."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._indices: "list[int]" = []
        self._steps = 0
        agent.send_json(HELLO, protocol=1, pid=os.getpid(), language="python")
        kind, body = agent.receive()
        if kind != JOB:
            sys.exit(0)  # It was told to stop before it had a job.
        self._job = json.loads(body)
        print("job", self._job["job"], "as", self._job["role"], flush=True)
        own: "dict[str, object]" = {}
        if "optimizer" in self._job["arguments"]:
            own = {"optimizer": self._job["arguments"]["optimizer"],
                   "learning_rate": float(self._job["arguments"]["rate"])}
        agent.send_json(
            ATTACH, tensors=[{"name": "slope", "shape": [1]},
                             {"name": "offset", "shape": [1]}],
            train_samples=TRAIN_SAMPLES, test_samples=TEST_SAMPLES, lookahead=0,
            **own)

    def run(self) -> None:
        while True:
            kind, body = self._agent.receive()
            if kind in (STOP, REFUSED):
                print(body.decode(), flush=True)
                sys.exit(0 if kind == STOP else 1)
            self._on(kind, body)

    def _on(self, kind: int, body: bytes) -> None:
        if kind == BEGIN:
            self._begin(json.loads(body))
        elif kind == LOT:
            count = struct.unpack_from("<II", body)[1]
            self._indices += struct.unpack_from(f"<{count}I", body, 8)
        elif kind == DROP:
            self._indices.clear()
        elif kind == STEP:
            iteration, _, samples = struct.unpack_from("<qII", body)
            self._step(iteration, samples)
        elif kind == EVALUATE:
            self._evaluate(struct.unpack_from("<q", body)[0])
        # A refresh or an abandon came too late: the step was done.

    def _begin(self, begin: "dict[str, object]") -> None:
        weights, gradients = self._agent.descriptors
        self._weights = mmap.mmap(weights, 0)
        self._gradients = mmap.mmap(gradients, 0)
        if begin["initialize"]:
            self._write(self._weights, 0.0, 0.0)
            self._agent.send(INITIALIZED)

    @staticmethod
    def _write(arena: mmap.mmap, slope: float, offset: float) -> None:
        arena[0:4] = array.array("f", [slope]).tobytes()
        arena[64:68] = array.array("f", [offset]).tobytes()

    def _await_weights(self) -> "tuple[float, float] | None":
        """None: what they were wanted for is dropped."""
        fresh: "set[int]" = set()
        while fresh != {0, 1}:
            kind, body = self._agent.receive()
            if kind == WEIGHTS:
                fresh.update(range(*struct.unpack_from("<II", body)))
            elif kind in (STOP, REFUSED):
                sys.exit(0)
            elif kind == ABANDON:
                self._agent.send(ABANDONED, body)
                return None
            else:
                self._on(kind, body)
        return (struct.unpack_from("<f", self._weights)[0],
                struct.unpack_from("<f", self._weights, 64)[0])

    def _step(self, iteration: int, samples: int) -> None:
        weights = self._await_weights()
        taken, self._indices = self._indices[:samples], self._indices[samples:]
        if weights is None:
            return
        slope, offset = weights
        self._steps += 1
        self._make_trouble()
        if self._job["data"] == "stream":
            taken = range(samples)
        assert len(taken) == samples, f"{len(taken)} of {samples} were dealt"
        loss = slope_gradient = offset_gradient = 0.0
        for index in taken:
            x, y = point(index)
            wrong = slope * x + offset - y
            loss += wrong * wrong
            slope_gradient += 2 * wrong * x / samples
            offset_gradient += 2 * wrong / samples
        self._write(self._gradients, slope_gradient, offset_gradient)
        self._agent.send(DONE, struct.pack("<qdIIQQ", iteration, loss, samples,
                                           0, 0, 1000))

    def _make_trouble(self) -> None:
        if self._steps != 3:
            return
        trouble = self._job["arguments"].get("trouble")
        if trouble == "exception":
            raise ValueError("the third step is cursed")
        if trouble == "kill" and self._job["worker"] == "w1":
            os.kill(os.getpid(), signal.SIGKILL)

    def _evaluate(self, snapshot: int) -> None:
        weights = self._await_weights()
        if weights is None:
            return
        slope, offset = weights
        worst = loss = 0.0
        for index in range(TEST_SAMPLES):
            x, y = point(index)
            wrong = slope * x + offset - y
            worst = max(worst, abs(wrong))
            loss += wrong * wrong / TEST_SAMPLES
        self._agent.send_json(EVALUATED, snapshot=snapshot,
                              metrics={"loss": loss, "worst": worst})


if __name__ == "__main__":
    Program(Agent()).run()

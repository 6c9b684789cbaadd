"""A whole program in numpy: docs/program-protocol.md without the package.

    paceline local --program "python3 tabular_mlp.py" --workers 4

Without PACELINE_PROGRAM it trains alone.
"""

import array
import json
import mmap
import os
import select
import socket
import struct
import time

import numpy as np


class Mlp:
    """Tells four classes of rows apart; it knows nothing of the protocol."""

    shapes = {"fc1.weight": (16, 64), "fc1.bias": (64,),  # In forward order.
              "fc2.weight": (64, 4), "fc2.bias": (4,)}
    train_samples, test_samples = 4096, 1024

    def __init__(self):
        self.x = np.random.default_rng(2).standard_normal((5120, 16), "f4")
        self.y = (self.x[:, 0] * self.x[:, 1] > 0) * 2 + (self.x[:, 2] > 0)

    def initialize(self, w):
        for seed, value in enumerate(w):
            value[:] = np.random.default_rng(seed).normal(0, 0.2, value.shape)

    def compute(self, w, samples):
        """The sum of their losses, its gradients, and how many are right."""
        x, y, rows = self.x[samples], self.y[samples], range(len(samples))
        hidden = np.maximum(x @ w[0] + w[1], 0)
        logits = hidden @ w[2] + w[3]
        logs = logits - np.logaddexp.reduce(logits, 1, keepdims=True)
        d = np.exp(logs)
        d[rows, y] -= 1
        back = d @ w[2].T * (hidden > 0)
        gradients = [x.T @ back, back.sum(0), hidden.T @ d, d.sum(0)]
        return -logs[rows, y].sum(), gradients, (logs.argmax(1) == y).sum()

    def evaluate(self, w, count):
        loss, _, right = self.compute(w, range(4096, 4096 + count))
        return {"accuracy": right / count, "loss": float(loss) / count}


HELLO, ATTACH, INITIALIZED, _, DONE, ABANDONED, EVALUATED, FAILED = range(1, 9)
(JOB, BEGIN, WEIGHTS, LOT, DROP, STEP, REFRESH, ABANDON, EVALUATE, STOP,
 REFUSED) = range(64, 75)


class Program:
    """Computes a model's gradients for the agent that listens at `path`."""

    def __init__(self, path, model):
        self.model, self.descriptors, self.lots = model, [], []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.send(HELLO, protocol=1, pid=os.getpid(), language="numpy")
        job = json.loads(self.receive()[1])
        if job["protocol"] != 1 or job["data"] != "program":
            self.send(FAILED, code="UNIMPLEMENTED", message=f"not for {job}")
            raise SystemExit(1)
        self.send(ATTACH, train_samples=model.train_samples,
                  test_samples=model.test_samples,
                  tensors=[{"name": name, "shape": shape}
                           for name, shape in model.shapes.items()])
        begin = json.loads(self.receive()[1])
        self.wire = {"fp32": "f4", "fp16": "f2", "bf16": "u2"}[job["wire"]]
        self.w = self.arena(begin["weights_bytes"], "f4")
        self.g = self.arena(begin["gradients_bytes"], self.wire)
        if begin["initialize"]:
            model.initialize(self.w)
            self.send(INITIALIZED)

    def send(self, kind, body=b"", **fields):
        body = json.dumps(fields).encode() if fields else body
        self.socket.sendall(struct.pack("<II", len(body), kind) + body)

    def read(self, count):
        data = b""
        while len(data) < count:
            part, control, _, _ = self.socket.recvmsg(
                count - len(data), socket.CMSG_SPACE(8))
            if not part:
                raise SystemExit("the agent is gone")
            data += part
            for _, _, payload in control:
                self.descriptors += array.array("i", payload)
        return data

    def receive(self):
        """The next frame. What can come at any time is obeyed here."""
        length, kind = struct.unpack("<II", self.read(8))
        body = self.read(length)
        if kind == LOT:  # The epoch, the count, and so many samples for us.
            self.lots += array.array("I", body[8:])
        elif kind == DROP:
            self.lots = []
        elif kind in (STOP, REFUSED):
            raise SystemExit(json.loads(body).get("message", 0))
        return kind, body

    def arena(self, size, dtype):
        """The next one's tensors: each at the next multiple of 64 bytes."""
        memory, tensors, at = mmap.mmap(self.descriptors.pop(0), size), [], 0
        for shape in self.model.shapes.values():
            tensors.append(np.ndarray(shape, dtype, memory, at))
            at = -(-(at + tensors[-1].nbytes) // 64) * 64
        return tensors

    def await_weights(self):
        """Until all have come; returns the kinds of what was said."""
        said, arrived = set(), 0
        while arrived < len(self.w) and ABANDON not in said:
            kind, body = self.receive()
            said.add(kind)
            if kind == WEIGHTS:
                arrived = struct.unpack_from("<II", body)[1]
        return said

    def step(self, iteration, _, size, at_once):
        """Computes the mean gradient of the first samples of the lots."""
        samples, self.lots = self.lots[:size], self.lots[size:]
        said, began = self.await_weights(), time.perf_counter_ns()
        loss, done, sums = 0.0, 0, [np.zeros_like(value) for value in self.w]
        while done < size and ABANDON not in said:
            part = samples[done:done + at_once]
            more, gradients, _ = self.model.compute(self.w, part)
            loss, done = loss + more, done + len(part)
            sums = [a + b for a, b in zip(sums, gradients)]
            while select.select([self.socket], [], [], 0)[0]:
                said.add(self.receive()[0])
            if REFRESH in said:  # What is done is enough.
                break
        if ABANDON in said:
            return self.send(ABANDONED, struct.pack("<q", iteration))
        finite = np.isfinite(loss)
        for total, place in zip(sums, self.g):
            mean = total / np.float32(done)
            bits = mean.view(np.uint32)  # bf16: their upper half, rounded.
            place[:] = (mean if self.wire != "u2" else
                        (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
            finite &= np.isfinite(mean).all() and np.isfinite(place).all()
        self.send(DONE, struct.pack("<qdIIQQ", iteration, loss, done,
                                    0 if finite else 1, 0,
                                    time.perf_counter_ns() - began))

    def run(self):
        while True:
            kind, body = self.receive()
            if kind == STEP:
                self.step(*struct.unpack_from("<qIII", body))
            elif kind == EVALUATE:
                snapshot, count = struct.unpack_from("<qQ", body)
                self.await_weights()
                metrics = self.model.evaluate(self.w, count or 1024)
                self.send(EVALUATED, snapshot=snapshot, metrics=metrics)


def train_alone(model):
    w = [np.empty(shape, "f4") for shape in model.shapes.values()]
    model.initialize(w)
    for part in np.random.permutation(4096).reshape(-1, 32):
        for value, gradient in zip(w, model.compute(w, part)[1]):
            value -= 0.2 / 32 * gradient
    print("alone, after an epoch:", model.evaluate(w, 1024))


if __name__ == "__main__":
    path = os.environ.get("PACELINE_PROGRAM")
    Program(path, Mlp()).run() if path else train_alone(Mlp())

"""A whole program in numpy: the protocol without the package, or torch.

    paceline local --program "python3 tabular_mlp.py" --workers 4

It reads docs/program-protocol.md aloud: frames, arenas, lots, steps. The model
has one hidden layer and tells which of four classes a row of a table is in.
Without PACELINE_PROGRAM it trains alone.
"""

import array
import json
import mmap
import os
import random
import socket
import struct
import time

import numpy as np

HELLO, ATTACH, INITIALIZED, DONE, ABANDONED, EVALUATED = 1, 2, 3, 5, 6, 7
(JOB, BEGIN, WEIGHTS, LOT, DROP, STEP, REFRESH, ABANDON, EVALUATE, STOP,
 REFUSED) = range(64, 75)

# In forward order.
SHAPES = {"fc1.weight": (16, 64), "fc1.bias": (64,),
          "fc2.weight": (64, 4), "fc2.bias": (4,)}


def table(rows: int, seed: int):
    """Rows [rows, 16] fp32, and classes [rows]."""
    drawn = np.random.default_rng(seed)
    x = drawn.standard_normal((rows, 16)).astype(np.float32)
    return x, (x[:, 0] * x[:, 1] > 0) * 2 + (x[:, 2] > 0)


def initialize(weights: dict) -> None:
    drawn = np.random.default_rng(1)
    for name, value in weights.items():
        value[:] = 0
        if name.endswith("weight"):
            bound = (6 / value.shape[0]) ** 0.5
            value[:] = drawn.uniform(-bound, bound, value.shape)


def forward(w: dict, x: np.ndarray):
    """The hidden layer's values, and the classes' probabilities."""
    hidden = np.maximum(x @ w["fc1.weight"] + w["fc1.bias"], 0)
    logits = hidden @ w["fc2.weight"] + w["fc2.bias"]
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return hidden, shares / shares.sum(1, keepdims=True)


def loss_of(shares: np.ndarray, y: np.ndarray) -> float:
    """The sum over the samples."""
    return float(-np.log(shares[np.arange(len(y)), y] + 1e-30).sum())


def add_gradients(w: dict, g: dict, x, y, scale: float) -> float:
    """Adds scale * the gradient of the sum of losses; returns that sum."""
    hidden, shares = forward(w, x)
    loss = loss_of(shares, y)
    shares[np.arange(len(y)), y] -= 1
    shares *= scale
    g["fc2.weight"] += hidden.T @ shares
    g["fc2.bias"] += shares.sum(0)
    back = (shares @ w["fc2.weight"].T) * (hidden > 0)
    g["fc1.weight"] += x.T @ back
    g["fc1.bias"] += back.sum(0)
    return loss


class Agent:
    """The socket to paceline-worker."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.bytes, self.descriptors = b"", []
        self.lots = []  # Indices that are reserved for us, in order.

    def send(self, kind: int, body=b"") -> None:
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        self.socket.sendall(struct.pack("<II", len(body), kind) + body)

    def receive(self, wait: bool = True):
        """The next frame; None if there is none and it shall not wait.

        Lots, which can come at any time, are taken on the way.
        """
        while True:
            if len(self.bytes) >= 8:
                length, kind = struct.unpack_from("<II", self.bytes)
                if len(self.bytes) >= 8 + length:
                    body = self.bytes[8:8 + length]
                    self.bytes = self.bytes[8 + length:]
                    if kind in (STOP, REFUSED):
                        raise SystemExit(json.loads(body).get("message", 0))
                    if kind not in (LOT, DROP):
                        return kind, body
                    if kind == DROP:
                        self.lots.clear()
                    else:  # The epoch, the count, and so many indices.
                        self.lots += array.array("I", body[8:])
                    continue
            try:
                data, control, _, _ = self.socket.recvmsg(
                    1 << 16, socket.CMSG_SPACE(8),
                    0 if wait else socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            if not data:
                raise SystemExit("the agent is gone")
            for _, _, payload in control:
                self.descriptors += array.array("i", payload)
            self.bytes += data


def views(memory) -> dict:
    """The tensors of an arena: each at the next multiple of 64 bytes."""
    tensors, at = {}, 0
    for name, shape in SHAPES.items():
        at = -(-at // 64) * 64
        count = int(np.prod(shape))
        tensors[name] = np.frombuffer(memory, np.float32, count, at).reshape(
            shape)
        at += 4 * count
    return tensors


def work(agent: Agent) -> None:
    x, y = table(4096, seed=2)
    test_x, test_y = table(1024, seed=3)
    agent.send(HELLO, {"protocol": 1, "pid": os.getpid(), "language": "numpy"})
    agent.receive()  # job: what it is called, its arguments, ...
    agent.send(ATTACH, {
        "tensors": [{"name": name, "shape": list(shape)}
                    for name, shape in SHAPES.items()],
        "train_samples": len(x), "test_samples": len(test_x), "lookahead": 0})
    begin = json.loads(agent.receive()[1])
    sizes = begin["weights_bytes"], begin["gradients_bytes"]
    w, g = (views(mmap.mmap(descriptor, size))
            for descriptor, size in zip(agent.descriptors, sizes))
    if begin["initialize"]:
        initialize(w)
        agent.send(INITIALIZED)
    while True:
        kind, body = agent.receive()
        if kind == EVALUATE:
            snapshot, samples = struct.unpack_from("<qQ", body)
            await_weights(agent)
            samples = samples or len(test_x)
            shares = forward(w, test_x[:samples])[1]
            right = shares.argmax(1) == test_y[:samples]
            agent.send(EVALUATED, {"snapshot": snapshot, "metrics": {
                "accuracy": float(right.mean()),
                "loss": loss_of(shares, test_y[:samples]) / samples}})
        elif kind == STEP:
            iteration, _, samples, at_once = struct.unpack_from("<qIII", body)
            taken, agent.lots[:samples] = agent.lots[:samples], []
            step(agent, w, g, x, y, iteration, taken, at_once)


def await_weights(agent: Agent):
    """Until the last tensor has come. Returns what else was said of a step."""
    said = None
    while True:
        kind, body = agent.receive()
        if kind == WEIGHTS and struct.unpack("<II", body)[1] == len(SHAPES):
            return said
        if kind == ABANDON:
            return ABANDON
        said = kind if kind == REFRESH else said


def step(agent, w, g, x, y, iteration, taken, at_once) -> None:
    """Computes the mean gradient of the samples `taken`, in pieces."""
    said = await_weights(agent)
    began, loss, computed = time.perf_counter_ns(), 0.0, 0
    for gradient in g.values():
        gradient[:] = 0
    while said != ABANDON and computed < len(taken):
        part = taken[computed:computed + at_once]
        loss += add_gradients(w, g, x[part], y[part], 1 / len(taken))
        computed += len(part)
        frame = agent.receive(wait=False)
        if frame is not None:  # In the middle of a step: refresh or abandon.
            said = frame[0]
        if said == REFRESH:
            break
    if said == ABANDON:
        agent.send(ABANDONED, struct.pack("<q", iteration))
        return
    for gradient in g.values():  # The mean of what was computed.
        gradient *= len(taken) / computed
    finite = np.isfinite(loss) and all(np.isfinite(v).all() for v in g.values())
    agent.send(DONE, struct.pack(
        "<qdIIQQ", iteration, loss if finite else 0.0, computed,
        0 if finite else 1, 0, time.perf_counter_ns() - began))


def train_alone() -> None:
    x, y = table(4096, seed=2)
    w = {name: np.empty(shape, np.float32) for name, shape in SHAPES.items()}
    initialize(w)
    for epoch in range(3):
        order = random.Random(epoch).sample(range(len(x)), len(x))
        total = 0.0
        for at in range(0, len(x), 32):
            g = {name: np.zeros_like(value) for name, value in w.items()}
            part = order[at:at + 32]
            total += add_gradients(w, g, x[part], y[part], 1 / 32)
            for name, gradient in g.items():
                w[name] -= 0.2 * gradient
        print(f"alone, epoch {epoch + 1}: loss {total / len(x):.3f}")


if "PACELINE_PROGRAM" in os.environ:
    work(Agent(os.environ["PACELINE_PROGRAM"]))
else:
    train_alone()

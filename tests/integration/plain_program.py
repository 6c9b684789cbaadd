#!/usr/bin/python3
"""A program of docs/program-protocol.md with the standard library alone.

The job's argument `task` says what it learns:
    classify   which of three centres a point is near: softmax regression
    count      how often each sample was used: weight i grows by one for each
    parts      the same twice, in tensors for several servers, beside a wide one
               each of whose weights grows by one for any sample
               (its size is the argument `wide`, if there is one)
    break      nothing: it raises an exception in its third step

After each three steps it says on stderr how many it has done. With the argument
`lives` it writes its pid to a file in that folder, named by its worker, once it
has done three; an evaluator writes there what its evaluation came to.
"""

import array
import json
import math
import mmap
import os
import pathlib
import random
import socket
import struct
import sys

HELLO, ATTACH, INITIALIZED, READY, DONE, ABANDONED, EVALUATED, FAILED = range(
    1, 9)
(JOB, BEGIN, WEIGHTS, LOT, DROP, STEP, REFRESH, ABANDON, EVALUATE, STOP,
 REFUSED) = range(64, 75)
OVERLAP = 1
ALIGNMENT = 64


class Agent:
    """The connection to the agent."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.environ["PACELINE_PROGRAM"])
        self.received = b""
        self.descriptors = []

    def say(self, kind, body=b""):
        self.socket.sendall(struct.pack("<II", len(body), kind) + body)

    def say_json(self, kind, **fields):
        self.say(kind, json.dumps(fields).encode())

    def fill(self, size):
        while len(self.received) < size:
            data, fds, _, _ = socket.recv_fds(self.socket, 1 << 16, 2)
            self.descriptors += fds
            if not data:
                raise SystemExit("the agent has gone")
            self.received += data

    def next(self):
        self.fill(8)
        length, kind = struct.unpack("<II", self.received[:8])
        self.fill(8 + length)
        body = self.received[8:8 + length]
        self.received = self.received[8 + length:]
        if kind == STOP:
            raise SystemExit(0)
        if kind == REFUSED:
            raise SystemExit(body.decode())
        return kind, body

    def expect(self, wanted):
        kind, body = self.next()
        assert kind == wanted, (kind, wanted)
        return body


class Classify:
    """1,000 points around three centres, with two weights and a bias each."""

    CENTRES = ((0.0, 2.0), (2.0, -1.0), (-2.0, -1.0))
    TRAIN, TEST = 1024, 200
    SIZES = {"weight": (3, 2), "bias": (3,), "scale": (1,)}
    KINDS = {"scale": "frozen"}

    def __init__(self):
        draw = random.Random(7)
        self.points = []
        for _ in range(self.TRAIN + self.TEST):
            label = draw.randrange(3)
            x, y = self.CENTRES[label]
            self.points.append((draw.gauss(x, 1), draw.gauss(y, 1), label))

    def start(self, weights):
        weights["scale"][0] = 1.0

    def output(self, weights, x, y):
        w, b, scale = weights["weight"], weights["bias"], weights["scale"][0]
        logits = [scale * (w[2 * i] * x + w[2 * i + 1] * y + b[i])
                  for i in range(3)]
        total = sum(math.exp(z) for z in logits)
        return [math.exp(z) / total for z in logits]

    def step(self, weights, gradients, samples, batch):
        for gradient in gradients.values():
            gradient[:] = array.array("f", bytes(4 * len(gradient)))
        loss = 0.0
        for sample in samples:
            x, y, label = self.points[sample]
            chances = self.output(weights, x, y)
            loss -= math.log(chances[label])
            for i in range(3):
                error = (chances[i] - (i == label)) / len(samples)
                gradients["weight"][2 * i] += error * x
                gradients["weight"][2 * i + 1] += error * y
                gradients["bias"][i] += error
        return loss

    def evaluate(self, weights, samples):
        tests = self.points[self.TRAIN:self.TRAIN + (samples or self.TEST)]
        hits, loss = 0, 0.0
        for x, y, label in tests:
            chances = self.output(weights, x, y)
            hits += chances.index(max(chances)) == label
            loss -= math.log(chances[label])
        return {"accuracy": hits / len(tests), "loss": loss / len(tests),
                "sharpest": max(chances)}


class Count:
    """Exact: each sample that counts adds one to its own weight."""

    TRAIN, TEST = 1024, 1
    SIZES = {"counts": (1024,)}
    KINDS = {}

    def start(self, weights):
        pass

    def step(self, weights, gradients, samples, batch):
        counts = array.array("f", bytes(4 * self.TRAIN))
        for sample in samples:
            counts[sample] -= batch / len(samples)
        gradients["counts"][:] = counts
        return 1.0 * len(samples)

    def evaluate(self, weights, samples):
        counts = weights["counts"].tolist()
        return {"accuracy": 0.0, "loss": 1.0, "least": min(counts),
                "most": max(counts), "total": sum(counts)}


class Parts(Count):
    """As Count, where each server has a part: they must agree."""

    SIZES = {"wide": (270_000,), "counts": (1024,), "again": (1024,)}
    wide = array.array("f")

    def step(self, weights, gradients, samples, batch):
        loss = super().step(weights, gradients, samples, batch)
        gradients["again"][:] = gradients["counts"]
        if not self.wide:
            self.wide = array.array("f", [-batch]) * math.prod(
                self.SIZES["wide"])
        gradients["wide"][:] = self.wide
        return loss


class Break(Count):
    steps = 0

    def step(self, weights, gradients, samples, batch):
        self.steps += 1
        if self.steps == 3:
            raise IndexError("the list is too short")
        return super().step(weights, gradients, samples, batch)


def views(model, descriptor, size, with_frozen):
    """The tensors that lie in an arena, by name."""
    memory = memoryview(mmap.mmap(descriptor, size)).cast("f")
    os.close(descriptor)
    found, at = {}, 0
    for name, shape in model.SIZES.items():
        if model.KINDS.get(name) == "frozen" and not with_frozen:
            continue
        at = -(-at // ALIGNMENT) * ALIGNMENT
        elements = math.prod(shape)
        found[name] = memory[at // 4:at // 4 + elements]
        at += 4 * elements
    return found


def await_weights(agent, tensors):
    """False if the step is abandoned before all of them are there."""
    told = 0
    while told < tensors:
        kind, body = agent.next()
        if kind == ABANDON:
            agent.say(ABANDONED, body)
            return False
        if kind == WEIGHTS:
            first, told_now = struct.unpack("<II", body)
            assert first == told
            told = told_now
        elif kind not in (REFRESH, LOT, DROP):
            raise AssertionError(kind)
    return True


def main():
    agent = Agent()
    agent.say_json(HELLO, protocol=1, pid=os.getpid(), language="python")
    job = json.loads(agent.expect(JOB))
    model = {"classify": Classify, "count": Count, "parts": Parts,
             "break": Break}[job["arguments"]["task"]]()
    if "wide" in job["arguments"]:
        model.SIZES["wide"] = (int(job["arguments"]["wide"]),)
    agent.say_json(
        ATTACH,
        tensors=[{"name": name, "shape": shape,
                  "kind": model.KINDS.get(name, "trained")}
                 for name, shape in model.SIZES.items()],
        train_samples=model.TRAIN, test_samples=model.TEST,
        optimizer=job["optimizer"])
    begin = json.loads(agent.expect(BEGIN))
    weights = views(model, agent.descriptors[0], begin["weights_bytes"], True)
    gradients = views(model, agent.descriptors[1], begin["gradients_bytes"],
                      False)
    if begin["initialize"]:
        model.start(weights)
        agent.say(INITIALIZED)
    known, steps = [], 0
    lives = job["arguments"].get("lives")
    while True:
        kind, body = agent.next()
        if kind == LOT:
            known += struct.unpack(f"<{len(body) // 4}I", body)[2:]
        elif kind == DROP:
            known = []
        elif kind == STEP:
            iteration, _, size, _, flags, _, _, _ = struct.unpack(
                "<qIIIIdqq", body)
            samples, known = known[:size], known[size:]
            assert len(samples) == size
            if not await_weights(agent, len(model.SIZES)):
                continue
            loss = model.step(weights, gradients, samples, job["batch_size"])
            if flags & OVERLAP:
                agent.say(READY, struct.pack("<II", 0, len(model.SIZES)))
            agent.say(DONE, struct.pack("<qdIIQQ", iteration, loss, size, 0, 0,
                                        0))
            steps += 1
            if steps % 3 == 0:
                # In one piece, for it may be killed at any time.
                sys.stderr.write(f"{job['worker']} has done {steps} steps\n")
            if lives and steps == 3:
                path = pathlib.Path(lives) / job["worker"]
                path.with_suffix(".new").write_text(str(os.getpid()))
                path.with_suffix(".new").rename(path)
        elif kind == EVALUATE:
            snapshot, samples = struct.unpack("<qQ", body)
            await_weights(agent, len(model.SIZES))
            metrics = model.evaluate(weights, samples)
            if lives:
                (pathlib.Path(lives) / "evaluated").write_text(
                    json.dumps(metrics))
            agent.say_json(EVALUATED, snapshot=snapshot, metrics=metrics)
        elif kind == ABANDON:  # Of a step that is done.
            pass


if __name__ == "__main__":
    main()

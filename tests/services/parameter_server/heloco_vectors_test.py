#!/usr/bin/python3
"""HeLoCo's correction, by vectors.

usage: heloco_vectors_test.py SOURCE_FOLDER

A model of the equations of Al Asif et al. (2026, arXiv 2606.00271, 7 to 15),
written down one by one with whole vectors, beside which the servers' kernels
are measured: tests/testdata/heloco/vectors.txt has what it makes of blocks of
many sizes, and momentum_alignment_test.cc reads that. This checks that the file
is what the model says. With PACELINE_REWRITE=1 it writes the file.

Of each vector: its name, the scale of the pseudo-gradient and that of the
momentum, then the pseudo-gradient, the momentum and the corrected
pseudo-gradient, each on a line.
"""

import math
import os
import pathlib
import random
import struct
import sys

C_OK, K_S, BETA_MAX, K_D, KAPPA, EPSILON = 0.2, 0.5, 0.5, 1.0, 3.0, 1e-8


def norm(x):
    return math.sqrt(math.fsum(a * a for a in x))


def corrected(delta, momentum):
    """The pseudo-gradient of a block, beside the outer momentum, a mean."""
    length, size = norm(delta), norm(momentum)
    if length < EPSILON or size < EPSILON:
        return delta
    u = [d / length for d in delta]  # (7)
    v = [m / size for m in momentum]
    c = math.fsum(a * b for a, b in zip(u, v))  # (8)
    if c >= C_OK:
        return delta  # (9)
    confidence = length / (length + KAPPA * size + EPSILON)  # (15)
    if c < 0:
        beta = min(K_S * -c * confidence, BETA_MAX)  # (10)
        return [d - beta * c * length * b for d, b in zip(delta, v)]  # (11)
    turn = min(K_D * (1 - c) * confidence, 1)  # (12)
    mixed = [(1 - turn) * a + turn * b for a, b in zip(u, v)]  # (13)
    mixed_length = max(norm(mixed), EPSILON)
    return [length * a / mixed_length for a in mixed]  # (14)


def as_float(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def along(direction, cosine, length, rng):
    """A vector of that length at that cosine to the direction."""
    size = norm(direction)
    axis = [a / size for a in direction]
    other = [rng.gauss(0, 1) for _ in axis]
    dot = math.fsum(a * b for a, b in zip(other, axis))
    other = [a - dot * b for a, b in zip(other, axis)]
    rest = norm(other) if len(axis) > 1 else 1
    sine = math.sqrt(1 - cosine * cosine)
    return [length * (cosine * a + sine * b / rest)
            for a, b in zip(axis, other)]


def vectors():
    """(name, scale of the gradient, scale of the momentum, g, v)"""
    rng = random.Random(1)
    scales = ((1, 1, 1), (0.01, 0.5, 0.1), (30, 4, 0.1))
    for size in (2, 3, 15, 16, 17, 33, 70):
        for i, cosine in enumerate((-1, -0.7, -0.05, 0, 0.1, 0.19, 0.21, 0.9)):
            v = [rng.gauss(0, 1) for _ in range(size)]
            length, of_g, of_v = scales[(size + i) % 3]
            yield (f"size={size},cosine={cosine},length={length}", of_g, of_v,
                   along(v, cosine, length, rng), v)
    yield "one_against", 1, 0.1, [-2.0], [3.0]
    yield "one_with", 1, 0.1, [2.0], [3.0]
    yield "no_momentum", 1, 0.1, [1.0, -2.0, 3.0], [0.0, 0.0, 0.0]
    yield "no_gradient", 1, 0.1, [0.0, 0.0, 0.0], [1.0, -2.0, 3.0]
    yield "tiny_momentum", 1, 0.1, [1.0, -1.0], [-4e-9, 0.0]
    yield "huge", 1, 0.1, [1e30, -2e30, 5e29], [-1e25, 2e25, 3e25]


def text():
    lines = []
    for name, of_g, of_v, g, v in vectors():
        g, v = [as_float(a) for a in g], [as_float(a) for a in v]
        # The model sees what the momentum takes up, and a mean.
        want = corrected([of_g * a for a in g], [of_v * a for a in v])
        lines.append(f"{name} {of_g} {of_v}")
        for row in (g, v, [a / of_g for a in want]):
            lines.append(" ".join(f"{a:.9g}" for a in row))
    return "\n".join(lines) + "\n"


def main():
    path = (pathlib.Path(sys.argv[1]) / "tests/testdata/heloco" /
            "vectors.txt")
    made = text()
    if os.environ.get("PACELINE_REWRITE"):
        path.write_text(made)
        return 0
    if path.read_text() == made:
        return 0
    print(f"{path} is not what the model says; PACELINE_REWRITE=1 writes it")
    return 1


if __name__ == "__main__":
    sys.exit(main())

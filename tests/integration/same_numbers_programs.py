#!/usr/bin/python3
"""The built-in model `mlp` as programs: numpy's and torch's.

    same_numbers_programs.py numpy|torch FOLDER

Both read the MNIST files of FOLDER as the built-in does. Which samples came in
which order goes to FOLDER/numpy.order, a step a line.
"""

import collections
import ctypes
import ctypes.util
import os
import pathlib
import sys

import numpy as np

SIZES = (256, 128, 10)  # Of the layers.
BATCH = 32


def read_idx(path):
    """The bytes of an IDX file, in its shape."""
    data = path.read_bytes()
    dimensions = data[3]
    shape = np.frombuffer(data, ">u4", dimensions, 4)
    return np.frombuffer(data, np.uint8, -1, 4 + 4 * dimensions).reshape(shape)


def load(folder):
    """Images [n, pixels] and labels [n], as services/worker/data has them."""
    images = read_idx(folder / "train-images-idx3-ubyte")
    mean, deviation = np.float32(0.1307), np.float32(0.3081)
    factor = np.float32(1) / (np.float32(255) * deviation)
    x = images.reshape(len(images), -1).astype(np.float32)
    x = x * factor + -mean / deviation
    return x, read_idx(folder / "train-labels-idx1-ubyte").astype(np.int64)


def shapes(inputs):
    found = {}
    for i, outputs in enumerate(SIZES, 1):
        found[f"fc{i}.weight"] = (outputs, inputs)
        found[f"fc{i}.bias"] = (outputs,)
        inputs = outputs
    return found


def exp_of_libm():
    """The worker's: numpy's own differs from it in the last bit."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.expf.argtypes = [ctypes.c_float]
    library.expf.restype = ctypes.c_float
    return np.vectorize(library.expf, otypes=[np.float32])


class Mlp:
    """The same operations as gpu/cpu/, in the same order. The products are
    those of one BLAS: both programs ask it for the same."""

    test_samples = 0

    def __init__(self, folder):
        self.folder = folder
        self.x, self.y = load(folder)
        self.train_samples = len(self.x)
        self.shapes = shapes(self.x.shape[1])
        self.exp = exp_of_libm()
        self.order = open(folder / "numpy.order", "w", buffering=1)

    def initialize(self, w):
        raise AssertionError("the job has initial weights")

    def compute(self, w, samples):
        """The sum of their losses, its gradients, and how many are right."""
        print(*samples, file=self.order)
        x, y, rows = self.x[samples], self.y[samples], range(len(samples))
        first = np.maximum(x @ w[0].T + w[1], 0)
        second = np.maximum(first @ w[2].T + w[3], 0)
        logits = second @ w[4].T + w[5]
        powers = self.exp(logits - logits.max(1, keepdims=True))
        # From the first to the last: sum() takes them in another order.
        d = powers / np.add.accumulate(powers, axis=1)[:, -1:]
        loss = -np.log(d[rows, y]).sum()
        d[rows, y] -= 1
        d2 = np.where(second > 0, d @ w[4], np.float32(0))
        d1 = np.where(first > 0, d2 @ w[2], np.float32(0))
        gradients = [d1.T @ x, d1.sum(0), d2.T @ first, d2.sum(0),
                     d.T @ second, d.sum(0)]
        return loss, gradients, (logits.argmax(1) == y).sum()


def make_torch_model(inputs):
    """What a person would write."""
    from torch import nn

    layers = collections.OrderedDict()
    for i, outputs in enumerate(SIZES, 1):
        layers[f"fc{i}"] = nn.Linear(inputs, outputs)
        if i < len(SIZES):
            layers[f"relu{i}"] = nn.ReLU()
        inputs = outputs
    return nn.Sequential(layers)


def torch_program(folder):
    import torch
    import torch.nn.functional as F

    import paceline.torch as pl

    x, y = map(torch.from_numpy, load(folder))
    model = make_torch_model(x.shape[1])
    job = pl.attach(model, optimizer="sgd:momentum=0.9")
    data = torch.utils.data.TensorDataset(x, y)
    for images, labels in job.batches(data, batch_size=BATCH):
        job.backward(F.cross_entropy(model(images), labels))


def main():
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "torch":
        return torch_program(folder)
    examples = (pathlib.Path(__file__).resolve().parents[2]
                / "services/worker/python/examples")
    sys.path.insert(0, str(examples))
    from tabular_mlp import Program  # Its protocol, with another model.

    return Program(os.environ["PACELINE_PROGRAM"], Mlp(folder)).run()


if __name__ == "__main__":
    main()

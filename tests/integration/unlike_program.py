#!/usr/bin/python3
"""A torch script whose model or data are not what other workers have.

    unlike_program.py OUTPUTS SAMPLES
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import paceline.torch as pl


class Model(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.fc = nn.Linear(8, outputs)

    def forward(self, x):
        return self.fc(F.relu(self.first(x)))


def main():
    outputs, samples = (int(word) for word in sys.argv[1:3])
    job = pl.attach(Model(outputs), optimizer="sgd")
    data = torch.utils.data.TensorDataset(
        torch.ones(samples, 4), torch.zeros(samples, dtype=torch.int64))
    model = job.model
    for x, y in job.batches(data):
        job.backward(F.cross_entropy(model(x), y))


if __name__ == "__main__":
    main()

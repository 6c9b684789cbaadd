#!/usr/bin/python3
"""A torch script for own_model_test.py, with the package `paceline`.

It tells four kinds of points apart, and counts: each time that a sample is
used, its element of `counts` grows by the job's learning rate over its batch
size. The counts teach the rest nothing.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

TRAIN, TEST, BATCH, RATE = 1024, 256, 32, 0.125


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.counts = nn.Parameter(torch.zeros(TRAIN))
        self.norm = nn.BatchNorm1d(2)
        self.fc = nn.Linear(2, 4)
        self.scale = nn.Parameter(torch.full((1,), 0.75), requires_grad=False)

    def forward(self, x):
        return self.scale * self.fc(self.norm(x))


def make_points():
    """Numbers, places and kinds of all, those for the evaluation last."""
    generator = torch.Generator().manual_seed(2)
    kinds = torch.arange(TRAIN + TEST) % 4
    centres = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    places = centres[kinds] + 0.4 * torch.randn(TRAIN + TEST, 2,
                                                generator=generator)
    return torch.arange(TRAIN + TEST), places, kinds


def evaluate(model, samples=TEST):
    _, places, kinds = (part[TRAIN:TRAIN + samples] for part in make_points())
    logits = model(places)
    loss = F.cross_entropy(logits, kinds).item()
    best = logits.topk(2).indices
    return {"accuracy": (best[:, 0] == kinds).float().mean().item(),
            "loss": loss, "perplexity": math.exp(loss),
            "top2": (best == kinds[:, None]).any(1).float().mean().item()}


def main():
    import paceline.torch as pl

    model = Model()
    job = pl.attach(model, optimizer=torch.optim.SGD(model.parameters(),
                                                     lr=RATE),
                    metrics=["perplexity", "top2"])
    job.evaluator(test_samples=TEST)(evaluate)
    train = torch.utils.data.TensorDataset(
        *(part[:TRAIN] for part in make_points()))
    for numbers, places, kinds in job.batches(train, batch_size=BATCH):
        used = model.counts[numbers].mean()
        # Of which only the gradient is left.
        job.backward(F.cross_entropy(model(places), kinds)
                     - (used - used.detach()))


if __name__ == "__main__":
    main()

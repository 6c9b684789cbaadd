"""The training that link_bench.py measures: a million parameters, and as little
to compute as goes with them."""

import torch
import torch.nn.functional as F
from torch import nn

import paceline
import paceline.torch as pl

SAMPLES = 1 << 16
INPUTS, HIDDEN = 512, 1024


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    push_every = int(paceline.arguments().get("push_every", "1"))
    model = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(),
                          nn.Linear(HIDDEN, INPUTS), nn.ReLU(),
                          nn.Linear(INPUTS, 10))
    data = torch.utils.data.TensorDataset(
        torch.randn(256, INPUTS).repeat(SAMPLES // 256, 1),
        torch.arange(SAMPLES) % 10)
    if push_every > 1:
        local = torch.optim.SGD(model.parameters(), lr=0.001)
        job = pl.attach(model, local=local, push_every=push_every)
    else:
        job = pl.attach(model)
    for x, y in job.batches(data):
        job.backward(F.cross_entropy(model(x), y))


if __name__ == "__main__":
    main()

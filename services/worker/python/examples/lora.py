"""Low-rank adapters (Hu et al., 2021) on a base that never leaves its place.

    python3 lora.py                              # alone
    paceline local --program "python3 lora.py" --workers 4 \\
        --optimizer adamw --learning-rate 0.01

Every worker loads the base itself, from one file in practice; the servers,
the network and the checkpoints have the adapters and the new head alone.
"""

import torch
import torch.nn.functional as F
from torch import nn

import paceline.torch as pl


class Adapted(nn.Module):
    """A frozen linear layer plus B A x, of rank 4; B begins at zero."""

    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features)
                              / base.in_features ** 0.5)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + F.linear(F.linear(x, self.a), self.b)


def pretrained() -> nn.Sequential:
    """In practice: load_state_dict(torch.load(...)), the same for everybody."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(32, 256), nn.ReLU(),
                             nn.Linear(256, 256), nn.ReLU())


def task(samples: int, seed: int) -> torch.utils.data.TensorDataset:
    """Points [samples, 32], and on which side of three planes each lies."""
    planes = torch.randn(32, 3, generator=torch.Generator().manual_seed(5))
    x = torch.randn(samples, 32, generator=torch.Generator().manual_seed(seed))
    return torch.utils.data.TensorDataset(
        x, ((x @ planes > 0) * torch.tensor([1, 2, 4])).sum(1))


torch.manual_seed(0)
torch.set_num_threads(1)
model = pretrained()
model[0], model[2] = Adapted(model[0]), Adapted(model[2])
model.add_module("head", nn.Linear(256, 8))
train, test = task(4096, 6), task(1024, 7)

adapters = [parameter for parameter in model.parameters()
            if parameter.requires_grad]
job = pl.attach(
    model, exclude=["*.base.*"],  # Neither sent nor saved.
    optimizer=torch.optim.AdamW(adapters, lr=0.01, weight_decay=0.0))


@job.evaluator(test_samples=len(test))
def evaluate(model: nn.Module, samples: int) -> dict:
    x, y = test[:samples]
    logits = model(x)
    return {"accuracy": (logits.argmax(1) == y).float().mean(),
            "loss": F.cross_entropy(logits, y)}


for x, y in job.batches(train, batch_size=32):
    job.backward(F.cross_entropy(model(x), y))

"""A small GPT that learns the next character of a text.

    python3 char_transformer.py [TEXT]           # alone
    paceline local --program "python3 char_transformer.py TEXT" --workers 4 \\
        --optimizer adamw:weight_decay=0.1 --learning-rate 0.001 \\
        --batch-size 64 --target perplexity=4

TEXT is a file in any language; without it a text is made up. A step of 64
samples is computed 16 at once: the gradient is that of all 64.
"""

import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn

import paceline.torch as pl

LENGTH, WIDTH, HEADS, LAYERS = 64, 64, 4, 2


def text() -> str:
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1]).read_text()
    drawn = random.Random(1)
    who, does = ["a fox", "the owl", "one bee"], ["sees", "hears", "follows"]
    return "".join(f"{drawn.choice(who)} {drawn.choice(does)} "
                   f"{drawn.choice(who)}. " for _ in range(3000))


class Characters(torch.utils.data.Dataset):
    """Sample i is (characters [LENGTH], the characters that follow them)."""

    def __init__(self, ids: torch.Tensor) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return (len(self.ids) - 1) // LENGTH

    def __getitem__(self, index: int):
        at = index * LENGTH
        return (self.ids[at:at + LENGTH], self.ids[at + 1:at + LENGTH + 1])


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        y = self.norm1(x)
        x = x + self.attention(y, y, y, attn_mask=later.to(x.device),
                               need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """Characters [N, LENGTH] to logits [N, LENGTH, characters]."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.head.weight = self.embedding.weight  # Tied: kept once.

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embedding(x) + self.places[:x.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def loss_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


torch.manual_seed(0)
torch.set_num_threads(1)
words = text()
alphabet = sorted(set(words))
ids = torch.tensor([alphabet.index(character) for character in words])
split = len(ids) * 9 // 10
train, test = Characters(ids[:split]), Characters(ids[split:])
model = Gpt(len(alphabet))

job = pl.attach(
    model, optimizer="adamw:weight_decay=0.1",
    no_decay=pl.norms_and_biases(model), clip_norm=1.0, metrics=["perplexity"],
    alone=pl.Alone(epochs=2, batch_size=64, learning_rate=1e-3))


@job.evaluator(test_samples=len(test))
def evaluate(model: nn.Module, samples: int) -> dict:
    x, y = torch.utils.data.default_collate([test[i] for i in range(samples)])
    loss = loss_of(model, x, y)
    return {"loss": loss, "perplexity": loss.exp()}


for step in job.steps(train, batch_size=16):
    for x, y in step:  # Four times 16 samples, or what the job says.
        step.backward(loss_of(model, x, y))
    if step.number % 20 == 0:
        print(f"step {step.number}: loss {step.loss:.3f}, rate {job.rate:g}")

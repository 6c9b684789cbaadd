"""A small CNN on MNIST; what paceline adds to a plain script is numbered.

    python3 mnist_cnn.py [FOLDER]                # alone
    paceline local --program "python3 mnist_cnn.py [FOLDER]" --workers 4

FOLDER has MNIST's four files, plain or .gz; without it digits are drawn.
"""

import gzip
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

import paceline.torch as pl  # 1: new


def read(folder: pathlib.Path, name: str) -> torch.Tensor:
    """The bytes of an IDX file, without its header."""
    packed = folder / f"{name}.gz"
    data = (gzip.decompress(packed.read_bytes()) if packed.exists()
            else (folder / name).read_bytes())
    # Byte 3 says how many numbers of four bytes follow.
    return torch.tensor(bytearray(data[4 + 4 * data[3]:]), dtype=torch.uint8)


def load(split: str) -> torch.utils.data.TensorDataset:
    """Images [N, 1, 28, 28], about -0.5 to 3, and labels [N]."""
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
        images = read(folder, f"{split}-images-idx3-ubyte").view(-1, 1, 28, 28)
        labels = read(folder, f"{split}-labels-idx1-ubyte").long()
        return torch.utils.data.TensorDataset(
            (images / 255 - 0.1307) / 0.3081, labels)
    # Ten figures that are all over the image, and noise on each sample.
    figures = torch.randn(10, 1, 28, 28,
                          generator=torch.Generator().manual_seed(1))
    drawn = torch.Generator().manual_seed(2 if split == "train" else 3)
    labels = torch.randint(10, (4096 if split == "train" else 1024,),
                           generator=drawn)
    noise = torch.randn(len(labels), 1, 28, 28, generator=drawn)
    return torch.utils.data.TensorDataset(figures[labels] + noise, labels)


torch.manual_seed(0)
torch.set_num_threads(1)  # Others train on this machine, too.
model = nn.Sequential(
    nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(400, 10))
train, test = load("train"), load("t10k")

# 2: was `optimizer = torch.optim.SGD(...)`
job = pl.attach(model, optimizer=torch.optim.SGD(model.parameters(), lr=0.02,
                                                 momentum=0.9))


@job.evaluator(test_samples=len(test))  # Wanted where accuracy is to be shown.
def evaluate(model: nn.Module, samples: int) -> dict:
    images, labels = test[:samples]
    logits = torch.cat([model(part) for part in images.split(256)])
    return {"accuracy": (logits.argmax(1) == labels).float().mean(),
            "loss": F.cross_entropy(logits, labels)}


# 3: was two loops, over epochs and over a DataLoader
for x, y in job.batches(train, batch_size=32):
    loss = F.cross_entropy(model(x), y)
    job.backward(loss)  # 4: was `loss.backward()`
    # 5: gone are `optimizer.zero_grad()` and `optimizer.step()`

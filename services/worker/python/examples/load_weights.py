"""A LeNet-5 that paceline trained on MNIST, in plain torch.

    paceline checkpoint export CHECKPOINT -o lenet5.safetensors
    python3 load_weights.py lenet5.safetensors FOLDER_OF_MNIST

Prints what the file says of itself, and the accuracy on the test images.
"""

import gzip
import json
import pathlib
import sys

import torch
from torch import nn

import paceline


class LeNet5(nn.Module):
    """Names and shapes are those of the built-in `lenet5`."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(torch.max_pool2d(self.conv1(x), 2))
        x = torch.relu(torch.max_pool2d(self.conv2(x), 2))
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc3(torch.relu(self.fc2(x)))


def metadata_of(file: str) -> dict:
    """A safetensors file begins with the size of its header, which is JSON."""
    with open(file, "rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        return json.loads(opened.read(size))["__metadata__"]


def read(folder: pathlib.Path, name: str) -> torch.Tensor:
    """The bytes of an IDX file, without its header."""
    packed = folder / f"{name}.gz"
    data = (gzip.decompress(packed.read_bytes()) if packed.exists()
            else (folder / name).read_bytes())
    # Byte 3 says how many numbers of four bytes follow.
    return torch.tensor(bytearray(data[4 + 4 * data[3]:]), dtype=torch.uint8)


def main() -> None:
    file, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    metadata = metadata_of(file)
    for key in ("job", "model", "samples", "normalization", "evaluation"):
        print(f"{key:13} {metadata.get(key, 'is not told')}")
    model = LeNet5()
    model.load_state_dict(paceline.load_checkpoint(file))
    # One pair for the one channel: the inputs must be as they were in training.
    (mean, deviation), = json.loads(metadata["normalization"])
    images = read(folder, "t10k-images-idx3-ubyte").view(-1, 1, 28, 28)
    labels = read(folder, "t10k-labels-idx1-ubyte").long()
    with torch.no_grad():
        found = model((images / 255 - mean) / deviation).argmax(1)
    print(f"accuracy {(found == labels).float().mean().item():.4f}")


if __name__ == "__main__":
    main()

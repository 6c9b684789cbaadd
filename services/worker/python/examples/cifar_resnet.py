"""ResNet-20 on CIFAR-10 (He et al., 2016, section 4.2).

    python3 cifar_resnet.py [FOLDER]             # alone
    paceline local --program "python3 cifar_resnet.py FOLDER" --workers 4 \\
        --batch-size 128 --learning-rate 0.1 --schedule "step:at=0.5|0.75" \\
        --optimizer sgd:momentum=0.9,weight_decay=0.0001

FOLDER has the files of the binary version; without it images are drawn. The
job's arguments: amp=bf16 or amp=fp16 for mixed precision, workers=2 for that
many processes that load data, depth=8 for another network of the paper's (six
times a number, and two), width=8 for one with fewer channels, augment=no for
the images as they are, seed=1 for other starting weights.
"""

import pathlib
import sys
from typing import Tuple

import torch
import torch.nn.functional as F
from torch import nn

import paceline
import paceline.torch as pl

arguments = paceline.arguments()  # Known before there is a model.
amp = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(
    arguments.get("amp", ""))
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Block(nn.Module):
    """Two convolutions beside a path that has no parameters."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.stride = outputs // inputs
        self.conv1 = nn.Conv2d(inputs, outputs, 3, self.stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        beside = x[:, :, ::self.stride, ::self.stride]
        more = y.shape[1] - x.shape[1]
        return F.relu(y + F.pad(beside, (0, 0, 0, 0, 0, more)))


def resnet(depth: int, width: int) -> nn.Sequential:
    layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width),
              nn.ReLU()]
    inputs = width
    for outputs in (width, 2 * width, 4 * width):
        for _ in range((depth - 2) // 6):
            layers.append(Block(inputs, outputs))
            inputs = outputs
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(inputs, 10))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):  # As in the paper; torch's is less.
            nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
    return model


class Cifar10(torch.utils.data.Dataset):
    """Images [3, 32, 32], of mean 0 and deviation 1, and labels.

    For training they are shifted by up to four pixels and mirrored at random.
    """

    def __init__(self, names: str, augmented: bool) -> None:
        self.augmented = augmented
        if len(sys.argv) > 1:
            data = b"".join(path.read_bytes() for path in
                            sorted(pathlib.Path(sys.argv[1]).glob(names)))
            rows = torch.tensor(bytearray(data)).view(-1, 3073)
            self.labels = rows[:, 0].long()
            self.images = rows[:, 1:].reshape(-1, 3, 32, 32).float() / 255
        else:
            figures = torch.rand(10, 3, 8, 8,
                                 generator=torch.Generator().manual_seed(1))
            drawn = torch.Generator().manual_seed(len(names))  # Of a split.
            self.labels = torch.randint(10, (512,), generator=drawn)
            self.images = F.interpolate(figures[self.labels], scale_factor=4)
            self.images += 0.3 * torch.randn(512, 3, 32, 32, generator=drawn)
        mean = torch.tensor([0.491, 0.482, 0.447]).view(3, 1, 1)
        deviation = torch.tensor([0.247, 0.243, 0.262]).view(3, 1, 1)
        self.images.sub_(mean).div_(deviation)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, torch.Tensor]:
        image = self.images[index]
        if self.augmented:
            # In worker processes drawn alike for the same sample and epoch.
            down, right, mirror = torch.randint(9, (3,)).tolist()
            image = F.pad(image, (4, 4, 4, 4))
            image = image[:, down:down + 32, right:right + 32]
            image = image.flip(2) if mirror % 2 else image
        return image, self.labels[index]


def predict(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast(device.type, amp or torch.bfloat16, amp is not None):
        return model(x.to(device, non_blocking=True)).float()


torch.manual_seed(int(arguments.get("seed", 0)))
torch.set_num_threads(1)
model = resnet(int(arguments.get("depth", 20)),
               int(arguments.get("width", 16))).to(device)
test = Cifar10("test_batch.bin", augmented=False)
job = pl.attach(model, amp=amp, optimizer=torch.optim.SGD(
    model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4))


@job.evaluator(test_samples=len(test))
def evaluate(model: nn.Module, samples: int) -> dict:
    images, labels = test.images[:samples], test.labels[:samples]
    logits = torch.cat([predict(model, x) for x in images.split(256)]).cpu()
    return {"accuracy": (logits.argmax(1) == labels).float().mean(),
            "loss": F.cross_entropy(logits, labels)}


# BatchNorm's running averages are kept by the servers, as torch keeps them.
augmented = arguments.get("augment", "yes") == "yes"
for x, y in job.batches(Cifar10("data_batch_*.bin", augmented=augmented),
                        batch_size=128, pin_memory=device.type == "cuda",
                        num_workers=int(arguments.get("workers", 0))):
    job.backward(F.cross_entropy(predict(model, x), y.to(device)))

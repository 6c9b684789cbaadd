"""Images a second of eager PyTorch's training step, for the models and
precisions of run_on_gpu.sh: forward, backward, and the gradients on the host.
"""

import time

import torch
from torch import nn
from torch.nn import functional

BATCH, WARM_UP, STEPS = 128, 20, 200


class Block(nn.Module):
    """He et al. 2015, figure 2, left, with shortcut A."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.stride, self.added = stride, channels - channels_in

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        shortcut = x[:, :, ::self.stride, ::self.stride]
        if self.added:
            half = self.added // 2
            shortcut = functional.pad(
                shortcut, (0, 0, 0, 0, half, self.added - half))
        return functional.relu(y + shortcut)


def resnet(blocks):
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16),
              nn.ReLU()]
    channels = 16
    for stage in range(3):
        width = 16 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(Block(channels, width, stride))
            channels = width
    return nn.Sequential(*layers, nn.AvgPool2d(8), nn.Flatten(),
                         nn.Linear(64, 10))


def alexnet_small():
    layers, channels = [], 3
    for width in (32, 32, 64):
        layers += [nn.Conv2d(channels, width, 5, 1, 2), nn.MaxPool2d(2),
                   nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 4 * 4, 512),
                         nn.ReLU(), nn.Linear(512, 10))


MODELS = {"resnet20": lambda: resnet(3), "resnet50": lambda: resnet(8),
          "resnet110": lambda: resnet(18), "alexnet-small": alexnet_small}


def rate_of(make, precision):
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    model = make().cuda()
    images = torch.randn(BATCH, 3, 32, 32).pin_memory()
    labels = torch.randint(0, 10, (BATCH,)).pin_memory()
    host = [torch.empty_like(p, device="cpu").pin_memory()
            for p in model.parameters()]

    def step():
        model.zero_grad(set_to_none=True)
        x = images.cuda(non_blocking=True)
        y = labels.cuda(non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16,
                            enabled=precision == "bf16"):
            loss = functional.cross_entropy(model(x), y)
        loss.backward()
        for to, parameter in zip(host, model.parameters()):
            to.copy_(parameter.grad, non_blocking=True)
        torch.cuda.synchronize()

    for _ in range(WARM_UP):
        step()
    began = time.perf_counter()
    for _ in range(STEPS):
        step()
    return STEPS * BATCH / (time.perf_counter() - began)


for precision in ("fp32", "tf32", "bf16"):
    for name, make in MODELS.items():
        print(f"torch {name} {precision} {rate_of(make, precision):.0f}",
              flush=True)

"""Times one of the training steps of benchmarks/training_steps.cpp in PyTorch; prints JSON.

    pytorch_steps.py --list                  the names of the cases
    pytorch_steps.py [--compile] <case>      milliseconds of a step, eager or by torch.compile

The time is the median over the steps of this process. The step is what a user writes: zero_grad, forward,
backward, step, and the loss read at the end.
"""
import argparse
import json
import os
import statistics
import sys
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F

SECONDS = 1.0
MIN_STEPS = 2


def median_milliseconds(step):
    step()
    times = []
    start = time.perf_counter()
    while len(times) < MIN_STEPS or time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        step()
        times.append((time.perf_counter() - before) * 1e3)
    return statistics.median(times)


def sgd(parameters):
    return torch.optim.SGD(parameters, 0.01)


def momentum(parameters):
    return torch.optim.SGD(parameters, 0.01, momentum=0.9)


def adam(parameters):
    return torch.optim.Adam(parameters, 0.001)


class Case:
    """A model with its data: times steps of it."""

    def __init__(self, model, x, target, optimiser=sgd, loss=F.cross_entropy, bf16=False):
        self.model, self.x, self.target, self.bf16 = model, x, target, bf16
        self.optimiser, self.loss = optimiser(model.parameters()), loss

    def time(self, compiled):
        model = torch.compile(self.model) if compiled else self.model

        def step():
            self.optimiser.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
                y = model(self.x)
            loss = self.loss(y.float(), self.target)
            loss.backward()
            self.optimiser.step()
            return loss.item()

        return median_milliseconds(step)


class Recurrent(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden)
        self.linear = nn.Linear(hidden, 10)

    def forward(self, xs):
        return self.linear(self.gru(xs)[1][0])


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


def resnet18():
    widths = [64, 64, 128, 256, 512]
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    for before, width in zip(widths, widths[1:]):
        layers += [ResidualBlock(before, width, width // before), ResidualBlock(width, width, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Gcn(nn.Module):
    def __init__(self, adjacency, features, hidden, classes):
        super().__init__()
        self.adjacency = adjacency
        self.first = nn.Linear(features, hidden, bias=False)
        self.second = nn.Linear(hidden, classes, bias=False)
        self.bias1, self.bias2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(classes))

    def forward(self, x):
        # Features as a sparse matrix are slower: their products do not run in parallel.
        x = F.relu(torch.sparse.mm(self.adjacency, self.first(x)) + self.bias1)
        return torch.sparse.mm(self.adjacency, self.second(x)) + self.bias2


def labels(count):
    return torch.arange(count) % 10


def mlp(batch, widths, optimiser, bf16=False):
    layers = []
    for before, width in zip([784] + widths, widths):
        layers += [nn.Linear(before, width), nn.ReLU()]
    return Case(nn.Sequential(*layers[:-1]), torch.randn(batch, 784), labels(batch), optimiser, bf16=bf16)


def gru(steps, batch, inputs, hidden):
    return Case(Recurrent(inputs, hidden), torch.randn(steps, batch, inputs), labels(batch))


def resnet(batch, bf16):
    model, x = resnet18(), torch.randn(batch, 3, 32, 32)
    layout = torch.channels_last
    return Case(model.to(memory_format=layout), x.to(memory_format=layout), labels(batch), momentum, bf16=bf16)


def gcn(nodes, edges, features, words, hidden, classes):
    a, b = torch.randint(nodes, (2, edges))
    own = torch.arange(nodes)
    where = torch.stack([torch.cat([a, b, own]), torch.cat([b, a, own])])
    values = torch.rand(where.shape[1]) / 5
    adjacency = torch.sparse_coo_tensor(where, values, (nodes, nodes)).coalesce().to_sparse_csr()
    x = (torch.rand(nodes, features) < words / nodes / features).float()
    return Case(Gcn(adjacency, features, hidden, classes), x, torch.arange(nodes) % classes, adam)


def transformer(batch, steps, width, heads, bf16):
    model = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True)
    return Case(model, torch.randn(batch, steps, width), torch.randn(batch, steps, width), adam, F.mse_loss, bf16)


CASES = {
    "mlp 784-512-512-10 B=128 sgd": lambda: mlp(128, [512, 512, 10], sgd),
    "mlp 784-1024-1024-10 B=128 adam": lambda: mlp(128, [1024, 1024, 10], adam),
    "mlp 784-1024-1024-10 B=8192 adam": lambda: mlp(8192, [1024, 1024, 10], adam),
    "mlp 784-1024-1024-10 B=8192 adam bf16": lambda: mlp(8192, [1024, 1024, 10], adam, bf16=True),
    "gru T=128 B=64 inputs=9 h=64": lambda: gru(128, 64, 9, 64),
    "gru T=128 B=64 inputs=512 h=512": lambda: gru(128, 64, 512, 512),
    "gcn nodes=2708 inputs=1433 h=16 adam": lambda: gcn(2708, 5278, 1433, 49216, 16, 7),
    "resnet18 32x32 B=64": lambda: resnet(64, bf16=False),
    "resnet18 32x32 B=64 bf16": lambda: resnet(64, bf16=True),
    "transformer d=768 heads=12 T=1024 B=8 adam": lambda: transformer(8, 1024, 768, 12, bf16=False),
    "transformer d=768 heads=12 T=1024 B=8 adam bf16": lambda: transformer(8, 1024, 768, 12, bf16=True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--compile", action="store_true", help="compile the model")
    parser.add_argument("case", nargs="?", choices=CASES)
    arguments = parser.parse_args()
    if arguments.list:
        json.dump({"version": torch.__version__, "cases": list(CASES)}, sys.stdout)
        return
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    torch.manual_seed(1)
    warnings.filterwarnings("ignore", category=UserWarning)  # about sparse tensors being new
    json.dump({"milliseconds": CASES[arguments.case]().time(arguments.compile)}, sys.stdout)


if __name__ == "__main__":
    main()

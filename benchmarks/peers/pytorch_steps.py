"""Times the training steps of benchmarks/step_benchmark.cpp in PyTorch; prints JSON: name -> milliseconds.

Every time is the median over steps of one process. The step is what a user writes: zero_grad, forward,
backward, step, and the loss read at the end.
"""
import json
import os
import statistics
import sys
import time

import torch

SECONDS = 3.0  # per case


def median_milliseconds(step):
    for _ in range(3):
        step()
    times = []
    start = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        step()
        times.append((time.perf_counter() - before) * 1e3)
    return statistics.median(times)


def training_step(model, x, label):
    optimiser = torch.optim.SGD(model.parameters(), 0.01)
    loss_of = torch.nn.CrossEntropyLoss()

    def step():
        optimiser.zero_grad()
        loss = loss_of(model(x), label)
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


class Recurrent(torch.nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gru = torch.nn.GRU(inputs, hidden)
        self.linear = torch.nn.Linear(hidden, 10)

    def forward(self, xs):
        return self.linear(self.gru(xs)[1][0])


def mlp():
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    model = torch.nn.Sequential(linear(784, 512), relu(), linear(512, 512), relu(), linear(512, 10))
    return training_step(model, torch.randn(128, 784), torch.arange(128) % 10)


def gru(steps, batch, inputs, hidden):
    return training_step(Recurrent(inputs, hidden), torch.randn(steps, batch, inputs), torch.arange(batch) % 10)


def main():
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    torch.manual_seed(1)
    cases = {
        "mlp 784-512-512-10, B=128": mlp,
        "gru T=128 B=64 inputs=9 h=64": lambda: gru(128, 64, 9, 64),
        "gru T=128 B=64 inputs=512 h=512": lambda: gru(128, 64, 512, 512),
    }
    found = {name: median_milliseconds(make()) for name, make in cases.items()}
    json.dump({"version": torch.__version__, "milliseconds": found}, sys.stdout)


if __name__ == "__main__":
    main()

"""Times the training step of benchmarks/embedding_step.cpp in PyTorch; prints JSON.

    pytorch_embeddings.py ROWS lazy|whole SECONDS   lazy: sparse gradients and SparseAdam for the table, Adam for the rest
    pytorch_embeddings.py --version
"""
import json
import os
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, WORDS, WIDTH, CLASSES, DIFFERENT = 256, 32, 64, 4, 64


def main():
    if sys.argv[1] == "--version":
        json.dump({"version": torch.__version__}, sys.stdout)
        return
    rows, lazy, seconds = int(sys.argv[1]), sys.argv[2] == "lazy", float(sys.argv[3])
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    torch.manual_seed(1)
    words, layer = nn.Embedding(rows, WIDTH, sparse=lazy), nn.Linear(WIDTH, CLASSES)
    adam = torch.optim.Adam(layer.parameters() if lazy else [*words.parameters(), *layer.parameters()])
    optimisers = [adam, torch.optim.SparseAdam(words.parameters())] if lazy else [adam]
    ids = [torch.randint(rows, (BATCH, WORDS)) for _ in range(DIFFERENT)]
    labels = torch.randint(CLASSES, (BATCH,))

    def step(number):
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss = F.cross_entropy(layer(words(ids[number % DIFFERENT]).mean(1)), labels)
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        return loss.item()

    step(0)
    times, start = [], time.perf_counter()
    while len(times) < 2 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        step(len(times) + 1)
        times.append((time.perf_counter() - before) * 1e3)
    json.dump({"milliseconds": statistics.median(times)}, sys.stdout)


if __name__ == "__main__":
    main()

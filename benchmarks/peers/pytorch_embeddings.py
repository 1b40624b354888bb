"""Times the training step of benchmarks/embedding_step.cpp in PyTorch; prints JSON.

    pytorch_embeddings.py [--device cuda] ROWS lazy|whole mean|gru SECONDS
    pytorch_embeddings.py --version

lazy: sparse gradients and SparseAdam for the table, Adam for the rest.
"""
import argparse
import json
import os
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, WORDS, WIDTH, CLASSES, DIFFERENT = 256, 32, 64, 4, 64


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("form", choices=["lazy", "whole"])
    parser.add_argument("model", choices=["mean", "gru"])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


def main():
    if sys.argv[1:] == ["--version"]:
        json.dump({"version": torch.__version__}, sys.stdout)
        return
    arguments = arguments_of()
    rows, lazy, device = arguments.rows, arguments.form == "lazy", arguments.device
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    torch.set_default_device(device)
    torch.manual_seed(1)
    words, layer = nn.Embedding(rows, WIDTH, sparse=lazy), nn.Linear(WIDTH, CLASSES)
    gru = nn.GRU(WIDTH, WIDTH, batch_first=True) if arguments.model == "gru" else None
    rest = [*layer.parameters(), *(gru.parameters() if gru else [])]
    adam = torch.optim.Adam(rest if lazy else [*words.parameters(), *rest])
    optimisers = [adam, torch.optim.SparseAdam(words.parameters())] if lazy else [adam]
    ids = [torch.randint(rows, (BATCH, WORDS)) for _ in range(DIFFERENT)]
    labels = torch.randint(CLASSES, (BATCH,))

    def step(number):
        for optimiser in optimisers:
            optimiser.zero_grad()
        found = words(ids[number % DIFFERENT])
        features = gru(found)[0] if gru else found
        loss = F.cross_entropy(layer(features.mean(1)), labels)
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        return loss.item()

    step(0)
    times, start = [], time.perf_counter()
    while len(times) < 2 or time.perf_counter() - start < arguments.seconds:
        before = time.perf_counter()
        step(len(times) + 1)
        times.append((time.perf_counter() - before) * 1e3)
    json.dump({"milliseconds": statistics.median(times), "fastest": min(times)}, sys.stdout)


if __name__ == "__main__":
    main()

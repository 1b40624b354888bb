"""The time of a run on a GPU in PyTorch, as benchmarks/gpu/burst_time.h takes it."""
import statistics
import time

import torch

SECONDS = 0.5
BURST = 5


def median_time(run):
    run()
    run()
    torch.cuda.synchronize()
    times, start = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        for _ in range(BURST):
            run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - before) * 1e3 / BURST)
    return statistics.median(times)

"""Times recurrent layers of PyTorch, which are cuDNN's, on a GPU; prints a line of JSON per case.

    pytorch_scan.py rnn:1000:16:20 gru:1000:16:20    CELL:STEPS:BATCH:UNITS, one input per step

Milliseconds of the forward pass, and of both passes: the loss is of the last state, its gradients are those of the
parameters. Medians over bursts of five, as in benchmarks/gpu/scan_times.cpp.
"""
import json
import sys

import torch

from pytorch_timing import median_time

CELLS = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}


def times_of(cell, steps, batch, units):
    layer = CELLS[cell](1, units).cuda()
    xs = torch.zeros(steps, batch, 1, device="cuda").bernoulli_(0.4)

    def forward():
        last = layer(xs)[1]
        return (last[0] if cell == "lstm" else last).square().sum()

    def both():
        layer.zero_grad()
        forward().backward()

    return {"forward": median_time(forward), "both": median_time(both)}


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    for case in sys.argv[1:]:
        cell, *sizes = case.split(":")
        try:
            found = times_of(cell, *map(int, sizes))
        except RuntimeError as problem:
            found = {"reason": str(problem).splitlines()[0]}
        print(json.dumps({"case": case} | found), flush=True)


if __name__ == "__main__":
    main()

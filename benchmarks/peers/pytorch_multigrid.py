"""Times chains step by step in PyTorch on a GPU; prints a line of JSON per case.

    pytorch_multigrid.py dense:64:64:1024 conv:16:256:16:64 gru:128:9:100:2:100

Cases are those of benchmarks/gpu/multigrid_times.cpp. Milliseconds of the forward pass and of both passes, eagerly
(`forward`, `both`) and, for dense chains, recorded as a CUDA graph (`graph`, both passes). Medians over bursts of five.
"""
import json
import math
import sys

import torch

from pytorch_timing import median_time


def smooth_weights(steps, shape, size):
    angle = torch.linspace(0, 2, steps, device="cuda").view(-1, *[1] * len(shape))
    first, last = torch.randn(2, 1, *shape, device="cuda")
    return (size * (angle.cos() * first + angle.sin() * last)).requires_grad_()


def dense(width, batch, steps):
    u = torch.rand(batch, width, device="cuda")
    w, b = smooth_weights(steps, [width, width], width ** -0.5), smooth_weights(steps, [width], 0.1)

    def states():
        state = u
        for weight, bias in zip(w.unbind(0), b.unbind(0)):
            state = torch.add(state, torch.tanh(torch.addmm(bias, state, weight)), alpha=5 / steps)
        return state

    return states, [w, b]


def conv(channels, side, batch, steps):
    u = torch.rand(batch, channels, side, side, device="cuda")
    window = [channels, channels, 3, 3]
    first, last = (smooth_weights(steps, window, 1 / math.sqrt(9 * channels)) for _ in range(2))

    def states():
        state = u
        for one, other in zip(first.unbind(0), last.unbind(0)):
            inner = torch.relu(torch.nn.functional.conv2d(state, one, padding=1))
            change = torch.tanh(torch.nn.functional.conv2d(inner, other, padding=1))
            state = torch.add(state, change, alpha=2 / steps)
        return state

    return states, [first, last]


def gru(steps, inputs, hidden, layers, batch):
    layer = torch.nn.GRU(inputs, hidden, layers).cuda()
    xs = torch.rand(steps, batch, inputs, device="cuda")
    return lambda: layer(xs)[0], list(layer.parameters())


def graph_time(both):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            both()
    torch.cuda.current_stream().wait_stream(stream)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        both()
    return median_time(recorded.replay)


def times_of(kind, *sizes):
    states, parameters = {"dense": dense, "conv": conv, "gru": gru}[kind](*sizes)

    def forward():
        with torch.no_grad():
            states().square().mean()

    def both():
        torch.autograd.grad(states().square().mean(), parameters)

    found = {"forward": median_time(forward), "both": median_time(both)}
    if kind == "dense":
        found["graph"] = graph_time(both)
    return found


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    for case in sys.argv[1:]:
        kind, *sizes = case.split(":")
        try:
            found = times_of(kind, *map(int, sizes))
        except RuntimeError as problem:
            found = {"reason": str(problem).splitlines()[0]}
        print(json.dumps({"case": case} | found), flush=True)


if __name__ == "__main__":
    main()

"""Times the dense training step of the recipe `xmc-planted` on a GPU in PyTorch; prints JSON.

    pytorch_xmc.py FEATURES HIDDEN LABELS BATCH [--draws 80] [--max-labels 9] [--tf32] [--seconds 2]
    pytorch_xmc.py --version

Sparse features, a table with a row for each, relu, an output layer over all labels with its softmax over the true ones of
each example, Adam. Milliseconds are medians, in groups of steps for whose last loss the host waits: `eager`; `graph`, the
same step replayed as a CUDA graph; `compiled`, the model by torch.compile. With --tf32, products round their factors.
"""
import argparse
import json
import statistics
import sys
import time

import torch
from torch import nn

from pytorch_steps import GPU_BURST, WARM_UP_SECONDS, as_cuda_graph, times_of


class Planted:
    """A batch of the shape of the recipe's: as many features and labels for each example, anywhere."""

    def __init__(self, arguments, device):
        generator = torch.Generator().manual_seed(1)
        batch, draws = arguments.batch, arguments.draws
        counts = torch.randint(1, arguments.max_labels + 1, (batch,), generator=generator)
        self.columns = torch.randint(arguments.features, (batch * draws,), generator=generator).to(device)
        self.starts = torch.arange(0, batch * draws, draws).to(device)
        self.values = torch.full((batch * draws,), draws ** -0.5).to(device)
        self.labels = torch.randint(arguments.labels, (int(counts.sum()),), generator=generator).to(device)
        self.examples = torch.repeat_interleave(torch.arange(batch), counts).to(device)
        self.counts = counts.float().to(device)


class Model(nn.Module):
    def __init__(self, features, hidden, labels):
        super().__init__()
        self.table = nn.EmbeddingBag(features, hidden, mode="sum")
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Linear(hidden, labels)

    def forward(self, x):
        found = self.table(x.columns, x.starts, per_sample_weights=x.values)
        logits = self.out(torch.relu(found + self.bias))
        true = torch.zeros_like(x.counts).index_add(0, x.examples, logits[x.examples, x.labels])
        return (torch.logsumexp(logits, 1) - true / x.counts).mean()


def step_of(model, forward, x):
    # What is fastest in PyTorch and can be captured; its sparse Adam can not.
    adam = torch.optim.Adam(model.parameters(), 0.003, fused=True, capturable=True)

    def step():
        adam.zero_grad(set_to_none=True)
        loss = forward(x)
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def median(make, seconds):
    """Returns the median of the steps that make() gives, or why there are none."""
    try:
        step = make()
        times_of(step, WARM_UP_SECONDS, GPU_BURST)
        return {"milliseconds": statistics.median(times_of(step, seconds, GPU_BURST))}
    except Exception as error:  # whatever it cannot do is the answer
        return {"reason": (str(error).strip().splitlines() or [type(error).__name__])[0]}


def main():
    if sys.argv[1:] == ["--version"]:
        json.dump({"version": torch.__version__}, sys.stdout)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for size in ("features", "hidden", "labels", "batch"):
        parser.add_argument(size, type=int)
    parser.add_argument("--draws", type=int, default=80, help="features of an example")
    parser.add_argument("--max-labels", type=int, default=9, help="labels of an example, which has at least one")
    parser.add_argument("--tf32", action="store_true", help="let products round their factors")
    parser.add_argument("--seconds", type=float, default=2, help="how long to measure each way")
    parser.add_argument("--ways", default="eager,graph,compiled", help="which ones, with commas in between")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = arguments.tf32
    with torch.device("cuda"):
        model = Model(arguments.features, arguments.hidden, arguments.labels)
    x = Planted(arguments, "cuda")
    ways = {"eager": lambda: step_of(model, model, x), "graph": lambda: as_cuda_graph(step_of(model, model, x)),
            "compiled": lambda: step_of(model, torch.compile(model), x)}
    result = {"version": torch.__version__}
    for way in arguments.ways.split(","):
        start = time.perf_counter()
        result[way] = median(ways[way], arguments.seconds)
        torch.cuda.empty_cache()
        print(f"{way}: {result[way]}, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()

"""Book: the cases, each with its inputs, and what PyTorch gives for them.

Per case: the outputs; `grads`, the gradient of sum(outputs * weights) for each float input; and
`second`, the gradient of sum(grads * weights) likewise. The weights are a formula that the C++ test
repeats. Inputs come from a generator of each case's own, so a new case leaves the others alone.
"""
import json
import math
import zlib

import numpy as np
import torch

SEED = 20240607
INPUT_DECIMALS = 3  # decimal fractions, so that both sides read the same numbers
DIGITS = 12  # significant digits of results

DTYPES = {torch.float64: "f64", torch.int64: "i64", torch.bool: "bool"}


def weights(output, number):
    """Repeats weights() of peer_case.cpp: exact in binary, no pattern along any axis."""
    position = torch.arange(output.numel(), dtype=torch.int64)
    return (((37 * position + 13 * number) % 101 - 50).double() / 32).reshape(output.shape)


def number(value):
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return str(value)  # "nan", "inf", "-inf": JSON has no such numbers
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


def encode(tensor):
    # A copy, because zeros that PyTorch makes may have no storage.
    tensor = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
    result = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape)}
    values = [number(value) for value in tensor.flatten().tolist()]
    if len(values) > 1 and all(value == values[0] for value in values):
        return result | {"fill": values[0]}
    return result | {"values": values}


class Case:
    def __init__(self, book, op, label, attributes):
        self.book, self.op, self.label, self.attributes = book, op, label, attributes
        self.rng = np.random.default_rng([SEED, zlib.crc32(f"{op}: {label}".encode())])

    def tensor(self, values):
        return torch.from_numpy(np.round(np.asarray(values, dtype=np.float64), INPUT_DECIMALS))

    def normal(self, *shape, scale=1.0):
        return self.tensor(scale * self.rng.standard_normal(shape))

    def uniform(self, *shape, low=0.0, high=1.0):
        return self.tensor(self.rng.uniform(low, high, shape))

    def distinct(self, *shape):
        """Returns values of which no two are equal, nor nearly so: nothing has a tie."""
        size = math.prod(shape)
        return self.tensor((self.rng.permutation(size).reshape(shape) - size / 2) * 0.0625)

    def integers(self, *shape, low=0, high):
        return torch.from_numpy(self.rng.integers(low, high, shape))

    def check(self, function, *inputs, grads=True, second=True):
        """Records function(*inputs); no `grads` where there is no convention to agree on, no
        `second` at kinks and where PyTorch cannot differentiate twice."""
        floats = [x.requires_grad_() for x in inputs if x.dtype == torch.float64]
        outputs = function(*inputs)
        outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        record = {"op": self.op, "label": self.label, "attributes": self.attributes,
                  "inputs": [encode(x) for x in inputs], "outputs": [encode(y) for y in outputs]}
        if grads and floats and any(y.dtype == torch.float64 for y in outputs):
            first = gradients(outputs, floats, second)
            record["grads"] = [encode(g) for g in first]
            if second:
                record["second"] = [encode(g) for g in gradients(first, floats, False)]
        self.book.records.append({key: value for key, value in record.items() if value != {}})


def gradients(ys, xs, create_graph):
    weighed = [(y * weights(y, i)).sum() for i, y in enumerate(
        y for y in ys if y.dtype == torch.float64) if y.requires_grad]
    if not weighed:
        return [torch.zeros_like(x) for x in xs]
    return torch.autograd.grad(sum(weighed), xs, create_graph=create_graph, retain_graph=True,
                               allow_unused=True, materialize_grads=True)


class Book:
    def __init__(self):
        self.records = []

    def case(self, op, label, **attributes):
        known = any(r["op"] == op and r["label"] == label for r in self.records)
        assert not known, f"{op}: two cases are labelled '{label}'"
        return Case(self, op, label, attributes)

    def dump(self):
        """Returns JSON with one line per case."""
        lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in self.records)
        return f'{{"peer":"PyTorch {torch.__version__}","cases":[\n{lines}\n]}}\n'

"""Convolution, pooling, softmax and norms."""
import math

import torch
from torch.nn import functional as F

from .elementwise import exact

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}

CONVOLUTIONS = (  # label, x, weight, options
    ("1-d", (2, 3, 7), (4, 3, 3), {}),
    ("1-d stride 2 padding 2", (2, 2, 8), (3, 2, 3), {"stride": [2], "padding": [2]}),
    ("1-d dilation 3", (1, 2, 9), (2, 2, 3), {"dilation": [3], "padding": [1]}),
    ("1-d groups", (2, 4, 5), (6, 2, 2), {"groups": 2}),
    ("1-d window of 1", (2, 3, 4), (2, 3, 1), {}),
    ("1-d an empty batch", (0, 3, 5), (2, 3, 2), {}),
    ("1-d padding beyond the window", (1, 1, 2), (1, 1, 2), {"padding": [4], "stride": [3]}),
    ("2-d", (2, 2, 5, 4), (3, 2, 3, 2), {}),
    ("2-d all different", (1, 2, 9, 8), (2, 2, 2, 3),
     {"stride": [2, 3], "padding": [1, 2], "dilation": [3, 1]}),
    ("2-d depthwise", (1, 3, 4, 5), (6, 1, 3, 3), {"groups": 3, "padding": [1, 1]}),
    ("2-d a rest that no window reaches", (1, 1, 6, 8), (1, 1, 3, 3), {"stride": [2, 3]}),
    ("2-d groups, stride and dilation", (1, 4, 7, 7), (2, 2, 3, 2),
     {"groups": 2, "stride": [2, 1], "dilation": [1, 2], "padding": [1, 0]}),
    ("3-d", (1, 2, 3, 4, 3), (2, 2, 2, 2, 2), {"stride": [1, 2, 1], "padding": [0, 1, 1]}),
)
TRANSPOSED = (  # label, x, weight, options
    ("1-d", (2, 3, 4), (3, 2, 3), {}),
    ("1-d stride 3 with output padding", (1, 2, 4), (2, 2, 2),
     {"stride": [3], "output_padding": [2]}),
    ("1-d groups", (1, 4, 5), (4, 3, 2), {"groups": 2, "stride": [2]}),
    ("2-d all different", (1, 2, 3, 4), (2, 3, 2, 3),
     {"stride": [2, 3], "padding": [1, 2], "dilation": [2, 1], "output_padding": [1, 2]}),
    ("2-d groups, dilation", (1, 4, 3, 3), (4, 1, 2, 2),
     {"groups": 4, "dilation": [2, 1], "padding": [1, 0]}),
)


def add_convolutions(book):
    for label, x, weight, options in CONVOLUTIONS:
        function = CONV[len(x) - 2]
        case = book.case("conv", label, **options)
        case.check(lambda x, w: function(x, w, **options), case.normal(*x), case.normal(*weight))
    for label, x, weight, options in TRANSPOSED:
        function = CONV_TRANSPOSE[len(x) - 2]
        case = book.case("conv_transpose", label, **options)
        case.check(lambda x, w: function(x, w, **options), case.normal(*x), case.normal(*weight))
    options = {"stride": [2, 3], "padding": [1, 0], "dilation": [1, 2], "groups": 2}
    x, weight = (1, 4, 6, 8), (2, 2, 2, 3)
    output = CONV[2](torch.zeros(x), torch.zeros(weight), **options).shape
    case = book.case("conv_input_gradient", "2-d all different", spatial=x[2:], **options)
    case.check(lambda g, w: torch.nn.grad.conv2d_input(x, w, g, **options), case.normal(*output),
               case.normal(*weight))
    case = book.case("conv_weight_gradient", "2-d all different", spatial=weight[2:], **options)
    case.check(lambda g, x: torch.nn.grad.conv2d_weight(x, weight, g, **options),
               case.normal(*output), case.normal(*x))


POOLS = (  # label, x, options
    ("1-d", (2, 2, 7), {"window": [3]}),
    ("1-d overlapping, padded", (1, 2, 7), {"window": [3], "stride": [2], "padding": [1]}),
    ("2-d", (2, 1, 4, 6), {"window": [2, 3]}),
    ("2-d overlapping, padded", (1, 2, 5, 6),
     {"window": [3, 2], "stride": [1, 2], "padding": [1, 1]}),
    ("2-d a rest that no window reaches", (1, 1, 5, 7), {"window": [2, 2], "stride": [3, 2]}),
)


def add_pools(book):
    for label, shape, options in POOLS:
        dims = len(shape) - 2
        torch_options = {"kernel_size" if k == "window" else k: v for k, v in options.items()}
        max_pool = {1: F.max_pool1d, 2: F.max_pool2d}[dims]
        avg_pool = {1: F.avg_pool1d, 2: F.avg_pool2d}[dims]
        case = book.case("max_pool", label, **options)
        case.check(lambda x: max_pool(x, **torch_options, return_indices=True),
                   case.distinct(*shape))
        for count in (True, False):
            case = book.case("avg_pool", f"{label}, {'with' if count else 'without'} padding",
                             count_padding=count, **options)
            case.check(lambda x: avg_pool(x, **torch_options, count_include_pad=count),
                       case.normal(*shape))
    book.case("max_pool", "the first at a tie", window=[3], stride=[2]).check(
        lambda x: F.max_pool1d(x, 3, 2, return_indices=True),
        exact([[[1, 1, 1, 0, 0, 2, 2]]]), second=False)
    book.case("max_pool", "NaN and -inf", window=[2], padding=[1]).check(
        lambda x: F.max_pool1d(x, 2, None, 1, return_indices=True),
        exact([[[-math.inf, -math.inf, -math.inf, 1, math.nan, 2, math.nan]]]), grads=False)
    book.case("max_pool", "negative numbers, padded", window=[2], stride=[1], padding=[1]).check(
        lambda x: F.max_pool1d(x, 2, 1, 1, return_indices=True), exact([[[-3, -1, -2]]]))


def add_softmax(book):
    for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        for axis in (1, -1):
            case = book.case(name, f"axis {axis}", axis=axis)
            case.check(lambda x: function(x, axis), case.normal(2, 3, 4))
        book.case(name, "large numbers", axis=-1).check(
            lambda x: function(x, -1), exact([[1000, 998, -1000], [-1000, -1001, -1000.5]]))
    book.case("softmax", "masked by -inf", axis=-1).check(
        lambda x: F.softmax(x, -1), exact([[0.5, -math.inf, 1], [-math.inf, 2, -math.inf]]))
    case = book.case("cross_entropy", "a matrix")
    case.check(lambda x, y: F.cross_entropy(x, y, reduction="none"), case.normal(4, 5),
               case.integers(4, high=5))
    case = book.case("cross_entropy", "a sequence")
    case.check(lambda x, y: F.cross_entropy(x.mT, y, reduction="none"), case.normal(2, 3, 4),
               case.integers(2, 3, high=4))
    book.case("cross_entropy", "large numbers").check(
        lambda x, y: F.cross_entropy(x, y, reduction="none"),
        exact([[1000, 0, -1000], [800, 801, 0]]), torch.tensor([1, 1]))


def add_norms(book):
    for axes, epsilon in ((1, 1e-5), (2, 0.1)):
        case = book.case("layer_norm", f"{axes} axes", axes=axes, epsilon=epsilon)
        inner = (3, 4)[-axes:]
        case.check(lambda x, s, b: F.layer_norm(x, inner, s, b, epsilon), case.normal(2, 3, 4),
                   case.normal(*inner), case.normal(*inner))
    for label, shape, epsilon in (("a matrix", (5, 3), 1e-5), ("images", (2, 3, 2, 3), 0.01)):
        others = [i for i in range(len(shape)) if i != 1]
        case = book.case("batch_norm", label, epsilon=epsilon)
        case.check(lambda x, s, b: (F.batch_norm(x, None, None, s, b, True, eps=epsilon),
                                    x.mean(others), x.var(others, correction=0)),
                   case.normal(*shape), case.normal(3), case.normal(3))
        case = book.case("batch_norm_inference", label, epsilon=epsilon)
        case.check(lambda x, s, b, m, v: inference(x, s, b, m, v, epsilon), case.normal(*shape),
                   case.normal(3), case.normal(3), case.normal(3),
                   case.uniform(3, low=0.3, high=2))


def inference(x, scale, bias, mean, variance, epsilon):
    """Repeats PyTorch's inference, which does not differentiate by the statistics."""
    per_channel = (1, -1) + (1,) * (x.dim() - 2)
    scale, bias, mean, variance = (p.reshape(per_channel) for p in (scale, bias, mean, variance))
    result = (x - mean) / torch.sqrt(variance + epsilon) * scale + bias
    flat = (p.detach().flatten() for p in (mean, variance, scale, bias))
    theirs = F.batch_norm(x.detach(), *flat, False, eps=epsilon)
    assert torch.allclose(result, theirs, rtol=1e-12, atol=1e-12)
    return result


def add_cases(book):
    for add in (add_convolutions, add_pools, add_softmax, add_norms):
        add(book)

"""Element-wise functions: values inside the domain, and where care is needed."""
import math

import torch
from torch.nn import functional as F

INF, NAN = math.inf, math.nan

UNARY = {  # name: (function, lowest, highest input)
    "negate": (torch.neg, -3, 3), "abs": (torch.abs, -3, 3), "sign": (torch.sign, -3, 3),
    "floor": (torch.floor, -3, 3), "ceil": (torch.ceil, -3, 3), "round": (torch.round, -3, 3),
    "exp": (torch.exp, -3, 3), "expm1": (torch.expm1, -3, 3), "log": (torch.log, 0.05, 5),
    "log1p": (torch.log1p, -0.9, 5), "sqrt": (torch.sqrt, 0.05, 5),
    "rsqrt": (torch.rsqrt, 0.05, 5), "reciprocal": (torch.reciprocal, 0.1, 4),
    "square": (torch.square, -3, 3), "sin": (torch.sin, -7, 7), "cos": (torch.cos, -7, 7),
    "erf": (torch.erf, -3, 3), "tanh": (torch.tanh, -3, 3), "sigmoid": (torch.sigmoid, -6, 6),
    # PyTorch's softplus is the identity above a threshold; this is the function itself.
    "softplus": (lambda x: -F.logsigmoid(-x), -6, 6),
    "relu": (torch.relu, -3, 3), "gelu": (F.gelu, -5, 5), "silu": (F.silu, -6, 6),
}

KINKS = ("abs", "floor", "ceil", "round", "relu")  # no second derivatives there
SPECIAL = {  # where overflow, cancellation or a kink wait
    "abs": ("at 0", [0, -0.0, -1, INF, -INF]),
    "floor": ("integers", [2, -2, -0.5, 0.999, -1e15, INF]),
    "ceil": ("integers", [2, -2, -0.5, 0.001, -1e15, INF]),
    "round": ("halves", [0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 0.499, -0.501, 1e15 + 0.5, INF]),
    "exp": ("extremes", [-745, -800, 700, 800, 0, -INF, INF, NAN]),
    "expm1": ("small", [1e-9, -1e-12, 1e-300, 0]),
    "log": ("extremes", [1e-300, 1e300, 0.999999999, INF]),
    "log1p": ("small", [1e-9, -1e-12, 1e-300, 0]),
    "sqrt": ("extremes", [1e-100, 1e100, 1]),
    "rsqrt": ("extremes", [1e-100, 1e100, 1]),
    "tanh": ("extremes", [1e-9, 30, -30, 400, -400, INF, -INF]),
    "erf": ("extremes", [1e-9, 5, -5, 30, INF, -INF, NAN]),
    "sigmoid": ("extremes", [40, -40, 745, -700, INF, NAN]),
    "softplus": ("extremes", [40, -40, 800, -700, 0, -1e-9]),
    "relu": ("at 0", [0, -1, 1, INF]),
    "gelu": ("extremes", [0, 1e-9, 8, 40, -40]),
    "silu": ("extremes", [0, 1e-9, 40, -40, 800, -700]),
}

COMPARISONS = {
    "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le,
    "greater": torch.gt, "greater_equal": torch.ge,
}
LOGIC = {"logical_and": torch.logical_and, "logical_or": torch.logical_or,
         "logical_xor": torch.logical_xor}


def exact(values):
    return torch.tensor(values, dtype=torch.float64)


def add_unary(book):
    for name, (function, low, high) in UNARY.items():
        case = book.case(name, "inside the domain")
        case.check(function, case.uniform(2, 7, low=low, high=high))
    for name, (label, values) in SPECIAL.items():
        book.case(name, label).check(UNARY[name][0], exact(values), second=name not in KINKS)
    for name in ("abs", "relu", "exp", "sqrt", "sigmoid"):
        book.case(name, "of NaN").check(UNARY[name][0], exact([NAN, -NAN]), grads=False)
    book.case("negate", "integers").check(torch.neg, torch.tensor([0, 3, -5]))
    book.case("abs", "integers").check(torch.abs, torch.tensor([0, 3, -5]))
    book.case("sign", "integers").check(torch.sign, torch.tensor([0, 3, -5]))
    clip = book.case("clip", "both sides", low=-0.7, high=0.9)
    clip.check(lambda x: torch.clamp(x, -0.7, 0.9), clip.normal(3, 5))
    # At a bound our gradient passes, PyTorch's has changed from release to release.
    book.case("clip", "at the bounds", low=-1.0, high=2.0).check(
        lambda x: torch.clamp(x, -1, 2), exact([-1, 2, 0, -1.5, 2.5, INF, NAN]), grads=False)
    book.case("is_finite", "all kinds").check(torch.isfinite, exact([0, 1e308, INF, -INF, NAN]))
    book.case("logical_not", "booleans").check(torch.logical_not, torch.tensor([True, False]))


def add_binary(book):
    arithmetic = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul,
                  "divide": torch.div, "minimum": torch.minimum, "maximum": torch.maximum}
    for name, function in arithmetic.items():
        case = book.case(name, "broadcast both ways")
        case.check(function, case.normal(3, 1, 4), case.uniform(5, 1, low=0.3, high=2))
        if name != "divide":
            case = book.case(name, "integers")
            case.check(function, case.integers(2, 3, low=-9, high=9),
                       case.integers(3, low=-9, high=9))
    case = book.case("multiply", "a value with itself", same=True)
    case.check(lambda x: x * x, case.normal(4))
    case = book.case("divide", "by 0")
    case.check(torch.div, exact([1, -1, 0]), exact([0, 0, 0]), second=False)
    for name in ("minimum", "maximum"):
        book.case(name, "ties share the gradient").check(
            arithmetic[name], exact([1, 2, 3, 0]), exact([1, 2, 2, -0.0]), second=False)
        book.case(name, "NaN wins").check(
            arithmetic[name], exact([NAN, 1, NAN]), exact([1, NAN, NAN]), grads=False)


def add_division(book):
    signs = ([7, -7, 7, -7, 6, -6, 0, 1], [3, 3, -3, -3, 3, -3, -3, -4])
    floats = ([7.5, -7.5, 7.5, -7.5, 6, -6, 0, 0.3, -0.3], [2, 2, -2, -2, 3, 3, -3, -0.1, 0.1])
    book.case("floor_divide", "integers of both signs").check(
        lambda a, b: torch.div(a, b, rounding_mode="floor"), *map(torch.tensor, signs))
    book.case("modulo", "integers of both signs").check(torch.remainder, *map(torch.tensor, signs))
    book.case("floor_divide", "floats of both signs").check(
        lambda a, b: torch.div(a, b, rounding_mode="floor").detach(), *map(exact, floats))
    book.case("modulo", "floats of both signs").check(torch.remainder, *map(exact, floats))
    # Quotients that are rounded up to an integer, and results that are not a - floor(a / b) * b.
    close = ([5, 4.35, -5, 5, -1e-20, 1e17, 5, -5, -5],
             [0.1, 0.05, 0.1, -0.1, 3, 3, INF, INF, -INF])
    book.case("floor_divide", "floats near a multiple").check(
        lambda a, b: torch.div(a, b, rounding_mode="floor").detach(), *map(exact, close))
    book.case("modulo", "floats near a multiple").check(torch.remainder, *map(exact, close),
                                                        grads=False)
    book.case("floor_divide", "floats by 0").check(
        lambda a, b: torch.div(a, b, rounding_mode="floor"), exact([1, -1, 0]), exact([0, 0, 0]),
        grads=False)
    case = book.case("modulo", "broadcast")
    case.check(torch.remainder, case.normal(3, 4, scale=5), case.uniform(3, 1, low=0.7, high=2))


def add_pow(book):
    case = book.case("pow", "positive base, broadcast")
    case.check(torch.pow, case.uniform(3, 4, low=0.2, high=3), case.normal(4))
    for exponent in (-2.0, 0.0, 0.5, 1.0, 2.0, 3.0):
        case = book.case("pow_number", f"exponent {exponent}", exponent=exponent)
        low = 0.2 if exponent == 0.5 else -2
        case.check(lambda x: torch.pow(x, exponent), case.uniform(5, low=low, high=2))
    for exponent in (0.0, 1.0, 2.0, 3.0):
        book.case("pow_number", f"0 to the power of {exponent}", exponent=exponent).check(
            lambda x: torch.pow(x, exponent), exact([0, 1]))
    book.case("pow", "base 0").check(torch.pow, exact([0, 0, 0, 2]), exact([2, 1, 0.5, 0]),
                                     second=False)
    book.case("pow", "0 to the power of 0").check(torch.pow, exact([0]), exact([0]), second=False)


def add_choices(book):
    pairs = ([1, 2, 3, NAN, INF], [1, 3, 2, NAN, INF])
    for name, function in COMPARISONS.items():
        book.case(name, "with NaN").check(function, *map(exact, pairs))
        case = book.case(name, "integers, broadcast")
        case.check(function, case.integers(3, 1, high=3), case.integers(4, high=3))
    for name, function in LOGIC.items():
        book.case(name, "truth table").check(function, torch.tensor([True, True, False, False]),
                                             torch.tensor([True, False, True, False]))
    case = book.case("select", "broadcast")
    case.check(torch.where, case.normal(3, 1) > 0, case.normal(3, 4), case.normal(4))
    book.case("cast", "float to integer", dtype="i64").check(
        lambda x: x.long(), exact([1.9, -1.9, 0.5, -0.5, 7]))
    book.case("cast", "bool to float", dtype="f64").check(
        lambda x: x.double(), torch.tensor([True, False]))


def add_cases(book):
    for add in (add_unary, add_binary, add_division, add_pow, add_choices):
        add(book)

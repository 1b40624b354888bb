"""Reductions, walks along an axis, sorting, matrix products."""
import math

import torch

from .elementwise import exact

INF, NAN = math.inf, math.nan


def over(function):
    """Applies a reduction that takes one axis to several."""
    def reduce(x, axes, keep):
        for axis in sorted((a % x.dim() for a in axes), reverse=True):
            x = function(x, axis, keep)
        return x
    return reduce


REDUCTIONS = {
    "sum": lambda x, axes, keep: torch.sum(x, axes, keepdim=keep),
    "mean": lambda x, axes, keep: torch.mean(x, axes, keepdim=keep),
    "prod": over(lambda x, axis, keep: torch.prod(x, axis, keepdim=keep)),
    "min": lambda x, axes, keep: torch.amin(x, axes, keepdim=keep),
    "max": lambda x, axes, keep: torch.amax(x, axes, keepdim=keep),
    "logsumexp": lambda x, axes, keep: torch.logsumexp(x, axes, keepdim=keep),
}


def add_reductions(book):
    for name, function in REDUCTIONS.items():
        for label, axes, keep in (("all axes", [0, 1, 2], False), ("the middle axis", [1], True),
                                  ("first and last axis", [0, -1], False)):
            case = book.case(name, label, axes=axes, keep_dims=keep)
            case.check(lambda x: function(x, axes, keep), case.distinct(2, 3, 5))
    book.case("sum", "nothing", axes=[1]).check(lambda x: x.sum(1), torch.zeros(2, 0).double())
    book.case("prod", "nothing", axes=[1]).check(lambda x: x.prod(1), torch.zeros(2, 0).double())
    zeros = exact([[2, 0, 3, -1], [0, 0, 3, 5], [1, 2, 0.5, 3], [0, 0, 0, 4]])
    book.case("prod", "rows with no, one, two and three zeros", axes=[1]).check(
        lambda x: x.prod(1), zeros.clone())
    book.case("prod", "all axes, one zero", axes=[0, 1]).check(
        torch.prod, exact([[2, 0], [3, -1]]))
    for name in ("min", "max"):
        book.case(name, "ties share the gradient", axes=[1]).check(
            lambda x: REDUCTIONS[name](x, [1], False),
            exact([[1, 3, 3, 1], [2, 2, 2, 2], [-1, 0, 1, 2]]), second=False)
        book.case(name, "NaN wins", axes=[1]).check(
            lambda x: REDUCTIONS[name](x, [1], False), exact([[1, NAN, 3], [NAN, INF, -INF]]),
            grads=False)
    for name in ("sum", "prod", "max"):
        case = book.case(name, "integers", axes=[0])
        case.check(lambda x: REDUCTIONS[name](x, [0], False), case.integers(3, 2, low=-5, high=5))
    book.case("logsumexp", "extremes", axes=[1]).check(
        lambda x: torch.logsumexp(x, 1),
        exact([[1000, 999, -1000], [-INF, 0, 1], [-900, -901, -INF]]))
    book.case("logsumexp", "nothing but -inf, and inf", axes=[1]).check(
        lambda x: torch.logsumexp(x, 1), exact([[-INF, -INF], [INF, 0]]), grads=False)


def add_variance(book):
    for correction in (0, 1):
        for axes, keep in (([0, 1], False), ([-1], True)):
            case = book.case("variance", f"axes {axes}, correction {correction}", axes=axes,
                             keep_dims=keep, correction=correction)
            case.check(lambda x: torch.var(x, axes, correction=correction, keepdim=keep),
                       case.normal(3, 5))
    book.case("variance", "a large mean", axes=[0]).check(
        lambda x: torch.var(x, 0, correction=0), exact([1e6 + 0.25, 1e6, 1e6 + 1]), second=False)


def add_walks(book):
    for name, function in (("argmin", torch.argmin), ("argmax", torch.argmax)):
        for axis, keep in ((0, False), (-1, True)):
            case = book.case(name, f"axis {axis}", axis=axis, keep_dims=keep)
            case.check(lambda x: function(x, axis, keepdim=keep), case.distinct(3, 4))
        book.case(name, "the first at a tie", axis=1).check(
            lambda x: function(x, 1), torch.tensor([[2, 1, 2, 1], [3, 3, 3, 3]]))
        book.case(name, "NaN wins", axis=0).check(
            lambda x: function(x, 0), exact([1, -INF, NAN, INF, NAN]))
    walks = {
        "plain": lambda x: x.cumsum(1),
        "exclusive": lambda x: x.cumsum(1) - x,
        "reverse": lambda x: x.flip(1).cumsum(1).flip(1),
        "exclusive reverse": lambda x: x.flip(1).cumsum(1).flip(1) - x,
    }
    for label, function in walks.items():
        case = book.case("cumsum", label, axis=1, exclusive="exclusive" in label,
                         reverse="reverse" in label)
        case.check(function, case.normal(2, 5, 3))


def add_sorting(book):
    for axis in (0, -1):
        for descending in (False, True):
            direction = "down" if descending else "up"
            case = book.case("sort", f"axis {axis} {direction}", axis=axis, descending=descending)
            case.check(lambda x: tuple(torch.sort(x, axis, descending)), case.distinct(4, 5))
            case = book.case("top_k", f"axis {axis} {direction}", axis=axis, k=3,
                             largest=descending)
            case.check(lambda x: tuple(torch.topk(x, 3, axis, largest=descending)),
                       case.distinct(5, 4))
    for descending in (False, True):
        book.case("sort", f"stable {'down' if descending else 'up'}", axis=0,
                  descending=descending).check(
            lambda x: tuple(torch.sort(x, dim=0, descending=descending, stable=True)),
            torch.tensor([2, 1, 2, 0, 1, 2, 0]))
    book.case("sort", "NaN last", axis=0, descending=False).check(
        lambda x: tuple(torch.sort(x, 0)), exact([NAN, 1, INF, -INF, 0]), grads=False)
    case = book.case("sorted_cubes", "second derivatives")
    case.check(lambda x: torch.sort(x, 1)[0] ** 3, case.distinct(2, 5))


def add_matmul(book):
    for label, a, b, ta, tb in (
            ("plain", (3, 5), (5, 2), False, False), ("transposed a", (5, 3), (5, 2), True, False),
            ("transposed b", (3, 5), (2, 5), False, True),
            ("both transposed", (5, 3), (2, 5), True, True),
            ("batch", (4, 3, 2), (4, 2, 3), False, False),
            ("batch broadcast both ways", (2, 1, 3, 2), (3, 2, 4), False, False),
            ("one matrix for a batch, transposed", (2, 3), (3, 4, 2), True, True),
            ("outer product", (4, 1), (1, 3), False, False),
            ("an empty batch", (0, 3, 2), (2, 4), False, False),
            ("nothing to add up", (2, 0), (0, 3), False, False)):
        case = book.case("matmul", label, transpose_a=ta, transpose_b=tb)
        case.check(lambda a, b: (a.mT if ta else a) @ (b.mT if tb else b), case.normal(*a),
                   case.normal(*b))


def add_cases(book):
    for add in (add_reductions, add_variance, add_walks, add_sorting, add_matmul):
        add(book)

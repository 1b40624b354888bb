"""Ops that move elements: shapes, slices, joining."""
import torch
from torch.nn import functional as F

from .elementwise import exact


def add_shapes(book):
    case = book.case("reshape", "a size worked out", shape=[4, -1])
    case.check(lambda x: x.reshape(4, -1), case.normal(2, 3, 4))
    case = book.case("transpose", "reversed")
    case.check(lambda x: x.permute(2, 1, 0), case.normal(2, 3, 4))
    case = book.case("transpose", "turned", permutation=[1, 2, 0])
    case.check(lambda x: x.permute(1, 2, 0), case.normal(2, 3, 4))
    case = book.case("swap_axes", "first and last", a=0, b=-1)
    case.check(lambda x: x.swapaxes(0, -1), case.normal(2, 3, 4))
    case = book.case("broadcast_to", "leading and inner axes", shape=[4, 2, 3])
    case.check(lambda x: x.expand(4, 2, 3), case.normal(2, 1))
    case = book.case("sum_to", "leading and inner axes", shape=[2, 1])
    case.check(lambda x: x.sum_to_size(2, 1), case.normal(4, 2, 3))
    case = book.case("expand_dims", "at the end", axis=-1)
    case.check(lambda x: x.unsqueeze(-1), case.normal(2, 3))
    case = book.case("squeeze", "in the middle", axis=1)
    case.check(lambda x: x.squeeze(1), case.normal(2, 1, 3))
    case = book.case("flip", "two axes", axes=[0, -1])
    case.check(lambda x: x.flip(0, -1), case.normal(2, 3, 4))
    case = book.case("tile", "all axes", counts=[2, 1, 3])
    case.check(lambda x: x.tile(2, 1, 3), case.normal(2, 3, 2))


def add_slices(book):
    case = book.case("slice", "steps and ends", ranges=[[0, 1, 6, 2], [1, -3, -1, 1]])
    case.check(lambda x: x[1:6:2, -3:-1], case.normal(7, 5))
    case = book.case("slice", "clamped", ranges=[[0, 2, 99, 1], [1, -99, 2, 1]])
    case.check(lambda x: x[2:99, -99:2], case.normal(4, 3))
    case = book.case("slice", "a step that does not fit", ranges=[[1, 1, 7, 4]])
    case.check(lambda x: x[:, 1:7:4], case.normal(2, 7))
    case = book.case("slice", "empty", ranges=[[0, 2, 2, 1]])
    case.check(lambda x: x[2:2], case.normal(3, 2))
    for position in (1, -1):
        case = book.case("index", f"position {position}", axis=1, position=position)
        case.check(lambda x: x[:, position], case.normal(2, 3, 2))
    for label, start, at in (("inside", [1, 2], (1, 2)), ("clamped", [9, -4], (2, 0))):
        i, j = at
        case = book.case("dynamic_slice", label, sizes=[2, 3])
        case.check(lambda x, _: x[i:i + 2, j:j + 3], case.normal(4, 5), torch.tensor(start))
        case = book.case("dynamic_set_slice", label)
        case.check(lambda x, u, _: overwrite(x, u, (slice(i, i + 2), slice(j, j + 3))),
                   case.normal(4, 5), case.normal(2, 3), torch.tensor(start))
    case = book.case("set_slice", "steps and ends", ranges=[[0, 0, 5, 2], [1, -2, 4, 1]])
    case.check(lambda x, u: overwrite(x, u, (slice(0, 5, 2), slice(-2, None))), case.normal(5, 4),
               case.normal(3, 2))


def overwrite(x, update, place):
    result = x.clone()
    result[place] = update
    return result


def add_joining(book):
    case = book.case("pad", "all sides with a value", before=[1, 0, 2], after=[0, 3, 1], value=1.5)
    case.check(lambda x: F.pad(x, (2, 1, 0, 3, 1, 0), value=1.5), case.normal(2, 1, 3))
    case = book.case("concat", "different sizes", axis=1)
    case.check(lambda *xs: torch.cat(xs, 1), case.normal(2, 1), case.normal(2, 3),
               case.normal(2, 2))
    case = book.case("stack", "in the middle", axis=1)
    case.check(lambda *xs: torch.stack(xs, 1), case.normal(2, 3), case.normal(2, 3))
    case = book.case("split", "different sizes", axis=-1, sizes=[1, 3, 2])
    case.check(lambda x: torch.split(x, [1, 3, 2], -1), case.normal(2, 6))
    book.case("nonzero", "of a matrix").check(torch.nonzero, exact([[0, 1, 0], [2, 0, -3]]))


def add_cases(book):
    for add in (add_shapes, add_slices, add_joining):
        add(book)

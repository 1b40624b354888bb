"""Ops that look elements up, and sparse matrices."""
import torch
from torch.nn import functional as F


def add_slices(book):
    for axis in (0, 1, -1):
        case = book.case("gather", f"a matrix of indices, axis {axis}", axis=axis)
        case.check(lambda x, i: torch.index_select(x, axis, i.flatten()).reshape(
                       gathered_shape(x, i, axis)),
                   case.normal(3, 4, 5), case.integers(2, 3, high=3))
        case = book.case("scatter_add", f"repeated indices, axis {axis}", axis=axis)
        count = 5
        shape = [3, 4, 3]
        shape[axis] = count
        case.check(lambda x, i, u: x.index_add(axis, i, u), case.normal(3, 4, 3),
                   case.integers(count, high=3), case.normal(*shape))
    case = book.case("gather", "one index")
    case.check(lambda x, i: x[i], case.normal(4, 2), torch.tensor(2))
    case = book.case("embedding", "a batch of sequences")
    case.check(lambda t, i: F.embedding(i, t), case.normal(6, 3), case.integers(2, 4, high=6))


def gathered_shape(x, indices, axis):
    axis %= x.dim()
    return (*x.shape[:axis], *indices.shape, *x.shape[axis + 1:])


def add_elements(book):
    for axis, shape in ((0, (5, 4)), (1, (3, 6)), (-1, (3, 2))):
        case = book.case("take_along", f"axis {axis}", axis=axis)
        case.check(lambda x, i: torch.gather(x, axis, i), case.normal(3, 4),
                   case.integers(*shape, high=3))
        case = book.case("scatter_add_along", f"axis {axis}", axis=axis)
        case.check(lambda x, i, u: torch.scatter_add(x, axis, i, u), case.normal(3, 4),
                   case.integers(*shape, high=3), case.normal(*shape))
    case = book.case("one_hot", "a matrix", classes=5)
    case.check(lambda i: F.one_hot(i, 5).double(), case.integers(2, 3, high=5))


def add_bags(book):
    for mode in ("sum", "mean"):
        # PyTorch names the bags by offsets: bags of 2, 0, 3 and 0 ids.
        case = book.case("embedding_bag", f"{mode}, empty bags", mode=mode, num_bags=4)
        case.check(lambda t, ids, _: F.embedding_bag(ids, t, torch.tensor([0, 2, 2, 5]), mode=mode),
                   case.normal(5, 3), case.integers(5, high=5), torch.tensor([0, 0, 2, 2, 2]),
                   second=False)
        case = book.case("embedding_bag", f"{mode}, bags in no order", mode=mode, num_bags=3)
        case.check(lambda t, ids, bags: bags_by_index(t, ids, bags, 3, mode), case.normal(5, 2),
                   case.integers(6, high=5), torch.tensor([2, 0, 2, 1, 0, 2]))


def bags_by_index(table, ids, bags, count, mode):
    total = torch.zeros(count, table.shape[1], dtype=table.dtype).index_add(0, bags, table[ids])
    return total / torch.bincount(bags, minlength=count)[:, None] if mode == "mean" else total


def add_sparse(book):
    columns = torch.tensor([1, 3, 0, 2, 2, 3])  # the last row holds column 2 twice
    row_starts = torch.tensor([0, 2, 2, 3, 6])
    rows = torch.repeat_interleave(torch.arange(4), row_starts.diff())

    def dense(values):
        matrix = torch.zeros(4, 5, dtype=values.dtype)
        return matrix.index_put((rows, columns), values, accumulate=True)

    case = book.case("csr_matmul", "plain", num_columns=5)
    case.check(lambda v, c, r, x: dense(v) @ x, case.normal(6), columns, row_starts,
               case.normal(5, 3))
    case = book.case("csr_matmul", "transposed", num_columns=5, transposed=True)
    case.check(lambda v, c, r, x: dense(v).T @ x, case.normal(6), columns, row_starts,
               case.normal(4, 2))
    case = book.case("csr_sampled_matmul", "plain", num_columns=5)
    case.check(lambda c, r, a, b: (a @ b.T)[rows, columns], columns, row_starts, case.normal(4, 3),
               case.normal(5, 3))


def add_cases(book):
    for add in (add_slices, add_elements, add_bags, add_sparse):
        add(book)

"""Layers with parameters, residual networks and losses."""
import torch
from torch.nn import functional as F


def add_layers(book):
    case = book.case("mlp", "tanh between two layers")
    case.check(lambda x, w, b, v, c: torch.tanh(x @ w + b) @ v + c, case.normal(3, 2),
               case.normal(2, 4), case.normal(4), case.normal(4, 2), case.normal(2))
    case = book.case("maxout", "3 pieces", pieces=3)
    case.check(lambda x, w, b: (x @ w + b).unflatten(-1, (2, 3)).amax(-1), case.normal(3, 4),
               case.normal(4, 6), case.normal(6))
    options = {"stride": [2, 1], "padding": [1, 0], "groups": 2}
    case = book.case("conv2d", "with a bias", **options)
    case.check(lambda x, w, b: F.conv2d(x, w, b, **options), case.normal(2, 2, 3, 3),
               case.normal(4, 1, 2, 2), case.normal(4))
    for label, shape in (("a matrix", (5, 2)), ("images", (2, 2, 2, 3))):
        case = book.case("batch_norm_layer", label, momentum=0.2)

        def batch_norm(x, scale, bias):
            mean, variance = torch.zeros(2).double(), torch.ones(2).double()
            y = F.batch_norm(x, mean, variance, scale, bias, True, 0.2)
            return y, mean, variance

        case.check(batch_norm, case.normal(*shape), case.normal(2), case.normal(2))
    for mode in ("sum", "mean"):
        case = book.case("embedding_bag_layer", f"{mode}, offsets", mode=mode)
        case.check(lambda ids, offsets, table: F.embedding_bag(ids, table, offsets, mode=mode),
                   case.integers(6, high=4), torch.tensor([0, 2, 2, 5]), case.normal(4, 3),
                   second=False)
        case = book.case("embedding_bag_layer", f"{mode}, lengths", mode=mode)

        def padded(ids, lengths, table):
            rows = [table[row[:n]].sum(0) / (max(n, 1) if mode == "mean" else 1)
                    for row, n in zip(ids, lengths.tolist())]
            return torch.stack(rows)

        case.check(padded, case.integers(3, 4, high=4), torch.tensor([4, 0, 1]),
                   case.normal(4, 3))


def add_gcn(book):
    columns, row_starts = torch.tensor([0, 3, 1, 0, 2, 3]), torch.tensor([0, 2, 3, 3, 6])

    def gcn(values, columns, row_starts, x, weight, bias):
        rows = torch.repeat_interleave(torch.arange(4), row_starts.diff())
        dense = torch.zeros(4, 4).double().index_put((rows, columns), values)
        return dense @ (x @ weight) + bias

    case = book.case("gcn", "4 nodes")
    case.check(gcn, case.normal(6), columns, row_starts, case.normal(4, 3), case.normal(3, 2),
               case.normal(2))


def add_chains(book):
    def residual(layer, step):
        def run(u, weights, biases):
            states = []
            for weight, bias in zip(weights, biases):
                u = u + step * torch.tanh(layer(u, weight, bias))
                states.append(u)
            return u, torch.stack(states)
        return run

    case = book.case("residual", "3 layers", step=0.25)
    case.check(residual(lambda u, w, b: u @ w + b, 0.25), case.normal(2, 3), case.normal(3, 3, 3),
               case.normal(3, 3))
    case = book.case("residual_conv", "2 layers", step=0.5)
    case.check(residual(lambda u, w, b: F.conv2d(u, w, b, padding=1), 0.5),
               case.normal(1, 2, 3, 3), case.normal(2, 2, 2, 3, 3, scale=0.4), case.normal(2, 2))

    def implicit_gru(xs, h, w_ih, w_hh, b_ih, b_hh):
        states = []
        for x in xs:
            from_x, from_h = (F.linear(*arguments).chunk(3, -1)
                              for arguments in ((x, w_ih, b_ih), (h, w_hh, b_hh)))
            reset = torch.sigmoid(from_x[0] + from_h[0])
            move = 0.5 * (1 - torch.sigmoid(from_x[1] + from_h[1]))
            fresh = torch.tanh(from_x[2] + reset * from_h[2])
            h = (h + move * fresh) / (1 + move)
            states.append(h)
        return torch.stack(states), h

    case = book.case("implicit_gru", "half a step", step=0.5)
    case.check(implicit_gru, case.normal(3, 2, 2), case.normal(2, 2), case.normal(6, 2),
               case.normal(6, 2), case.normal(6), case.normal(6))


def add_losses(book):
    for label, smoothing, ignore, weights in (
            ("plain", 0.0, None, None), ("smoothed", 0.1, None, None),
            ("weighted", 0.0, None, [0.5, 2.0, 1.5]),
            ("all options", 0.2, 1, [0.5, 2.0, 1.5])):
        options = {"smoothing": smoothing}
        if ignore is not None:
            options["ignore"] = ignore
        if weights is not None:
            options["weights"] = weights
        case = book.case("cross_entropy_loss", label, **options)
        weight = None if weights is None else torch.tensor(weights).double()
        case.check(lambda x, y: F.cross_entropy(
            x, y, weight, ignore_index=-100 if ignore is None else ignore, reduction="none",
            label_smoothing=smoothing), case.normal(4, 3), torch.tensor([2, 1, 0, 1]))
    case = book.case("mse", "of matrices")
    case.check(lambda x, y: F.mse_loss(x, y, reduction="none").mean((1, 2)), case.normal(3, 2, 2),
               case.normal(3, 2, 2))
    case = book.case("binary_cross_entropy", "soft targets")
    case.check(lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
               case.normal(3, 4, scale=4), case.uniform(3, 4))

    def multi_label(x, labels, row_starts):
        target = torch.zeros_like(x)
        for row, (start, stop) in enumerate(zip(row_starts[:-1], row_starts[1:])):
            target[row, labels[start:stop]] = 1
        share = target / target.sum(1, keepdim=True).clamp(min=1)
        return (F.cross_entropy(x, share, reduction="none"),
                F.binary_cross_entropy_with_logits(x, target, reduction="none").mean(1))

    case = book.case("multi_label", "sets of 2, 0, 1 and 3")
    case.check(multi_label, case.normal(4, 5), torch.tensor([4, 1, 0, 2, 3, 0]),
               torch.tensor([0, 2, 2, 3, 6]))


def add_cases(book):
    for add in (add_layers, add_gcn, add_chains, add_losses):
        add(book)

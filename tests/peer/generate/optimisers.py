"""Optimisers of torch.optim: the points that a small network goes through."""
import torch

STEPS = 12
LBFGS_STEPS = 6  # later ones would compare rounding errors


def add(book, optimiser, label, make, steps=STEPS, **options):
    """Records the parameters after each step; the data stay the same."""
    case = book.case("optimiser", f"{optimiser}, {label}", optimiser=optimiser, steps=steps, **options)
    x, y = case.normal(7, 3), case.normal(7)
    inputs = [x, y, case.normal(3, 2, scale=0.5), case.normal(2, scale=0.5)]

    def run(x, y, w, v):
        w, v = (p.detach().clone().requires_grad_() for p in (w, v))
        optimiser = make([w, v])

        def loss():
            optimiser.zero_grad()
            value = ((torch.tanh(x.detach() @ w) * v).sum(1) - y.detach()).square().mean()
            value.backward()
            return value

        points = []
        for _ in range(steps):
            optimiser.step(loss)
            points.append(torch.cat([w.detach().flatten(), v.detach()]))
        return torch.stack(points)

    case.check(run, *inputs, grads=False)


def add_cases(book):
    optim = torch.optim
    for momentum in (0.0, 0.9):
        for decay in (0.0, 0.1):
            options = dict(lr=0.1, momentum=momentum, weight_decay=decay)
            add(book, "sgd", f"momentum {momentum}, decay {decay}",
                lambda ps, o=options: optim.SGD(ps, **o), **options)
            if momentum > 0:
                nesterov = dict(options, nesterov=True)
                add(book, "sgd", f"nesterov, decay {decay}",
                    lambda ps, o=nesterov: optim.SGD(ps, **o), **nesterov)
            options = dict(lr=0.05, momentum=momentum, weight_decay=decay)
            add(book, "rmsprop", f"momentum {momentum}, decay {decay}",
                lambda ps, o=options: optim.RMSprop(ps, **o), **options)
    for decay in (0.0, 0.1):
        options = dict(lr=0.05, weight_decay=decay)
        add(book, "adam", f"decay {decay}", lambda ps, o=options: optim.Adam(ps, **o), **options)
        add(book, "adamw", f"decay {decay}", lambda ps, o=options: optim.AdamW(ps, **o), **options)
        add(book, "adagrad", f"decay {decay}", lambda ps, o=options: optim.Adagrad(
            ps, initial_accumulator_value=0.1, **o), initial=0.1, **options)
    # Without a line search; ours accepts its first trial when that is short enough.
    for history in (2, 10):
        options = dict(lr=0.3, history=history)
        add(book, "lbfgs", f"history {history}", lambda ps, o=options: optim.LBFGS(
            ps, lr=o["lr"], history_size=o["history"], max_iter=1, tolerance_grad=0,
            tolerance_change=0), steps=LBFGS_STEPS, **options)

"""Whole models by PyTorch's own modules, control flow, and derivatives of derivatives."""
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel


def check_module(case, module, inputs, function):
    """Records function(call, *inputs), where call runs the module; its parameters are recorded
    behind the inputs, in the module's order."""
    module = module.double()
    names = [name for name, _ in module.named_parameters()]
    values = [case.normal(*value.shape, scale=0.4) for value in module.parameters()]

    def run(*tensors):
        named = dict(zip(names, tensors[len(inputs):]))
        return function(lambda *xs, **options: functional_call(module, named, xs, options),
                        *tensors[:len(inputs)])

    case.check(run, *inputs, *values)


def add_recurrent(book):
    steps, batch, width, hidden = 5, 2, 3, 4
    for reverse in (False, True):
        case = book.case("gru", "from the end" if reverse else "from the start", reverse=reverse)

        def gru(call, xs, h):
            ys, last = call(xs.flip(0) if reverse else xs, h[None])
            return (ys.flip(0) if reverse else ys), last[0]

        check_module(case, nn.GRU(width, hidden),
                     [case.normal(steps, batch, width), case.normal(batch, hidden)], gru)
    case = book.case("gru", "of different lengths", padded=True)

    def padded_gru(call, xs, h, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(xs, lengths, enforce_sorted=False)
        return call(packed, h[None])[1][0]

    check_module(case, nn.GRU(2, 3),
                 [case.normal(4, 3, 2), case.normal(3, 3), torch.tensor([2, 4, 1])], padded_gru)
    case = book.case("rnn", "tanh")

    def rnn(call, xs, h):
        ys, last = call(xs, h[None])
        return ys, last[0]

    check_module(case, nn.RNN(width, hidden),
                 [case.normal(steps, batch, width), case.normal(batch, hidden)], rnn)
    for layers in (1, 2):
        case = book.case("lstm", f"{layers} layers", layers=layers)

        def lstm(call, xs, h, c):
            ys, (h, c) = call(xs, (h, c))
            return ys, h, c

        states = [case.normal(layers, batch, hidden) for _ in range(2)]
        check_module(case, nn.LSTM(width, hidden, layers),
                     [case.normal(steps, batch, width), *states], lstm)


def add_attention(book):
    batch, steps, width, heads = 2, 3, 4, 2
    later = torch.triu(torch.ones(steps, steps, dtype=torch.bool), 1)
    with sdpa_kernel(SDPBackend.MATH):  # the others cannot be differentiated twice
        case = book.case("attention", "causal, 2 heads", heads=heads)
        check_module(case, nn.MultiheadAttention(width, heads, batch_first=True),
                     [case.normal(batch, steps, width)],
                     lambda call, x: call(x, x, x, attn_mask=later, need_weights=False)[0])
        case = book.case("attention", "of a memory with padding", heads=heads, cross=True)
        seen = torch.tensor([[True, True, False, True], [True, False, False, False]])
        check_module(case, nn.MultiheadAttention(width, heads, kdim=3, vdim=3, batch_first=True),
                     [case.normal(batch, steps, width), case.normal(batch, 4, 3), seen],
                     lambda call, x, memory, seen: call(x, memory, memory, key_padding_mask=~seen,
                                                        need_weights=False)[0])
        case = book.case("transformer", "2 layers, norm first", heads=heads, layers=2)
        layer = nn.TransformerEncoderLayer(width, heads, 6, dropout=0.0, activation="gelu",
                                           batch_first=True, norm_first=True)
        check_module(case, nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                     [case.normal(batch, steps, width)], lambda call, x: call(x, mask=later))


def add_control_flow(book):
    def wander(x, a):
        while (x * x).sum() < 50:
            x = a * x + torch.sin(x)
        return x

    case = book.case("loop", "until a norm is reached", limit=50.0)
    case.check(wander, case.normal(3, scale=0.5), case.uniform(3, low=1.1, high=1.4))
    case = book.case("loop", "not once", limit=50.0)
    case.check(wander, case.uniform(3, low=8, high=9), case.normal(3))
    for label, sign in (("then", 1), ("otherwise", -1)):
        case = book.case("cond", label)
        case.check(lambda x, a: a * x * x if x.sum() > 0 else torch.exp(x),
                   sign * case.uniform(4, low=0.1, high=2), case.normal(4))

    def contract(h, a):
        before = []
        for _ in range(6):
            before.append(h)
            h = torch.tanh(h @ a)
        return h, torch.stack(before)

    case = book.case("chain_without_data", "6 steps", length=6)
    case.check(contract, case.normal(2, 3), case.normal(3, 3))


def add_derivatives(book):
    def penalised(x, w1, b1, w2):
        d = torch.tanh(x @ w1 + b1) @ w2
        slope, = torch.autograd.grad(d.sum(), x, create_graph=True)
        return d.mean(), ((slope.square().sum(1).sqrt() - 1) ** 2).mean()

    case = book.case("stop_gradient", "of one factor")
    case.check(lambda x: x * torch.sin(x).detach(), case.normal(4))
    case = book.case("gradient_penalty", "a perceptron")
    case.check(penalised, case.normal(3, 4), case.normal(4, 5), case.normal(5), case.normal(5, 1))
    for mode in ("forward over reverse", "reverse over reverse"):
        case = book.case("gru_hessian_vector", mode, mode=mode)

        def product(call, xs, h, direction):
            loss = call(xs, h[None])[1].square().sum()
            slope, = torch.autograd.grad(loss, xs, create_graph=True)
            return torch.autograd.grad((slope * direction).sum(), xs, create_graph=True)[0]

        check_module(case, nn.GRU(2, 3),
                     [case.normal(4, 2, 2), case.normal(2, 3), case.normal(4, 2, 2)], product)


def add_cases(book):
    for add in (add_recurrent, add_attention, add_control_flow, add_derivatives):
        add(book)

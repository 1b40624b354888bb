"""The models of benchmarks/step_models.cpp in PyTorch, and the cases of training_steps.cpp and gpu/gpu_cases.cpp."""
import torch
from torch import nn
from torch.nn import functional as F


# On a GPU with PyTorch's own fused kernels, which it uses when asked, and in the form that a CUDA graph can hold.
def sgd(parameters, momentum=0):
    parameters = list(parameters)
    return torch.optim.SGD(parameters, 0.01, momentum, fused=parameters[0].is_cuda or None)


def momentum(parameters):
    return sgd(parameters, 0.9)


def adam(parameters):
    parameters = list(parameters)
    on_gpu = parameters[0].is_cuda
    return torch.optim.Adam(parameters, 0.001, fused=on_gpu or None, capturable=on_gpu)


def mean(y, _):
    return y.mean()


class Case:
    """A model with its data: does steps of it. Without an optimiser they are forward and backward alone."""

    def __init__(self, model, x, target, optimiser=sgd, loss=F.cross_entropy, bf16=False, tf32=False):
        self.model, self.x, self.target, self.bf16, self.tf32 = model, x, target, bf16, tf32
        self.optimiser, self.loss = optimiser and optimiser(model.parameters()), loss

    def step(self):
        (self.optimiser or self.model).zero_grad()
        loss = self.forward(self.model, self.x, self.target, torch.float32)
        loss.backward()
        if self.optimiser:
            self.optimiser.step()
        return loss

    def forward(self, model, x, target, dtype):
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.bf16 and dtype != torch.float64):
            y = model(x)
        return self.loss(y.to(dtype), target)

    def gradient_error(self, batch):
        """Returns the largest over all parameters of max |g - g64| / max |g64|, as benchmarks/gpu/gradient_error.cpp. Leaves the model in f64."""
        def gradients(model, dtype):
            def as_dtype(values):
                return values.to(dtype) if values is not None and values.is_floating_point() else values
            model.zero_grad()
            target = self.target if self.target is None else as_dtype(self.target[:batch])
            self.forward(model, as_dtype(self.x[:batch]), target, dtype).backward()
            return [parameter.grad.double() for parameter in model.parameters()]

        found = gradients(self.model, torch.float32)
        exact = gradients(self.model.double(), torch.float64)
        scale = max(g.abs().max() for g in exact)
        return max(((a - b).abs().max() / b.abs().max()).item()
                   for a, b in zip(found, exact) if b.abs().max() > 1e-9 * scale)


class SparseProduct(torch.autograd.Function):
    """A product by a constant sparse matrix, whose transpose is at hand: PyTorch's own makes it anew in every step."""

    @staticmethod
    def forward(context, matrix, transposed, x):
        context.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(context, grad):
        return None, None, context.transposed @ grad


class Recurrent(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden)
        self.linear = nn.Linear(hidden, 10)

    def forward(self, xs):
        return self.linear(self.gru(xs)[1][0])


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


def resnet18():
    widths = [64, 64, 128, 256, 512]
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    for before, width in zip(widths, widths[1:]):
        layers += [ResidualBlock(before, width, width // before), ResidualBlock(width, width, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Gcn(nn.Module):
    def __init__(self, adjacency, features, hidden, classes):
        super().__init__()
        self.register_buffer("adjacency", adjacency.to_sparse_csr())
        self.register_buffer("transposed", adjacency.t().coalesce().to_sparse_csr())
        self.first = nn.Linear(features, hidden, bias=False)
        self.second = nn.Linear(hidden, classes, bias=False)
        self.bias1, self.bias2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(classes))

    def forward(self, x):
        # Features as a sparse matrix are slower: on a CPU their products do not run in parallel.
        x = F.relu(SparseProduct.apply(self.adjacency, self.transposed, self.first(x)) + self.bias1)
        return SparseProduct.apply(self.adjacency, self.transposed, self.second(x)) + self.bias2


class Gpt(nn.Module):
    def __init__(self, steps, width, heads, layers, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(0.02 * torch.randn(steps, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True)
            for _ in range(layers))
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(steps))

    def forward(self, tokens):
        x = self.embedding(tokens) + self.places
        for block in self.blocks:
            x = block(x, src_mask=self.mask, is_causal=True)
        return self.linear(self.norm(x))


class OdeNet(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.step = 1 / depth
        self.weights = nn.ParameterList(nn.init.xavier_uniform_(torch.empty(width, width)) for _ in range(depth))
        self.biases = nn.ParameterList(torch.zeros(width) for _ in range(depth))
        self.layers = list(zip(self.weights, self.biases))  # a ParameterList is slow to walk over

    def forward(self, x):
        for weight, bias in self.layers:
            x = x + self.step * torch.tanh(torch.addmm(bias, x, weight))
        return x


class Critic(nn.Module):
    """Returns each example's score with the penalty for its slope at the input."""

    def __init__(self):
        super().__init__()
        channels, layers = [3, 64, 128, 256], []
        for before, after in zip(channels, channels[1:]):
            layers += [nn.Conv2d(before, after, 3, 2, 1), nn.SiLU()]
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(256 * 4 * 4, 1))

    def forward(self, x):
        x = x.detach().requires_grad_()
        score = self.layers(x)
        slopes, = torch.autograd.grad(score.sum(), x, create_graph=True)
        return score[:, 0] + 10 * (slopes.square().sum((1, 2, 3)).sqrt() - 1).square()


def labels(count):
    return torch.arange(count) % 10


def mlp(batch, widths, optimiser, **precision):
    layers = []
    for before, width in zip([784] + widths, widths):
        layers += [nn.Linear(before, width), nn.ReLU()]
    return Case(nn.Sequential(*layers[:-1]), torch.randn(batch, 784), labels(batch), optimiser, **precision)


def gru(steps, batch, inputs, hidden, **precision):
    return Case(Recurrent(inputs, hidden), torch.randn(steps, batch, inputs), labels(batch), **precision)


def resnet(batch, bf16):
    model, x = resnet18(), torch.randn(batch, 3, 32, 32)
    layout = torch.channels_last
    return Case(model.to(memory_format=layout), x.to(memory_format=layout), labels(batch), momentum, bf16=bf16)


def gcn(nodes, edges, features, words, hidden, classes):
    a, b = torch.randint(nodes, (2, edges))
    own = torch.arange(nodes)
    where = torch.stack([torch.cat([a, b, own]), torch.cat([b, a, own])])
    values = torch.rand(where.shape[1]) / 5
    adjacency = torch.sparse_coo_tensor(where, values, (nodes, nodes)).coalesce()
    x = (torch.rand(nodes, features) < words / nodes / features).float()
    return Case(Gcn(adjacency, features, hidden, classes), x, torch.arange(nodes) % classes, adam)


def transformer(batch, steps, width, heads, bf16, optimiser=adam):
    model = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True)
    return Case(model, torch.randn(batch, steps, width), torch.randn(batch, steps, width), optimiser, F.mse_loss, bf16)


def gpt(batch, steps, width, heads, layers, vocabulary):
    def tokens(first):
        return ((first + torch.arange(batch * steps)) * 7 % vocabulary).reshape(batch, steps)

    return Case(Gpt(steps, width, heads, layers, vocabulary), tokens(0), tokens(1), adam,
                lambda y, target: F.cross_entropy(y.flatten(0, 1), target.flatten()))


def ode_net(batch, width, depth):
    return Case(OdeNet(width, depth), torch.randn(batch, width), None, None, lambda y, _: y.square().mean())


def gradient_penalty(batch):
    return Case(Critic(), torch.randn(batch, 3, 32, 32), None, adam, mean)


CPU_CASES = {
    "mlp 784-512-512-10 B=128 sgd": lambda: mlp(128, [512, 512, 10], sgd),
    "mlp 784-1024-1024-10 B=128 adam": lambda: mlp(128, [1024, 1024, 10], adam),
    "mlp 784-1024-1024-10 B=8192 adam": lambda: mlp(8192, [1024, 1024, 10], adam),
    "mlp 784-1024-1024-10 B=8192 adam bf16": lambda: mlp(8192, [1024, 1024, 10], adam, bf16=True),
    "gru T=128 B=64 inputs=9 h=64": lambda: gru(128, 64, 9, 64),
    "gru T=128 B=64 inputs=512 h=512": lambda: gru(128, 64, 512, 512),
    "gcn nodes=2708 inputs=1433 h=16 adam": lambda: gcn(2708, 5278, 1433, 49216, 16, 7),
    "resnet18 32x32 B=64": lambda: resnet(64, bf16=False),
    "resnet18 32x32 B=64 bf16": lambda: resnet(64, bf16=True),
    "transformer d=768 heads=12 T=1024 B=8 adam": lambda: transformer(8, 1024, 768, 12, bf16=False),
    "transformer d=768 heads=12 T=1024 B=8 adam bf16": lambda: transformer(8, 1024, 768, 12, bf16=True),
    "gpt d=128 layers=4 heads=4 T=128 B=4 adam": lambda: gpt(4, 128, 128, 4, 4, 256),
}

# What is timed on a GPU alone.
GPU_CASES = {
    "mlp 784-512-512-10 B=128 momentum tf32": lambda: mlp(128, [512, 512, 10], momentum, tf32=True),
    "mlp 784-4096-4096-4096-10 B=1024 momentum tf32": lambda: mlp(1024, [4096, 4096, 4096, 10], momentum, tf32=True),
    "resnet18 32x32 B=256 momentum bf16": lambda: resnet(256, bf16=True),
    "transformer layer 512/8/2048 T=512 B=32 bf16 forward + backward":
        lambda: transformer(32, 512, 512, 8, bf16=True, optimiser=None),
    "ode net width=64 depth=1024 B=64 forward + backward": lambda: ode_net(64, 64, 1024),
    "gru T=128 B=64 inputs=512 h=512 tf32": lambda: gru(128, 64, 512, 512, tf32=True),
    "mlp 784-1024-1024-10 B=128 adam bf16": lambda: mlp(128, [1024, 1024, 10], adam, bf16=True),
    "gradient penalty cnn 32x32 B=64 adam": lambda: gradient_penalty(64),
}

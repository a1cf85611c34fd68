"""Record what PyTorch computes, for tests that then need no PyTorch.

    python -m venv torch && torch/bin/pip install torch==2.13.0 numpy
    torch/bin/python tests/ops/record.py

PyTorch works in f64 on f32 inputs, so that what is compared is the error of pywgsl alone. Each
file of `data` holds the inputs and the results, by names that its test module knows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

DATA = Path(__file__).parent / "data"
STEEPNESS = 0.7

Tensors = dict[str, Any]


def main() -> None:
    """Write every file."""
    rng = np.random.default_rng(2013)
    recorders = (activations, linear, losses, cross_entropies, optimizers, gradients)
    for recorder in (*recorders, normalization, softmax, reductions):
        values = recorder(rng)
        np.savez_compressed(
            DATA / f"{recorder.__name__}.npz", **{k: as_array(v) for k, v in values.items()}
        )


def as_array(value: Any) -> np.ndarray[Any, Any]:
    array = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> torch.Tensor:
    """Return f32 numbers as an f64 tensor."""
    values = np.float32(scale * rng.standard_normal(shape))
    return torch.as_tensor(values, dtype=torch.float64)


def gradients_of(
    function: Callable[..., torch.Tensor], grad: torch.Tensor | None, *inputs: torch.Tensor
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Return a function's result and its gradients by its inputs, given that by the result."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    result = function(*leaves)
    return result, torch.autograd.grad(result, leaves, grad)


# -------------------------------------------------------------------------------- activations

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 2.0),
    "softsign": F.softsign,
    "softplus": F.softplus,
    "softplus_sharp": lambda x: F.softplus(x, 3.0, 5.0),
    "elu": lambda x: F.elu(x, 1.5),
}

FANN: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "linear": lambda z: z * 1.0,
    "gaussian": lambda z: torch.exp(-z * z),
    "gaussian_symmetric": lambda z: 2.0 * torch.exp(-z * z) - 1.0,
    "elliott": lambda z: 0.5 * z / (1.0 + z.abs()) + 0.5,
    "elliott_symmetric": lambda z: z / (1.0 + z.abs()),
    "sin": lambda z: 0.5 * torch.sin(z) + 0.5,
    "cos": lambda z: 0.5 * torch.cos(z) + 0.5,
    "sin_symmetric": torch.sin,
    "cos_symmetric": torch.cos,
    "linear_piece": lambda z: F.hardtanh(z, 0.0, 1.0),
    "linear_piece_symmetric": lambda z: F.hardtanh(z, -1.0, 1.0),
}


def activations(rng: np.random.Generator) -> Tensors:
    """Every activation and its gradient on 1000 numbers, some of them far out or special."""
    x = normal(rng, 1000, scale=3.0)
    far = [0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 20.0, -20.0, 88.0, -88.0, 100.0, -100.0, 1e4, -1e4]
    x[10 : 10 + len(far)] = torch.tensor(far, dtype=torch.float32).double()
    grad, up = normal(rng, 1000), normal(rng, 1000)
    special = torch.tensor([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40]).float().double()
    values: Tensors = {"x": x, "grad": grad, "up": up, "special": special}
    for name, function in UNARY.items():
        result, (slope,) = gradients_of(function, grad, x)
        values |= {name: result, f"{name}_backward": slope, f"{name}_special": function(special)}
    result, slopes = gradients_of(lambda gate, up: F.silu(gate) * up, grad, x, up)
    values |= {"swiglu": result, "swiglu_gate": slopes[0], "swiglu_up": slopes[1]}
    for name, function in FANN.items():
        steepness = float(np.float32(STEEPNESS))
        result, (slope,) = gradients_of(lambda x, f=function, s=steepness: f(s * x), grad, x)
        values |= {f"fann_{name}": result, f"fann_{name}_backward": slope}
    return values


# ------------------------------------------------------------------------------ linear layers

LAYERS = [((1,), 1, 1), ((3,), 7, 5), ((17,), 16, 33), ((2, 3), 257, 3), ((), 4, 6), ((0,), 3, 2)]


def linear(rng: np.random.Generator) -> Tensors:
    """Layers of odd sizes, with any leading shape, and products of batches of matrices."""
    values: Tensors = {}
    for number, (lead, inputs, outputs) in enumerate(LAYERS):
        x, weight = normal(rng, *lead, inputs), normal(rng, outputs, inputs)
        bias, grad = normal(rng, outputs), normal(rng, *lead, outputs)
        result, slopes = gradients_of(F.linear, grad, x, weight, bias)
        named = {"x": x, "weight": weight, "bias": bias, "grad": grad, "result": result}
        named |= dict(zip(("dx", "dweight", "dbias"), slopes, strict=True))
        values |= {f"{number}_{name}": value for name, value in named.items()}
    return values


# ------------------------------------------------------------------------------------- losses

REDUCTIONS = ("mean", "sum", "none")


def losses(rng: np.random.Generator) -> Tensors:
    """Losses of single elements in every reduction."""
    values: Tensors = {}
    for size in (1, 257, 3000):
        x, target = normal(rng, size), normal(rng, size)
        chance = torch.sigmoid(3.0 * normal(rng, size)).float().double()
        chance[:2] = torch.tensor([0.0, 1.0])[:size]
        goal = torch.bernoulli(torch.full((size,), 0.5, dtype=torch.float64))
        values |= {f"{size}_x": x, f"{size}_target": target}
        values |= {f"{size}_chance": chance, f"{size}_goal": goal}
        for name, loss, a, b in (
            ("mse_loss", F.mse_loss, x, target),
            ("binary_cross_entropy", F.binary_cross_entropy, chance, goal),
        ):
            for reduction in REDUCTIONS:
                grad = normal(rng, size) if reduction == "none" else normal(rng)
                result, (slope,) = gradients_of(
                    lambda x, f=loss, t=b, r=reduction: f(x, t, reduction=r), grad, a
                )
                key = f"{size}_{name}_{reduction}"
                values |= {key: result, f"{key}_grad": grad, f"{key}_slope": slope}
    return values


LOGITS = [(1, 1), (3, 10), (7,), (9, 257), (2, 5, 3), (2, 4, 3, 5)]


def cross_entropies(rng: np.random.Generator) -> Tensors:
    """Cross entropies with classes and with probabilities, ignored positions and smoothing."""
    values: Tensors = {}
    for number, shape in enumerate(LOGITS):
        logits = normal(rng, *shape, scale=4.0)
        classes = shape[0] if len(shape) == 1 else shape[1]
        positions = shape[:0] if len(shape) == 1 else (shape[0], *shape[2:])
        index = np.asarray(rng.integers(0, classes, positions), np.int32)
        index[rng.random(positions) < 0.3] = -100 if len(shape) > 1 else 0
        dense = torch.softmax(normal(rng, *shape), 0 if len(shape) == 1 else 1).float().double()
        values |= {f"{number}_logits": logits, f"{number}_index": index, f"{number}_dense": dense}
        targets = {"index": torch.from_numpy(index).long(), "dense": dense}
        for kind, smoothing, reduction in itertools.product(targets, (0.0, 0.1), REDUCTIONS):
            grad = normal(rng, *positions) if reduction == "none" else normal(rng)
            result, (slope,) = gradients_of(
                lambda z, t=targets[kind], s=smoothing, r=reduction: F.cross_entropy(
                    z, t, label_smoothing=s, reduction=r
                ),
                grad,
                logits,
            )
            key = f"{number}_{kind}_{smoothing}_{reduction}"
            values |= {key: result, f"{key}_grad": grad, f"{key}_slope": slope}
    return values


# --------------------------------------------------------------------------------- optimizers

OPTIMIZERS: dict[str, Callable[[list[torch.Tensor]], torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "sgd_dampening": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.05
    ),
    "sgd_nesterov": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.05
    ),
    "adam": lambda p: torch.optim.Adam(p),
    "adam_options": lambda p: torch.optim.Adam(
        p, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1
    ),
    "adam_amsgrad": lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.9, 0.5), amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05),
    "adamw_amsgrad": lambda p: torch.optim.AdamW(
        p, lr=0.05, betas=(0.9, 0.5), weight_decay=0.1, amsgrad=True
    ),
    "rmsprop": lambda p: torch.optim.RMSprop(p),
    "rmsprop_momentum": lambda p: torch.optim.RMSprop(
        p, lr=0.02, alpha=0.9, momentum=0.7, weight_decay=0.05
    ),
    "rmsprop_centered": lambda p: torch.optim.RMSprop(p, lr=0.02, alpha=0.9, centered=True),
    "rmsprop_both": lambda p: torch.optim.RMSprop(
        p, lr=0.02, alpha=0.9, centered=True, momentum=0.7
    ),
    "rprop": lambda p: torch.optim.Rprop(p),
    "rprop_options": lambda p: torch.optim.Rprop(p, lr=0.3, etas=(0.4, 1.5), step_sizes=(0.1, 0.5)),
}


def optimizers(rng: np.random.Generator) -> Tensors:
    """Ten steps of every optimizer, with the parameters after each."""
    start, grads = normal(rng, 65), normal(rng, 10, 65)
    grads[3, :5] = 0.0
    values: Tensors = {"start": start, "grads": grads}
    for name, make in OPTIMIZERS.items():
        param = start.clone().requires_grad_()
        optimizer = make([param])
        steps = []
        for grad in grads:
            param.grad = grad.clone()
            optimizer.step()
            steps.append(param.detach().clone())
        values[name] = torch.stack(steps)
    return values


# ------------------------------------------------------------------ gradients, normalization


def gradients(rng: np.random.Generator) -> Tensors:
    """Clipping by value and by the norm of several arrays."""
    grads = [normal(rng, 3000), normal(rng, 7, 5), normal(rng, 1)]
    values: Tensors = {f"grad_{k}": g for k, g in enumerate(grads)}
    for max_norm in (2.0, 1000.0):
        params = [torch.nn.Parameter(g.clone()) for g in grads]
        for p, g in zip(params, grads, strict=True):
            p.grad = g.clone()
        values[f"norm_{max_norm}"] = torch.nn.utils.clip_grad_norm_(params, max_norm)
        values |= {f"norm_{max_norm}_{k}": p.grad for k, p in enumerate(params)}
    params = [torch.nn.Parameter(g.clone()) for g in grads]
    for p, g in zip(params, grads, strict=True):
        p.grad = g.clone()
    torch.nn.utils.clip_grad_value_(params, 0.5)
    return values | {f"value_{k}": p.grad for k, p in enumerate(params)}


def normalization(rng: np.random.Generator) -> Tensors:
    """The gradient of a one-dimensional batch norm in training."""
    values: Tensors = {}
    for rows, features in ((2, 1), (7, 257), (33, 5)):
        x, grad = normal(rng, rows, features, scale=2.0) + 3.0, normal(rng, rows, features)
        weight, bias = normal(rng, features), normal(rng, features)
        _, mean, invstd = torch.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5)
        _, (slope, *_) = gradients_of(
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), grad, x, weight, bias
        )
        named = {"x": x, "grad": grad, "weight": weight, "mean": mean, "invstd": invstd}
        values |= {f"{rows}_{k}": v for k, v in (named | {"slope": slope}).items()}
    return values


# ------------------------------------------------------------------------ softmax, reductions

#: Shapes, and the axis of the sum.
LINES = [
    *(((rows, columns), 1) for rows, columns in ((3, 1), (2, 63), (1, 64), (3, 65), (2, 255))),
    *(((rows, columns), -1) for rows, columns in ((3, 256), (1, 257), (2, 1000), (1, 4100))),
    *(((5,), 0), ((4, 3), 0), ((2, 5, 7), 1), ((2, 3, 2, 2), -3), ((0, 3), 1), ((3, 0), 1)),
    *(((3, 1, 2), 1), ((), -1)),
]

SPECIAL = [
    [1.0, -np.inf, 2.0, -np.inf],
    [-np.inf, -np.inf, -np.inf, -np.inf],
    [np.inf, 0.0, 1.0, np.inf],
    [0.0, 3e38, -3e38, 3e38],
    [1.0, np.nan, 3.0, np.nan],
    [-2.0, -2.0, -3.0, -2.0],
]


def softmax(rng: np.random.Generator) -> Tensors:
    """Softmax, its logarithm and their gradients, and what they make of infinities."""
    values: Tensors = {}
    functions = {"softmax": F.softmax, "log_softmax": F.log_softmax}
    for number, (shape, dim) in enumerate(LINES):
        x, grad = normal(rng, *shape, scale=3.0), normal(rng, *shape)
        values |= {f"{number}_x": x, f"{number}_grad": grad}
        for name, function in functions.items():
            y, (slope,) = gradients_of(lambda x, f=function, d=dim: f(x, d), grad, x)
            values |= {f"{number}_{name}": y, f"{number}_{name}_slope": slope}
    special = torch.tensor(np.float32(SPECIAL)).double()
    values |= {"special": special}
    return values | {f"special_{name}": f(special, 1) for name, f in functions.items()}


#: Shapes, and the axes to go along.
REDUCED: list[tuple[tuple[int, ...], int | tuple[int, ...] | None]] = [
    *(((), None), ((), 0), ((1,), 0), ((3, 1), 1), ((2, 63), 1), ((64, 3), 0), ((3, 65), -1)),
    *(((2, 255), None), ((256, 2), 0), ((1, 257), 1), ((5, 1000), None), ((2, 9000), 1)),
    *(((9000, 2), 0), ((20000,), 0), ((3, 4, 5), 1), ((3, 4, 5), (0, 2)), ((3, 4, 5), (1, 2))),
    *(((2, 3, 4, 5), (1, -1)), ((2, 3, 4, 5), (-2, 0)), ((2, 5000, 2), (0, 2)), ((0, 3), 1)),
]

REDUCERS: dict[str, Callable[..., torch.Tensor]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "max": torch.amax,
    "min": torch.amin,
    "norm": lambda x, dim, keepdim: torch.linalg.vector_norm(x, 2, dim, keepdim),
}


def reductions(rng: np.random.Generator) -> Tensors:
    """Reductions over axes of all kinds; the numbers of `argmax` come several times."""
    values: Tensors = {}
    for number, (shape, dim) in enumerate(REDUCED):
        x = normal(rng, *shape)
        values[f"{number}_x"] = x
        axes = tuple(range(len(shape))) if dim is None else dim
        for name, function in REDUCERS.items():
            values[f"{number}_{name}"] = function(x, axes, keepdim=False)
        if not isinstance(dim, tuple):
            # NumPy promises the first of equals; PyTorch, which does not, gives the same dtype.
            values[f"{number}_argmax"] = np.int32(np.argmax(torch.round(x).numpy(), dim))
    special = torch.tensor(np.float32([row for row in SPECIAL if 3e38 not in row])).double()
    values |= {"special": special, "special_argmax": torch.argmax(special, 1).int()}
    return values | {f"special_{n}": f(special, 1, keepdim=True) for n, f in REDUCERS.items()}


if __name__ == "__main__":
    main()

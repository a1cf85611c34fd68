"""Record what PyTorch computes for the tests of normalization, as `record.py` does for others.

torch/bin/python tests/ops/record_normalization.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from record import DATA, Tensors, as_array, gradients_of, normal

EPS = 1e-5
RMS_EPS = 2.0**-23

SMALL = 1500

#: Shapes of arrays, and of a row of them.
ROWS = [
    ((3, 1), 1),
    ((1, 5), 1),
    ((2, 63), 1),
    ((3, 64), 1),
    ((2, 3, 65), 1),
    ((5, 257), 1),
    ((530, 9), 1),
    ((4, 3, 5, 7), 2),
    ((2, 1030), 1),
    ((2, 4097), 1),
]
BATCHES = [
    (2, 1),
    (7, 257),
    (300, 5),
    (4, 3, 5),
    (8, 300, 1),
    (1, 3, 4, 1),
    (3, 5, 7, 9),
    (2, 1, 32, 33),
    (3, 2, 2, 3, 2),
]
GROUPS = [
    ((3, 6), 2),
    ((1, 4, 5), 1),
    ((2, 6, 7), 3),
    ((2, 6, 7, 1), 6),
    ((5, 4, 3, 3), 2),
    ((1, 4, 32, 33), 2),
    ((3, 1, 65), 1),
]


def main() -> None:
    """Write every file."""
    rng = np.random.default_rng(2015)
    for recorder in (normalization_rows, normalization_batches, normalization_groups):
        values = recorder(rng)
        np.savez_compressed(
            DATA / f"{recorder.__name__}.npz", **{k: as_array(v) for k, v in values.items()}
        )


def name_of(shape: tuple[int, ...]) -> str:
    """Return the name of a shape's values."""
    return "x".join(map(str, shape))


def inputs(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield arrays to normalize: plain ones and, if they are small, far from 0 or of one value."""
    x = 2.0 * normal(rng, *shape) + 0.5
    yield name_of(shape), x
    if x.numel() > SMALL:
        return
    yield f"{name_of(shape)}_far", (normal(rng, *shape) + 1000.0).float().double()
    yield f"{name_of(shape)}_constant", torch.full(shape, 100.3).double()


def normalization_rows(rng: np.random.Generator) -> Tensors:
    """Layer and RMS normalization."""
    values: Tensors = {}
    for shape, axes in ROWS:
        row = shape[-axes:]
        weight, bias = normal(rng, *row), normal(rng, *row)
        for name, x in inputs(rng, shape):
            grad = normal(rng, *shape)
            _, mean, rstd = torch.native_layer_norm(x, row, weight, bias, EPS)
            y, (dx, dweight, dbias) = gradients_of(
                lambda x, w, b, row=row: F.layer_norm(x, row, w, b, EPS), grad, x, weight, bias
            )
            rms, (rms_dx, rms_dweight) = gradients_of(
                lambda x, w, row=row: F.rms_norm(x, row, w, RMS_EPS), grad, x, weight
            )
            last = tuple(range(-axes, 0))
            rms_rstd = (x.square().mean(last, keepdim=True) + RMS_EPS).rsqrt()
            named = {"x": x, "weight": weight, "bias": bias, "grad": grad, "y": y, "mean": mean}
            named |= {"rstd": rstd, "dx": dx, "dweight": dweight, "dbias": dbias, "rms_y": rms}
            named |= {"rms_rstd": rms_rstd, "rms_dx": rms_dx, "rms_dweight": rms_dweight}
            values |= {f"{name}_{key}": value for key, value in named.items()}
    return values


def normalization_batches(rng: np.random.Generator) -> Tensors:
    """Batch normalization, in training and in evaluation."""
    values: Tensors = {}
    for shape in BATCHES:
        channels = shape[1]
        weight, bias, running_mean = (normal(rng, channels) for _ in range(3))
        running_var = torch.as_tensor(rng.uniform(0.5, 2.0, channels)).float().double()
        given = {"weight": weight, "bias": bias}
        given |= {"running_mean": running_mean, "running_var": running_var}
        values |= {f"{name_of(shape)}_{key}": value for key, value in given.items()}
        for name, x in inputs(rng, shape):
            grad = normal(rng, *shape)
            named = {"x": x, "grad": grad}
            _, named["mean"], named["invstd"] = torch.native_batch_norm(
                x, weight, bias, None, None, True, 0.1, EPS
            )
            for mode in ("training", "evaluation"):
                averages = (running_mean.clone(), running_var.clone())
                y, gradients = gradients_of(
                    batch_norm(*averages, training=mode == "training"), grad, x, weight, bias
                )
                results = (y, *gradients, *averages)
                keys = ("y", "dx", "dweight", "dbias", "new_mean", "new_var")
                named |= {f"{mode}_{k}": v for k, v in zip(keys, results, strict=True)}
            values |= {f"{name}_{key}": value for key, value in named.items()}
    return values


def batch_norm(
    mean: torch.Tensor, var: torch.Tensor, *, training: bool
) -> Callable[..., torch.Tensor]:
    """Return the layer with these running averages, which it updates when it is first called."""
    return lambda x, weight, bias: F.batch_norm(x, mean, var, weight, bias, training, 0.2, EPS)


def normalization_groups(rng: np.random.Generator) -> Tensors:
    """Group normalization; with a group for each channel, instance normalization."""
    values: Tensors = {}
    for shape, groups in GROUPS:
        channels = shape[1]
        weight, bias = normal(rng, channels), normal(rng, channels)
        for name, x in inputs(rng, shape):
            grad = normal(rng, *shape)
            size = x[0, 0].numel()
            _, mean, rstd = torch.native_group_norm(
                x, weight, bias, shape[0], channels, size, groups, EPS
            )
            y, (dx, dweight, dbias) = gradients_of(
                lambda x, w, b, groups=groups: F.group_norm(x, groups, w, b, EPS),
                grad,
                x,
                weight,
                bias,
            )
            named = {"x": x, "weight": weight, "bias": bias, "grad": grad, "y": y, "mean": mean}
            named |= {"rstd": rstd, "dx": dx, "dweight": dweight, "dbias": dbias}
            values |= {f"{name}_{key}": value for key, value in named.items()}
    return values


if __name__ == "__main__":
    main()

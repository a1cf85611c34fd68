"""Layer norm and batch norm, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

import pywgsl as pw
from benchmarks.gpu import Comparison, compare
from pywgsl import ops


def run(name: str) -> None:
    device = pw.device(name)
    print(device)
    compare(device, [*_layer_norm(device, 8192, 1024), *_batch_norm(device, (32, 64, 112, 112))])


def _floats(device: pw.Device, *shape: int) -> Any:
    return device.array(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def _layer_norm(device: pw.Device, rows: int, columns: int) -> list[Comparison]:
    x, grad = _floats(device, rows, columns), _floats(device, rows, columns)
    weight, bias = _floats(device, columns), _floats(device, columns)
    _, mean, rstd = ops.layer_norm(x, weight, bias)

    def torch_forward(torch: Any) -> Any:
        a, w, b = _cuda(torch, (rows, columns), (columns,), (columns,))
        return lambda: torch.native_layer_norm(a, [columns], w, b, 1e-5)

    def torch_backward(torch: Any) -> Any:
        a, g, w, b = _cuda(torch, (rows, columns), (rows, columns), (columns,), (columns,))
        _, m, r = torch.native_layer_norm(a, [columns], w, b, 1e-5)
        backward = torch.ops.aten.native_layer_norm_backward
        return lambda: backward(g, a, [columns], m, r, w, b, [True] * 3)

    size = 4 * rows * columns
    return [
        Comparison(
            f"layer norm forward {rows}x{columns}",
            lambda: ops.layer_norm(x, weight, bias),
            torch_forward,
            None,
            2 * size,
        ),
        Comparison(
            f"layer norm backward {rows}x{columns}",
            lambda: ops.layer_norm_backward(grad, x, mean, rstd, weight),
            torch_backward,
            1.5,
            3 * size,
        ),
    ]


def _batch_norm(device: pw.Device, shape: tuple[int, ...]) -> list[Comparison]:
    channels = shape[1]
    x, grad = _floats(device, *shape), _floats(device, *shape)
    weight, bias = _floats(device, channels), _floats(device, channels)
    running_mean, running_var = device.zeros(channels), device.full(channels, 1.0)
    _, mean, invstd = ops.batch_norm(x, weight, bias, running_mean, running_var)

    def torch_backward(torch: Any) -> Any:
        a, g = _cuda(torch, shape, shape)
        w, m, v = _cuda(torch, *[(channels,)] * 3)
        _, save_mean, save_invstd = torch.native_batch_norm(a, w, w, m, v.abs(), True, 0.1, 1e-5)
        backward = torch.ops.aten.native_batch_norm_backward
        return lambda: backward(g, a, w, m, v, save_mean, save_invstd, True, 1e-5, [True] * 3)

    name = "x".join(map(str, shape))
    return [
        Comparison(
            f"batch norm backward {name}",
            lambda: ops.batch_norm_backward(
                grad, x, weight, running_mean, running_var, mean, invstd
            ),
            torch_backward,
            5.0,
            5 * 4 * int(np.prod(shape)),
        )
    ]


def _cuda(torch: Any, *shapes: tuple[int, ...]) -> list[Any]:
    return [torch.randn(shape, device="cuda") for shape in shapes]

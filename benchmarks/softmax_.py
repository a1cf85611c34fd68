"""Softmax backward and cross entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

import pywgsl as pw
from benchmarks.gpu import Comparison, compare
from pywgsl import ops


def run(name: str) -> None:
    device = pw.device(name)
    print(device)
    compare(device, [*_softmax(device, 8192, 1024), *_cross_entropy(device, 4096, 50257)])


def _softmax(device: pw.Device, rows: int, columns: int) -> list[Comparison]:
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    logits, grad = device.array(x), device.array(x[::-1].copy())
    output = ops.softmax(logits)

    def torch_backward(torch: Any) -> Any:
        g, y = (torch.randn(rows, columns, device="cuda") for _ in range(2))
        y = torch.softmax(y, -1)
        return lambda: torch.ops.aten._softmax_backward_data(g, y, -1, torch.float32)

    def torch_forward(torch: Any) -> Any:
        z = torch.randn(rows, columns, device="cuda")
        return lambda: torch.softmax(z, -1)

    size = 4 * rows * columns
    return [
        Comparison(
            f"softmax {rows}x{columns}", lambda: ops.softmax(logits), torch_forward, None, 2 * size
        ),
        Comparison(
            f"softmax backward {rows}x{columns}",
            lambda: ops.softmax_backward(grad, output),
            torch_backward,
            1.9,
            3 * size,
        ),
    ]


def _cross_entropy(device: pw.Device, rows: int, classes: int) -> list[Comparison]:
    random = np.random.default_rng(0)
    logits = device.array(random.standard_normal((rows, classes)).astype(np.float32))
    target = device.array(random.integers(0, classes, rows).astype(np.int32))

    def torch_forward(torch: Any) -> Any:
        z = torch.randn(rows, classes, device="cuda")
        t = torch.randint(0, classes, (rows,), device="cuda")
        return lambda: torch.nn.functional.cross_entropy(z, t)

    return [
        Comparison(
            f"cross entropy {rows}x{classes}",
            lambda: ops.cross_entropy(logits, target),
            torch_forward,
            1.2,
            4 * rows * classes,
        )
    ]

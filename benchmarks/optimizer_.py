"""AdamW, and how much of the memory's bandwidth element-wise kernels use."""

from __future__ import annotations

from typing import Any

import numpy as np

import pywgsl as pw
from benchmarks.gpu import Comparison, compare
from pywgsl import Array, f32, ops, vec4f


@pw.kernel
def copy4(x: Array[vec4f], y: Array[vec4f]) -> None:
    i = pw.global_id.x
    y[i] = x[i]


@pw.kernel
def copy(x: Array[f32], y: Array[f32]) -> None:
    i = pw.global_id.x
    y[i] = x[i]


def run(name: str) -> None:
    device = pw.device(name)
    print(device)
    n = 1 << 26 if not getattr(device, "software", True) else 1 << 20
    x, y = device.full(n, 0.5, np.float32), device.zeros(n, np.float32)
    x4, y4 = device.full((n // 4, 4), 0.5, np.float32), device.zeros((n // 4, 4), np.float32)
    states = [device.full(n, 0.5, np.float32) for _ in range(3)]

    def torch_adamw(torch: Any) -> Any:
        parameter = torch.nn.Parameter(torch.randn(n, device="cuda"))
        parameter.grad = torch.randn(n, device="cuda")
        optimizer = torch.optim.AdamW([parameter], lr=1e-3, fused=True)
        return optimizer.step

    million = n >> 20
    compare(
        device,
        [
            Comparison(
                f"copy as vec4f, {million}M", lambda: copy4[n // 4](x4, y4), None, None, 8 * n
            ),
            Comparison(f"copy, {million}M", lambda: copy[n](x, y), None, None, 8 * n),
            Comparison(f"sigmoid, {million}M", lambda: ops.sigmoid(x, out=y), None, None, 8 * n),
            Comparison(
                f"AdamW, {million}M parameters",
                lambda: ops.adamw_step(x, y, states[0], states[1], step=3),
                torch_adamw,
                1.15,
                7 * 4 * n,
            ),
        ],
    )

"""The NumPy back end against NumPy written by hand for the same algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pywgsl as pw
from benchmarks import numpy_workgroups
from benchmarks.timing import side_by_side
from pywgsl import Array, Array2D, f32, i32

Case = tuple[str, Callable[[], object], Callable[[], object]]

_random = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return _random.random(shape, np.float32)


@pw.kernel
def sigmoid_gradient(
    grad_output: Array[f32], output: Array[f32], grad_input: Array[f32], steepness: f32
) -> None:
    i = pw.global_id.x
    y = output[i]
    grad_input[i] = grad_output[i] * (y * (1.0 - y) * steepness)


def element_wise() -> Case:
    n = 1 << 20
    dy, y, dx, by_hand = floats(n), floats(n), floats(n), floats(n)

    def hand() -> None:
        by_hand[:] = dy * (y * (np.float32(1) - y) * np.float32(2))

    return "element-wise, 2^20", lambda: sigmoid_gradient[n](dy, y, dx, 2.0), hand


@pw.kernel(workgroup_size=(16, 16))
def weight_gradient(x: Array2D[f32], grad_output: Array2D[f32], grad_weight: Array2D[f32]) -> None:
    i, o = pw.global_id.x, pw.global_id.y
    total = 0.0
    for b in range(x.shape[0]):
        total += x[b, i] * grad_output[b, o]
    grad_weight[o, i] = total


def weights() -> Case:
    batch, inputs, outputs = 64, 256, 256
    x, dy = floats(batch, inputs), floats(batch, outputs)
    dw, by_hand = floats(outputs, inputs), floats(outputs, inputs)

    def hand() -> None:
        total = np.zeros((outputs, inputs), np.float32)
        for b in range(batch):
            total += x[b][np.newaxis, :] * dy[b][:, np.newaxis]
        by_hand[:] = total

    return "weight gradient, 64x256x256", lambda: weight_gradient[inputs, outputs](x, dy, dw), hand


@pw.kernel(workgroup_size=(16, 16))
def blur(x: Array2D[f32], y: Array2D[f32]) -> None:
    column, row = pw.global_id.x, pw.global_id.y
    total = x[row, column]
    if row > 0:
        total += x[row - 1, column]
    if row < x.shape[0] - 1:
        total += x[row + 1, column]
    if column > 0:
        total += x[row, column - 1]
    if column < x.shape[1] - 1:
        total += x[row, column + 1]
    y[row, column] = total / 5.0


def stencil() -> Case:
    n = 1024
    x, y, by_hand = floats(n, n), floats(n, n), floats(n, n)

    def hand() -> None:
        total = x.copy()
        total[1:] += x[:-1]
        total[:-1] += x[1:]
        total[:, 1:] += x[:, :-1]
        total[:, :-1] += x[:, 1:]
        by_hand[:] = total / np.float32(5)

    return "5-point stencil, 1024x1024", lambda: blur[n, n](x, y), hand


@pw.kernel
def collatz(start: Array[i32], steps: Array[i32]) -> None:
    i = pw.global_id.x
    n = start[i]
    count = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 == 1 else n // 2
        count += 1
    steps[i] = count


def divergent() -> Case:
    n = 1 << 14
    start = np.arange(1, n + 1, dtype=np.int32)
    steps, by_hand = np.zeros_like(start), np.zeros_like(start)

    def hand() -> None:
        current, count = start.copy(), np.zeros_like(start)
        active = current != 1
        while active.any():
            following = np.where(current % 2 == 1, 3 * current + 1, current // 2)
            current = np.where(active, following, current)
            count += active
            active = current != 1
        by_hand[:] = count

    return "divergent loop, 2^14", lambda: collatz[n](start, steps), hand


@pw.kernel
def sgd(p: Array[f32], g: Array[f32], v: Array[f32], lr: f32, momentum: f32) -> None:
    i = pw.global_id.x
    v[i] = momentum * v[i] + g[i]
    p[i] -= lr * v[i]


def update() -> Case:
    n = 1 << 20
    p, g, v = floats(n), floats(n), np.zeros(n, np.float32)
    p2, v2 = p.copy(), v.copy()
    lr, momentum = np.float32(1e-3), np.float32(0.9)

    def hand() -> None:
        v2[:] = momentum * v2 + g
        p2[:] -= lr * v2

    return "SGD with momentum, 2^20", lambda: sgd[n](p, g, v, 1e-3, 0.9), hand


def run(device: str) -> None:
    del device
    print(f"{'algorithm':28} {'pywgsl':>10} {'by hand':>10} {'ratio':>7}   bar: 2x")
    cases = (element_wise, weights, stencil, divergent, update, *numpy_workgroups.CASES)
    for make in cases:
        name, ours, by_hand = make()
        a, b = side_by_side(ours, by_hand)
        print(f"{name:28} {1e3 * a:7.2f} ms {1e3 * b:7.2f} ms {a / b:6.2f}x")

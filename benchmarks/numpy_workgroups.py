"""Kernels whose invocations work together, and the same algorithms written by hand in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32

Case = tuple[str, Callable[[], object], Callable[[], object]]

_random = np.random.default_rng(0)
_ROWS, _COLUMNS = 1024, 1000


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return _random.random(shape, np.float32)


@pw.kernel(workgroup_size=256)
def softmax_rows(x: Array2D[f32], y: Array2D[f32]) -> None:
    row, columns = pw.workgroup_id.x, x.shape[1]
    largest = x[row, 0]
    for c in range(pw.local_id.x, columns, pw.workgroup_size.x):
        largest = max(largest, x[row, c])
    largest = pw.workgroup_max(largest)
    total = 0.0
    for c in range(pw.local_id.x, columns, pw.workgroup_size.x):
        total += pw.exp(x[row, c] - largest)
    total = pw.workgroup_sum(total)
    for c in range(pw.local_id.x, columns, pw.workgroup_size.x):
        y[row, c] = pw.exp(x[row, c] - largest) / total


def softmax() -> Case:
    x, y, by_hand = floats(_ROWS, _COLUMNS), floats(_ROWS, _COLUMNS), floats(_ROWS, _COLUMNS)

    def hand() -> None:
        largest = x.max(axis=1, keepdims=True)
        total = np.exp(x - largest).sum(axis=1, keepdims=True)
        by_hand[:] = np.exp(x - largest) / total

    return "softmax, 1024x1000", lambda: softmax_rows[pw.groups(_ROWS)](x, y), hand


@pw.kernel(workgroup_size=256)
def row_statistics(x: Array2D[f32], mean: Array[f32], rstd: Array[f32], eps: f32) -> None:
    row, columns = pw.workgroup_id.x, x.shape[1]
    total = 0.0
    for c in range(pw.local_id.x, columns, pw.workgroup_size.x):
        total += x[row, c]
    middle = pw.workgroup_sum(total) / columns
    squares = 0.0
    for c in range(pw.local_id.x, columns, pw.workgroup_size.x):
        squares += (x[row, c] - middle) ** 2
    variance = pw.workgroup_sum(squares) / columns
    if pw.local_id.x == 0:
        mean[row] = middle
        rstd[row] = 1.0 / pw.sqrt(variance + eps)


def statistics() -> Case:
    x, mean, rstd = floats(_ROWS, _COLUMNS), floats(_ROWS), floats(_ROWS)
    mean2, rstd2, eps = floats(_ROWS), floats(_ROWS), np.float32(1e-5)

    def hand() -> None:
        mean2[:] = x.sum(axis=1) / np.float32(_COLUMNS)
        variance = np.square(x - mean2[:, np.newaxis]).sum(axis=1) / np.float32(_COLUMNS)
        rstd2[:] = np.float32(1) / np.sqrt(variance + eps)

    launch = pw.groups(_ROWS)
    return "row statistics, 1024x1000", lambda: row_statistics[launch](x, mean, rstd, 1e-5), hand


@pw.kernel(workgroup_size=256)
def tree_sum(x: Array[f32], out: Array[f32]) -> None:
    partial = pw.workgroup_array(f32, 256)
    lane = pw.local_id.x
    partial[lane] = x[pw.global_id.x]
    pw.workgroup_barrier()
    reach = 128
    while reach > 0:
        if lane < reach:
            partial[lane] += partial[lane + reach]
        pw.workgroup_barrier()
        reach //= 2
    if lane == 0:
        out[pw.workgroup_id.x] = partial[0]


def tree() -> Case:
    n = 1 << 20
    x, out, by_hand = floats(n), floats(n // 256), floats(n // 256)

    def hand() -> None:
        partial = x.reshape(-1, 256).copy()
        reach = 128
        while reach:
            partial[:, :reach] += partial[:, reach : 2 * reach]
            reach //= 2
        by_hand[:] = partial[:, 0]

    return "tree of sums, 2^20", lambda: tree_sum[n](x, out), hand


@pw.kernel(workgroup_size=(16, 16))
def matmul(a: Array2D[f32], b: Array2D[f32], c: Array2D[f32]) -> None:
    a_tile = pw.workgroup_array(f32, 16, 16)
    b_tile = pw.workgroup_array(f32, 16, 16)
    x, y = pw.local_id.x, pw.local_id.y
    row, column = pw.global_id.y, pw.global_id.x
    total = 0.0
    for first in range(0, a.shape[1], 16):
        a_tile[y, x] = a[row, first + x]
        b_tile[y, x] = b[first + y, column]
        pw.workgroup_barrier()
        for k in range(16):
            total += a_tile[y, k] * b_tile[k, x]
        pw.workgroup_barrier()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def tiles() -> Case:
    n = 256
    a, b, c, by_hand = floats(n, n), floats(n, n), floats(n, n), floats(n, n)

    def hand() -> None:
        total = np.zeros((n, n), np.float32)
        for first in range(0, n, 16):
            a_tile, b_tile = a[:, first : first + 16].copy(), b[first : first + 16].copy()
            for k in range(16):
                total += a_tile[:, k, np.newaxis] * b_tile[k]
        by_hand[:] = total

    return "tiled matmul, 256^3", lambda: matmul[n, n](a, b, c), hand


@pw.kernel
def count_each(x: Array[i32], bins: Array[i32]) -> None:
    pw.atomic_add(bins, x[pw.global_id.x], 1)


def histogram() -> Case:
    n = 1 << 18
    x = _random.integers(0, 256, n, dtype=np.int32)
    counts, by_hand = np.zeros(256, np.int32), np.zeros(256, np.int32)
    ones = np.ones(n, np.int32)

    def hand() -> None:
        np.add.at(by_hand, x, ones)

    return "histogram, 2^18", lambda: count_each[n](x, counts), hand


@pw.kernel(workgroup_size=256)
def count_by_groups(x: Array[i32], bins: Array[i32]) -> None:
    counts = pw.workgroup_array(i32, 256)
    pw.atomic_add(counts, x[pw.global_id.x], 1)
    pw.workgroup_barrier()
    pw.atomic_add(bins, pw.local_id.x, counts[pw.local_id.x])


def histogram_by_groups() -> Case:
    n, bins = 1 << 18, 256
    x = _random.integers(0, bins, n, dtype=np.int32)
    counts, by_hand = np.zeros(bins, np.int32), np.zeros(bins, np.int32)
    ones, first = np.ones(n, np.int32), np.arange(n, dtype=np.int32) // 256 * bins

    def hand() -> None:
        of_groups = np.zeros(n // 256 * bins, np.int32)
        np.add.at(of_groups, first + x, ones)
        by_hand[:] += of_groups.reshape(-1, bins).sum(axis=0, dtype=np.int32)

    return "histogram by groups, 2^18", lambda: count_by_groups[n](x, counts), hand


#: What makes each case.
CASES: tuple[Callable[[], Case], ...] = (
    softmax,
    statistics,
    tree,
    tiles,
    histogram,
    histogram_by_groups,
)

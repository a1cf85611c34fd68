"""Arithmetic on the elements of arrays, as PyTorch has it.

Kernels work on flat arrays [n] of f32, one invocation an element, O(n); those without another
source are meganeura's `unary` and `binary`, or the `elementwise` of RUMUS, which compute the same.
The functions on arrays take any shape, and two arrays of the same shape; they return a new array
beside their input, or `out`. They raise `LaunchError` (a TypeError and ValueError) if arrays are
not f32, differ in shape or device, or if `out` is an input.
"""

import numpy as np

import pywgsl as pw
from pywgsl import Array, f32
from pywgsl.ops.arrays import A, elementwise


@pw.kernel
def neg_forward(x: Array[f32], output: Array[f32]) -> None:
    """`output = -x`. Arrays [n], O(n)."""
    i = pw.global_id.x
    output[i] = -x[i]


@pw.kernel
def abs_forward(x: Array[f32], output: Array[f32]) -> None:
    """`output = |x|`. Arrays [n], O(n)."""
    i = pw.global_id.x
    output[i] = pw.abs(x[i])


@pw.kernel
def log_forward(x: Array[f32], output: Array[f32]) -> None:
    """`output = log(x)`, to base e. Arrays [n], O(n)."""
    i = pw.global_id.x
    output[i] = pw.log(x[i])


@pw.kernel
def reciprocal_forward(x: Array[f32], output: Array[f32]) -> None:
    """`output = 1 / x`. Arrays [n], O(n)."""
    i = pw.global_id.x
    output[i] = 1.0 / x[i]


@pw.kernel
def add_forward(a: Array[f32], b: Array[f32], output: Array[f32], alpha: f32 = 1.0) -> None:
    """`output = a + alpha b`. Arrays [n], O(n)."""
    i = pw.global_id.x
    output[i] = a[i] + alpha * b[i]


@pw.kernel
def mul_forward(a: Array[f32], b: Array[f32], output: Array[f32]) -> None:
    """`output = a b`. Arrays [n], O(n)."""
    i = pw.global_id.x
    output[i] = a[i] * b[i]


@pw.kernel
def scale_forward(x: Array[f32], output: Array[f32], factor: f32) -> None:
    """`output = factor x`. Arrays [n], O(n)."""
    i = pw.global_id.x
    output[i] = factor * x[i]


@pw.kernel
def greater(a: Array[f32], b: Array[f32], output: Array[bool]) -> None:
    """`output = a > b`. Arrays [n], O(n). meganeura's gives 1.0 and 0.0."""
    i = pw.global_id.x
    output[i] = a[i] > b[i]


def neg(x: A, *, out: A | None = None) -> A:
    """Return -x, as `torch.neg`. O(n)."""
    return elementwise("neg", neg_forward, out, x=x)


def abs(x: A, *, out: A | None = None) -> A:  # noqa: A001  # torch's name
    """Return |x|, as `torch.abs`. O(n)."""
    return elementwise("abs", abs_forward, out, x=x)


def log(x: A, *, out: A | None = None) -> A:
    """Return the natural logarithm, as `torch.log`. O(n)."""
    return elementwise("log", log_forward, out, x=x)


def reciprocal(x: A, *, out: A | None = None) -> A:
    """Return 1 / x, as `torch.reciprocal`. O(n)."""
    return elementwise("reciprocal", reciprocal_forward, out, x=x)


def add(a: A, b: A, alpha: float = 1.0, *, out: A | None = None) -> A:
    """Return a + alpha b, as `torch.add`. O(n)."""
    return elementwise("add", add_forward, out, alpha, a=a, b=b)


def sub(a: A, b: A, alpha: float = 1.0, *, out: A | None = None) -> A:
    """Return a - alpha b, as `torch.sub`. O(n)."""
    return elementwise("sub", add_forward, out, -alpha, a=a, b=b)


def mul(a: A, b: A | float, *, out: A | None = None) -> A:
    """Return a b, as `torch.mul`; b is an array or a number. O(n)."""
    if isinstance(b, int | float):
        return elementwise("mul", scale_forward, out, b, x=a)
    return elementwise("mul", mul_forward, out, a=a, b=b)


def gt(a: A, b: A, *, out: A | None = None) -> A:
    """Return a > b as an array of bool, as `torch.gt`. O(n)."""
    return elementwise("gt", greater, out, a=a, b=b, dtype=np.dtype(np.bool_))

"""Sums, means, extremes and norms over any axes, equal on every run.

Kernels see arrays as [N, C, S] and go along C for each of the N·S lines, as those of `softmax` do.
Few long lines are cut into parts, each of which is a workgroup's; another launch joins the parts.
Shapes alone decide how, so results for equal arrays are equal on every run. An invocation sums
every so-manieth element and a workgroup its invocations' sums in pairs, which keeps the rounding
errors of long sums small.

The functions take f32 or f16, compute in f32, and return an array of the same dtype beside x, or in
`out`; the axes gone along are left out of its shape, or 1 with `keepdim`. They raise `LaunchError`
(a TypeError and ValueError) for other arrays and for axes that there are not. O(size of x).
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

import pywgsl as pw
from pywgsl import Array3D, Const, f16, f32, i32
from pywgsl.ops.arrays import FLOAT, INTEGER, A, AnyArray, T, expect_shape, flat, floats, result
from pywgsl.ops.axes import Lines, axis_of, lines_along

#: What a loss does with the losses of its elements.
Reduction = Literal["mean", "sum", "none"]

#: Axes to go along: one, several, or all.
Dim: TypeAlias = int | Sequence[int] | None

# The type of a kernel's results where it may be another than that of its inputs.
if TYPE_CHECKING:
    R: TypeAlias = f32
else:
    R = TypeVar("R", f32, f16)

# ----------------------------------------------------------------------------------- kernels


@pw.kernel
def sum_forward(
    x: Array3D[T],
    sums: Array3D[R],
    scale: f32 = 1.0,
    squared: Const[bool] = False,
    root: Const[bool] = False,
) -> None:
    """`sums[n, p, s] = scale Σ x[n, c, s]` over the part p of the c; of x² if `squared`.

    Shapes: x [N, C, S], sums [N, P, S]. The square root of the sum, without scale, if `root`. A
    workgroup sums one part of a line, c = p W + lane, (p + P) W + lane, …, with W its size. Launch
    over (N·S, P) workgroups. O(N·C·S). After `sum_all` of meganeura and `reduce_sum_sq` of RUMUS,
    which are one workgroup for all elements; `reduce_sum` of RUMUS is wrong where the axes that
    stay do not lie side by side.
    """
    n, s = pw.workgroup_id.x // x.shape[2], pw.workgroup_id.x % x.shape[2]
    part = pw.workgroup_id.y
    total = 0.0
    first = part * pw.workgroup_size.x + pw.local_index
    for c in range(first, x.shape[1], sums.shape[1] * pw.workgroup_size.x):
        value = f32(x[n, c, s])
        total += value * value if squared else value
    total = pw.workgroup_sum(total)
    if pw.local_index == 0:
        sums[n, part, s] = R(pw.sqrt(total) if root else scale * total)


@pw.kernel
def max_forward(x: Array3D[T], largest: Array3D[R]) -> None:
    """`largest[n, p, s] = max x[n, c, s]` over the part p of the c; nan if one is nan.

    Shapes: x [N, C, S], largest [N, P, S]. Parts and launch as in `sum_forward`. O(N·C·S).
    """
    n, s = pw.workgroup_id.x // x.shape[2], pw.workgroup_id.x % x.shape[2]
    part = pw.workgroup_id.y
    best = -math.inf
    first = part * pw.workgroup_size.x + pw.local_index
    for c in range(first, x.shape[1], largest.shape[1] * pw.workgroup_size.x):
        value = f32(x[n, c, s])
        if value > best or pw.isnan(value):
            best = value
    best = pw.workgroup_max(best)
    if pw.local_index == 0:
        largest[n, part, s] = R(best)


@pw.kernel
def min_forward(x: Array3D[T], smallest: Array3D[R]) -> None:
    """`smallest[n, p, s] = min x[n, c, s]` over the part p of the c; nan if one is nan.

    Shapes: x [N, C, S], smallest [N, P, S]. Parts and launch as in `sum_forward`. O(N·C·S).
    """
    n, s = pw.workgroup_id.x // x.shape[2], pw.workgroup_id.x % x.shape[2]
    part = pw.workgroup_id.y
    best = math.inf
    first = part * pw.workgroup_size.x + pw.local_index
    for c in range(first, x.shape[1], smallest.shape[1] * pw.workgroup_size.x):
        value = f32(x[n, c, s])
        if value < best or pw.isnan(value):
            best = value
    best = pw.workgroup_min(best)
    if pw.local_index == 0:
        smallest[n, part, s] = R(best)


# Larger than every index.
_NOWHERE = 2**31 - 1


@pw.function
def _precedes(value: f32, index: i32, best: f32, best_index: i32):  # type: ignore[no-untyped-def]  # bool
    """Whether an element is larger than the best, or equal and before it; nan is the largest."""
    if pw.isnan(value) != pw.isnan(best):
        return pw.isnan(value)
    if value == best or pw.isnan(value):
        return index < best_index
    return value > best


@pw.kernel
def argmax_forward(
    x: Array3D[T],
    candidates: Array3D[i32],
    indices: Array3D[i32],
    chosen: Const[bool] = False,
) -> None:
    """`indices[n, p, s]`: the first c of part p with the largest x[n, c, s]; nan is the largest.

    With `chosen`, c is one of candidates[n, :, s], which are not read without it.

    Shapes: x [N, C, S], candidates [N, K, S], indices [N, P, S]. Parts, of C or K, and launch as in
    `sum_forward`. O(N·C·S).
    """
    n, s = pw.workgroup_id.x // x.shape[2], pw.workgroup_id.x % x.shape[2]
    part = pw.workgroup_id.y
    best, index = -math.inf, _NOWHERE
    first = part * pw.workgroup_size.x + pw.local_index
    count = candidates.shape[1] if chosen else x.shape[1]
    for k in range(first, count, indices.shape[1] * pw.workgroup_size.x):
        c = candidates[n, k, s] if chosen else k
        value = f32(x[n, c, s])
        if _precedes(value, c, best, index):
            best, index = value, c
    largest = pw.workgroup_max(best)
    among = pw.isnan(best) if pw.isnan(largest) else best == largest
    index = pw.workgroup_min(index if among else _NOWHERE)
    if pw.local_index == 0:
        indices[n, part, s] = index


# --------------------------------------------------------------------------------- functions


def sum(  # noqa: A001  # torch's name
    x: A, dim: Dim = None, keepdim: bool = False, *, out: A | None = None
) -> A:
    """Return Σ x, as `torch.sum`. 0 of nothing.

    Args:
        x: of any shape.
        dim: the axes to go along; all without it.
        keepdim: keep these axes, with length 1.
        out: where to write the result.
    """
    return _reduced("sum", sum_forward, x, dim, keepdim, out)


def mean(x: A, dim: Dim = None, keepdim: bool = False, *, out: A | None = None) -> A:
    """Return Σ x / n, as `torch.mean`. nan of nothing.

    Args:
        x: of any shape.
        dim: the axes to go along; all without it.
        keepdim: keep these axes, with length 1.
        out: where to write the result.
    """
    (x,) = floats("mean", x=x)
    axes = _axes("mean", dim, x.ndim)
    count = math.prod(x.shape[axis] for axis in axes if x.ndim)
    scale = 1.0 / count if count else math.nan

    def options(first: bool, last: bool) -> tuple[float]:
        return (scale if last else 1.0,)

    return _reduced("mean", sum_forward, x, dim, keepdim, out, options)


def norm(x: A, dim: Dim = None, keepdim: bool = False, *, out: A | None = None) -> A:
    """Return √(Σ x²), as `torch.linalg.vector_norm`. 0 of nothing; inf if Σ x² is above 3.4e38.

    Args:
        x: of any shape.
        dim: the axes to go along; all without it.
        keepdim: keep these axes, with length 1.
        out: where to write the result.
    """

    def options(first: bool, last: bool) -> tuple[float, bool, bool]:
        return 1.0, first, last

    return _reduced("norm", sum_forward, x, dim, keepdim, out, options)


def max(  # noqa: A001  # torch's name
    x: A, dim: Dim = None, keepdim: bool = False, *, out: A | None = None
) -> A:
    """Return the largest elements, as `torch.amax`; nan where one is nan. `argmax` says where.

    Args:
        x: of any shape.
        dim: the axes to go along; all without it.
        keepdim: keep these axes, with length 1.
        out: where to write the result.

    Raises:
        LaunchError: there is no element along these axes.
    """
    (x,) = floats("max", x=x)
    _expect_elements("max", x, _axes("max", dim, x.ndim))
    return _reduced("max", max_forward, x, dim, keepdim, out)


def min(  # noqa: A001  # torch's name
    x: A, dim: Dim = None, keepdim: bool = False, *, out: A | None = None
) -> A:
    """Return the smallest elements, as `torch.amin`; nan where one is nan.

    Args:
        x: of any shape.
        dim: the axes to go along; all without it.
        keepdim: keep these axes, with length 1.
        out: where to write the result.

    Raises:
        LaunchError: there is no element along these axes.
    """
    (x,) = floats("min", x=x)
    _expect_elements("min", x, _axes("min", dim, x.ndim))
    return _reduced("min", min_forward, x, dim, keepdim, out)


def argmax(x: A, dim: int | None = None, keepdim: bool = False, *, out: A | None = None) -> A:
    """Return where the largest element is, as `torch.argmax`: the first of equals, or of nans.

    Args:
        x: of any shape.
        dim: the axis to go along and count; all of them, as if they were one, without it.
        keepdim: keep the axis, with length 1; all of them without `dim`.
        out: where to write the result, of i32.

    Raises:
        LaunchError: there is no element along the axis.
    """
    (x,) = floats("argmax", x=x)
    axes = _axes("argmax", dim, x.ndim)
    _expect_elements("argmax", x, axes)
    output = result("argmax", x, _result_shape(x.shape, axes, keepdim), out, INTEGER)
    step, *joining = _steps(x.shape, axes)
    elements = step.lines.of(x)
    unread = result("argmax", x, (1, 1, 1), dtype=INTEGER)
    if not joining:
        step.launch(argmax_forward, elements, unread, step.of(output))
        return output
    candidates = result("argmax", x, step.shape, dtype=INTEGER)
    step.launch(argmax_forward, elements, unread, candidates)
    (step,) = joining
    step.launch(argmax_forward, elements, candidates, step.of(output), True)
    return output


# -------------------------------------------------------------------------------------- steps

# What a kernel takes besides its arrays, in the first and the last of its launches.
_Options = Callable[[bool, bool], tuple[Any, ...]]

# A line is cut into parts only if each invocation keeps so many elements of it.
_FEWEST_ITEMS = 16
# So many workgroups keep a large GPU busy; more do not make it faster.
_MOST_GROUPS = 1024


@dataclass(frozen=True, slots=True)
class _Step:
    """One launch of a reduction: lines, each cut into so many parts."""

    lines: Lines
    parts: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of what it writes, as a kernel sees it."""
        return self.lines.outer, self.parts, self.lines.inner

    def of(self, output: A) -> A:
        """Return an array to write to as a kernel sees it."""
        return output.reshape(self.shape)  # type: ignore[return-value]  # as `output`

    def launch(self, kernel: pw.Kernel, *arguments: Any) -> None:
        """Launch a kernel with a workgroup for each part of each line."""
        self.lines.launch(kernel, *arguments, parts=self.parts)


def _steps(shape: tuple[int, ...], axes: tuple[int, ...]) -> list[_Step]:
    """Return the launches that go along some axes of an array, those side by side in one.

    The last axes come first: the other launches then go along shorter lines.
    """
    shape = shape or (1,)
    steps = []
    for first, last in reversed(_runs(axes)):
        lines = lines_along(shape, first, last)
        parts = _parts(lines)
        steps.append(_Step(lines, parts))
        if parts > 1:
            steps.append(_Step(replace(lines, length=parts), 1))
        shape = (*shape[:first], *(1 for _ in range(first, last + 1)), *shape[last + 1 :])
    return steps


def _runs(axes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the first and last of axes that follow each other, for sorted axes."""
    firsts = [axis for axis in axes if axis - 1 not in axes]
    lasts = [axis for axis in axes if axis + 1 not in axes]
    return list(zip(firsts, lasts, strict=True))


def _parts(lines: Lines) -> int:
    """Return in how many parts to cut lines: enough to keep a GPU busy, but none short."""
    most = lines.length // (lines.lanes * _FEWEST_ITEMS)
    return builtins.max(1, builtins.min(most, _MOST_GROUPS // builtins.max(1, lines.count)))


def _run(
    function: str, kernel: pw.Kernel, steps: list[_Step], x: A, output: A, options: _Options
) -> None:
    """Launch a kernel for every step, each on what the one before wrote."""
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        target = output if last else result(function, x, step.shape)
        step.launch(kernel, step.lines.of(x), step.of(target), *options(number == 0, last))
        x = target


def _no_options(first: bool, last: bool) -> tuple[Any, ...]:
    return ()


def _reduced(
    function: str,
    kernel: pw.Kernel,
    x: A,
    dim: Dim,
    keepdim: bool,
    out: A | None,
    options: _Options = _no_options,
) -> A:
    """Return what the launches of a kernel along some axes of x make of it."""
    (x,) = floats(function, x=x)
    axes = _axes(function, dim, x.ndim)
    output = result(function, x, _result_shape(x.shape, axes, keepdim), out, x.dtype)
    _run(function, kernel, _steps(x.shape, axes), x, output, options)
    return output


def _axes(function: str, dim: Dim, ndim: int) -> tuple[int, ...]:
    """Return the numbers of the axes to go along, sorted; an array without axes has one.

    Raises:
        LaunchError: there is no such axis, or one comes twice.
    """
    if dim is None or dim == ():
        return tuple(range(builtins.max(ndim, 1)))
    dims = [dim] if isinstance(dim, int) else list(dim)
    axes = sorted(axis_of(function, d, ndim) for d in dims)
    if len(set(axes)) < len(axes):
        raise pw.LaunchError(f"{function}: `dim` names an axis twice: {dim}")
    return tuple(axes)


def _result_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """Return the shape of a result: without some axes, or with length 1 there."""
    if keepdim:
        return tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    return tuple(n for axis, n in enumerate(shape) if axis not in axes)


def _expect_elements(function: str, x: AnyArray, axes: tuple[int, ...]) -> None:
    """Check that there is something to choose from.

    Raises:
        LaunchError: there is not.
    """
    if x.ndim and not all(x.shape[axis] for axis in axes):
        raise pw.LaunchError(f"{function}: `x` of shape {x.shape} has no element along `dim`")


# -------------------------------------------------------------------------- losses and gradients


def total(
    function: str, x: A, scale: float = 1.0, *, out: A | None = None, dtype: np.dtype[Any] = FLOAT
) -> A:
    """Return scale Σ x, an array without axes; x is contiguous, of any shape. O(n)."""
    output = result(function, x, (), out, dtype)
    steps = _steps((x.size,), (0,))
    _run(function, sum_forward, steps, x, output, lambda _, last: (scale if last else 1.0,))
    return output


def part_count(size: int) -> int:
    """Return in how many parts, each a workgroup's, to cut so many elements."""
    return _steps((size,), (0,))[0].parts


def partials_of(function: str, x: A) -> A:
    """Return few numbers whose sum is that of a contiguous x."""
    step, *joining = _steps((x.size,), (0,))
    if not joining:
        return flat(x)
    partials = result(function, x, step.shape)
    step.launch(sum_forward, step.lines.of(x), partials)
    return flat(partials)


def reduction_scale(function: str, reduction: Reduction, size: int) -> float:
    """Return what the sum of so many losses is multiplied by; nan for the mean of none.

    Raises:
        ValueError: there is no such reduction.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{function}: `reduction` is 'mean', 'sum' or 'none', not {reduction!r}")
    if reduction == "mean":
        return 1.0 / size if size else math.nan
    return 1.0


def expect_gradient(
    function: str, grad: AnyArray, reduction: Reduction, shape: tuple[int, ...]
) -> None:
    """Check the gradient by a loss: one number for a mean or sum, else of the losses' shape.

    Raises:
        LaunchError: it has another shape.
    """
    if reduction == "none" or grad.size != 1:
        expect_shape(function, "grad", grad, shape if reduction == "none" else ())

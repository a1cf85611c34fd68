"""Sums of all elements, in an order that does not depend on the device.

A sum has two stages: each of a fixed number of invocations sums every so-manieth element, then one
sums their results. Sums of equal arrays are equal on every run.
"""

import math
from typing import Literal

import pywgsl as pw
from pywgsl import Array, Const, f32, i32
from pywgsl.ops.arrays import A, AnyArray, expect_shape, flat, result

#: How many invocations share the first stage of a sum.
PARTS = 1024

#: What a loss does with the losses of its elements.
Reduction = Literal["mean", "sum", "none"]


# So many elements are summed before they join the sum of those before them, in which the
# rounding errors would otherwise grow with the number of elements.
_BLOCK = 64


@pw.function
def strided_sum(x: Array[f32], first: i32, step: i32, squared: Const[bool] = False) -> f32:
    """The sum of x[first], x[first + step], …, or of their squares, in blocks."""
    total = 0.0
    for start in range(first, x.size, step * _BLOCK):
        part = 0.0
        for i in range(start, start + min(step * _BLOCK, x.size - start), step):
            value = x[i]
            part += value * value if squared else value
        total += part
    return total


@pw.kernel
def partial_sums(x: Array[f32], partials: Array[f32]) -> None:
    """`partials[p] = Σ_k x[p + k P]` for each p < P, the length of `partials`.

    Shapes: x [n], partials [P]. Launch over P. O(n) in all.
    """
    p = pw.global_id.x
    partials[p] = strided_sum(x, p, partials.size)


@pw.kernel(workgroup_size=1)
def scaled_total(partials: Array[f32], output: Array[f32], scale: f32 = 1.0) -> None:
    """`output[0] = scale Σ partials`. Shapes: partials [P], output [1]. One invocation, O(P)."""
    output[0] = scale * strided_sum(partials, 0, 1)


def part_count(size: int) -> int:
    """Return how many invocations share the first stage of a sum of so many elements."""
    return max(1, min(size, PARTS))


def partials_of(function: str, x: A) -> A:
    """Return at most `PARTS` numbers whose sum is that of a contiguous x."""
    if x.size <= PARTS:
        return flat(x)
    partials = result(function, x, (PARTS,))
    partial_sums[PARTS](flat(x), partials)
    return partials


def total(function: str, x: A, scale: float = 1.0, *, out: A | None = None) -> A:
    """Return scale Σ x, an array without axes; x is contiguous, of any shape. O(n)."""
    output = result(function, x, (), out)
    scaled_total[1](partials_of(function, x), flat(output), scale)
    return output


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

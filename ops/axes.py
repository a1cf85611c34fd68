"""Axes of arrays that functions go along, and how workgroups share the work.

An array is seen as [outer, length, inner]: lines along the middle axis, each of which is one
workgroup's. So any axis can be gone along without moving an element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pywgsl as pw
from pywgsl.ops.arrays import A
from pywgsl.ops.rows import sized

_FEWEST_LANES = 32
_MOST_LANES = 256
# On an H200 softmax is fastest with so many elements of a line in each invocation.
_WANTED_ITEMS = 8
# A kernel that keeps lines in registers keeps so many elements in each invocation at most.
_MOST_ITEMS = 16


@dataclass(frozen=True, slots=True)
class Lines:
    """An array as lines along one axis, or along several that lie side by side.

    Attributes:
        outer: the number of elements of the axes before it.
        length: that of the axis.
        inner: that of the axes after it.
    """

    outer: int
    length: int
    inner: int

    @property
    def count(self) -> int:
        """The number of lines."""
        return self.outer * self.inner

    @property
    def lanes(self) -> int:
        """How many invocations share a line: a power of two, for about eight elements each."""
        wanted = 1 << (-(-self.length // _WANTED_ITEMS) - 1).bit_length()
        return min(_MOST_LANES, max(_FEWEST_LANES, wanted))

    @property
    def items(self) -> int:
        """How many elements of a line each of them has at most."""
        return max(1, -(-self.length // self.lanes))

    @property
    def fits_registers(self) -> bool:
        """Whether the invocations can keep a line in registers."""
        return self.items <= _MOST_ITEMS

    def of(self, array: A) -> A:
        """Return a contiguous array as [outer, length, inner]."""
        shape = (self.outer, self.length, self.inner)
        return array.reshape(shape)  # type: ignore[return-value]  # as `array`

    def launch(self, kernel: pw.Kernel, *arguments: object, parts: int = 1) -> None:
        """Launch a kernel with a workgroup for each line along x, and for each part along y."""
        sized(kernel, self.lanes)[pw.groups(self.count, parts)](*arguments)


def lines_along(shape: tuple[int, ...], first: int, last: int) -> Lines:
    """Return an array of some shape as lines along the axes from `first` to `last`, inclusive."""
    lengths = shape[:first], shape[first : last + 1], shape[last + 1 :]
    return Lines(*map(math.prod, lengths))


def axis_of(function: str, dim: int, ndim: int) -> int:
    """Return the number of an axis that may be counted from the end.

    An array without axes counts as one with a single element.

    Raises:
        LaunchError: there is no such axis.
    """
    most = max(ndim, 1)
    if not -most <= dim < most:
        raise pw.LaunchError(f"{function}: `dim` is {-most}…{most - 1} here, not {dim}")
    return dim % most

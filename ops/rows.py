"""What the normalizations of rows share: shapes, the size of workgroups, and sums over columns.

A row is what one workgroup works on. Kernels are generic over the arrays' dtype, f32 or f16, and
compute in f32.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import pywgsl as pw
from pywgsl import Array, Array2D, Const, f32, i32
from pywgsl.ops.arrays import A, AnyArray, T, flat
from pywgsl.runtime.launch import Launcher

# Workgroups are whole subgroups of most GPUs.
_SUBGROUP = 32
_MOST_LANES = 256
# A kernel that keeps rows in registers keeps about so many values of a row in each invocation, and
# at most twice as many.
_WANTED_ITEMS = 8
_MOST_ITEMS = 16
# As many workgroups of the most lanes keep a large GPU busy.
_MOST_PARTS = 512
# Rows that an invocation loads before it adds them up.
_ROWS_AT_ONCE = 4


# ------------------------------------------------------------------------------------ shapes


@dataclass(frozen=True, slots=True)
class Rows:
    """An array as rows of some of its last axes.

    Attributes:
        count: the number of rows.
        columns: the length of a row.
        statistics: the shape of an array of one number a row, with 1 for each axis of a row.
    """

    count: int
    columns: int
    statistics: tuple[int, ...]

    @property
    def lanes(self) -> int:
        """How many invocations share a row: if possible, so many that each has as many columns."""
        fitting = [
            lanes
            for lanes in range(_SUBGROUP, _MOST_LANES + 1, _SUBGROUP)
            if self.columns % lanes == 0 and self.columns <= lanes * _MOST_ITEMS
        ]
        wanted = -(-self.columns // _WANTED_ITEMS)
        if fitting:
            return min(fitting, key=lambda lanes: abs(lanes - wanted))
        return min(_MOST_LANES, max(_SUBGROUP, 1 << (wanted - 1).bit_length()))

    @property
    def items(self) -> int:
        """How many columns each of them has at most."""
        return max(1, -(-self.columns // self.lanes))

    @property
    def full(self) -> bool:
        """Whether each of them has as many."""
        return self.columns == self.items * self.lanes

    @property
    def fits_registers(self) -> bool:
        """Whether the invocations can keep a row in registers."""
        return self.items <= _MOST_ITEMS

    @property
    def constants(self) -> dict[str, int]:
        """The constants of a kernel that keeps rows in registers."""
        return {"full": self.full, "items": self.items}

    @property
    def parts(self) -> int:
        """In how many sums of some rows each the rows are added up."""
        return min(self.count, _MOST_PARTS * (2 if self.lanes < _MOST_LANES else 1))

    @property
    def partials(self) -> tuple[int, int]:
        """The shape of an array of such sums over the rows, one of each column."""
        return self.parts, self.columns

    def of(self, array: A) -> A:
        """Return a contiguous array as rows."""
        return array.reshape(self.count, self.columns)  # type: ignore[return-value]  # as `array`


def rows_of(function: str, x: AnyArray, **parameters: AnyArray | None) -> Rows:
    """Return x as rows of the shape of the layer's parameters, or of its last axis without any.

    Raises:
        LaunchError: they do not have the shape of x's last axes.
    """
    row = x.shape[-1:]
    for name, array in parameters.items():
        if array is not None:
            row = array.shape
            lead = x.ndim - array.ndim
            if not row or lead < 0 or x.shape[lead:] != row:
                raise pw.LaunchError(
                    f"{function}: `{name}` has the shape {row}, which is not that of the last "
                    f"axes of `x`, of shape {x.shape}"
                )
    if not row:
        raise pw.LaunchError(f"{function}: `x` takes at least one axis")
    lead = x.ndim - len(row)
    return Rows(math.prod(x.shape[:lead]), math.prod(row), (*x.shape[:lead], *(1 for _ in row)))


def expect_statistics(function: str, count: int, **arrays: AnyArray) -> None:
    """Check arrays of statistics: so many numbers, in any shape.

    Raises:
        LaunchError: there are more or fewer.
    """
    for name, array in arrays.items():
        if array.size != count:
            raise pw.LaunchError(
                f"{function}: `{name}` should have {count} elements, but has the shape "
                f"{array.shape}"
            )


@functools.cache
def sized(kernel: pw.Kernel, *workgroup_size: int) -> pw.Kernel:
    """Return a kernel with workgroups of another size, the same one each time."""
    return kernel.specialize(workgroup_size=workgroup_size)


# ----------------------------------------------------------------------------------- kernels


@pw.function
def row_moments(x: Array2D[T], row: i32):  # type: ignore[no-untyped-def]  # three f32
    """The mean of a row, what rounding took from it, and the variance, in a whole workgroup.

    The row is read twice: the variance is the mean of squares of differences from the mean, which
    keeps its digits where the mean is far from 0. The mean of the differences themselves, 0 but for
    rounding, corrects both.
    """
    columns = x.shape[1]
    total = 0.0
    for c in range(pw.local_index, columns, pw.workgroup_size.x):
        total += f32(x[row, c])
    mean = pw.workgroup_sum(total) / f32(columns)
    sums = pw.vec2f(0.0)
    for c in range(pw.local_index, columns, pw.workgroup_size.x):
        difference = f32(x[row, c]) - mean
        sums += pw.vec2f(difference, difference * difference)
    means = pw.workgroup_sum(sums) / f32(columns)
    return mean, means.x, max(means.y - means.x * means.x, 0.0)


@pw.function
def loaded(x: Array2D[T], row: i32, column: i32, full: Const[bool]) -> f32:
    """x[row, column]; 0 behind the end of the row, which no column is if `full`.

    Behind the end, too, something is loaded: to branch instead would be to wait for each load.
    """
    if full:
        return f32(x[row, column])
    value = f32(x[row, min(column, x.shape[1] - 1)])
    return value if column < x.shape[1] else 0.0


@pw.function
def column_sum(x: Array2D[f32], column: i32) -> f32:
    """The share of an invocation in the sum of a column, every so-manieth row.

    Several rows are loaded at once, as far as there are.
    """
    total = 0.0
    if column < x.shape[1]:
        for first in range(pw.local_id.y, x.shape[0], _ROWS_AT_ONCE * pw.workgroup_size.y):
            for k in pw.static_range(_ROWS_AT_ONCE):
                if first + k * pw.workgroup_size.y < x.shape[0]:
                    total += x[first + k * pw.workgroup_size.y, column]
    return total


@pw.function
def over_rows(share: pw.vec2f) -> pw.vec2f:
    """The sum over the invocations along y of a workgroup, in each of them."""
    shares = pw.workgroup_array(pw.vec2f, pw.workgroup_size.y, pw.workgroup_size.x)
    shares[pw.local_id.y, pw.local_id.x] = share
    pw.workgroup_barrier()
    total = pw.vec2f(0.0)
    for part in range(pw.workgroup_size.y):
        total += shares[part, pw.local_id.x]
    pw.workgroup_barrier()
    return total


@pw.kernel(workgroup_size=(8, 32))
def column_sums(x: Array2D[f32], sums: Array[T]) -> None:
    """`sums[c] = Σ_r x[r, c]`.

    Shapes: x [R, C], sums [C]. A workgroup sums as many columns as it has invocations along x:
    those along y every so-manieth row, then one of them their sums. Launch over ⌈C / x⌉ workgroups.
    O(R·C). Sums of equal arrays are equal on every run.
    """
    parts = pw.workgroup_array(f32, pw.workgroup_size.y, pw.workgroup_size.x)
    column, lane, part = pw.global_id.x, pw.local_id.x, pw.local_id.y
    total = column_sum(x, column)
    parts[part, lane] = total
    pw.workgroup_barrier()
    if part == 0 and column < x.shape[1]:
        for other in range(1, pw.workgroup_size.y):
            total += parts[other, lane]
        sums[column] = T(total)


@pw.kernel(workgroup_size=(8, 32))
def column_sum_pairs(x: Array2D[f32], y: Array2D[f32], x_sums: Array[T], y_sums: Array[T]) -> None:
    """`column_sums` of two matrices of one shape in one launch."""
    column = pw.global_id.x
    total = over_rows(pw.vec2f(column_sum(x, column), column_sum(y, column)))
    if pw.local_id.y == 0 and column < x.shape[1]:
        x_sums[column] = T(total.x)
        y_sums[column] = T(total.y)


def over_columns(kernel: pw.Kernel, columns: int, parts: int = 1) -> Launcher:
    """Return the launch of a kernel whose workgroups have so many columns in all, in some parts."""
    width = kernel.options["workgroup_size"][0]
    return kernel[pw.groups(-(-columns // width), parts)]


def sum_columns(x: A, sums: A) -> None:
    """Write the sums over the columns of a matrix of f32 to an array of f32 or f16."""
    over_columns(column_sums, x.shape[1])(x, flat(sums))


def sum_column_pairs(x: A, y: A, x_sums: A, y_sums: A) -> None:
    """Write the sums over the columns of two matrices of f32 of one shape."""
    over_columns(column_sum_pairs, x.shape[1])(x, y, flat(x_sums), flat(y_sums))


def or_unread(parameter: A | None, *others: A | None) -> A:
    """Return a layer's parameter for a kernel; without it, the first of the others, unread there.

    Where a kernel has a type for its parameters, that is then the type of the parameter given.
    """
    return flat(next(array for array in (parameter, *others) if array is not None))

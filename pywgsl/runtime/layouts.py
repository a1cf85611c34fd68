"""Where the values of an element lie in a GPU's memory, if that is not where NumPy has them.

WGSL puts vectors of three four apart in arrays and matrices, and a bool in a struct takes four
bytes. (A bool outside of a struct is made a u32 when it is uploaded.)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pywgsl.types import (
    BOOL,
    Atomic,
    FixedArray,
    Matrix,
    RuntimeArray,
    Scalar,
    Struct,
    Type,
    Vector,
    align_of,
    size_of,
)

#: In place of a position: bytes that hold nothing, and bytes that must be zero.
_PADDING, _ZERO = -1, -2

#: Positions of bytes.
Positions = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Layout:
    """How an element is moved: unit by unit.

    Attributes:
        unit: 4, 2 or 1: as many bytes stay together everywhere.
        host_units: the element's size in a NumPy array.
        positions: for each unit on a GPU, the unit in NumPy that it is, or a negative number.
    """

    unit: int
    host_units: int
    positions: tuple[int, ...] = field(repr=False)

    @property
    def host_bytes(self) -> int:
        """The size of an element in a NumPy array."""
        return self.host_units * self.unit

    @property
    def gpu_bytes(self) -> int:
        """The size of an element in a GPU's memory."""
        return len(self.positions) * self.unit

    def moves(self, *, to_gpu: bool) -> Positions:
        """Return, for each unit of the result, which unit of the source it is; none if negative."""
        positions = np.array(self.positions, np.int64)
        if to_gpu:
            return positions
        result = np.full(self.host_units, _PADDING, np.int64)
        kept = positions >= 0
        result[positions[kept]] = np.flatnonzero(kept)
        return result

    def moved(self, data: np.ndarray[Any, Any], *, to_gpu: bool) -> np.ndarray[Any, Any]:
        """Return the bytes of elements, laid out for a GPU or for NumPy."""
        moves = self.moves(to_gpu=to_gpu)
        units = data.view(f"u{self.unit}")
        source = units.reshape(-1, self.host_units if to_gpu else len(self.positions))
        result = source[:, np.maximum(moves, 0)]
        result[:, moves < 0] = 0
        return result.reshape(-1).view(np.uint8)


@functools.cache
def layout_of(type_: Type) -> Layout | None:
    """Return how elements of a type are moved, or None if they lie alike in both places."""
    positions = _positions(type_, in_struct=False)
    stride = -(-size_of(type_) // align_of(type_)) * align_of(type_)
    positions = _filled(positions, stride)
    size = _host_bytes(type_, in_struct=False)
    everywhere = np.arange(stride)
    if size == stride and np.all((positions == everywhere) | (positions == _PADDING)):
        return None
    for unit in (4, 2):
        if size % unit == stride % unit == 0:
            rows = positions.reshape(-1, unit)
            first = rows[:, 0]
            together = np.all(rows == first[:, None] + np.arange(unit), axis=1) & (
                first % unit == 0
            )
            if np.all(together | np.all(rows < 0, axis=1)):
                units = np.where(first < 0, _PADDING, first // unit)
                return Layout(unit, size // unit, tuple(units.tolist()))
    return Layout(1, size, tuple(positions.tolist()))


def _positions(type_: Type, *, in_struct: bool) -> Positions:
    """Return which byte in NumPy each byte on a GPU is."""
    match type_:
        case Scalar() if type_ is BOOL and in_struct:
            return np.array([0, _ZERO, _ZERO, _ZERO])
        case Scalar() | Atomic():
            return np.arange(type_.size)
        case Vector(width=width, scalar=scalar):
            return _repeated(scalar, width, scalar.size, in_struct)
        case Matrix(columns=columns, column=column):
            return _repeated(column, columns, type_.size // columns, in_struct)
        case FixedArray(element=element, length=length, stride=stride):
            return _repeated(element, length, stride, in_struct)
        case Struct(fields=fields, offsets=offsets, size=size):
            result = _filled(np.zeros(0, np.int64), size)
            for member, offset in zip(fields, offsets, strict=True):
                inner = _positions(member.type, in_struct=True)
                result[offset : offset + len(inner)] = np.where(inner < 0, inner, inner + offset)
            return result
        case RuntimeArray():
            raise TypeError(f"{type_} is no element")


def _repeated(type_: Type, count: int, stride: int, in_struct: bool) -> Positions:
    one = _filled(_positions(type_, in_struct=in_struct), stride)
    starts = np.arange(count)[:, None] * _host_bytes(type_, in_struct=in_struct)
    return np.where(one < 0, one, one + starts).reshape(-1)


def _filled(positions: Positions, size: int) -> Positions:
    return np.concatenate([positions, np.full(size - len(positions), _PADDING)])


def _host_bytes(type_: Type, *, in_struct: bool) -> int:
    """Return the size of a value in a NumPy array."""
    match type_:
        case Scalar():
            return 1 if type_ is BOOL and in_struct else type_.size
        case Vector(width=width, scalar=scalar):
            return width * _host_bytes(scalar, in_struct=in_struct)
        case Matrix(columns=columns, column=column):
            return columns * _host_bytes(column, in_struct=in_struct)
        case FixedArray(element=element, length=length):
            return length * _host_bytes(element, in_struct=in_struct)
        case _:
            return size_of(type_)

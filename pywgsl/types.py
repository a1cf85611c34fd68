"""The types of the language: WGSL's, compared by value; `str(type)` is the WGSL spelling.

Two members of `Scalar` exist only while a kernel is checked: the abstract types of literals,
which take the type of their context.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np


class Scalar(enum.Enum):
    """A scalar type. Calling one converts a Python or NumPy number to its NumPy scalar."""

    BOOL = "bool"
    I32 = "i32"
    U32 = "u32"
    F32 = "f32"
    F16 = "f16"
    ABSTRACT_INT = "abstract int"
    ABSTRACT_FLOAT = "abstract float"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.value

    def __call__(self, value: Any) -> Any:
        """Convert `value` as the language does: floats to integers truncate and saturate."""
        from pywgsl import numerics

        return numerics.convert(value, self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype with the same values."""
        return _DTYPES[self]

    @property
    def is_abstract(self) -> bool:
        """Whether this is the type of a literal that no context has typed yet."""
        return self in (Scalar.ABSTRACT_INT, Scalar.ABSTRACT_FLOAT)

    @property
    def is_float(self) -> bool:
        """Whether values are floating-point numbers."""
        return self in (Scalar.F32, Scalar.F16, Scalar.ABSTRACT_FLOAT)

    @property
    def is_integer(self) -> bool:
        """Whether values are whole numbers (bool is not one of them)."""
        return self in (Scalar.I32, Scalar.U32, Scalar.ABSTRACT_INT)

    @property
    def size(self) -> int:
        """Bytes that one value takes."""
        return 2 if self is Scalar.F16 else 4

    @property
    def align(self) -> int:
        """WGSL's alignment, in bytes."""
        return self.size


_DTYPES: dict[Scalar, np.dtype[Any]] = {
    Scalar.BOOL: np.dtype(np.bool_),
    Scalar.I32: np.dtype(np.int32),
    Scalar.U32: np.dtype(np.uint32),
    Scalar.F32: np.dtype(np.float32),
    Scalar.F16: np.dtype(np.float16),
    Scalar.ABSTRACT_INT: np.dtype(np.int64),
    Scalar.ABSTRACT_FLOAT: np.dtype(np.float64),
}

BOOL, I32, U32 = Scalar.BOOL, Scalar.I32, Scalar.U32
F32, F16 = Scalar.F32, Scalar.F16
ABSTRACT_INT, ABSTRACT_FLOAT = Scalar.ABSTRACT_INT, Scalar.ABSTRACT_FLOAT

_SUFFIX = {F32: "f", F16: "h", I32: "i", U32: "u"}


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Vector:
    """Two to four scalars."""

    width: int
    scalar: Scalar

    def __str__(self) -> str:
        suffix = _SUFFIX.get(self.scalar)
        return f"vec{self.width}{suffix}" if suffix else f"vec{self.width}<{self.scalar}>"

    __repr__ = __str__

    def __call__(self, *components: Any) -> Any:
        """Return the vector as a NumPy array (one argument fills every component)."""
        flat = np.concatenate([np.atleast_1d(np.asarray(c)) for c in components])
        if flat.size == 1:
            flat = np.repeat(flat, self.width)
        if flat.size != self.width:
            raise TypeError(f"{self} takes {self.width} components, not {flat.size}")
        return self.scalar(flat)

    @property
    def size(self) -> int:
        """Bytes that one value takes."""
        return self.width * self.scalar.size

    @property
    def align(self) -> int:
        """WGSL's alignment, in bytes: three components align as four."""
        return (2 if self.width == 2 else 4) * self.scalar.size


@dataclass(frozen=True, slots=True)
class Matrix:
    """Columns of vectors, as WGSL has them: `m[c][r]`."""

    columns: int
    rows: int
    scalar: Scalar

    def __str__(self) -> str:
        return f"mat{self.columns}x{self.rows}{_SUFFIX[self.scalar]}"

    __repr__ = __str__

    @property
    def column(self) -> Vector:
        """The type of one column."""
        return Vector(self.rows, self.scalar)

    @property
    def size(self) -> int:
        """Bytes that one value takes."""
        return self.columns * _round_up(self.column.size, self.column.align)

    @property
    def align(self) -> int:
        """WGSL's alignment, in bytes."""
        return self.column.align


@dataclass(frozen=True, slots=True)
class FixedArray:
    """`length` elements, known when the kernel is compiled; a value like any other."""

    element: Type
    length: int

    def __str__(self) -> str:
        return f"array<{self.element}, {self.length}>"

    __repr__ = __str__

    @property
    def stride(self) -> int:
        """Bytes from one element to the next."""
        return _round_up(size_of(self.element), align_of(self.element))

    @property
    def size(self) -> int:
        """Bytes that one value takes."""
        return self.length * self.stride

    @property
    def align(self) -> int:
        """WGSL's alignment, in bytes."""
        return align_of(self.element)


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a struct."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Struct:
    """Named members, laid out by WGSL's rules."""

    name: str
    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def field_type(self, name: str) -> Type | None:
        """Return the type of member `name`, or None if there is none."""
        return next((f.type for f in self.fields if f.name == name), None)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The byte offset of each member."""
        offsets, end = [], 0
        for member in self.fields:
            offset = _round_up(end, align_of(member.type))
            offsets.append(offset)
            end = offset + size_of(member.type)
        return tuple(offsets)

    @property
    def size(self) -> int:
        """Bytes that one value takes, rounded up to the alignment."""
        if not self.fields:
            return 0
        return _round_up(self.offsets[-1] + size_of(self.fields[-1].type), self.align)

    @property
    def align(self) -> int:
        """WGSL's alignment, in bytes."""
        return max((align_of(member.type) for member in self.fields), default=1)


@dataclass(frozen=True, slots=True)
class RuntimeArray:
    """A storage buffer: `ndim` axes, row-major, whose lengths are known at launch."""

    element: Type
    ndim: int = 1

    def __str__(self) -> str:
        return f"Array{'' if self.ndim == 1 else f'{self.ndim}D'}[{self.element}]"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Atomic:
    """An i32 or u32 that invocations change together."""

    scalar: Scalar

    def __str__(self) -> str:
        return f"atomic<{self.scalar}>"

    __repr__ = __str__

    size = align = 4


Type: TypeAlias = Scalar | Vector | Matrix | FixedArray | Struct | RuntimeArray | Atomic


def size_of(type_: Type) -> int:
    """Return the bytes that a value of `type_` takes in a buffer."""
    if isinstance(type_, RuntimeArray):
        raise TypeError(f"{type_} has no size of its own")
    return type_.size


def align_of(type_: Type) -> int:
    """Return WGSL's alignment of `type_`, in bytes."""
    if isinstance(type_, RuntimeArray):
        return align_of(type_.element)
    return type_.align


def scalar_of(type_: Type) -> Scalar | None:
    """Return the scalar that a numeric type is made of, or None for arrays and structs."""
    match type_:
        case Scalar():
            return type_
        case Vector(scalar=scalar) | Matrix(scalar=scalar):
            return scalar
        case _:
            return None


def with_scalar(type_: Type, scalar: Scalar) -> Type:
    """Return `type_` (a scalar, vector or matrix) with its components of type `scalar`."""
    match type_:
        case Vector(width=width):
            return Vector(width, scalar)
        case Matrix(columns=columns, rows=rows):
            return Matrix(columns, rows, scalar)
        case _:
            return scalar


def join(left: Scalar, right: Scalar) -> Scalar | None:
    """Return the type that values of both types convert to by themselves, or None.

    Python's rule: an integer meets a float as a float. A literal takes the other's type. i32 and
    u32, f16 and f32, bool and numbers do not mix.
    """
    if left is right:
        return left
    if Scalar.BOOL in (left, right):
        return None
    if left.is_abstract and right.is_abstract:
        return ABSTRACT_FLOAT
    if left.is_abstract or right.is_abstract:
        literal, other = (left, right) if left.is_abstract else (right, left)
        return F32 if literal is ABSTRACT_FLOAT and other.is_integer else other
    if left.is_integer and right.is_float:
        return right
    if left.is_float and right.is_integer:
        return left
    return None

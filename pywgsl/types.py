"""The types of the language: WGSL's, compared by value; `str(type)` is the WGSL spelling.

Two members of `Scalar` exist only while a kernel is checked: the abstract types of literals,
which take the type of their context.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

_T = TypeVar("_T")


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
    """Named members, laid out by WGSL's rules; calling one makes a value on the host."""

    name: str
    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Return a value for the host: a NumPy record. Without arguments, all is zero.

        Raises:
            TypeError: a member is missing, unknown or given twice, or a value does not suit it.
        """
        given = self.bind(values, named)
        result: Any = np.zeros((), np.dtype((np.record, self.dtype)))[()]
        for member in self.fields if given else ():
            where = f"`{member.name}` of `{self}`"
            result[member.name] = host_value(member.type, given[member.name], where)
        return result

    def bind(self, values: Sequence[_T], named: Mapping[str, _T]) -> dict[str, _T]:
        """Return what a call gives for each member, or nothing for a call without arguments.

        Raises:
            TypeError: a member is missing, unknown or given twice.
        """
        names = [member.name for member in self.fields]
        if len(values) > len(names):
            raise TypeError(f"`{self}` has {len(names)} members, but got {len(values)} values")
        given = dict(zip(names, values, strict=False))
        for name, value in named.items():
            if name not in names:
                known = ", ".join(f"`{n}`" for n in names)
                raise TypeError(f"`{self}` has no member `{name}`; it has {known}")
            if name in given:
                raise TypeError(f"`{self}` got `{name}` twice")
            given[name] = value
        missing = ", ".join(f"`{name}`" for name in names if name not in given)
        if given and missing:
            raise TypeError(f"`{self}` takes all of its members or none; here it misses {missing}")
        return given

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's structured dtype with WGSL's offsets and stride.

        A bool is NumPy's; rows of three in arrays and matrices lie together. Where a GPU has more
        room for these, the runtime moves them.
        """
        return _struct_dtype(self)

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
class TupleStruct(Struct):
    """The struct in which several results of a helper travel."""

    __repr__ = Struct.__str__


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


def dtype_of(type_: Type) -> np.dtype[Any]:
    """Return the NumPy dtype of a value, with the axes of its components."""
    match type_:
        case Scalar() | Struct():
            return type_.dtype
        case Vector(width=width, scalar=scalar):
            return np.dtype((scalar.dtype, (width,)))
        case Matrix(columns=columns, rows=rows, scalar=scalar):
            return np.dtype((scalar.dtype, (columns, rows)))
        case FixedArray(element=element, length=length):
            base, shape = _split(dtype_of(element))
            return np.dtype((base, (length, *shape)))
        case _:
            raise TypeError(f"{type_} has no dtype of its own")


def _split(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    return dtype.subdtype or (dtype, ())


@functools.cache
def _struct_dtype(struct: Struct) -> np.dtype[Any]:
    return np.dtype(
        {
            "names": [member.name for member in struct.fields],
            "formats": [dtype_of(member.type) for member in struct.fields],
            "offsets": list(struct.offsets),
            "itemsize": struct.size,
        }
    )


#: Which kinds of numbers become which by themselves, by NumPy's letters.
_KINDS_FOR = {"b": "b", "i": "iu", "u": "iu", "f": "fiu"}


def host_value(type_: Type, value: Any, where: str) -> Any:
    """Return a value of the host as one of a type, as a record's member takes it.

    Structs are given as records (of any layout) or dicts, all else as NumPy takes it.

    Raises:
        TypeError: it is of another shape or kind, or too large.
    """
    if isinstance(type_, Struct):
        names = getattr(getattr(value, "dtype", None), "names", None)
        if names is not None and np.shape(value) == ():
            value = {name: value[name] for name in names}
        if not isinstance(value, Mapping):
            raise TypeError(f"{where} takes a `{type_}`, or a dict of its members, not {value!r}")
        return type_(**value)
    dtype = dtype_of(type_)
    base, shape = _split(dtype)
    if base.names is not None:
        assert isinstance(type_, FixedArray)
        element = type_.element
        return np.array([host_value(element, item, where) for item in value], dtype_of(element))
    array = np.asarray(value)
    if array.shape != shape or array.dtype.kind not in _KINDS_FOR[base.kind]:
        what = f"{base} values of shape {shape}" if shape else f"a number of type {base}"
        raise TypeError(f"{where} takes {what}, not {value!r}")
    with np.errstate(over="ignore"):
        converted = array.astype(base)
    finite = np.isfinite(converted) | ~np.isfinite(array)
    if not np.all(finite if base.kind == "f" else converted == array):
        raise TypeError(f"{where} takes {base} values, and {value!r} is too large")
    return converted


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

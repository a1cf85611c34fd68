"""How NumPy arrays and the language's types correspond: the one place that knows.

A buffer of vectors is an array with one more axis, a buffer of matrices one with two (columns, then
rows). WGSL puts three components where four would fit, so rows of three are padded on a GPU; a
bool is a u32 there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pywgsl.types import (
    BOOL,
    F16,
    F32,
    I32,
    U32,
    Atomic,
    FixedArray,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    align_of,
)

#: The dtypes of arrays that live on a device, by name in messages.
STORABLE = tuple(s.dtype for s in (F32, I32, U32, BOOL, F16))

_FORMATS = {F32: "f", I32: "i", U32: "I", BOOL: "I", F16: "e"}


@dataclass(frozen=True, slots=True)
class Element:
    """What an element type asks of the array that is bound to it.

    `axes` are the lengths of the array's last axes, which one element takes. `padded` says that
    rows of three lie four apart on a GPU.
    """

    dtype: np.dtype[Any]
    axes: tuple[int, ...]
    padded: bool


def element(type_: Type) -> Element:
    """Return what a buffer's element type asks of its array."""
    match type_:
        case Scalar():
            return Element(type_.dtype, (), False)
        case Atomic(scalar=scalar):
            return Element(scalar.dtype, (), False)
        case Vector(width=width, scalar=scalar):
            return Element(scalar.dtype, (width,), width == 3)
        case Matrix(columns=columns, rows=rows, scalar=scalar):
            return Element(scalar.dtype, (columns, rows), rows == 3)
        case _:
            raise TypeError(f"no array holds elements of type {type_}")


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the NumPy dtype that a caller means.

    Args:
        dtype: a NumPy dtype or anything that makes one, a scalar type of the language, or
            Python's float (f32), int (i32) or bool.

    Raises:
        TypeError: no device stores such values.
    """
    if isinstance(dtype, Scalar):
        dtype = dtype.dtype
    known = {float: F32, int: I32, bool: BOOL}
    found = known[dtype].dtype if dtype in known else np.dtype(dtype)
    if found not in STORABLE:
        raise TypeError(unsupported_dtype("an array", found))
    return found


def unsupported_dtype(what: str, dtype: np.dtype[Any]) -> str:
    """Return the message for values that no device stores."""
    return (
        f"{what} of {dtype} cannot live on a device, which takes float32, int32, uint32, bool and "
        f"float16; convert it with {conversion_from(dtype)}"
    )


def conversion_from(dtype: np.dtype[Any]) -> str:
    """Return the conversion that suits values of an unsupported dtype."""
    suitable = {"f": "float32", "i": "int32", "u": "uint32", "b": "bool_"}.get(
        dtype.kind, "float32"
    )
    return f"`.astype(np.{suitable})`"


def from_host(value: Any) -> np.ndarray[Any, Any]:
    """Return any array-like as a NumPy array of a dtype that devices store; copied only if needed.

    Python numbers and nested lists of them become f32, i32 or bool; arrays keep their dtype.

    Raises:
        TypeError: the values have a dtype that no device stores, such as float64.
    """
    is_array = isinstance(value, np.ndarray | np.generic)
    has_dtype = is_array or hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    if not has_dtype and hasattr(value, "__dlpack__"):
        value, has_dtype = np.from_dlpack(value), True
    has_dtype = has_dtype or not isinstance(value, list | tuple | bool | int | float)
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        raise TypeError(f"an array holds numbers, but got {quoted(value)}")
    if not has_dtype:
        array = _from_python(array)
    if array.dtype not in STORABLE:
        raise TypeError(unsupported_dtype("an array", array.dtype))
    return array


def quoted(value: object) -> str:
    """Return words for a value that is no array, for a message."""
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"


def _from_python(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        if array.size and (array.min() < -(2**31) or array.max() >= 2**31):
            raise TypeError(
                "a list with integers beyond int32; give it a dtype with np.array(…, np.uint32)"
            )
        return array.astype(np.int32)
    return array


def stored_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the same values in a GPU buffer."""
    return U32.dtype if dtype == BOOL.dtype else dtype


def pack_format(type_: Type) -> str:
    """Return the `struct` format of a value in a uniform struct (without its alignment)."""
    match type_:
        case Scalar():
            return _FORMATS[type_]
        case Vector(width=width, scalar=scalar):
            return _FORMATS[scalar] * width
        case Matrix(columns=columns, column=column):
            padding = -column.size % align_of(column)
            return (pack_format(column) + "x" * padding) * columns
        case FixedArray() | Struct():
            return f"{type_.size}s"
        case _:
            raise TypeError(f"{type_} does not travel in a uniform struct")


def component_count(type_: Type) -> int:
    """Return how many numbers a value packs to."""
    match type_:
        case Vector(width=width):
            return width
        case Matrix(columns=columns, rows=rows):
            return columns * rows
        case _:
            return 1


def describe(dtype: np.dtype[Any], shape: Sequence[int]) -> str:
    """Return words for an array in a message: `a 2-D float64 array`."""
    return f"a {len(shape)}-D {dtype} array"

"""How NumPy arrays and the language's types correspond: the one place that knows.

A buffer of vectors is an array with one more axis, a buffer of matrices one with two (columns, then
rows), one of fixed arrays has an axis for them; a buffer of structs is a structured array.
`pywgsl.runtime.layouts` says where the values lie on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pywgsl.runtime.layouts import Layout, layout_of
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
    dtype_of,
)

#: The dtypes of arrays that live on a device, by name in messages.
STORABLE = tuple(s.dtype for s in (F32, I32, U32, BOOL, F16))

_FORMATS = {F32: "f", I32: "i", U32: "I", BOOL: "I", F16: "e"}


@dataclass(frozen=True, slots=True)
class Element:
    """What an element type asks of the array that is bound to it.

    `axes` are the lengths of the array's last axes, which one element takes. `layout` is how they
    lie on a GPU, if otherwise.
    """

    dtype: np.dtype[Any]
    axes: tuple[int, ...]
    layout: Layout | None


def element(type_: Type) -> Element:
    """Return what a buffer's element type asks of its array."""
    dtype = dtype_of(type_.scalar if isinstance(type_, Atomic) else type_)
    base, axes = dtype.subdtype or (dtype, ())
    return Element(base, axes, layout_of(type_))


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the NumPy dtype that a caller means.

    Args:
        dtype: a NumPy dtype or anything that makes one, a scalar type or struct of the language,
            or Python's float (f32), int (i32) or bool.

    Raises:
        TypeError: no device stores such values.
    """
    if isinstance(dtype, Scalar | Struct):
        dtype = dtype.dtype
    known = {float: F32, int: I32, bool: BOOL}
    found = known[dtype].dtype if dtype in known else np.dtype(dtype)
    if not _is_storable(found):
        raise TypeError(unsupported_dtype("an array", found))
    return found


def _is_storable(dtype: np.dtype[Any]) -> bool:
    """Whether a device stores such values: numbers, or structs of them."""
    base = dtype.base
    if base.names is None:
        return base in STORABLE
    return all(_is_storable(base[name]) for name in base.names)


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
    if not _is_storable(array.dtype):
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


def describe(dtype: np.dtype[Any], shape: Sequence[int]) -> str:
    """Return words for an array in a message: `a 2-D float64 array`."""
    return f"a {len(shape)}-D {dtype_name(dtype)} array"


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return words for a dtype in a message."""
    return str(dtype) if dtype.names is None else f"structured ({', '.join(dtype.names)})"

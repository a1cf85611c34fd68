"""What a kernel is called with: matched to its parameters, and checked before anything runs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from pywgsl import ir
from pywgsl.errors import LaunchError
from pywgsl.frontend.definition import MISSING, KernelParameter
from pywgsl.runtime import elements
from pywgsl.runtime.arrays import DeviceArray
from pywgsl.runtime.layouts import layout_of
from pywgsl.types import (
    BOOL,
    F32,
    I32,
    U32,
    FixedArray,
    Matrix,
    RuntimeArray,
    Scalar,
    Struct,
    Type,
    Vector,
    host_value,
)

#: An array that a caller may pass.
Bindable: TypeAlias = DeviceArray | np.ndarray[Any, Any]
#: A value of a uniform parameter as `struct.pack` takes it: a number, the bytes of a struct, or the
#: numbers of a vector or matrix.
Packed: TypeAlias = int | float | bytes | tuple[int | float, ...]

_RANGES = {I32: (-(2**31), 2**31 - 1), U32: (0, 2**32 - 1)}


def bind(
    kernel: str,
    parameters: Sequence[KernelParameter],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> list[Any]:
    """Return a value for each parameter, from arguments by position and name and from defaults."""
    if len(args) > len(parameters):
        raise LaunchError(
            f"{kernel}: takes {_count(len(parameters), 'argument')}, but got {len(args)}"
        )
    values = {p.name: value for p, value in zip(parameters, args, strict=False)}
    names = {p.name for p in parameters}
    for name, value in kwargs.items():
        if name not in names:
            known = ", ".join(f"`{p.name}`" for p in parameters)
            raise LaunchError(
                f"{kernel}: there is no parameter `{name}`; there are {known or 'none'}"
            )
        if name in values:
            raise LaunchError(f"{kernel}: parameter `{name}` is given by position and by name")
        values[name] = value
    defaults = {p.name: p.default for p in parameters if p.default is not MISSING}
    missing = [p.name for p in parameters if p.name not in values and p.name not in defaults]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        raise LaunchError(
            f"{kernel}: {_count(len(missing), 'argument')} missing: {listed}; "
            f"it takes {', '.join(p.name for p in parameters)}"
        )
    return [values.get(p.name, p.default) for p in parameters]


def check_constant(kernel: str, parameter: KernelParameter, value: Any) -> int | float | bool:
    """Return the value of a compile-time parameter as the Python type that it is declared with."""
    wanted = parameter.type
    if wanted is bool and isinstance(value, bool | np.bool_):
        return bool(value)
    if wanted is int and _is_integer(value):
        return int(value)
    if wanted is float and (_is_integer(value) or isinstance(value, float | np.floating)):
        return float(value)
    name = getattr(wanted, "__name__", wanted)
    raise LaunchError(
        f"{kernel}: parameter `{parameter.name}` is a compile-time {name}, but got {_quoted(value)}"
    )


# ---------------------------------------------------------------------------------- arrays


def check_buffers(kernel: str, buffers: Sequence[ir.Buffer], values: Sequence[Any]) -> None:
    """Check the arrays for a kernel's buffers, each and against each other.

    Raises:
        LaunchError: one has another dtype or number of axes than its parameter, is not contiguous,
            cannot be written though the kernel does, or shares memory with one that is written.
    """
    for buffer, value in zip(buffers, values, strict=True):
        _check_buffer(kernel, buffer, value)
    for position, (buffer, value) in enumerate(zip(buffers, values, strict=True)):
        for other, earlier in zip(buffers[:position], values, strict=False):
            written = ir.Access.READ_WRITE in (buffer.access, other.access)
            if written and value.size and earlier.size and _overlap(value, earlier):
                target = buffer if buffer.access is ir.Access.READ_WRITE else other
                raise LaunchError(
                    f"{kernel}: parameters `{other.name}` and `{buffer.name}` share memory, and "
                    f"`{target.name}` is written; pass a copy of one of them"
                )


def _check_buffer(kernel: str, buffer: ir.Buffer, value: Any) -> None:
    where = f"{kernel}: parameter `{buffer.name}`"
    assert isinstance(buffer.type, RuntimeArray)
    wanted = describe_array(buffer.type)
    if not isinstance(value, np.ndarray | DeviceArray):
        dtype = elements.element(buffer.type.element).dtype
        is_list = isinstance(value, list | tuple)
        hint = f"; make it one: `np.array(…, np.{dtype.type.__name__})`" if is_list else ""
        raise LaunchError(f"{where} takes {wanted}, but got {_quoted(value)}{hint}")
    found = elements.element(buffer.type.element)
    dtype, shape = value.dtype, value.shape
    if dtype != found.dtype:
        raise LaunchError(
            f"{where} takes {wanted}, but got {elements.describe(dtype, shape)}; "
            f"{_conversion(buffer.type.element, found.dtype, dtype)}"
        )
    ndim = buffer.type.ndim + len(found.axes)
    if len(shape) != ndim or (found.axes and shape[-len(found.axes) :] != found.axes):
        raise LaunchError(f"{where} takes {wanted}, but got one of shape {shape}")
    if max(shape[: buffer.type.ndim], default=0) >= 2**31 or value.size >= 2**31:
        raise LaunchError(
            f"{where}: an array of shape {shape} has more elements than an i32 counts"
        )
    if isinstance(value, np.ndarray):
        _check_ndarray(where, buffer, value)


def _conversion(type_: Type, wanted: np.dtype[Any], found: np.dtype[Any]) -> str:
    """Say how to come by an array of a dtype."""
    while isinstance(type_, FixedArray):
        type_ = type_.element
    if not isinstance(type_, Struct):
        return f"convert it with `.astype(np.{wanted})`"
    if found.names == wanted.names:
        return f"convert it with `.astype({type_}.dtype)`"
    return f"make one with `np.zeros(n, {type_}.dtype)`"


def _check_ndarray(where: str, buffer: ir.Buffer, value: np.ndarray[Any, Any]) -> None:
    if not value.flags.c_contiguous:
        raise LaunchError(
            f"{where} takes a contiguous array, but got one with strides {value.strides}; "
            "copy it with `np.ascontiguousarray`"
        )
    if buffer.access is ir.Access.READ_WRITE and not value.flags.writeable:
        raise LaunchError(f"{where} is written, but the array is read-only; pass a copy")


def describe_array(type_: RuntimeArray) -> str:
    """Return what array a buffer takes: `a 1-D float32 array`, `a 1-D array of vec3f, …`."""
    found = elements.element(type_.element)
    if isinstance(type_.element, Struct):
        return f"a {type_.ndim}-D array of {type_.element}"
    if not found.axes:
        return f"a {type_.ndim}-D {found.dtype} array"
    axes = ", ".join(["n"] * type_.ndim + [str(n) for n in found.axes])
    what = f"a {found.dtype} array of shape ({axes})"
    return f"a {type_.ndim}-D array of {type_.element}, which is {what}"


def _overlap(a: Bindable, b: Bindable) -> bool:
    from pywgsl.runtime.arrays import NumpyArray

    a = np.asarray(a) if isinstance(a, NumpyArray) else a
    b = np.asarray(b) if isinstance(b, NumpyArray) else b
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        # Both are contiguous, so that their bounds decide it.
        return np.may_share_memory(a, b)
    return getattr(a, "storage", a) is getattr(b, "storage", b)


# --------------------------------------------------------------------------------- uniforms


def uniform_converter(kernel: str, uniform: ir.Uniform) -> Callable[[Any], Packed]:
    """Return the function that checks an argument and makes it what `struct.pack` takes."""
    where = f"{kernel}: parameter `{uniform.name}`"
    type_ = uniform.type
    match type_:
        case Scalar():
            return _scalar_converter(where, type_)
        case Vector() | Matrix():
            return lambda value: _composite(where, type_, value)
        case Struct():
            return lambda value: _record(where, type_, value)
        case _:
            raise TypeError(f"{where}: {type_} does not travel in a uniform struct")


def _scalar_converter(where: str, scalar: Scalar) -> Callable[[Any], int | float]:
    if scalar is BOOL:
        return lambda value: _boolean(where, value)
    if scalar.is_integer:
        return lambda value: _integer(where, scalar, value)

    def convert(value: Any) -> float:
        # The usual case first: a launch spends its time here.
        return (
            value if type(value) is float and -3e38 < value < 3e38 else _real(where, scalar, value)
        )

    return convert if scalar is F32 else lambda value: _real(where, scalar, value)


def _boolean(where: str, value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        return int(value)
    raise LaunchError(f"{where} is a bool, but got {_quoted(value)}; write `bool(…)`")


def _integer(where: str, scalar: Scalar, value: Any) -> int:
    if not _is_integer(value):
        hint = (
            "; write `int(…)`" if isinstance(value, float | np.floating | bool | np.bool_) else ""
        )
        raise LaunchError(f"{where} is an integer ({scalar}), but got {_quoted(value)}{hint}")
    low, high = _RANGES[scalar]
    if not low <= value <= high:
        raise LaunchError(f"{where} is {scalar}, {low} to {high}, but got {value}")
    return int(value)


def _real(where: str, scalar: Scalar, value: Any) -> float:
    if not (isinstance(value, float | np.floating) or _is_integer(value)):
        hint = "; write `float(…)`" if isinstance(value, bool | np.bool_) else ""
        raise LaunchError(f"{where} is a number ({scalar}), but got {_quoted(value)}{hint}")
    try:
        number = float(value)
        struct.pack(f"<{elements.pack_format(scalar)}", number)
    except OverflowError:
        raise LaunchError(f"{where} is {scalar}, which has no number as large as {value}") from None
    return number


def _composite(where: str, type_: Vector | Matrix, value: Any) -> tuple[int | float, ...]:
    found = elements.element(type_)
    array = value.numpy() if isinstance(value, DeviceArray) else np.asarray(value)
    if array.shape != found.axes:
        what = f"{type_}, {found.dtype} values of shape {found.axes}"
        raise LaunchError(f"{where} takes a {what}, but got {_quoted(value)}")
    convert = _scalar_converter(where, type_.scalar)
    return tuple(convert(component) for component in array.reshape(-1).tolist())


def _record(where: str, struct: Struct, value: Any) -> bytes:
    """Return the bytes of a struct as a GPU has them."""
    try:
        record = host_value(struct, value, where)
    except TypeError as error:
        message = str(error)
        raise LaunchError(message if message.startswith(where) else f"{where}: {error}") from None
    data = np.asarray(record).reshape(1).view(np.uint8)
    layout = layout_of(struct)
    return (data if layout is None else layout.moved(data, to_gpu=True)).tobytes()


def numpy_value(type_: Type, packed: Packed) -> Any:
    """Return a checked uniform value as the NumPy scalar or array that the reference takes."""
    found = elements.element(type_)
    if isinstance(packed, bytes):
        data = np.frombuffer(packed, np.uint8)
        data = data if found.layout is None else found.layout.moved(data, to_gpu=False)
        return data.view(found.dtype)[0]
    if isinstance(packed, tuple):
        return np.array(packed, found.dtype).reshape(found.axes)
    return found.dtype.type(packed)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _quoted(value: Any) -> str:
    """Return words for a value in a message."""
    if isinstance(value, np.ndarray | DeviceArray):
        return elements.describe(value.dtype, value.shape)
    return elements.quoted(value)

"""What the functions on arrays share: checks, results, and element-wise launches.

An array is an ndarray, which NumPy works on, or an array of a device, which works on it. Every
array of a call lives in the same place, and that is where its results are. Inputs may be
strided; what is written may not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

import pywgsl as pw
from pywgsl import f16, f32

AnyArray: TypeAlias = npt.NDArray[Any] | pw.DeviceArray
A = TypeVar("A", bound=AnyArray)

#: A parameter that an optimizer updates: one array, or a list of them.
Arrays: TypeAlias = A | Sequence[A]

# The types of arrays in kernels that are generic over them: those of what goes through a layer, and
# those of its parameters. A type checker refuses the conversion `T(x)` to a type variable.
if TYPE_CHECKING:
    T: TypeAlias = f32
    W: TypeAlias = f32
else:
    T = TypeVar("T", f32, f16)
    W = TypeVar("W", f32, f16)

FLOAT = np.dtype(np.float32)
HALF = np.dtype(np.float16)
INTEGER = np.dtype(np.int32)
BOOLEAN = np.dtype(np.bool_)


# --------------------------------------------------------------------------------- arguments


def operands(function: str, /, **arrays: A) -> tuple[A, ...]:
    """Return a function's inputs, contiguous.

    Args:
        function: its name, for messages.
        arrays: the inputs, by the names of the parameters; a NumPy scalar is an array without axes.

    Raises:
        LaunchError: one is no array of floats, or lives elsewhere than the first.
    """
    contiguous = {name: _contiguous(array) for name, array in arrays.items()}
    for name, array in contiguous.items():
        _check(function, name, array, FLOAT)
    same_device(function, **contiguous)
    return tuple(contiguous.values())


def floats(function: str, /, **arrays: A) -> tuple[A, ...]:
    """Return the inputs of a function that takes f32 or f16, contiguous.

    Raises:
        LaunchError: as `operands`, for arrays that are not all f32 or all f16.
    """
    contiguous = {name: _contiguous(array) for name, array in arrays.items()}
    first = getattr(next(iter(contiguous.values())), "dtype", FLOAT)
    for name, array in contiguous.items():
        _check(function, name, array, HALF if first == HALF else FLOAT)
    same_device(function, **contiguous)
    return tuple(contiguous.values())


def optional(function: str, like: A, /, **arrays: A | None) -> tuple[A | None, ...]:
    """Return inputs that may be missing, contiguous.

    Args:
        function: its name, for messages.
        like: an input whose dtype and device they share.
        arrays: the inputs, by the names of the parameters.

    Raises:
        LaunchError: as `floats`.
    """
    given = {n: floats(function, x=like, **{n: a})[1] for n, a in arrays.items() if a is not None}
    return tuple(given.get(name) for name in arrays)


def indices(function: str, name: str, array: A) -> A:
    """Return an array of numbers of classes or rows, contiguous.

    Raises:
        LaunchError: it is no array of i32.
    """
    array = _contiguous(array)
    _check(function, name, array, INTEGER)
    return array


def booleans(function: str, name: str, array: A) -> A:
    """Return a mask, contiguous.

    Raises:
        LaunchError: it is no array of bool.
    """
    array = _contiguous(array)
    _check(function, name, array, BOOLEAN)
    return array


def in_place(function: str, /, **arrays: A) -> None:
    """Check arrays whose values a function replaces.

    Raises:
        LaunchError: as `operands`; or one is not contiguous.
    """
    operands(function, **arrays)
    for name, array in arrays.items():
        _check_written(function, name, array)


def floats_in_place(function: str, /, **arrays: A) -> None:
    """Check arrays of f32 or f16 whose values a function replaces.

    Raises:
        LaunchError: as `floats`; or one is not contiguous.
    """
    floats(function, **arrays)
    for name, array in arrays.items():
        _check_written(function, name, array)


def same_device(function: str, /, **arrays: AnyArray) -> None:
    """Check that arrays live in one place.

    Raises:
        LaunchError: they do not.
    """
    (first, place), *rest = ((name, _device(array)) for name, array in arrays.items())
    for name, device in rest:
        if device is not place:
            raise pw.LaunchError(
                f"{function}: `{first}` is on {place.name} and `{name}` on {device.name}; "
                "put all arrays on one device with `device.array(…)`"
            )


def same_shape(function: str, /, **arrays: AnyArray) -> None:
    """Check that arrays have one shape.

    Raises:
        LaunchError: they do not.
    """
    (first, shape), *rest = ((name, array.shape) for name, array in arrays.items())
    for name, other in rest:
        if other != shape:
            raise pw.LaunchError(
                f"{function}: `{first}` has the shape {shape} and `{name}` the shape {other}"
            )


def expect_shape(function: str, name: str, array: AnyArray, shape: tuple[int, ...]) -> None:
    """Check the shape of one array.

    Raises:
        LaunchError: it is another.
    """
    if array.shape != shape:
        raise pw.LaunchError(
            f"{function}: `{name}` should have the shape {shape}, but has {array.shape}"
        )


def as_list(function: str, /, **arrays: Arrays[A]) -> list[tuple[A, ...]]:
    """Return arguments that are an array or a list of arrays as tuples of one array each.

    Raises:
        LaunchError: the lists have different lengths.
    """
    lists = {n: a if isinstance(a, list | tuple) else [a] for n, a in arrays.items()}
    (first, length), *rest = ((name, len(items)) for name, items in lists.items())
    for name, other in rest:
        if other != length:
            raise pw.LaunchError(f"{function}: {length} `{first}`, but {other} `{name}`")
    return list(zip(*lists.values(), strict=True))


# ----------------------------------------------------------------------------------- results


def result(
    function: str,
    like: A,
    shape: tuple[int, ...],
    out: A | None = None,
    dtype: np.dtype[Any] = FLOAT,
) -> A:
    """Return the array to write a result to: `out` if it is given, else a new one beside `like`.

    Raises:
        LaunchError: `out` has another shape or dtype, lives elsewhere or is not contiguous.
    """
    if out is None:
        if isinstance(like, pw.DeviceArray):
            return like.device.empty(shape, dtype)  # type: ignore[return-value]  # as `like`
        return np.empty(shape, dtype)  # type: ignore[return-value]  # as `like`
    _check(function, "out", out, dtype)
    expect_shape(function, "out", out, shape)
    same_device(function, out=out, **{"the input": like})
    _check_written(function, "out", out)
    return out


def outs(function: str, out: tuple[A, ...] | None, count: int) -> tuple[A | None, ...]:
    """Return the arrays for several results, or as many times None.

    Raises:
        LaunchError: `out` is not a tuple of so many arrays.
    """
    if out is None:
        return (None,) * count
    if not isinstance(out, tuple | list) or len(out) != count:
        raise pw.LaunchError(f"{function}: `out` takes a tuple of {count} arrays")
    return tuple(out)


def flat(array: A) -> A:
    """Return a contiguous array with a single axis."""
    if array.ndim == 1:
        return array
    return array.reshape(-1)  # type: ignore[return-value]  # as `array`


# ---------------------------------------------------------------------------------- launches


def elementwise(
    function: str,
    kernel: pw.Kernel,
    out: A | None,
    /,
    *numbers: float,
    dtype: np.dtype[Any] = FLOAT,
    **inputs: A,
) -> A:
    """Launch a kernel once for each element and return what it writes.

    The one place that knows how element-wise kernels are laid out on their elements.

    Args:
        function: the function's name, for messages.
        kernel: takes the inputs, the output and the numbers, in this order.
        out: the array to write to, or None.
        numbers: the kernel's other arguments.
        dtype: that of the output.
        inputs: arrays of one shape, by the names of the function's parameters.

    Raises:
        LaunchError: the arrays do not fit each other or `out`.
    """
    arrays = operands(function, **inputs)
    same_shape(function, **inputs)
    output = result(function, arrays[0], arrays[0].shape, out, dtype)
    kernel[output.size](*map(flat, arrays), flat(output), *numbers)
    return output


def update(function: str, kernel: pw.Kernel, /, *numbers: float, **arrays: Arrays[A]) -> None:
    """Launch an element-wise kernel that replaces values of its arrays.

    Args:
        function: the function's name, for messages.
        kernel: takes the arrays and the numbers, in this order.
        numbers: the kernel's other arguments.
        arrays: by the names of the function's parameters, for each an array, or a list of arrays
            of which those with one number belong together and have one shape.

    Raises:
        LaunchError: arrays do not fit each other, or one is not contiguous; nothing has run.
    """
    groups = as_list(function, **arrays)
    for group in groups:
        named = dict(zip(arrays, group, strict=True))
        in_place(function, **named)
        same_shape(function, **named)
    for group in groups:
        kernel[group[0].size](*map(flat, group), *numbers)


def _check(function: str, name: str, array: Any, dtype: np.dtype[Any]) -> None:
    where = f"{function}: `{name}`"
    if not isinstance(array, np.ndarray | pw.DeviceArray):
        kind = type(array).__name__
        raise pw.LaunchError(f"{where} takes an array of {dtype}, but got {array!r} ({kind})")
    if array.dtype != dtype:
        raise pw.LaunchError(
            f"{where} takes an array of {dtype}, but got one of {array.dtype}; "
            f"convert it with `.astype(np.{dtype})`"
        )


def _check_written(function: str, name: str, array: AnyArray) -> None:
    where = f"{function}: `{name}` is written"
    if isinstance(array, np.generic):
        raise pw.LaunchError(f"{where}, so it has to be an array, but is {array!r}")
    if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
        raise pw.LaunchError(
            f"{where}, so it has to be contiguous, but its strides are {array.strides}"
        )


def _contiguous(array: A) -> A:
    if isinstance(array, np.ndarray | np.generic):
        return np.asarray(array, order="C")  # type: ignore[return-value]  # as `array`
    return array


def _device(array: AnyArray) -> pw.Device:
    return array.device if isinstance(array, pw.DeviceArray) else pw.device("numpy")

"""Arrays that live on a device. Those of the NumPy device wrap an ndarray."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pywgsl.runtime import elements

if TYPE_CHECKING:
    from pywgsl.runtime.devices import Device

Shape = tuple[int, ...]


class DeviceArray(ABC):
    """A row-major array on a device; made by `device.array`, `zeros`, `empty` and `full`.

    Attributes:
        device: where it lives.
        shape: the length along each axis.
        dtype: the NumPy dtype of its values (on a GPU, bools are stored as u32).
    """

    __slots__ = ("__weakref__", "device", "dtype", "shape")

    def __init__(self, device: Device, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.device = device
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the values take in a NumPy array."""
        return self.size * self.dtype.itemsize

    @abstractmethod
    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy of the values, after everything launched so far has run.

        (`np.asarray` of an array of the NumPy device gives its own memory.)
        """

    @abstractmethod
    def reshape(self, *shape: int | Sequence[int]) -> DeviceArray:
        """Return the same memory with another shape (one length may be -1)."""

    @abstractmethod
    def copy(self) -> DeviceArray:
        """Return a new array on the same device with the same values."""

    def copy_from(self, source: Any) -> None:
        """Replace the values by those of an array of the same shape and dtype.

        Args:
            source: an array of this or another device, an ndarray, or anything that `device.array`
                takes.

        Raises:
            ValueError: the shapes differ.
            TypeError: the dtypes differ.
        """
        values = source if isinstance(source, DeviceArray) else elements.from_host(source)
        if values.shape != self.shape:
            raise ValueError(
                f"cannot copy an array of shape {values.shape} into one of {self.shape}"
            )
        if values.dtype != self.dtype:
            raise TypeError(
                f"cannot copy {values.dtype} values into a {self.dtype} array; "
                f"convert them with `.astype(np.{self.dtype})`"
            )
        self._assign(values)

    @abstractmethod
    def _assign(self, values: DeviceArray | np.ndarray[Any, Any]) -> None:
        """Replace the values; shape and dtype have been compared."""

    def fill(self, value: float) -> None:
        """Set every value to `value`."""
        self._assign(np.full(self.shape, value, self.dtype))

    def item(self) -> Any:
        """Return the only value as a Python number."""
        return self.numpy().item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("reading an array from a GPU makes a copy")
        return np.asarray(self.numpy(), dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __str__(self) -> str:
        return str(self.numpy())

    def __repr__(self) -> str:
        dtype = elements.dtype_name(self.dtype)
        return f"<{dtype} array of shape {self.shape} on {self.device.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.numpy(), self.device.name)


class NumpyArray(DeviceArray):
    """An array of the NumPy device: an ndarray, which `np.asarray` gives without a copy."""

    __slots__ = ("_values",)

    def __init__(self, device: Device, values: np.ndarray[Any, Any]) -> None:
        super().__init__(device, values.shape, values.dtype)
        self._values = values

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy of the values."""
        return self._values.copy()

    def reshape(self, *shape: int | Sequence[int]) -> NumpyArray:
        """Return the same memory with another shape (one length may be -1)."""
        return NumpyArray(self.device, self._values.reshape(resolve_shape(shape, self.size)))

    def copy(self) -> NumpyArray:
        """Return a new array with the same values."""
        return NumpyArray(self.device, self._values.copy())

    def _assign(self, values: DeviceArray | np.ndarray[Any, Any]) -> None:
        np.copyto(self._values, np.asarray(values))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        # `copy=None` is only known to NumPy 2; `asarray` means the same in both.
        return np.array(self._values, dtype=dtype) if copy else np.asarray(self._values, dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


def as_shape(shape: Any) -> Shape:
    """Return a shape given as an int or a sequence of ints.

    Raises:
        TypeError: a length is not an int.
        ValueError: a length is negative.
    """
    lengths = shape if isinstance(shape, tuple | list) else (shape,)
    try:
        result = tuple(operator.index(length) for length in lengths)
    except TypeError:
        raise TypeError(f"a shape is an int or a sequence of ints, not {shape!r}") from None
    if any(length < 0 for length in result):
        raise ValueError(f"a shape has no negative lengths: {shape!r}")
    return result


def resolve_shape(shape: tuple[int | Sequence[int], ...], size: int) -> Shape:
    """Return the arguments of a `reshape` as a shape of `size` values."""
    lengths = [operator.index(n) for n in (shape[0] if _is_sequence(shape) else shape)]  # type: ignore[union-attr, arg-type]  # one or the other
    if lengths.count(-1) == 1:
        rest = math.prod(n for n in lengths if n != -1)
        lengths[lengths.index(-1)] = size // rest if rest else 0
    if math.prod(lengths) != size or any(n < 0 for n in lengths):
        raise ValueError(f"cannot reshape an array of {size} values into {shape}")
    return tuple(lengths)


def _is_sequence(shape: tuple[int | Sequence[int], ...]) -> bool:
    return len(shape) == 1 and isinstance(shape[0], Sequence)


def _restore(values: np.ndarray[Any, Any], device_name: str) -> DeviceArray:
    """Unpickle an array: on the device of that name, else on any GPU of this machine."""
    from pywgsl.errors import DeviceError
    from pywgsl.runtime.devices import device

    try:
        where = device(device_name)
    except DeviceError:
        where = device("gpu")
    return where.array(values)

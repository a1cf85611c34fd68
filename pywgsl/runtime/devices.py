"""Devices: where arrays live and kernels run. This module has NumPy's; `gpu` has the others."""

from __future__ import annotations

import importlib.util
import os
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pywgsl.errors import DeviceError
from pywgsl.runtime import elements
from pywgsl.runtime.arrays import DeviceArray, NumpyArray, Shape, as_shape
from pywgsl.runtime.profile import HostProfile, Profile

if TYPE_CHECKING:
    from pywgsl.runtime.gpu import Adapter

_INSTALL = (
    "install the GPU's driver (NVIDIA, AMD, Intel), or Mesa's software adapter with "
    "`apt-get install mesa-vulkan-drivers`"
)


class Device(ABC):
    """Where arrays live and kernels run; `pw.device()` gives one.

    Attributes:
        name: the adapter's name, or `numpy`.
        kind: `"gpu"` or `"numpy"`.
        notes: what a user of this device should know, one sentence each.
    """

    name: str
    kind: str
    notes: tuple[str, ...] = ()

    def array(self, values: Any, dtype: Any = None) -> DeviceArray:
        """Return an array on this device with the given values.

        Args:
            values: an ndarray, an array of any device, anything with `__array__`, the buffer
                protocol or CPU DLPack, or nested lists of numbers (which become f32, i32 or bool).
                They are copied, on the NumPy device too.
            dtype: convert the values to this dtype first; without it they keep theirs.

        Raises:
            TypeError: the values have a dtype that no device stores, such as float64.
            DeviceError: the device has not enough memory, or cannot bind so much at once.
        """
        if isinstance(values, DeviceArray) and values.device is self and dtype is None:
            return values.copy()
        if dtype is not None:
            values = np.asarray(values).astype(elements.as_dtype(dtype), copy=False)
        return self._upload(elements.from_host(values))

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> DeviceArray:
        """Return an array of zeros.

        Args:
            shape: an int or a sequence of ints.
            dtype: a NumPy dtype or a type of the language (`pw.f32`).
        """
        return self._allocate(as_shape(shape), elements.as_dtype(dtype), cleared=True)

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> DeviceArray:
        """Return an array with arbitrary values; arguments as for `zeros`."""
        return self._allocate(as_shape(shape), elements.as_dtype(dtype), cleared=False)

    def full(self, shape: int | tuple[int, ...], value: float, dtype: Any = None) -> DeviceArray:
        """Return an array that holds `value` everywhere.

        Args:
            shape: an int or a sequence of ints.
            value: a number.
            dtype: as for `zeros`; without it f32, i32 or bool, as `value` is.
        """
        wanted = elements.as_dtype(dtype if dtype is not None else _dtype_of(value))
        result = self._allocate(as_shape(shape), wanted, cleared=False)
        result.fill(value)
        return result

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until everything launched so far has run."""

    @abstractmethod
    def profile(self) -> Profile:
        """Return a context manager that times every launch inside it."""

    @abstractmethod
    def _upload(self, values: np.ndarray[Any, Any]) -> DeviceArray: ...

    @abstractmethod
    def _allocate(self, shape: Shape, dtype: np.dtype[Any], *, cleared: bool) -> DeviceArray: ...

    def __repr__(self) -> str:
        return f"<pywgsl {self.kind} device: {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.name,)


class NumpyDevice(Device):
    """NumPy on the host: the reference. Its arrays wrap ndarrays, and launches run at once."""

    name = kind = "numpy"

    def __init__(self) -> None:
        self.profiler: HostProfile | None = None

    def synchronize(self) -> None:
        """Do nothing: a launch has run when it returns."""

    def profile(self) -> HostProfile:
        """Return a context manager that measures the host's time for every launch inside it."""
        return HostProfile(self)

    def _upload(self, values: np.ndarray[Any, Any]) -> NumpyArray:
        return NumpyArray(self, np.array(values, order="C"))

    def _allocate(self, shape: Shape, dtype: np.dtype[Any], *, cleared: bool) -> NumpyArray:
        make = np.zeros if cleared else np.empty
        return NumpyArray(self, make(shape, dtype))


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What `pw.devices()` lists: enough to choose a device without opening it."""

    name: str
    kind: str
    backend: str
    software: bool
    default: bool


NUMPY = NumpyDevice()

_lock = threading.Lock()
_by_name: dict[str, Device] = {"numpy": NUMPY}
_by_adapter: dict[Any, Device] = {}


def device(name: str | None = None) -> Device:
    """Return a device; the same one each time it is asked for by the same name.

    Args:
        name: `"numpy"`; `"gpu"` for the best adapter, software ones included; or a part of an
            adapter's name, in any case. Without a name, that of the environment variable
            `PYWGSL_DEVICE`, or else a hardware GPU if there is one and NumPy if not.

    Raises:
        DeviceError: there is no such adapter.
        TypeError: the name is no text.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f'a device is named by a text, such as "gpu" or "numpy", not {name!r}')
    key = (name or os.environ.get("PYWGSL_DEVICE") or "").strip().lower()
    with _lock:
        found = _by_name.get(key)
        if found is None:
            found = _by_name[key] = _open(key)
        return found


def devices() -> list[DeviceInfo]:
    """Return every device that `pw.device` can open, the best first and NumPy last."""
    adapters = _adapters()
    hardware = bool(adapters) and not adapters[0].software
    found = [
        DeviceInfo(a.name, "gpu", a.backend, a.software, hardware and position == 0)
        for position, a in enumerate(adapters)
    ]
    return [*found, DeviceInfo("numpy", "numpy", "host", True, not hardware)]


def _open(key: str) -> Device:
    if not key:
        return _default()
    adapters = _adapters()
    if key == "gpu":
        if not adapters:
            raise DeviceError(f"there is no GPU adapter here; {_missing()}")
        return _device_of(adapters[0])
    matching = [a for a in adapters if key == a.name.lower()]
    matching = matching or [a for a in adapters if key in a.name.lower()]
    if not matching:
        names = ", ".join(f"`{a.name}`" for a in adapters) or f"none; {_missing()}"
        raise DeviceError(f"no adapter's name contains `{key}`; adapters here: {names}")
    return _device_of(matching[0])


def _default() -> Device:
    try:
        adapters = _adapters()
    except (ImportError, OSError, RuntimeError):
        # wgpu's library does not load; whoever asks for a GPU by name learns why.
        return NUMPY
    return _device_of(adapters[0]) if adapters and not adapters[0].software else NUMPY


def _device_of(adapter: Adapter) -> Device:
    from pywgsl.runtime.gpu import GpuDevice

    if adapter.name not in _by_adapter:
        _by_adapter[adapter.name] = GpuDevice(adapter)
    return _by_adapter[adapter.name]


def _adapters() -> tuple[Adapter, ...]:
    if importlib.util.find_spec("wgpu") is None:
        return ()
    from pywgsl.runtime.gpu import adapters

    return adapters()


def _missing() -> str:
    if importlib.util.find_spec("wgpu") is None:
        return "install wgpu with `pip install wgpu`"
    return _INSTALL


def _dtype_of(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.dtype
    return type(value)

"""Launching: `kernel[shape](*args)`, from the arguments to a device's queue.

The first launch with given arrays checks everything and keeps what it found; the next ones with
the same arrays only pack the uniform struct and queue.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pywgsl import ir
from pywgsl.errors import CompileError, LaunchError
from pywgsl.frontend.definition import KernelParameter, Kind
from pywgsl.runtime.arguments import Packed, bind, check_buffers, check_constant, numpy_value
from pywgsl.runtime.arrays import DeviceArray
from pywgsl.runtime.devices import NUMPY, Device, NumpyDevice
from pywgsl.runtime.generics import types_of_launch
from pywgsl.runtime.shapes import Groups, Triple, invocations
from pywgsl.runtime.specialization import Specialization

if TYPE_CHECKING:
    from pywgsl.kernel import Kernel
    from pywgsl.runtime.buffers import GpuArray
    from pywgsl.runtime.prepared import PreparedLaunch

#: As many combinations of arrays are remembered for each kernel and shape.
_MAX_PREPARED = 512


class Launcher:
    """`kernel[shape]`: call it with the kernel's arguments."""

    def __init__(self, kernel: Kernel, shape: Triple | Groups, device: Device | None) -> None:
        self._kernel = kernel
        self._shape = shape
        self._device = device
        self._parameters = kernel.parameters
        self._count = len(self._parameters)
        self._buffers = _positions(self._parameters, Kind.BUFFER)
        self._constants = _positions(self._parameters, Kind.CONST)
        self._variables = kernel.type_parameters
        self._prepared: dict[tuple[Any, ...], PreparedLaunch] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Run the kernel; on a GPU, queue it.

        Raises:
            LaunchError: the arguments do not fit; nothing has run.
        """
        values: Sequence[Any] = args
        if kwargs or len(args) != self._count:
            values = bind(self._kernel.name, self._parameters, args, kwargs)
        prepared = self._prepared.get(self._key(values))
        # Asked at every launch: a global that the kernel captured may have changed.
        if prepared is not None and prepared.captures.current():
            prepared.run(values)
            return
        try:
            self._launch(values)
        except (CompileError, LaunchError) as error:
            # The message says where the mistake is; pywgsl's own frames would only hide it.
            raise error.with_traceback(None) from error.__cause__

    def __repr__(self) -> str:
        shape = repr(self._shape)
        return f"<launch of {self._kernel.name} over {shape}>"

    def drop_bind_groups(self) -> None:
        """Forget which arrays this was launched with, and so let go of their buffers."""
        self._prepared.clear()

    def _key(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return what tells a prepared launch from others; arrays outside a GPU have none."""
        key = tuple([getattr(values[i], "key", None) for i in self._buffers])
        if self._constants:
            # By text, so that 1, 1.0 and True differ, and 0.0 and -0.0.
            key += tuple([repr(values[i]) for i in self._constants])
        return key

    def _launch(self, values: Sequence[Any]) -> None:
        """Check everything, and run."""
        kernel = self._kernel
        constants: dict[str, Any] = {
            self._parameters[i].name: check_constant(kernel.name, self._parameters[i], values[i])
            for i in self._constants
        }
        if self._variables:
            constants |= types_of_launch(kernel.name, self._variables, self._parameters, values)
        specialization = kernel.specialization(constants)
        module = specialization.module
        arrays = [values[i] for i in self._buffers]
        check_buffers(kernel.name, module.buffers, arrays)
        by_name = {p.name: value for p, value in zip(self._parameters, values, strict=True)}
        uniforms = {n: convert(by_name[n]) for n, convert in specialization.converters.items()}
        shape = invocations(
            kernel.name, self._shape, module.workgroup_size, whole=specialization.synchronizes
        )
        device = self._device or _common_device(kernel.name, module.buffers, arrays)
        if 0 in shape:
            return
        if isinstance(device, NumpyDevice):
            _run_on_numpy(device, specialization, shape, arrays, uniforms)
            return
        on_device = self._uploaded(device, values)
        self._run_on_gpu(specialization, shape, on_device)
        self._bring_back(module, values, on_device)

    def _run_on_gpu(
        self, specialization: Specialization, shape: Triple, values: Sequence[Any]
    ) -> None:
        from pywgsl.runtime.prepared import PreparedLaunch

        arrays: list[GpuArray] = [values[i] for i in self._buffers]
        if not arrays:
            raise LaunchError(
                f"{self._kernel.name} has no arrays, so it has nothing to do on a GPU"
            )
        device = arrays[0].device
        with device.queue.lock:
            prepared = PreparedLaunch(device, specialization, shape, arrays, self._parameters)
            if len(self._prepared) >= _MAX_PREPARED:
                self._prepared.clear()
            device.holds_bind_groups(self)
            self._prepared[self._key(values)] = prepared
            prepared.run(values)

    def _uploaded(self, device: Device, values: Sequence[Any]) -> list[Any]:
        """Return the values with every array on `device`."""
        result = list(values)
        for i in self._buffers:
            if not (isinstance(values[i], DeviceArray) and values[i].device is device):
                result[i] = device.array(values[i])
        return result

    def _bring_back(
        self, module: ir.Module, values: Sequence[Any], on_device: Sequence[Any]
    ) -> None:
        """Copy what the kernel wrote into the caller's arrays, where those were uploaded."""
        for i, buffer in zip(self._buffers, module.buffers, strict=True):
            if buffer.access is ir.Access.READ_WRITE and on_device[i] is not values[i]:
                np.copyto(_host_array(values[i]), on_device[i].numpy())


def _run_on_numpy(
    device: NumpyDevice,
    specialization: Specialization,
    shape: Triple,
    arrays: Sequence[Any],
    uniforms: Mapping[str, Packed],
) -> None:
    module = specialization.module
    arguments: dict[str, Any] = {
        buffer.name: _host_array(value)
        for buffer, value in zip(module.buffers, arrays, strict=True)
    }
    arguments |= {u.name: numpy_value(u.type, uniforms[u.name]) for u in module.uniforms}
    started = time.perf_counter()
    specialization.numpy.run(shape, arguments)
    if device.profiler is not None:
        device.profiler.record(module.name, shape, started)


def _common_device(kernel: str, buffers: Sequence[ir.Buffer], arrays: Sequence[Any]) -> Device:
    """Return the device on which all arrays live; ndarrays live on NumPy's."""
    found: Device = NUMPY
    for position, (buffer, value) in enumerate(zip(buffers, arrays, strict=True)):
        device = value.device if isinstance(value, DeviceArray) else NUMPY
        if position == 0:
            found = device
        elif device is not found:
            raise LaunchError(
                f"{kernel}: `{buffers[0].name}` is {_place(arrays[0])} and `{buffer.name}` is "
                f"{_place(value)}; put all arrays on one device with `device.array(…)`"
            )
    return found


def _place(value: Any) -> str:
    return f"on {value.device.name}" if isinstance(value, DeviceArray) else "an ndarray"


def _host_array(value: Any) -> np.ndarray[Any, Any]:
    """Return the memory of an ndarray or of an array of the NumPy device."""
    return np.asarray(value)


def _positions(parameters: Sequence[KernelParameter], kind: Kind) -> list[int]:
    return [i for i, p in enumerate(parameters) if p.kind is kind]

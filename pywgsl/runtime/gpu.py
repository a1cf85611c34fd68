"""GPU devices, through wgpu. Imported only when a GPU is asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from weakref import WeakSet

import numpy as np
import wgpu

from pywgsl.errors import DeviceError
from pywgsl.runtime import elements
from pywgsl.runtime.arrays import Shape
from pywgsl.runtime.buffers import Buffer, BufferPool, GpuArray, Storage, stored_values
from pywgsl.runtime.devices import Device
from pywgsl.runtime.layouts import Layout
from pywgsl.runtime.moving import MovingProgram
from pywgsl.runtime.queue import Queue
from pywgsl.runtime.timestamps import GpuProfile

_KINDS = ("DiscreteGPU", "IntegratedGPU", "Other", "Unknown", "CPU")
_BACKENDS = ("Metal", "Vulkan", "D3D12", "OpenGL")
_FEATURES = ("timestamp-query", "shader-f16", "subgroup")
_USAGE = "STORAGE|COPY_SRC|COPY_DST"

_LLVMPIPE_NOTE = (
    "llvmpipe ends the loops of an invocation after 65535 iterations in total, without an error "
    "(Mesa 22.3); use NumPy, SwiftShader or a hardware GPU for longer ones"
)


@dataclass(frozen=True)
class Adapter:
    """A GPU that can be opened. `name` is unique among those of this machine."""

    name: str
    backend: str
    software: bool
    handle: Any = field(repr=False, compare=False)


@cache
def adapters() -> tuple[Adapter, ...]:
    """Return this machine's adapters, the best first; each GPU once, by its best backend."""
    found = sorted(wgpu.gpu.enumerate_adapters_sync(), key=_rank)
    # OpenGL shows the same GPUs again, by other names.
    modern = [handle for handle in found if handle.info["backend_type"] != "OpenGL"]
    backend_of: dict[str, str] = {}
    result: list[Adapter] = []
    for handle in modern or found:
        device, backend = handle.info["device"], handle.info["backend_type"]
        if backend_of.setdefault(device, backend) != backend:
            continue
        same = sum(a.name == device or a.name.startswith(f"{device} #") for a in result)
        name = f"{device} #{same + 1}" if same else device
        result.append(Adapter(name, backend, handle.info["adapter_type"] == "CPU", handle))
    return tuple(result)


def _rank(handle: Any) -> tuple[int, int]:
    return (
        _position(_KINDS, handle.info["adapter_type"]),
        _position(_BACKENDS, handle.info["backend_type"]),
    )


def _position(names: tuple[str, ...], name: str) -> int:
    return names.index(name) if name in names else len(names)


class GpuDevice(Device):
    """A GPU.

    Attributes:
        gpu: wgpu's device.
        queue: where launches and transfers wait.
        features: wgpu's names of the optional features that are switched on.
        limits: wgpu's limits, by name; the adapter's own, not WebGPU's defaults.
        software: whether the "GPU" is a program on the host.
    """

    kind = "gpu"

    def __init__(self, adapter: Adapter) -> None:
        self.name = adapter.name
        self.software = adapter.software
        self.notes = (_LLVMPIPE_NOTE,) if "llvmpipe" in adapter.name.lower() else ()
        limits = adapter.handle.limits
        wanted = re.compile("max-.*(buffer|compute)")
        try:
            self.gpu = adapter.handle.request_device_sync(
                required_limits={k: v for k, v in limits.items() if wanted.match(k)},
                required_features=[f for f in _FEATURES if f in adapter.handle.features],
            )
        except (wgpu.GPUError, RuntimeError) as error:
            raise DeviceError(f"{self.name} cannot be opened: {error}") from error
        self.features = frozenset(self.gpu.features)
        self.limits = dict(self.gpu.limits)
        self.queue = Queue(self.gpu, self.name)
        self.pool = BufferPool(self._allocate_buffer, self._drop_bind_groups)
        self._moving = MovingProgram(self)
        # Everything that keeps bind groups, and can let go of them.
        self._holders: WeakSet[Any] = WeakSet()

    def synchronize(self) -> None:
        """Wait until everything launched so far has run."""
        self.queue.synchronize()

    def profile(self) -> GpuProfile:
        """Return a context manager that measures the GPU's time for every launch inside it."""
        return GpuProfile(self)

    def holds_bind_groups(self, holder: Any) -> None:
        """Register an object whose `drop_bind_groups()` is called when buffers are to be freed."""
        self._holders.add(holder)

    def set_layout(self, array: GpuArray, layout: Layout | None) -> None:
        """Lay an array's elements out as a kernel has them, or as NumPy does (None).

        The values are moved on the GPU, and stay as they are until something asks for another
        layout.
        """
        storage = array.storage
        if storage.layout == layout:
            return
        with self.queue.lock:
            if storage.layout is not None:
                self._move(array, storage.layout, to_gpu=False)
            if layout is not None:
                self._move(array, layout, to_gpu=True)

    def _move(self, array: GpuArray, layout: Layout, *, to_gpu: bool) -> None:
        elements = array.host_bytes // layout.host_bytes
        size = elements * (layout.gpu_bytes if to_gpu else layout.host_bytes)
        buffer, _ = self._take(size)
        self._moving.run(array.buffer, buffer, elements, layout, to_gpu=to_gpu)
        array.storage.replace(buffer, layout if to_gpu else None)

    def _upload(self, values: np.ndarray[Any, Any]) -> GpuArray:
        array = self._allocate(values.shape, values.dtype, cleared=False)
        if values.size:
            self.queue.write(array.buffer.gpu, stored_values(values))
        return array

    def _allocate(self, shape: Shape, dtype: np.dtype[Any], *, cleared: bool) -> GpuArray:
        with self.queue.lock:
            size = int(np.prod(shape, dtype=np.int64)) * elements.stored_dtype(dtype).itemsize
            self._check_size(size, shape, dtype)
            buffer, new = self._take(size)
            array = GpuArray(self, shape, dtype, Storage(buffer, self.pool))
            if cleared and not new and size:
                self.queue.clear(buffer.gpu, array.stored_bytes)
            return array

    def _check_size(self, size: int, shape: Shape, dtype: np.dtype[Any]) -> None:
        most = min(self.limits["max-buffer-size"], self.limits["max-storage-buffer-binding-size"])
        if size > most:
            raise DeviceError(
                f"a {dtype} array of shape {shape} takes {size / 2**20:.1f} MiB, but {self.name} "
                f"binds at most {most / 2**20:.1f} MiB at once; split it into several arrays"
            )

    def _take(self, size: int) -> tuple[Buffer, bool]:
        with self.queue.errors(f"allocating {size / 2**20:.1f} MiB"):
            try:
                return self.pool.take(size)
            except (wgpu.GPUOutOfMemoryError, MemoryError):
                self.queue.synchronize()
                self.pool.trim()
                return self.pool.take(size)

    def _allocate_buffer(self, size: int) -> Any:
        return self.gpu.create_buffer(size=size, usage=_USAGE)

    def _drop_bind_groups(self) -> None:
        for holder in list(self._holders):
            holder.drop_bind_groups()

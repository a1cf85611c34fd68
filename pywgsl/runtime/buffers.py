"""GPU memory: buffers, the pool that reuses them, and the arrays on top of them."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pywgsl.runtime import elements
from pywgsl.runtime.arrays import DeviceArray, Shape, resolve_shape
from pywgsl.runtime.layouts import Layout
from pywgsl.types import BOOL

if TYPE_CHECKING:
    from pywgsl.runtime.gpu import GpuDevice

#: No binding is smaller than this, however few values an array has: WebGPU refuses empty ones.
MIN_BINDING = 256
_serials = itertools.count()


class Buffer:
    """A storage buffer that a device has allocated, of at least the size asked for."""

    __slots__ = ("capacity", "gpu", "keys", "serial")

    def __init__(self, gpu: Any, capacity: int) -> None:
        self.gpu = gpu
        self.capacity = capacity
        self.serial = next(_serials)
        #: A number for each way in which this buffer has been used as an array; see `GpuArray.key`.
        self.keys: dict[Any, int] = {}


class BufferPool:
    """Buffers whose arrays are gone wait here for arrays of the same size.

    At most as many bytes wait as are in use, or 64 MiB; what exceeds it is freed, oldest first.

    Attributes:
        waiting_bytes: the size of all that waits.
    """

    _ALWAYS_KEPT = 1 << 26

    def __init__(self, allocate: Callable[[int], Any], dropping: Callable[[], None]) -> None:
        self._allocate = allocate
        self._dropping = dropping
        self._free: OrderedDict[Buffer, None] = OrderedDict()
        self._by_capacity: dict[int, list[Buffer]] = {}
        self.waiting_bytes = 0
        self._used_bytes = 0
        # Holding what is in use keeps the garbage collector from ending a buffer together with an
        # array in a cycle, though the array's end hands it back.
        self._used: set[Buffer] = set()
        # The garbage collector may end an array anywhere, even while this pool changes, so arrays
        # only append here.
        self.released: deque[Buffer] = deque()

    def take(self, size: int) -> tuple[Buffer, bool]:
        """Return a buffer for `size` bytes, and whether it is new (and so all zero)."""
        self._collect()
        capacity = max(MIN_BINDING, -(-size // 256) * 256)
        waiting = self._by_capacity.get(capacity)
        if waiting:
            buffer, new = waiting.pop(), False
            del self._free[buffer]
            self.waiting_bytes -= capacity
        else:
            buffer, new = Buffer(self._allocate(capacity), capacity), True
        self._used.add(buffer)
        self._used_bytes += capacity
        return buffer, new

    def trim(self) -> None:
        """Free every buffer that waits."""
        self._collect()
        self._free_down_to(0)

    def _collect(self) -> None:
        while self.released:
            buffer = self.released.popleft()
            self._free[buffer] = None
            self._by_capacity.setdefault(buffer.capacity, []).append(buffer)
            self.waiting_bytes += buffer.capacity
            self._used.remove(buffer)
            self._used_bytes -= buffer.capacity
        limit = max(self._ALWAYS_KEPT, self._used_bytes)
        if self.waiting_bytes > limit:
            # Half, so that the next array does not free again.
            self._free_down_to(limit // 2)

    def _free_down_to(self, bytes_kept: int) -> None:
        if self.waiting_bytes > bytes_kept:
            # Bind groups keep their buffers' memory, so they go first.
            self._dropping()
        while self.waiting_bytes > bytes_kept:
            buffer, _ = self._free.popitem(last=False)
            self._by_capacity[buffer.capacity].remove(buffer)
            self.waiting_bytes -= buffer.capacity


class Storage:
    """The memory of an array and of its reshaped views; it returns to the pool with the last."""

    __slots__ = ("__weakref__", "buffer", "layout", "pool", "views")

    def __init__(self, buffer: Buffer, pool: BufferPool) -> None:
        self.buffer = buffer
        self.pool = pool
        #: How the values lie, if not as NumPy has them.
        self.layout: Layout | None = None
        self.views: list[weakref.ref[GpuArray]] = []

    def replace(self, buffer: Buffer, layout: Layout | None) -> None:
        """Continue in another buffer, where the values are laid out differently."""
        old, self.buffer, self.layout = self.buffer, buffer, layout
        self.pool.released.append(old)
        for reference in self.views:
            view = reference()
            if view is not None:
                view.update_key()

    def __del__(self) -> None:
        self.pool.released.append(self.buffer)


class GpuArray(DeviceArray):
    """An array in a GPU's memory.

    Attributes:
        key: a number that two arrays share if a launch cannot tell them apart: the same buffer,
            shape and dtype, laid out the same.
    """

    __slots__ = ("_storage", "key")

    device: GpuDevice

    def __init__(
        self, device: GpuDevice, shape: Shape, dtype: np.dtype[Any], storage: Storage
    ) -> None:
        super().__init__(device, shape, dtype)
        self._storage = storage
        storage.views.append(weakref.ref(self))
        self.update_key()

    @property
    def buffer(self) -> Buffer:
        """The buffer that holds the values."""
        return self._storage.buffer

    @property
    def storage(self) -> Storage:
        """The memory, which views share."""
        return self._storage

    @property
    def stored_bytes(self) -> int:
        """Bytes of the buffer that hold values, a multiple of four."""
        size, layout = self.host_bytes, self._storage.layout
        if layout is not None:
            size = size // layout.host_bytes * layout.gpu_bytes
        return -(-size // 4) * 4

    @property
    def host_bytes(self) -> int:
        """Bytes that the values take where they lie as in NumPy (but for bools, which are u32)."""
        return self.size * elements.stored_dtype(self.dtype).itemsize

    def update_key(self) -> None:
        """Find the key again, after the storage has changed."""
        use = (self.shape, self.dtype, self._storage.layout)
        keys = self._storage.buffer.keys
        key = keys.get(use)
        if key is None:
            key = keys[use] = next(_serials)
        self.key = key

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy of the values, after everything launched so far has run."""
        if not self.size:
            return np.empty(self.shape, self.dtype)
        queue = self.device.queue
        with queue.lock:
            layout = self._storage.layout
            data = queue.read(self.buffer.gpu, self.stored_bytes)
        if layout is not None:
            count = self.host_bytes // layout.host_bytes
            data = layout.moved(data[: count * layout.gpu_bytes], to_gpu=False)
        stored = data[: self.host_bytes].view(elements.stored_dtype(self.dtype))
        values = stored.reshape(self.shape)
        return values.astype(np.bool_) if self.dtype == BOOL.dtype else values

    def reshape(self, *shape: int | Sequence[int]) -> GpuArray:
        """Return the same memory with another shape (one length may be -1)."""
        wanted = resolve_shape(shape, self.size)
        return GpuArray(self.device, wanted, self.dtype, self._storage)

    def copy(self) -> GpuArray:
        """Return a new array on the same device with the same values."""
        result = self.device.empty(self.shape, self.dtype)
        assert isinstance(result, GpuArray)
        result._assign(self)
        return result

    def fill(self, value: float) -> None:
        """Set every value to `value`."""
        values = np.full(self.shape, value, self.dtype)
        if stored_values(values).any():
            self._assign(values)
        elif self.size:
            self.device.queue.clear(self.buffer.gpu, self.stored_bytes)

    def _assign(self, values: DeviceArray | np.ndarray[Any, Any]) -> None:
        if not self.size:
            return
        queue = self.device.queue
        with queue.lock:
            if not (isinstance(values, GpuArray) and values.device is self.device):
                self.device.set_layout(self, None)
                queue.write(self.buffer.gpu, stored_values(np.asarray(values)))
            elif values.storage is not self._storage:
                self.device.set_layout(values, self._storage.layout)
                queue.copy(values.buffer.gpu, self.buffer.gpu, self.stored_bytes)


def stored_values(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values as bytes of a GPU buffer: bools as u32, a multiple of four of them."""
    flat = np.ascontiguousarray(values, elements.stored_dtype(values.dtype)).reshape(-1)
    data = flat.view(np.uint8)
    return np.concatenate([data, np.zeros(-data.size % 4, np.uint8)]) if data.size % 4 else data

"""The command queue of a GPU: launches wait here and are submitted together.

WebGPU runs the dispatches of a pass in order, each seeing what the ones before it stored, so all
that waits goes into one pass; only clearing and copying buffers end it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import wgpu

from pywgsl.errors import DeviceError
from pywgsl.runtime.uniforms import UniformArena

if TYPE_CHECKING:
    from pywgsl.runtime.timestamps import GpuProfile

#: As many launches wait at most; then they are submitted.
MAX_PENDING = 512
_ARENA_SIZE = 1 << 20
_MAX_STAGING = 1 << 26
_ERRORS = (wgpu.GPUError, RuntimeError, MemoryError)

Encode: TypeAlias = Callable[[Any], None]


class Dispatch:
    """A compute dispatch, ready to be encoded."""

    __slots__ = ("bind_group", "groups", "kernel", "pipeline", "shape")

    def __init__(
        self,
        kernel: str,
        shape: tuple[int, int, int],
        pipeline: Any,
        bind_group: Any,
        groups: tuple[int, int, int],
    ) -> None:
        self.kernel = kernel
        self.shape = shape
        self.pipeline = pipeline
        self.bind_group = bind_group
        self.groups = groups


#: What waits: a dispatch with its dynamic offsets, or None with an operation on the encoder.
Item: TypeAlias = tuple[Dispatch | None, tuple[Any, ...]]


class Queue:
    """Launches, transfers and waiting, in the order in which they were asked for; thread-safe."""

    def __init__(self, device: Any, device_name: str) -> None:
        self.lock = threading.RLock()
        self.profiler: GpuProfile | None = None
        self._device = device
        self._device_name = device_name
        self._queue = device.queue
        self._pending: list[Item] = []
        alignment = device.limits["min-uniform-buffer-offset-alignment"]
        self._arena = UniformArena(_ARENA_SIZE, alignment)
        self.uniforms = device.create_buffer(size=_ARENA_SIZE, usage="UNIFORM|COPY_DST")
        self._staging: Any = None
        # To poll in this thread is several times quicker than to let wgpu-py's thread do it.
        self._poll: Callable[[], None] | None = getattr(device, "_poll_wait", None)

    def push(self, dispatch: Dispatch, uniforms: bytes) -> None:
        """Queue a dispatch whose uniform struct has the given bytes (none: it has no struct)."""
        with self.lock:
            offsets = self._arena.offsets.get(uniforms)
            if offsets is None:
                offsets = self._place(uniforms)
            pending = self._pending
            pending.append((dispatch, offsets))
            if len(pending) >= MAX_PENDING:
                self.flush()

    def clear(self, buffer: Any, size: int) -> None:
        """Queue setting the first `size` bytes of a buffer to zero."""
        self._push_operation(lambda encoder: encoder.clear_buffer(buffer, 0, size))

    def copy(self, source: Any, destination: Any, size: int) -> None:
        """Queue copying the first `size` bytes from one buffer to another."""
        self._push_operation(_copying(source, 0, destination, size))

    def write(self, buffer: Any, data: np.ndarray[Any, Any]) -> None:
        """Write bytes (a multiple of four) to the start of a buffer, after all that was queued."""
        with self.lock, self.errors(f"writing {data.nbytes} bytes"):
            self.flush()
            self._queue.write_buffer(buffer, 0, data)

    def read(self, buffer: Any, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return the first `size` bytes (a multiple of four) of a buffer, after all so far."""
        result = np.empty(size, np.uint8)
        with self.lock, self.errors(f"reading {size} bytes"):
            for start in range(0, size, _MAX_STAGING):
                count = min(size - start, _MAX_STAGING)
                staging = self._staging_buffer(count)
                self._submit(_copying(buffer, start, staging, count))
                with self.mapped(staging, count) as view:
                    result[start : start + count] = np.frombuffer(view, np.uint8)
        return result

    def synchronize(self) -> None:
        """Wait until all that was queued has run."""
        with self.lock:
            try:
                if self._pending:
                    self._submit(None)
                self.wait()
            except _ERRORS as error:
                raise self._device_error("waiting for the device", error) from error

    def flush(self) -> None:
        """Submit what is queued, without waiting for it."""
        with self.lock:
            if self._pending:
                self._submit(None)

    def submit(self, items: Sequence[Item], last: Encode | None = None) -> None:
        """Encode and submit items now, then `last`, an operation on the encoder."""
        encoder = self._device.create_command_encoder()
        encode(encoder, items)
        if last is not None:
            last(encoder)
        self._queue.submit([encoder.finish()])

    def wait(self) -> None:
        """Wait until all that was submitted has run."""
        if self._poll is not None:
            self._poll()
            return
        # (`on_submitted_work_done` is meant for this, but fails in wgpu-py 0.32.)
        fence = self._staging_buffer(4)
        self.submit([], lambda encoder: encoder.clear_buffer(fence, 0, 4))
        with self.mapped(fence, 4):
            pass

    @contextmanager
    def mapped(self, buffer: Any, size: int) -> Iterator[memoryview]:
        """Wait for what was submitted to fill a buffer, and give its first `size` bytes."""
        # wgpu-py precedes a plain "READ" with an empty submission, which nothing here needs.
        promise = buffer.map_async("READ_NOSYNC", 0, size)
        if self._poll is not None:
            self._poll()
        promise.sync_wait()
        try:
            yield buffer.read_mapped(0, size, copy=False)
        finally:
            buffer.unmap()

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn wgpu's errors into a `DeviceError` that says what was being done."""
        try:
            yield
        except _ERRORS as error:
            raise self._device_error(doing, error) from error

    def _device_error(self, doing: str, error: BaseException) -> DeviceError:
        if isinstance(error, DeviceError):
            return error
        text = str(error).strip()
        what = "refused it"
        if isinstance(error, MemoryError) or "out of memory" in text.lower():
            what = "ran out of memory"
        elif re.search(r"device.{0,12}\blost\b", text, re.IGNORECASE):
            what = "was lost"
        return DeviceError(f"{doing}: {self._device_name} {what}\n{text}")

    def _place(self, uniforms: bytes) -> tuple[int, ...]:
        offsets = self._arena.place(uniforms)
        if offsets is None:
            # Everything that refers to the old structs is submitted before they are overwritten.
            self.flush()
            self._arena.start_over()
            offsets = self._arena.place(uniforms)
        assert offsets is not None, "a uniform struct is never larger than the arena"
        return offsets

    def _push_operation(self, operation: Encode) -> None:
        with self.lock:
            self._pending.append((None, (operation,)))
            if len(self._pending) >= MAX_PENDING:
                self.flush()

    def _submit(self, last: Encode | None) -> None:
        """Submit what waits, then `last`."""
        pending, self._pending = self._pending, []
        dirty = self._arena.take_dirty()
        if dirty is not None:
            self._queue.write_buffer(self.uniforms, *dirty)
        if self.profiler is not None and pending:
            with self.errors("a profiled launch"):
                self.profiler.run(pending)
            pending = []
        try:
            self.submit(pending, last)
        except _ERRORS as error:
            self._explain(pending, error)

    def _explain(self, pending: list[Item], error: BaseException) -> None:
        """Run what was refused as a whole one by one, to name the launch that is to blame.

        What was queued before it has then run; what was queued after it is dropped.
        """
        for item in pending:
            dispatch, _ = item
            with self.errors("a transfer" if dispatch is None else launch_name(dispatch)):
                self.submit([item])
        raise self._device_error("submitting launches", error) from error

    def _staging_buffer(self, size: int) -> Any:
        """Return a buffer that the host can read; the same one while it is large enough."""
        # An interrupted wait leaves it in a state in which it cannot be mapped again.
        usable = self._staging is not None and self._staging.map_state == "unmapped"
        if not usable or self._staging.size < size:
            capacity = max(4096, 1 << (size - 1).bit_length())
            self._staging = self._device.create_buffer(size=capacity, usage="COPY_DST|MAP_READ")
        return self._staging


def encode(encoder: Any, items: Sequence[Item], **options: Any) -> None:
    """Encode items, the dispatches in as few passes (begun with `options`) as the order allows."""
    compute = pipeline = bind_group = offsets = None
    for dispatch, operands in items:
        if dispatch is None:
            if compute is not None:
                compute.end()
                compute = pipeline = bind_group = None
            operands[0](encoder)
            continue
        if compute is None:
            compute = encoder.begin_compute_pass(**options)
        if dispatch.pipeline is not pipeline:
            pipeline = dispatch.pipeline
            compute.set_pipeline(pipeline)
        if dispatch.bind_group is not bind_group or operands is not offsets:
            bind_group, offsets = dispatch.bind_group, operands
            compute.set_bind_group(0, bind_group, offsets)
        compute.dispatch_workgroups(*dispatch.groups)
    if compute is not None:
        compute.end()


def launch_name(dispatch: Dispatch) -> str:
    """Return how the author wrote a launch: `kernel[1024]`."""
    x, y, z = dispatch.shape
    shape = (x, y, z) if z != 1 else (x, y) if y != 1 else (x,)
    return f"{dispatch.kernel}[{', '.join(map(str, shape))}]"


def _copying(source: Any, start: int, destination: Any, size: int) -> Encode:
    return lambda encoder: encoder.copy_buffer_to_buffer(source, start, destination, 0, size)

"""Timing launches on a GPU, by timestamp queries where it has them."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from pywgsl.runtime.profile import Profile
from pywgsl.runtime.queue import MAX_PENDING, Item, encode

if TYPE_CHECKING:
    from pywgsl.runtime.gpu import GpuDevice


class GpuProfile(Profile):
    """The GPU's time for each launch: each runs in a pass of its own, between two timestamps.

    Without the feature `timestamp-query`, the host's time from submitting a launch to its end.
    """

    def __init__(self, device: GpuDevice) -> None:
        super().__init__(device.name)
        self._device = device
        self._outer: GpuProfile | None = None
        self._queries: Any = None
        if "timestamp-query" in device.features:
            self.clock = "gpu"
            count = 2 * MAX_PENDING
            gpu = device.gpu
            self._queries = gpu.create_query_set(type="timestamp", count=count)
            self._resolved = gpu.create_buffer(size=8 * count, usage="QUERY_RESOLVE|COPY_SRC")
            self._readable = gpu.create_buffer(size=8 * count, usage="COPY_DST|MAP_READ")

    def __enter__(self) -> GpuProfile:
        queue = self._device.queue
        with queue.lock:
            queue.flush()
            self._outer, queue.profiler = queue.profiler, self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        queue = self._device.queue
        with queue.lock:
            try:
                queue.flush()
            finally:
                queue.profiler = self._outer

    def run(self, items: list[Item]) -> None:
        """Submit items and record how long each dispatch took."""
        if self._queries is None:
            self._run_one_by_one(items)
        else:
            self._run_with_timestamps(items)

    def _run_with_timestamps(self, items: list[Item]) -> None:
        gpu = self._device.gpu
        encoder = gpu.create_command_encoder()
        dispatches = [dispatch for dispatch, _ in items if dispatch is not None]
        position = 0
        for item in items:
            if item[0] is None:
                encode(encoder, [item])
            else:
                encode(encoder, [item], timestamp_writes=self._timestamps(position))
                position += 1
        size = 16 * len(dispatches)
        encoder.resolve_query_set(self._queries, 0, 2 * len(dispatches), self._resolved, 0)
        encoder.copy_buffer_to_buffer(self._resolved, 0, self._readable, 0, size)
        gpu.queue.submit([encoder.finish()])
        with self._device.queue.mapped(self._readable, size) as view:
            stamps = np.frombuffer(view, np.uint64).reshape(-1, 2).tolist()
        for dispatch, (start, end) in zip(dispatches, stamps, strict=True):
            # A clock that was reset between the two would give a negative time.
            self._add(dispatch.kernel, dispatch.shape, start * 1e-9, max(0, end - start) * 1e-9)

    def _timestamps(self, position: int) -> dict[str, Any]:
        return {
            "query_set": self._queries,
            "beginning_of_pass_write_index": 2 * position,
            "end_of_pass_write_index": 2 * position + 1,
        }

    def _run_one_by_one(self, items: list[Item]) -> None:
        queue = self._device.queue
        for item in items:
            started = time.perf_counter()
            queue.submit([item])
            queue.wait()
            dispatch, _ = item
            if dispatch is not None:
                elapsed = time.perf_counter() - started
                self._add(dispatch.kernel, dispatch.shape, started, elapsed)

"""Times of launches: a table, and a trace for Perfetto."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pywgsl.runtime.devices import NumpyDevice


@dataclass(frozen=True, slots=True)
class Event:
    """One launch. Times are in seconds; `start` counts from the first launch of the profile."""

    kernel: str
    shape: tuple[int, int, int]
    start: float
    duration: float


@dataclass(frozen=True, slots=True)
class Row:
    """All launches of one kernel. Times are in seconds."""

    kernel: str
    count: int
    total: float
    mean: float
    min: float
    max: float


class Profile(ABC):
    """What `with device.profile() as p:` gives.

    Attributes:
        events: every launch, in order.
        clock: `"gpu"` if the times are the GPU's own, `"host"` if the host measured them.
    """

    clock = "host"

    def __init__(self, device_name: str) -> None:
        self.device_name = device_name
        self.events: list[Event] = []

    @property
    def rows(self) -> list[Row]:
        """One row for each kernel, the one that took longest first."""
        durations: dict[str, list[float]] = {}
        for event in self.events:
            durations.setdefault(event.kernel, []).append(event.duration)
        rows = [
            Row(kernel, len(d), sum(d), sum(d) / len(d), min(d), max(d))
            for kernel, d in durations.items()
        ]
        return sorted(rows, key=lambda row: -row.total)

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the launches as Chrome trace events, which Perfetto opens (https://ui.perfetto.dev)."""
        import json

        events: list[dict[str, object]] = [
            {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": self.device_name}}
        ]
        events += [
            {
                "name": event.kernel,
                "cat": self.clock,
                "ph": "X",
                "ts": event.start * 1e6,
                "dur": event.duration * 1e6,
                "pid": 1,
                "tid": 1,
                "args": {"shape": list(event.shape)},
            }
            for event in self.events
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, file)

    def __str__(self) -> str:
        rows = self.rows
        width = max([len("kernel"), *(len(row.kernel) for row in rows)])
        header = f"{'kernel':<{width}}  {'count':>7}"
        header += "".join(f"  {name:>10}" for name in ("total", "mean", "min", "max"))
        lines = [header + f"   ({self.clock} time on {self.device_name})"]
        for row in rows:
            times = "".join(f"  {_time(t):>10}" for t in (row.total, row.mean, row.min, row.max))
            lines.append(f"{row.kernel:<{width}}  {row.count:>7}{times}")
        return "\n".join(lines)

    @abstractmethod
    def __enter__(self) -> Profile: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def _add(self, kernel: str, shape: tuple[int, int, int], start: float, duration: float) -> None:
        """Record a launch; `start` is in seconds of any clock, which the first launch sets to 0."""
        if not self.events:
            self._origin = start
        self.events.append(Event(kernel, shape, start - self._origin, duration))


class HostProfile(Profile):
    """The host's time for each launch on NumPy."""

    def __init__(self, device: NumpyDevice) -> None:
        super().__init__(device.name)
        self._device = device
        self._outer: HostProfile | None = None

    def __enter__(self) -> HostProfile:
        self._outer, self._device.profiler = self._device.profiler, self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._device.profiler = self._outer

    def record(self, kernel: str, shape: tuple[int, int, int], started: float) -> None:
        """Record a launch that started at `started` on `time.perf_counter` and has just ended."""
        self._add(kernel, shape, started, time.perf_counter() - started)


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"

"""GPU time of the kernel library beside PyTorch's CUDA kernels, on the same GPU in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pywgsl as pw

ROUNDS = 20
_WARM_UP = 0.3


@dataclass(frozen=True)
class Comparison:
    """One piece of work: ours, PyTorch's (given the torch module), and the ratio that is wanted."""

    name: str
    ours: Callable[[], object]
    torch: Callable[[Any], Callable[[], object]] | None
    bar: float | None
    moved: int = 0  # bytes that have to be read and written at least


def compare(device: pw.Device, comparisons: Sequence[Comparison]) -> None:
    """Print a table; PyTorch's side is empty where there is no CUDA."""
    torch = _torch()
    print(f"{'work':44} {'pywgsl':>10} {'PyTorch':>10} {'speed':>7}   {'bar':>5} {'GB/s':>6}")
    for comparison in comparisons:
        mine = gpu_time(device, comparison.ours)
        line = f"{comparison.name:44} {1e6 * mine:7.1f} µs"
        if torch is not None and comparison.torch is not None:
            theirs = cuda_time(torch, comparison.torch(torch))
            bar = f"{comparison.bar:4.2f}x" if comparison.bar else ""
            line += f" {1e6 * theirs:7.1f} µs {theirs / mine:6.2f}x   {bar:>5}"
        else:
            line += " " * 29
        print(line + (f" {comparison.moved / mine / 1e9:6.0f}" if comparison.moved else ""))


def gpu_time(device: pw.Device, function: Callable[[], object]) -> float:
    """Return the median over rounds of the GPU time of all launches of a call, in seconds."""
    _warm_up(function, device.synchronize)
    times = []
    for _ in range(ROUNDS):
        with device.profile() as profile:
            function()
        times.append(sum(row.total for row in profile.rows))
    return statistics.median(times)


def cuda_time(torch: Any, function: Callable[[], object]) -> float:
    """Return the median time of a call between two CUDA events, in seconds."""
    _warm_up(function, torch.cuda.synchronize)
    times = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


def _warm_up(function: Callable[[], object], wait: Callable[[], object]) -> None:
    """Run until the GPU has raised its clocks, which takes longer than compiling."""
    started = time.perf_counter()
    while time.perf_counter() - started < _WARM_UP:
        function()
        wait()


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None

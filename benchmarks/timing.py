"""Timing on noisy machines: two sides in turns, and the best of many rounds of each."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(function: Callable[[], object], rounds: int = 15) -> float:
    """Return the shortest of several runs, in seconds."""
    return min(_seconds(function) for _ in range(rounds))


def side_by_side(
    ours: Callable[[], object], by_hand: Callable[[], object], rounds: int = 25
) -> tuple[float, float]:
    """Return the shortest run of each, in seconds, the two having taken turns."""
    ours(), by_hand()  # warm up
    pairs = [(_seconds(ours), _seconds(by_hand)) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def _seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started

"""Integers that grow evenly from lane to lane, and the boxes of lanes that conditions on them make.

As an index such an integer makes a slice, where an array of indices would have to be gathered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

INT_MIN, INT_MAX = -(2**31), 2**31 - 1

Shape: TypeAlias = tuple[int, ...]
Index: TypeAlias = Any


class Affine:
    """An integer that grows by a fixed step along each axis: `start + sum(step * position)`.

    As an index it makes a slice. Where another value is needed, `lanes` is the array.
    """

    __slots__ = ("_lanes", "counts", "high", "low", "moves", "start", "steps")
    # NumPy's scalars leave arithmetic with an Affine to it.
    __array_ufunc__ = None

    def __init__(
        self,
        start: int,
        steps: Shape,
        counts: Shape,
        moves: list[tuple[int, int]] | None = None,
    ) -> None:
        self.start = self.low = self.high = start
        self.steps = steps
        self.counts = counts
        if moves is None:
            moves = [(axis, step) for axis, step in enumerate(steps) if step]
        #: The axes along which it grows, and by how much.
        self.moves = moves
        self._lanes: Any = None
        for axis, step in self.moves:
            if step > 0:
                self.high += step * (counts[axis] - 1)
            else:
                self.low += step * (counts[axis] - 1)

    @property
    def lanes(self) -> Any:
        """The value in each lane, as int32 (which wraps)."""
        if self._lanes is None:
            rank = len(self.counts)
            total: Any = _int32(self.start)
            for axis, step in self.moves:
                along = np.arange(self.counts[axis], dtype=np.int32) * _int32(step)
                total = total + along.reshape((-1,) + (1,) * (rank - 1 - axis))
            self._lanes = np.atleast_1d(total)
        return self._lanes

    def at(self, position: Sequence[int]) -> int:
        """The value in one lane."""
        return self.start + sum([step * position[axis] for axis, step in self.moves])

    def part(self, firsts: Shape, counts: Shape) -> Affine:
        """The same integer in a box of the lanes."""
        return Affine(self.at(firsts), self.steps, counts, self.moves)

    def __add__(self, other: Any) -> Affine:
        if isinstance(other, Affine):
            steps = tuple(a + b for a, b in zip(self.steps, other.steps, strict=True))
            return Affine(self.start + other.start, steps, self.counts)
        return Affine(self.start + int(other), self.steps, self.counts, self.moves)

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Any) -> Affine:
        return self + (-other if isinstance(other, Affine) else -int(other))

    def __rsub__(self, other: Any) -> Affine:
        return Affine(int(other), (0,) * len(self.steps), self.counts) - self

    def __mul__(self, other: Any) -> Affine:
        factor = int(other)
        return Affine(self.start * factor, tuple(s * factor for s in self.steps), self.counts)

    __rmul__ = __mul__

    # Comparisons with what all lanes agree on, of what grows along one axis.

    def __lt__(self, other: Any) -> Lanes:
        return self._between(None, int(other) - 1)

    def __le__(self, other: Any) -> Lanes:
        return self._between(None, int(other))

    def __gt__(self, other: Any) -> Lanes:
        return self._between(int(other) + 1, None)

    def __ge__(self, other: Any) -> Lanes:
        return self._between(int(other), None)

    def __eq__(self, other: Any) -> Lanes:  # type: ignore[override]  # as NumPy's
        return self._between(int(other), int(other))

    __hash__ = None  # type: ignore[assignment]  # equal to nothing as a whole

    def _between(self, low: int | None, high: int | None) -> Lanes:
        """The lanes from `low` to `high`."""
        low, high = INT_MIN if low is None else low, INT_MAX if high is None else high
        if not self.moves:
            inside = low <= int(_int32(self.start)) <= high
            return Lanes(0, [(0, self.counts[0])] if inside else [])
        ((axis, step),) = self.moves
        count = self.counts[axis]
        if self.low < INT_MIN or self.high > INT_MAX:
            values = np.ravel(self.lanes)
            return Lanes(axis, runs((values >= low) & (values <= high)))
        first, end = lanes_in_range(self.start - low, step, high - low + 1)
        first, end = max(first, 0), min(end, count)
        return Lanes(axis, [(first, end)] if first < end else [])


def _int32(value: int) -> np.int32:
    return np.int32((value - INT_MIN) % 2**32 + INT_MIN)


def lanes_in_range(start: int, step: int, length: int) -> tuple[int, int]:
    """The first lane k with `0 <= start + step * k < length`, and the lane after the last."""
    if step > 0:
        return -(start // step), -((start - length) // step)
    return (start - length) // -step + 1, start // -step + 1


def runs(test: Any) -> list[tuple[int, int]]:
    """The first lane of each run for which a test holds, and the lane after its last."""
    edges = (np.flatnonzero(test[1:] != test[:-1]) + 1).tolist()
    edges = [0] * bool(test[0]) + edges + [len(test)] * bool(test[-1])
    return list(zip(edges[::2], edges[1::2], strict=True))


class Lanes(NamedTuple):
    """Runs of lanes along one axis: the first of each, and the one after its last."""

    axis: int
    runs: list[tuple[int, int]]


class Box(NamedTuple):
    """The lanes from `firsts` on whose indices are in range; no counts if there are none."""

    firsts: Shape
    counts: Shape

    def indices(self, indices: tuple[Index, ...]) -> tuple[Index, ...]:
        """The indices in these lanes."""
        return tuple(i.part(self.firsts, self.counts) if type(i) is Affine else i for i in indices)

    def part(self, value: Any, depth: int) -> Any:
        """The lanes of a value (with `depth` axes of components) that are in the box."""
        lanes = np.ndim(value) - depth
        if not lanes:
            return value
        key = tuple(
            slice(first, first + count) if length > 1 else slice(None)
            for first, count, length in zip(
                self.firsts[-lanes:], self.counts[-lanes:], np.shape(value), strict=False
            )
        )
        return value[key]


def boxes(counts: Shape, tests: Sequence[Lanes]) -> Iterator[Box]:
    """Yield the boxes of lanes, of `counts` in all, that all tests leave."""
    firsts, ends = [0] * len(counts), list(counts)
    for position, (axis, runs) in enumerate(tests):
        if len(runs) != 1:
            for run in runs:
                alone = Lanes(axis, [run])
                yield from boxes(counts, (*tests[:position], alone, *tests[position + 1 :]))
            return
        ((first, end),) = runs
        firsts[axis], ends[axis] = max(firsts[axis], first), min(ends[axis], end)
        if firsts[axis] >= ends[axis]:
            return
    yield Box(tuple(firsts), tuple([e - f for f, e in zip(firsts, ends, strict=True)]))

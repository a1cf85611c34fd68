"""Where the lanes of a block are in a launch, and in their workgroups.

An id is an `Affine`: it grows along axes of the block's arrays, whose letters (see
`pywgsl.analysis.axes.Order`) and lengths are kept slowest first, as NumPy has them. `x` stands for
the axis of the launch; where workgroups matter, for the place in a workgroup, and `X` for the
workgroups of the block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pywgsl.runtime.affine import Affine, Box, Lanes, Shape, boxes

#: How many invocations a subgroup has, where the workgroup has as many.
SUBGROUP_SIZE = 32

Triple = tuple[int, int, int]


class Launch(NamedTuple):
    """What all blocks of a launch have in common.

    Attributes:
        letters: the axes of arrays, slowest first.
        shape: how many invocations there are along x, y and z.
        workgroup_size: how many a workgroup has.
    """

    letters: str
    shape: Triple
    workgroup_size: Triple


class Ids:
    """The ids in a block of lanes, or in a box of it."""

    def __init__(
        self, launch: Launch, first: Triple, counts: Shape, box: Box | None = None
    ) -> None:
        self._launch = launch
        self._first = first
        #: How many lanes there are along each axis, slowest first.
        self.counts = counts
        self._firsts: Shape = (0,) * len(counts)
        #: Where the lanes are among those of which they are a part.
        self._box = box
        self._known: dict[str, Affine] = {}

    def _grown(self, start: int, steps: dict[str, int]) -> Affine:
        along = tuple([steps.get(letter, 0) for letter in self._launch.letters])
        start += sum(map(int.__mul__, along, self._firsts))
        return Affine(start, along, self.counts)

    def _place(self, letter: str) -> Affine:
        """The place among the lanes of the block along an axis."""
        known = self._known.get(letter)
        if known is None:
            letters = self._launch.letters
            steps = tuple([int(letter == other) for other in letters])
            axis = letters.index(letter)
            known = Affine(self._firsts[axis], steps, self.counts, [(axis, 1)])
            self._known[letter] = known
        return known

    # --------------------------------------------------------------------------------- ids

    def _global(self, axis: int) -> Affine:
        size = self._launch.workgroup_size[axis]
        return self._grown(self._first[axis], {"xyz"[axis]: 1, "XYZ"[axis]: size})

    @cached_property
    def x(self) -> Affine:
        """The global id along x."""
        return self._global(0)

    @cached_property
    def y(self) -> Affine:
        """The global id along y."""
        return self._global(1)

    @cached_property
    def z(self) -> Affine:
        """The global id along z."""
        return self._global(2)

    def local(self, axis: int) -> Affine:
        """The place in the workgroup along an axis."""
        return self._place("xyz"[axis])

    def workgroup(self, axis: int) -> Affine:
        """Which workgroup it is along an axis."""
        return self._place("XYZ"[axis]) + self._first[axis] // self._launch.workgroup_size[axis]

    def nth(self, axis: int) -> Affine:
        """Which workgroup of the block it is along an axis."""
        return self._place("XYZ"[axis])

    def num_workgroups(self, axis: int) -> Any:
        """How many workgroups there are along an axis."""
        return np.int32(-(-self._launch.shape[axis] // self._launch.workgroup_size[axis]))

    @cached_property
    def local_index(self) -> Affine:
        """The place in the workgroup, x fastest."""
        x, y, _ = self._launch.workgroup_size
        return self._grown(0, {"x": 1, "y": x, "z": x * y})

    # --------------------------------------------------------------------------- subgroups

    @property
    def subgroup_size(self) -> Any:
        """How many invocations a subgroup has room for: a power of two."""
        lanes = math.prod(self._launch.workgroup_size)
        return np.int32(min(SUBGROUP_SIZE, 1 << (lanes - 1).bit_length()))

    @property
    def num_subgroups(self) -> Any:
        """How many subgroups a workgroup has."""
        return np.int32(-(-math.prod(self._launch.workgroup_size) // int(self.subgroup_size)))

    @property
    def subgroup_invocation_id(self) -> Any:
        """The place in the subgroup."""
        return self.local_index.lanes % self.subgroup_size

    @property
    def subgroup_id(self) -> Any:
        """Which subgroup of the workgroup it is."""
        return self.local_index.lanes // self.subgroup_size

    # -------------------------------------------------------------------------- the lanes

    def over(self, axes: str) -> Shape:
        """The shape of a value that differs along `axes`."""
        letters = self._launch.letters
        first = min((letters.index(letter) for letter in axes), default=len(letters))
        pairs = zip(letters[first:], self.counts[first:], strict=True)
        return tuple([count if letter in axes else 1 for letter, count in pairs])

    @cached_property
    def local_axes(self) -> tuple[int, ...]:
        """The positions of the axes inside a workgroup."""
        return tuple([k for k, letter in enumerate(self._launch.letters) if letter.islower()])

    def memory(self, axes: str, shape: Shape, dtype: Any) -> Any:
        """Workgroup memory, zero: one for each workgroup along `axes`, slowest first."""
        letters = self._launch.letters
        groups = [self.counts[letters.index(letter)] for letter in axes]
        return np.zeros((*(groups or (1,)), *shape), dtype)

    def invocations(self, mask: Any) -> Iterator[tuple[Shape, Triple]]:
        """Yield each active lane, x fastest: its position, and its global id."""
        for position in np.argwhere(np.broadcast_to(mask, self.counts)).tolist():
            x, y, z = (self._global(axis).at(position) for axis in range(3))
            yield tuple(position), (x, y, z)

    # --------------------------------------------------------------------------- the parts

    def parts(self, *tests: Lanes) -> Iterator[Ids]:
        """Yield the boxes of lanes for which all tests hold: mostly one, or none."""
        for box in boxes(self.counts, tests):
            narrows = box.counts != self.counts
            part = Ids(self._launch, self._first, box.counts, box if narrows else None)
            part._firsts = tuple(map(int.__add__, self._firsts, box.firsts))
            yield part

    def strides(self, start: Affine, stop: Any, step: Any) -> Iterator[tuple[Ids, Affine]]:
        """Yield for each trip of `range(start, stop, step)` the lanes that make it, and the index.

        `start` grows along one axis.
        """
        stop, step, trip = int(stop), int(step), 0
        whole = next(self.parts())
        while step:
            bound = stop - trip * step
            lanes = start < bound if step > 0 else start > bound
            if not lanes.runs:
                return
            index = start + trip * step
            if lanes.runs == [(0, self.counts[lanes.axis])]:
                yield whole, index
            else:
                for part in self.parts(lanes):
                    yield part, part.of(index)
            trip += 1

    def of(self, value: Any, depth: int = 0) -> Any:
        """The lanes of this part, of a value (with `depth` axes of components) in the whole."""
        if self._box is None:
            return value
        if isinstance(value, Affine):
            return value.part(self._box.firsts, self._box.counts)
        return self._box.part(value, depth)

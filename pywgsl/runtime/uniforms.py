"""Packing the uniform struct, and a buffer of packed ones that launches share."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from pywgsl.codegen.layout import (
    AxisLength,
    LaunchSize,
    Origin,
    ParameterValue,
    UniformLayout,
)
from pywgsl.runtime.elements import pack_format


class UniformPacker:
    """Turns the numbers of a launch into the bytes of its uniform struct.

    The parameters come first in the struct, so a launch's bytes are those of its parameters
    and a tail that stays the same while its arrays and shape do.
    """

    def __init__(self, layout: UniformLayout) -> None:
        self.size = layout.size
        self._tail_origins = [
            f.origin for f in layout.fields if not isinstance(f.origin, ParameterValue)
        ]
        self._struct = struct.Struct(_format(layout))
        self.pack = self._struct.pack

    def tail(self, shapes: Mapping[str, Sequence[int]], launch: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers after the parameters: lengths of axes and of the launch."""
        return tuple(_length(origin, shapes, launch) for origin in self._tail_origins)


class UniformArena:
    """One GPU buffer that holds the uniform structs of many launches, found by their bytes.

    A struct is placed once and found again as long as the arena has not started over. What was
    placed since the last `take_dirty` has yet to be written to the GPU.
    """

    def __init__(self, size: int, alignment: int) -> None:
        self.size = size
        self._alignment = alignment
        self._host = bytearray(size)
        self._written = 0
        self._end = 0
        #: The dynamic offsets of the struct with these bytes; a launch without one has none.
        self.offsets: dict[bytes, tuple[int, ...]] = {b"": ()}

    def place(self, data: bytes) -> tuple[int, ...] | None:
        """Return where new bytes lie from now on, or None if the arena is full."""
        end = self._end + len(data)
        if end > self.size:
            return None
        self._host[self._end : end] = data
        offsets = self.offsets[data] = (self._end,)
        self._end = -(-end // self._alignment) * self._alignment
        return offsets

    def start_over(self) -> None:
        """Forget all structs; the launches that use them must have been submitted."""
        self.offsets = {b"": ()}
        self._written = self._end = 0

    def take_dirty(self) -> tuple[int, memoryview] | None:
        """Return the offset and bytes placed since the last call, or None if there are none."""
        if self._written == self._end:
            return None
        start, self._written = self._written, self._end
        return start, memoryview(self._host)[start : min(self._end, self.size)]


def _format(layout: UniformLayout) -> str:
    parts, end = ["<"], 0
    for field in layout.fields:
        parts.append("x" * (field.offset - end) + pack_format(field.type))
        end = field.offset + field.size
    parts.append("x" * (layout.size - end))
    return "".join(parts)


def _length(origin: Origin, shapes: Mapping[str, Sequence[int]], launch: Sequence[int]) -> Any:
    match origin:
        case AxisLength(array=array, axis=axis):
            return shapes[array][axis]
        case LaunchSize(axis=axis):
            return launch[axis]
        case ParameterValue():
            raise AssertionError("parameters are not part of the tail")

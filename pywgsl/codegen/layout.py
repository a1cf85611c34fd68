"""The generated uniform struct: which numbers a launch sends beside its buffers, and where they lie.

The WGSL emitter declares the struct, the runtime fills it, reflection describes it; all three read it
here. Only what the module uses is in it: parameters, the lengths of buffers' axes, and how many
invocations were asked for along axes whose workgroups can overhang.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from pywgsl import ir
from pywgsl.types import BOOL, I32, U32, RuntimeArray, Type, align_of, size_of


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """The value of a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class AxisLength:
    """The length of a buffer along an axis."""

    array: str
    axis: int


@dataclass(frozen=True, slots=True)
class LaunchSize:
    """The number of invocations asked for along an axis (x, y, z: 0, 1, 2)."""

    axis: int


Origin: TypeAlias = ParameterValue | AxisLength | LaunchSize


class Grid(enum.Enum):
    """How workgroups are laid over the launch."""

    PLAIN = "plain"  # one workgroup index an axis
    FOLDED = "folded"  # more than 65535 along x: they continue along y


@dataclass(frozen=True, slots=True)
class UniformField:
    """One member of the struct. A bool travels as u32."""

    name: str
    type: Type
    offset: int
    origin: Origin

    @property
    def size(self) -> int:
        """Bytes."""
        return size_of(self.type)


@dataclass(frozen=True, slots=True)
class UniformLayout:
    """The struct; `size` is a multiple of its alignment, and 0 if there are no fields."""

    fields: tuple[UniformField, ...]
    size: int

    def field(self, origin: Origin) -> UniformField:
        """Return the field that carries `origin`."""
        return next(f for f in self.fields if f.origin == origin)


def uniform_layout(module: ir.Module, grid: Grid = Grid.PLAIN) -> UniformLayout:
    """Return the layout of a module's uniform struct."""
    wanted: list[tuple[str, Type, Origin]] = [
        (u.name, U32 if u.type is BOOL else u.type, ParameterValue(u.name)) for u in module.uniforms
    ]
    for array, axis in _axis_lengths(module):
        wanted.append((f"{array}_shape_{axis}", I32, AxisLength(array, axis)))
    for axis in guarded_axes(module, grid):
        wanted.append((f"launch_{'xyz'[axis]}", U32, LaunchSize(axis)))
    fields: list[UniformField] = []
    taken: set[str] = set()
    end = 0
    for name, type_, origin in wanted:
        offset = -(-end // align_of(type_)) * align_of(type_)
        fields.append(UniformField(_unique(name, taken), type_, offset, origin))
        end = offset + size_of(type_)
    alignment = max((align_of(f.type) for f in fields), default=1)
    return UniformLayout(tuple(fields), -(-end // alignment) * alignment)


def guarded_axes(module: ir.Module, grid: Grid) -> tuple[int, ...]:
    """Return the axes along which more invocations may start than were asked for."""
    over = [axis for axis in range(3) if module.workgroup_size[axis] > 1]
    if grid is Grid.FOLDED and 0 not in over:
        over.insert(0, 0)
    return tuple(over)


def _axis_lengths(module: ir.Module) -> list[tuple[str, int]]:
    """The axes whose lengths the module reads, itself or to find an element of an n-D buffer."""
    used: set[tuple[str, int]] = set()
    for node in ir.walk(module):
        if isinstance(node, ir.Shape):
            used.add((node.array.name, node.axis))
        elif isinstance(node, ir.Index) and isinstance(node.base, ir.Global):
            type_ = node.base.type
            if isinstance(type_, RuntimeArray):
                first = 0 if module.checked else 1
                used.update((node.base.name, axis) for axis in range(first, type_.ndim))
    order = {b.name: position for position, b in enumerate(module.buffers)}
    return sorted(used, key=lambda item: (order[item[0]], item[1]))


def _unique(name: str, taken: set[str]) -> str:
    candidate, n = name, 1
    while candidate in taken:
        candidate, n = f"{name}_{n}", n + 1
    taken.add(candidate)
    return candidate



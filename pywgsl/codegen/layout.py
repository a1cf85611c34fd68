"""The generated uniform struct: what numbers a launch sends beside its buffers, and where.

The WGSL emitter declares the struct, the runtime fills it, reflection describes it; all three
read it here. Only what the module uses is in it: parameters, the lengths of buffers' axes, and
how many invocations were asked for along axes whose workgroups can overhang.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from pywgsl import ir
from pywgsl.analysis.uses import ModuleUses, module_uses, synchronizes
from pywgsl.types import BOOL, I32, U32, FixedArray, Struct, Type, Vector, align_of, size_of


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


def uniform_layout(
    module: ir.Module, grid: Grid = Grid.PLAIN, uses: ModuleUses | None = None
) -> UniformLayout:
    """Return the layout of a module's uniform struct."""
    uses = uses or module_uses(module)
    used = uses.globals()
    wanted: list[tuple[str, Type, Origin]] = [
        (u.name, stored(u.type), ParameterValue(u.name)) for u in module.uniforms if u.name in used
    ]
    for array, axis in _axis_lengths(module, uses):
        wanted.append((f"{array}_shape_{axis}", I32, AxisLength(array, axis)))
    for axis in guarded_axes(module, grid, uses):
        wanted.append((f"launch_{'xyz'[axis]}", U32, LaunchSize(axis)))
    fields: list[UniformField] = []
    taken: set[str] = set()
    end = 0
    for name, type_, origin in wanted:
        offset = _round_up(end, _align(type_))
        fields.append(UniformField(_unique(name, taken), type_, offset, origin))
        end = offset + _size(type_)
    alignment = max((_align(f.type) for f in fields), default=1)
    return UniformLayout(tuple(fields), _round_up(end, alignment))


def guarded_axes(module: ir.Module, grid: Grid, uses: ModuleUses | None = None) -> tuple[int, ...]:
    """Return the axes along which more invocations may start than were asked for.

    Where a workgroup works together it is launched whole, so only workgroups can be too many.
    """
    whole = synchronizes(module, uses)
    over = [axis for axis in range(3) if module.workgroup_size[axis] > 1 and not whole]
    if grid is Grid.FOLDED and 0 not in over:
        over.insert(0, 0)
    return tuple(over)


def stored(type_: Type) -> Type:
    """Return the type that carries a bool (or a vector of them) inside other types: u32."""
    match type_:
        case Vector(width=width, scalar=scalar) if scalar is BOOL:
            return Vector(width, U32)
        case _:
            return U32 if type_ is BOOL else type_


def _axis_lengths(module: ir.Module, uses: ModuleUses) -> list[tuple[str, int]]:
    """The axes whose lengths the module reads, itself or to find an element of an n-D buffer."""
    used: set[tuple[str, int]] = set()
    for function in uses.all():
        used |= function.lengths
        for name, ndim in function.indexed:
            used.update((name, axis) for axis in range(0 if module.checked else 1, ndim))
    order = {b.name: position for position, b in enumerate(module.buffers)}
    return sorted(used, key=lambda item: (order[item[0]], item[1]))


def _align(type_: Type) -> int:
    """A member's alignment; WGSL wants 16 of a struct or array in a uniform buffer."""
    return 16 if isinstance(type_, Struct | FixedArray) else align_of(type_)


def _size(type_: Type) -> int:
    """The bytes up to where the next member may start."""
    size = size_of(type_)
    return _round_up(size, 16) if isinstance(type_, Struct | FixedArray) else size


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _unique(name: str, taken: set[str]) -> str:
    candidate, n = name, 1
    while candidate in taken:
        candidate, n = f"{name}_{n}", n + 1
    taken.add(candidate)
    return candidate

"""The head of an entry point: WGSL's ids as i32, and a guard against excess invocations."""

from __future__ import annotations

import math
from collections import Counter

from pywgsl import ir
from pywgsl.analysis.unwritten import unwritten
from pywgsl.analysis.uses import IdKey, synchronizes
from pywgsl.codegen.layout import Grid, LaunchSize, guarded_axes, stored
from pywgsl.codegen.scope import FunctionScope, atomic
from pywgsl.codegen.writer import Writer
from pywgsl.source import Span
from pywgsl.types import Atomic, FixedArray

#: What WGSL calls each id, what the text does, and whether it has axes.
_BUILTIN = {
    ir.Id.GLOBAL: ("global_invocation_id", "global_id", True),
    ir.Id.LOCAL: ("local_invocation_id", "local_id", True),
    ir.Id.WORKGROUP: ("workgroup_id", "workgroup_id", True),
    ir.Id.NUM_WORKGROUPS: ("num_workgroups", "num_workgroups", True),
    ir.Id.LOCAL_INDEX: ("local_invocation_index", "local_invocation_index", False),
    ir.Id.SUBGROUP_SIZE: ("subgroup_size", "subgroup_size", False),
    ir.Id.SUBGROUP_INVOCATION: ("subgroup_invocation_id", "subgroup_invocation_id", False),
    ir.Id.SUBGROUP: ("subgroup_id", "subgroup_id", False),
    ir.Id.NUM_SUBGROUPS: ("num_subgroups", "num_subgroups", False),
}

_ORDER = {id_: position for position, id_ in enumerate(_BUILTIN)}

_I32_NAME = {
    ir.Id.GLOBAL: "global",
    ir.Id.LOCAL: "local",
    ir.Id.WORKGROUP: "workgroup",
    ir.Id.NUM_WORKGROUPS: "workgroups",
    ir.Id.LOCAL_INDEX: "local_index",
    ir.Id.SUBGROUP_SIZE: "lanes",
    ir.Id.SUBGROUP_INVOCATION: "lane",
    ir.Id.SUBGROUP: "subgroup",
    ir.Id.NUM_SUBGROUPS: "subgroups",
}


def id_name(key: IdKey) -> str:
    """Return what the text calls an id as i32: `global_x`, `local_index`."""
    id_, axis = key
    return f"{_I32_NAME[id_]}_{'xyz'[axis]}" if _BUILTIN[id_][2] else _I32_NAME[id_]


class Head:
    """The parameters and first lines of an entry point."""

    def __init__(self, scope: FunctionScope, grid: Grid) -> None:
        self._scope = scope
        self._module = scope.module
        self._grid = grid
        self._params: dict[ir.Id, str] = {}
        self.lines = Writer()
        self._folded_x = self._folded_group = ""
        if grid is Grid.FOLDED:
            self._fold()
        self._guard()
        self._clear()
        self._declare_ids()

    def open(self, out: Writer, declaration: str, span: Span) -> None:
        """Write the first line, with only those ids as parameters that are used."""
        params: list[str] = []
        for id_, name in sorted(self._params.items(), key=lambda item: _ORDER[item[0]]):
            builtin, _, has_axes = _BUILTIN[id_]
            params.append(f"@builtin({builtin}) {name}: {'vec3u' if has_axes else 'u32'}")
        line = f"{declaration}({', '.join(params)})"
        if len(line) <= _WIDTH:
            out.open(line, span)
            return
        out.line(f"{declaration}(", span)
        for param in params:
            out.line(f"    {param},", span)
        out.open(")", span)

    def _raw(self, id_: ir.Id, axis: int = 0) -> str:
        """WGSL's own value of an id, u32."""
        if id_ not in self._params:
            self._params[id_] = self._scope.declare(_BUILTIN[id_][1])
        name = self._params[id_]
        return f"{name}.{'xyz'[axis]}" if _BUILTIN[id_][2] else name

    def _fold(self) -> None:
        """Number the workgroups on along y, where the launch continues beyond the limit along x."""
        size = self._module.module.workgroup_size[0]
        keys = self._keys()
        y, width = self._raw(ir.Id.WORKGROUP, 1), self._raw(ir.Id.NUM_WORKGROUPS)
        group = f"{self._raw(ir.Id.WORKGROUP)} + {y} * {width}"
        self._folded_group = self._scope.declare("folded_workgroup")
        self.lines.line(f"let {self._folded_group} = {group};")
        if (ir.Id.GLOBAL, 0) in keys or not synchronizes(self._module.module, self._module.uses):
            first = self._folded_group if size == 1 else f"{self._folded_group} * {size}u"
            self._folded_x = self._scope.declare("folded_x")
            offset = "" if size == 1 else f" + {self._raw(ir.Id.LOCAL)}"
            self.lines.line(f"let {self._folded_x} = {first}{offset};")

    def _guard(self) -> None:
        axes = guarded_axes(self._module.module, self._grid, self._module.uses)
        if not axes:
            return
        tests = (
            f"{self._guarded(axis)} >= {self._module.uniform(LaunchSize(axis))}" for axis in axes
        )
        self.lines.open(f"if ({' || '.join(tests)})")
        self.lines.line("return;")
        self.lines.close()

    def _guarded(self, axis: int) -> str:
        """The number, along an axis, of this invocation, or of the first of its workgroup.

        The latter where a workgroup works together: then all of it must go, or none.
        """
        if self._grid is Grid.PLAIN:
            return self._raw(ir.Id.GLOBAL, axis)
        if axis > 0:
            return self._raw(ir.Id.LOCAL, axis)
        if synchronizes(self._module.module, self._module.uses):
            return f"{self._folded_group} * {self._module.module.workgroup_size[0]}u"
        return self._folded_x

    def _clear(self) -> None:
        """Zero the workgroup variables that are read before they are written."""
        variables = unwritten(self._module.module)
        for variable in variables:
            self._clear_variable(self._module.globals[variable.name], variable)
        if variables:
            self.lines.line("workgroupBarrier();")

    def _clear_variable(self, name: str, variable: ir.Variable) -> None:
        lane = self._raw(ir.Id.LOCAL_INDEX)
        lanes = math.prod(self._module.module.workgroup_size)
        lengths: list[int] = []
        element = variable.type
        while isinstance(element, FixedArray):
            lengths.append(element.length)
            element = element.element
        count = math.prod(lengths)
        if count <= lanes:
            index = lane
            self.lines.open(f"if ({lane} < {count}u)")
        else:
            index = self._scope.declare("k")
            head = f"var {index} = {lane}; {index} < {count}u; {index} += {lanes}u"
            self.lines.open(f"for ({head})")
        for position, length in enumerate(lengths):
            inner = math.prod(lengths[position + 1 :])
            row = index if inner == 1 else f"{index} / {inner}u"
            name += f"[{row}]" if position == 0 else f"[{row} % {length}u]"
        if variable.name in self._module.atomics:
            kept = atomic(element)
            assert isinstance(kept, Atomic)
            self.lines.line(f"atomicStore(&{name}, {self._module.zero(kept.scalar)});")
        else:
            zero = self._module.zero(stored(element) if lengths else element)
            self.lines.line(f"{name} = {zero};")
        self.lines.close()

    def _keys(self) -> Counter[IdKey]:
        """How often each id is read; a call of a helper that reads it counts double."""
        uses = self._module.uses.entry
        keys = self._module.ids_in(uses)
        for name in uses.functions:
            keys.update(dict.fromkeys(self._module.ids_of[name], 2))
        return keys

    def _declare_ids(self) -> None:
        named = {
            (s.value.id, s.value.axis)
            for s in self._module.module.body
            if isinstance(s, ir.Let) and isinstance(s.value, ir.InvocationId)
        }
        for key, count in sorted(self._keys().items(), key=lambda item: id_name(item[0])):
            text = self._signed(key)
            if count > 1 and key not in named:
                name = self._scope.declare(id_name(key))
                self.lines.line(f"let {name} = {text};")
                text = name
            self._scope.ids[key] = text

    def _signed(self, key: IdKey) -> str:
        id_, axis = key
        size = self._module.module.workgroup_size[0]
        if self._grid is Grid.PLAIN or id_ not in _FOLDS:
            return f"i32({self._raw(id_, axis)})"
        if axis > 0:
            if id_ is ir.Id.GLOBAL:
                return f"i32({self._raw(ir.Id.LOCAL, axis)})"
            return "1" if id_ is ir.Id.NUM_WORKGROUPS else "0"
        if id_ is ir.Id.GLOBAL:
            return f"i32({self._folded_x})"
        if id_ is ir.Id.WORKGROUP:
            return f"i32({self._folded_group})"
        launched = self._module.uniform(LaunchSize(0))
        return f"i32(({launched} + {size - 1}u) / {size}u)" if size > 1 else f"i32({launched})"


_WIDTH = 98

# The ids that a folded launch changes.
_FOLDS = (ir.Id.GLOBAL, ir.Id.WORKGROUP, ir.Id.NUM_WORKGROUPS)


def workgroup_size(size: tuple[int, int, int]) -> str:
    """Return the text of a workgroup size, without trailing ones."""
    axes = list(size)
    while len(axes) > 1 and axes[-1] == 1:
        axes.pop()
    return ", ".join(map(str, axes))

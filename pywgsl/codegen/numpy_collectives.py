"""Operations that join invocations, as NumPy: those of workgroups and subgroups, and atomics.

Barriers leave no trace: all lanes of a block have run a statement before any runs the next one.
"""

from __future__ import annotations

from typing import assert_never

from pywgsl import ir
from pywgsl.analysis.axes import UNIFORM, Axes
from pywgsl.builtins import BUILTINS
from pywgsl.codegen.numpy_places import PlaceReader, tuple_text
from pywgsl.codegen.numpy_scope import Value, depth_of
from pywgsl.ir import type_of
from pywgsl.table import Builtin, Scope

#: Atomic operations that are a store if nobody asks for what was there.
STORES = ("atomic_store", "atomic_exchange")
_UFUNCS = {
    "atomic_add": "np.add",
    "atomic_sub": "np.subtract",
    "atomic_max": "np.maximum",
    "atomic_min": "np.minimum",
    "atomic_and": "np.bitwise_and",
    "atomic_or": "np.bitwise_or",
    "atomic_xor": "np.bitwise_xor",
}


class Collectives(PlaceReader):
    """Writes the operations of one function that join invocations."""

    def collective(self, node: ir.Call, row: Builtin) -> Value:
        """Return the result of an operation."""
        match row.scope:
            case Scope.WORKGROUP:
                return self._of_workgroup(node, row)
            case Scope.SUBGROUP:
                return self._of_subgroup(node)
            case Scope.ATOMIC if row.name == "atomic_load":
                return self.value(node.args[0])
            case Scope.ATOMIC:
                return self._fetched(node)
            case None:
                raise AssertionError(f"{row.name} joins nothing")
            case _:
                assert_never(row.scope)

    def effect(self, node: ir.Call) -> str:
        """Return an operation whose result is dropped; nothing if that is all there is to it."""
        if BUILTINS[node.builtin].scope is not Scope.ATOMIC or node.builtin == "atomic_load":
            return ""
        if node.builtin in _UFUNCS:
            return self._atomic(node, f"update({_UFUNCS[node.builtin]}, ")
        return self._fetched(node).text

    # -------------------------------------------------------------- workgroups and subgroups

    def _of_workgroup(self, node: ir.Call, row: Builtin) -> Value:
        order = self.module.axes.order
        args = [self.array(arg) for arg in node.args]
        axes = _union(args)
        axes = axes & order.groups if row.shared else axes | order.local
        return self._together(node, [self.ids], args, axes)

    def _of_subgroup(self, node: ir.Call) -> Value:
        args = [self.array(arg) for arg in node.args]
        axes = _union(args) | self.mask.axes | self.module.axes.order.local
        return self._together(node, [self.ids, self.mask.text], args, axes)

    def _together(self, node: ir.Call, lanes: list[str], args: list[Value], axes: Axes) -> Value:
        texts = [*lanes, *(arg.text for arg in args)]
        texts.append(f'over="{self.module.axes.order.along(axes)}"')
        depth = depth_of(type_of(node))
        texts += [f"depth={depth}"] if depth else []
        text = f"{node.builtin}({', '.join(texts)})"
        return Value(text, axes=axes, spread=axes != UNIFORM)

    # ------------------------------------------------------------------------------ atomics

    def _fetched(self, node: ir.Call) -> Value:
        axes = self._lanes(node.args[0])
        match node.builtin:
            case "atomic_exchange":
                start = "exchange("
            case "atomic_compare_exchange":
                start = "compare_exchange("
            case _:
                start = f"fetch({_UFUNCS[node.builtin]}, "
        return Value(self._atomic(node, start), axes=axes, spread=True)

    def _atomic(self, node: ir.Call, start: str) -> str:
        place = self.resolve(node.args[0])
        order = self.module.axes.order
        indices = tuple_text(place.index_texts)
        values = [self.array(arg).text for arg in node.args[1:]]
        lanes = f'{self.ids}.over("{order.along(self._lanes(node.args[0]))}")'
        mask = [] if self.mask.text == "True" else [self.mask.text]
        return start + ", ".join([place.base.text, indices, *values, lanes, *mask]) + ")"

    def _lanes(self, place: ir.Expr) -> Axes:
        """The axes of all invocations that work on a memory."""
        order = self.module.axes.order
        memory = ir.root(place)
        assert isinstance(memory, ir.Global)
        if memory.space is ir.Space.WORKGROUP:
            return self.module.axes.shared(memory.name) | order.local
        return (1 << len(order.letters)) - 1


def _union(values: list[Value]) -> Axes:
    axes = UNIFORM
    for value in values:
        axes |= value.axes
    return axes

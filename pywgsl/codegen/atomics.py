"""WGSL functions for atomic operations that WGSL lacks, each for one buffer or variable.

WGSL has them for integers only: an f32 lies in an `atomic<u32>`, and what replaces it is computed
anew as long as another invocation was faster. A nan stays the largest and the smallest, so that the
order in which invocations come does not matter. WGSL's `atomicCompareExchangeWeak` may fail for no
reason, the language's does not. In a checked module each operation looks at its indices first.
"""

from __future__ import annotations

import re
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from pywgsl import ir
from pywgsl.builtins import BUILTINS
from pywgsl.codegen.layout import AxisLength
from pywgsl.codegen.names import fresh
from pywgsl.codegen.wgsl_places import length_of
from pywgsl.codegen.writer import Code, call
from pywgsl.ir import type_of
from pywgsl.types import F32, I32, U32, RuntimeArray, Struct, Type

if TYPE_CHECKING:
    from pywgsl.codegen.scope import ModuleScope
    from pywgsl.codegen.wgsl_expressions import Expressions

_UPDATE = """
    var old = atomicLoad(&$place);
    loop {
        let result = atomicCompareExchangeWeak(&$place, old, bitcast<u32>($updated));
        if (result.exchanged) {
            break;
        }
        old = result.old_value;
    }
    return bitcast<f32>(old);"""

_COMPARE_EXCHANGE = """
    var result = atomicCompareExchangeWeak(&$place, $expected, $value);
    while (!result.exchanged && result.old_value == $expected) {
        result = atomicCompareExchangeWeak(&$place, $expected, $value);
    }
    return $old;"""

_EXCHANGE_F32 = """
    return bitcast<f32>(atomicExchange(&$place, bitcast<u32>(value)));"""

_PLAIN = """
    return $builtin(&$place, value);"""

# Names that the functions have for themselves, unless the author's variable has one of them.
_USED = {"old", "result", "expected", "value"}


class _Path(NamedTuple):
    """A place whose indices are parameters.

    `args` are the indices of one call; there is no such place if one of `outside` holds.
    """

    text: str
    params: tuple[tuple[str, Type], ...] = ()
    args: tuple[Code, ...] = ()
    outside: tuple[str, ...] = ()


class Atomics:
    """The functions of one text that change memory atomically."""

    def __init__(self, module: ModuleScope) -> None:
        self._module = module
        self._names: dict[tuple[object, ...], str] = {}

    def is_direct(self, node: ir.Call) -> bool:
        """Whether WGSL has the operation itself."""
        return (
            type_of(node.args[0]) is not F32
            and node.builtin != "atomic_compare_exchange"
            and not (self._module.module.checked and isinstance(node.args[0], ir.Index))
        )

    def call(self, node: ir.Call, expressions: Expressions) -> Code:
        """Return the call of the function for an operation on a place."""
        place, *values = node.args
        path = self._path(place, expressions)
        key = (node.builtin, path.text, path.params)
        if key not in self._names:
            root = ir.root(place)
            assert isinstance(root, ir.Global)
            self._names[key] = self._module.prelude.declare(f"{node.builtin}_{root.name}")
            text = self._text(self._names[key], node.builtin, path, type_of(place))
            self._module.prelude.functions.append(text)
        return call(self._names[key], *path.args, *map(expressions.code, values))

    # ------------------------------------------------------------------------------- places

    def _path(self, place: ir.Expr, expressions: Expressions) -> _Path:
        match place:
            case ir.Global(name=name):
                return _Path(self._module.globals[name])
            case ir.Member(base=base, field=field):
                assert isinstance(base.type, Struct)
                path = self._path(base, expressions)
                return path._replace(text=f"{path.text}.{self._module.field(base.type, field)}")
            case ir.Index(base=ir.Global(name=name, type=RuntimeArray()) as base):
                if self._module.module.checked:
                    return self._checked_element(name, place.indices, expressions)
                index = Code(expressions.offset(place))
                type_ = type_of(place.indices[0]) if len(place.indices) == 1 else I32
                return self._element(self._path(base, expressions), index, type_)
            case ir.Index(base=base, indices=(index,)):
                path = self._path(base, expressions)
                if not self._module.module.checked:
                    return self._element(path, expressions.code(index), type_of(index))
                end = f"{length_of(type_of(base))}u"
                return self._element(path, expressions.unsigned(index), U32, end)
            case _:
                raise AssertionError(place)

    def _checked_element(
        self, buffer: str, indices: tuple[ir.Expr, ...], expressions: Expressions
    ) -> _Path:
        names = self._module.index_names(buffer, _USED)
        outside = tuple(
            f"{name} >= u32({self._module.uniform(AxisLength(buffer, axis))})"
            for axis, name in enumerate(names)
        )
        text = f"{self._module.globals[buffer]}[{self._module.offset(buffer, names)}]"
        params = tuple((name, U32) for name in names)
        return _Path(text, params, tuple(map(expressions.unsigned, indices)), outside)

    def _element(self, path: _Path, index: Code, type_: Type, end: str = "") -> _Path:
        taken = _USED.union(name for name, _ in path.params)
        name = fresh("ijklmn"[len(path.params)], taken, {_root_of(path)})
        return _Path(
            f"{path.text}[{name}]",
            (*path.params, (name, type_)),
            (*path.args, index),
            (*path.outside, f"{name} >= {end}") if end else path.outside,
        )

    # -------------------------------------------------------------------------------- texts

    def _text(self, name: str, builtin: str, path: _Path, type_: Type) -> str:
        values = ["value"]
        if builtin == "atomic_compare_exchange":
            values.insert(0, "expected")
        typed = [*path.params, *((value, type_) for value in values)]
        params = ", ".join(f"{param}: {kind}" for param, kind in typed)
        text = f"fn {name}({params}) -> {type_} {{"
        if path.outside:
            zero = self._module.zero(type_)
            text += f"\n    if ({' || '.join(path.outside)}) {{\n        return {zero};\n    }}"
        text += f"{self._body(builtin, type_)}\n}}"
        root = _root_of(path)
        if root in _USED:
            text = re.sub(rf"\b{root}\b", f"{root}_", text)
        return Template(text).substitute(place=path.text)

    def _body(self, builtin: str, type_: Type) -> str:
        """What a function does, with `$place` for the place."""
        operation = builtin.removeprefix("atomic_")
        if operation == "compare_exchange":
            return Template(_COMPARE_EXCHANGE).safe_substitute(_compared(type_))
        if type_ is not F32:
            return Template(_PLAIN).safe_substitute(builtin=BUILTINS[builtin].wgsl)
        old = "bitcast<f32>(old)"
        match operation:
            case "exchange":
                return _EXCHANGE_F32
            case "add":
                updated = f"{old} + value"
            case "sub":
                updated = f"{old} - value"
            case _:
                function = "larger" if operation == "max" else "smaller"
                updated = f"{self._module.prelude.use(function, F32, F32)}({old}, value)"
        return Template(_UPDATE).safe_substitute(updated=updated)


def _root_of(path: _Path) -> str:
    return re.split(r"[.\[]", path.text, maxsplit=1)[0]


def _compared(type_: Type) -> dict[str, str]:
    """How a function compares: an f32 by its bits, so that a nan is equal to itself."""
    expected, value, old = "expected", "value", "result.old_value"
    if type_ is F32:
        expected, value, old = (
            f"bitcast<u32>({expected})",
            f"bitcast<u32>({value})",
            f"bitcast<f32>({old})",
        )
    return {"expected": expected, "value": value, "old": old}

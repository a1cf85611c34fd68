"""Calls of builtins that join invocations, as WGSL text."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from pywgsl import ir
from pywgsl.builtins import BUILTINS, Scope
from pywgsl.codegen.collectives import LOCAL_INDEX
from pywgsl.codegen.layout import stored
from pywgsl.codegen.scope import FunctionScope
from pywgsl.codegen.writer import Code, call, infix
from pywgsl.ir import type_of
from pywgsl.types import F32, U32, Type

if TYPE_CHECKING:
    from pywgsl.codegen.wgsl_expressions import Expressions


def joint_call(
    node: ir.Call, joined: Scope, expressions: Expressions, scope: FunctionScope
) -> Code:
    """Return the call of a builtin that joins invocations; not `atomic_store`, a statement."""
    match joined:
        case Scope.WORKGROUP:
            return _workgroup_call(node, expressions, scope)
        case Scope.SUBGROUP:
            return _subgroup_call(node, expressions, scope)
        case Scope.ATOMIC:
            return _atomic_call(node, expressions, scope)
        case _:
            assert_never(joined)


def _workgroup_call(node: ir.Call, expressions: Expressions, scope: FunctionScope) -> Code:
    """A barrier, or the call of the function for an operation of a workgroup."""
    spelled = BUILTINS[node.builtin].wgsl
    if spelled is not None:
        return call(spelled)
    collectives = scope.module.collectives
    collective = node.builtin, type_of(node.args[0])
    ids = (Code(scope.ids[key]) for key in collectives.ids(*collective))
    return call(collectives.use(*collective), *map(expressions.code, node.args), *ids)


def _subgroup_call(node: ir.Call, expressions: Expressions, scope: FunctionScope) -> Code:
    """An operation of a subgroup; WGSL wants u32 of ids, and moves no bools."""
    spelled = BUILTINS[node.builtin].wgsl
    assert spelled is not None
    if node.builtin == "subgroup_elect":
        # Naga has no `subgroupElect`.
        index = Code(scope.ids[LOCAL_INDEX])
        return infix(call("subgroupBroadcastFirst", index), "==", index)
    value, *ids = node.args
    lanes = [expressions.unsigned(id_) for id_ in ids]
    if stored(type_of(value)) == value.type or node.builtin in ("subgroup_any", "subgroup_all"):
        return call(spelled, expressions.typed(value), *lanes)
    carried = call(spelled, Code(expressions.carried(value)), *lanes)
    return infix(carried, "!=", expressions.splat(ir.Literal(0, U32), stored(type_of(value))))


def _atomic_call(node: ir.Call, expressions: Expressions, scope: FunctionScope) -> Code:
    """An atomic operation, by a function of the text where WGSL lacks it."""
    place, *values = node.args
    if node.builtin == "atomic_load":
        return expressions.code(place)
    functions = scope.module.atomic_functions
    if not functions.is_direct(node):
        return functions.call(node, expressions)
    spelled = BUILTINS[node.builtin].wgsl
    assert spelled is not None
    return call(spelled, _pointer(expressions.place(place)), *map(expressions.code, values))


def atomic_load(place: Code, type_: Type) -> Code:
    """Return the value in memory that invocations change together; an f32 lies there as bits."""
    value = call("atomicLoad", _pointer(place))
    return call("bitcast<f32>", value) if type_ is F32 else value


def atomic_store(place: Code, value: Code, type_: Type) -> Code:
    """Return the store of a value in such memory."""
    bits = call("bitcast<u32>", value) if type_ is F32 else value
    return call("atomicStore", _pointer(place), bits)


def _pointer(place: Code) -> Code:
    """The address of a place."""
    return Code(f"&{place.text}")

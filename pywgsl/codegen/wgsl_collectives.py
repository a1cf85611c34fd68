"""Calls of builtins that join invocations, as WGSL text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pywgsl import ir
from pywgsl.builtins import BUILTINS
from pywgsl.codegen.collectives import LOCAL_INDEX
from pywgsl.codegen.layout import stored
from pywgsl.codegen.scope import FunctionScope
from pywgsl.codegen.writer import Code, call, infix
from pywgsl.ir import type_of
from pywgsl.types import U32

if TYPE_CHECKING:
    from pywgsl.codegen.wgsl_expressions import Expressions


def workgroup_call(node: ir.Call, expressions: Expressions, scope: FunctionScope) -> Code:
    """Return a barrier, or the call of the function for an operation of a workgroup."""
    spelled = BUILTINS[node.builtin].wgsl
    if spelled is not None:
        return call(spelled)
    collectives = scope.module.collectives
    collective = node.builtin, type_of(node.args[0])
    ids = (Code(scope.ids[key]) for key in collectives.ids(*collective))
    return call(collectives.use(*collective), *map(expressions.code, node.args), *ids)


def subgroup_call(node: ir.Call, expressions: Expressions, scope: FunctionScope) -> Code:
    """Return an operation of a subgroup; WGSL wants u32 of ids, and moves no bools."""
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

"""What operations that join invocations mean, from a list with the value of each invocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from reference_values import each, operate, wrap, zero

from pywgsl import ir
from pywgsl.builtins import BUILTINS
from pywgsl.ir import BinaryOp
from pywgsl.table import Scope
from pywgsl.types import F16, Scalar, Type, scalar_of


class Request(NamedTuple):
    """An operation that an invocation waits for, its arguments, and the invocation's index."""

    node: ir.Call
    args: tuple[Any, ...]
    local_index: int


def subgroup_size(lanes: int) -> int:
    size = 1
    while size < min(lanes, 32):
        size *= 2
    return size


def answers(waiting: dict[int, Request], lanes: int) -> dict[int, Any]:
    """What some of the waiting invocations get, by their numbers: those of one operation."""
    if not waiting:
        return {}
    nodes = {id(request.node): request.node for request in waiting.values()}
    of_subgroups = [n for n in nodes.values() if BUILTINS[n.builtin].scope is Scope.SUBGROUP]
    if of_subgroups:
        # Who took another branch waits for what comes after both.
        node = min(of_subgroups, key=lambda node: node.span.start)
        return _of_subgroups({m: r for m, r in waiting.items() if r.node is node}, lanes)
    (node,) = nodes.values()
    assert len(waiting) == lanes, f"{node.builtin} in flow that is not uniform"
    members = sorted(waiting, key=lambda member: waiting[member].local_index)
    requests = [waiting[member] for member in members]
    return dict(zip(members, _of_workgroup(node, requests), strict=True))


def _of_workgroup(node: ir.Call, requests: list[Request]) -> list[Any]:
    count = len(requests)
    if not node.args:
        return [None] * count
    values, type_ = [r.args[0] for r in requests], ir.type_of(node.args[0])
    match node.builtin.removeprefix("workgroup_"):
        case "sum":
            return [_sum(values, type_)] * count
        case "max" | "min" | "any" | "all" as name:
            return [_tree(values, lambda a, b: each(_JOINS[name], a, b))] * count
        case "broadcast":
            source = requests[0].args[1]
            return [values[source] if 0 <= source < count else zero(type_)] * count
        case "inclusive_scan":
            return _scan(values, type_)
        case "exclusive_scan":
            return [zero(type_), *_scan(values, type_)[:-1]]
        case _:
            raise AssertionError(node.builtin)


def _of_subgroups(requests: dict[int, Request], lanes: int) -> dict[int, Any]:
    size = subgroup_size(lanes)
    subgroups: dict[int, dict[int, int]] = {}
    for member, request in requests.items():
        places = subgroups.setdefault(request.local_index // size, {})
        places[request.local_index % size] = member
    found: dict[int, Any] = {}
    for places in subgroups.values():
        active = {place: requests[member] for place, member in sorted(places.items())}
        results = _of_subgroup(active)
        found |= {places[place]: result for place, result in results.items()}
    return found


def _of_subgroup(active: dict[int, Request]) -> dict[int, Any]:
    node = next(iter(active.values())).node
    name, first = node.builtin.removeprefix("subgroup_"), min(active)
    if name == "elect":
        return {place: place == first for place in active}
    values, type_ = {p: r.args[0] for p, r in active.items()}, ir.type_of(node.args[0])
    match name:
        case "inclusive_add" | "exclusive_add":
            total, results = zero(type_), {}
            for place, value in values.items():
                before, total = total, _plus(total, value, type_)
                results[place] = total if name == "inclusive_add" else before
            return results
        case "broadcast_first":
            return dict.fromkeys(active, values[first])
        case "broadcast" | "shuffle" | "shuffle_xor" | "shuffle_up" | "shuffle_down":
            sources = {p: _SOURCES[name](p, r.args[1]) for p, r in active.items()}
            return {p: values.get(source, zero(type_)) for p, source in sources.items()}
        case "add":
            full = [values.get(p, _minus_zero(type_)) for p in range(max(active) + 1)]
            return dict.fromkeys(active, _sum_of(full, type_))
        case "mul":
            return dict.fromkeys(active, _product(list(values.values()), type_))
        case _:
            total = _tree(list(values.values()), lambda a, b: each(_JOINS[name], a, b))
            return dict.fromkeys(active, total)


_SOURCES: dict[str, Callable[[int, int], int]] = {
    "broadcast": lambda place, source: source,
    "shuffle": lambda place, source: source,
    "shuffle_xor": lambda place, bits: place ^ bits,
    "shuffle_up": lambda place, delta: place - delta,
    "shuffle_down": lambda place, delta: place + delta,
}
_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "max": lambda a, b: a if np.isnan(a) or a > b else b,
    "min": lambda a, b: a if np.isnan(a) or a < b else b,
    "any": lambda a, b: a or b,
    "all": lambda a, b: a and b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def _plus(a: Any, b: Any, type_: Type) -> Any:
    scalar = scalar_of(type_)
    assert scalar is not None
    return each(lambda x, y: operate(BinaryOp.ADD, x, y, scalar), a, b)


def _sum_of(values: list[Any], type_: Type) -> Any:
    return _tree(values, lambda a, b: _plus(a, b, type_))


def _product(values: list[Any], type_: Type) -> Any:
    scalar = scalar_of(type_)
    assert scalar is not None
    return _tree(values, lambda a, b: each(lambda x, y: operate(BinaryOp.MUL, x, y, scalar), a, b))


def _minus_zero(type_: Type) -> Any:
    return each(lambda v: -v, zero(type_))


def _sum(values: list[Any], type_: Type) -> Any:
    if scalar_of(type_) is not F16:
        return _sum_of(values, type_)
    wide = [each(np.float32, v) for v in values]
    return each(np.float16, _tree(wide, lambda a, b: each(lambda x, y: x + y, a, b)))


def _tree(values: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join values that lie half apart, then a quarter, and so on."""
    values, reach = list(values), 1
    while 2 * reach < len(values):
        reach *= 2
    while reach:
        for k in range(min(reach, len(values) - reach)):
            values[k] = join(values[k], values[k + reach])
        del values[reach:]
        reach //= 2
    return values[0]


def _scan(values: list[Any], type_: Type) -> list[Any]:
    half = scalar_of(type_) is F16
    totals = [each(np.float32, v) for v in values] if half else values
    reach = 1
    while reach < len(values):
        totals = [
            _plus(totals[k - reach], total, type_) if k >= reach else total
            for k, total in enumerate(totals)
        ]
        reach *= 2
    return [each(np.float16, v) for v in totals] if half else totals


# --------------------------------------------------------------------------------- atomics


def updated(builtin: str, old: Any, operands: list[Any], type_: Type) -> Any:
    """What an atomic operation leaves in an element."""
    assert isinstance(type_, Scalar)
    match builtin.removeprefix("atomic_"), operands:
        case (("store" | "exchange"), [new]):
            return new
        case "compare_exchange", [expected, new]:
            return new if np.array(old).tobytes() == np.array(expected).tobytes() else old
        case "add", [value]:
            return operate(BinaryOp.ADD, old, value, type_)
        case "sub", [value]:
            return operate(BinaryOp.SUB, old, value, type_)
        case name, [value]:
            new = _JOINS[name](old, value)
            return wrap(new, type_) if type_.is_integer else new
        case _:
            raise AssertionError(builtin)

"""Which values an integer expression can have: sound intervals, from what the launch guarantees.

Integers wrap, so a sum or product whose interval does not fit its type has every value. What is
known: ids start at 0 and a launch has at most 2^31 - 1 invocations along an axis; a buffer holds
less than 4 GiB; a loop's index stays between its bounds; a helper's parameter is one of its
arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pywgsl import ir
from pywgsl.types import BOOL, I32, U32, RuntimeArray, Type, size_of

_INT_MAX = 2**31 - 1
_MAX_BUFFER = 2**32
_MAX_GROUPS_BESIDE_X = 65535
_MAX_SUBGROUP = 128
# Expressions nest less than this wherever precision matters; the rest would cost recursion.
_MAX_DEPTH = 40


class Interval(NamedTuple):
    """All integers from `low` to `high`."""

    low: int
    high: int

    def within(self, other: Interval) -> bool:
        """Whether every value is one of `other`'s."""
        return other.low <= self.low and self.high <= other.high


_ALL = {I32: Interval(-(2**31), _INT_MAX), U32: Interval(0, 2**32 - 1), BOOL: Interval(0, 1)}


class Ranges:
    """The intervals of the integer expressions of one module.

    A function is named as in `module.functions`; the entry point is `""`.
    """

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._functions = {f.name: f for f in module.functions}
        self._sources: dict[str, dict[str, list[_Source]]] = {}
        self._known: dict[tuple[str, str], Interval] = {}

    def interval(self, expr: ir.Expr, function: str = "", depth: int = 0) -> Interval:
        """Return an interval that holds every value of a scalar integer expression."""
        every = everything(expr.type)
        if depth > _MAX_DEPTH:
            return every
        found = self._interval(expr, function, depth + 1)
        return found if found is not None and found.within(every) else every

    def is_non_negative(self, expr: ir.Expr, function: str = "") -> bool:
        """Whether a scalar integer expression is never below zero."""
        return self.interval(expr, function).low >= 0

    def _interval(self, expr: ir.Expr, function: str, depth: int) -> Interval | None:  # noqa: C901
        match expr:
            case ir.Literal(value=value):
                return Interval(int(value), int(value)) if expr.type in _ALL else None
            case ir.Local(name=name):
                return self._local(name, function, expr.type)
            case ir.InvocationId(id=id_, axis=axis):
                return id_interval(id_, axis, self._module.workgroup_size)
            case ir.Shape(array=array):
                return _length(array.type)
            case ir.Unary(op=ir.UnaryOp.NEG, operand=operand):
                low, high = self.interval(operand, function, depth)
                return Interval(-high, -low)
            case ir.Binary(op=op, left=left, right=right):
                rule = _BINARY.get(op)
                if rule is None or left.type not in _ALL or right.type not in _ALL:
                    return None
                return rule(
                    self.interval(left, function, depth), self.interval(right, function, depth)
                )
            case ir.Select(accept=accept, reject=reject):
                return _hull([self.interval(e, function, depth) for e in (accept, reject)])
            case ir.Convert(operand=operand) if operand.type in _ALL:
                return self.interval(operand, function, depth)
            case ir.Call(builtin=name, args=args) if name in _BUILTINS and expr.type in _ALL:
                return _BUILTINS[name](*(self.interval(a, function, depth) for a in args))
            case _:
                return None

    def _local(self, name: str, function: str, type_: Type) -> Interval:
        key = (function, name)
        if key not in self._known:
            # Until it is known, a variable that depends on itself has every value.
            self._known[key] = everything(type_)
            found = [self._source(s) for s in self._sources_of(function).get(name, ())]
            if found:
                self._known[key] = _hull(found)
        return self._known[key]

    def _source(self, source: _Source) -> Interval:
        if isinstance(source.node, ir.ForRange):
            return self._index(source.node, source.function)
        return self.interval(source.node, source.function)

    def _index(self, loop: ir.ForRange, function: str) -> Interval:
        start, stop, step = (self.interval(e, function) for e in (loop.start, loop.stop, loop.step))
        # With a negative step, the last index is above stop; a step of 0 makes no trip.
        low = start.low if step.low >= 0 else min(start.low, stop.low + 1)
        high = start.high if step.high <= 0 else max(start.high, stop.high - 1)
        return Interval(low, high)

    def _sources_of(self, function: str) -> dict[str, list[_Source]]:
        """What may become the value of each local of a function."""
        if function not in self._sources:
            sources: dict[str, list[_Source]] = {}
            self._sources[function] = sources
            body = self._functions[function].body if function else self._module.body
            for name, node in _assigned(body):
                sources.setdefault(name, []).append(_Source(node, function))
            if function:
                self._add_arguments(self._functions[function], sources)
        return self._sources[function]

    def _add_arguments(self, function: ir.Function, sources: dict[str, list[_Source]]) -> None:
        callers = [("", self._module.body), *((f.name, f.body) for f in self._module.functions)]
        for caller, body in callers:
            for node in ir.walk_block(body):
                if isinstance(node, ir.Invoke) and node.function == function.name:
                    for param, arg in zip(function.params, node.args, strict=True):
                        sources.setdefault(param.name, []).append(_Source(arg, caller))


class _Source(NamedTuple):
    node: ir.Expr | ir.ForRange
    function: str


def _assigned(body: ir.Block) -> Iterator[tuple[str, ir.Expr | ir.ForRange]]:
    """Yield what each local of a body is declared with or assigned."""
    for node in ir.walk_block(body):
        match node:
            case ir.Let(name=name, value=value) | ir.Var(name=name, value=ir.Node() as value):
                yield name, value
            case ir.Var(name=name, type=type_):
                yield name, ir.Literal(0, type_)
            case ir.Assign(target=ir.Local(name=name), value=value):
                yield name, value
            case ir.ForRange(index=name):
                yield name, node
            case _:
                pass


def everything(type_: Type | None) -> Interval:
    """Return all values of an integer type; other types have no interval worth the name."""
    return _ALL.get(type_, _ALL[I32])  # type: ignore[arg-type]  # a type that is no key is fine


def id_interval(id_: ir.Id, axis: int, workgroup_size: tuple[int, int, int]) -> Interval:
    """Return the values that a component of an id can have."""
    size = workgroup_size[axis]
    groups = -(-_INT_MAX // size) if axis == 0 else _MAX_GROUPS_BESIDE_X
    match id_:
        case ir.Id.GLOBAL:
            return Interval(0, min(groups * size, _INT_MAX) - 1)
        case ir.Id.LOCAL:
            return Interval(0, size - 1)
        case ir.Id.WORKGROUP:
            return Interval(0, groups - 1)
        case ir.Id.NUM_WORKGROUPS:
            return Interval(1, groups)
        case ir.Id.LOCAL_INDEX:
            return Interval(0, math.prod(workgroup_size) - 1)
        case ir.Id.SUBGROUP_SIZE:
            return Interval(1, _MAX_SUBGROUP)
        case ir.Id.SUBGROUP_INVOCATION:
            return Interval(0, _MAX_SUBGROUP - 1)
        case ir.Id.SUBGROUP:
            return Interval(0, math.prod(workgroup_size) - 1)
        case ir.Id.NUM_SUBGROUPS:
            return Interval(1, math.prod(workgroup_size))


def _length(array: Type) -> Interval:
    assert isinstance(array, RuntimeArray)
    return Interval(0, min(_MAX_BUFFER // size_of(array.element), _INT_MAX))


def _hull(intervals: Iterable[Interval]) -> Interval:
    lows, highs = zip(*intervals, strict=True)
    return Interval(min(lows), max(highs))


def _corners(function: Callable[[int, int], int], a: Interval, b: Interval) -> Interval:
    """The interval of a function that is monotonic in each argument."""
    values = [function(x, y) for x in a for y in b]
    return Interval(min(values), max(values))


def _product(a: Interval, b: Interval) -> Interval:
    return _corners(lambda x, y: x * y, a, b)


def _floor_div(a: Interval, b: Interval) -> Interval | None:
    if b.low > 0:
        return _corners(lambda x, y: x // y, a, b)
    return Interval(0, a.high) if a.low >= 0 and b.low >= 0 else None


def _floor_mod(a: Interval, b: Interval) -> Interval | None:
    if b.low < 0:
        return None
    high = max(b.high - 1, 0)
    return Interval(0, min(high, a.high) if a.low >= 0 else high)


def _trunc_div(a: Interval, b: Interval) -> Interval | None:
    return _floor_div(a, b) if a.low >= 0 else None


def _trunc_rem(a: Interval, b: Interval) -> Interval | None:
    return _floor_mod(a, b) if a.low >= 0 else None


def _bit_and(a: Interval, b: Interval) -> Interval | None:
    highs = [x.high for x in (a, b) if x.low >= 0]
    return Interval(0, min(highs)) if highs else None


def _bit_or(a: Interval, b: Interval) -> Interval | None:
    if a.low < 0 or b.low < 0:
        return None
    return Interval(0, (1 << max(a.high, b.high).bit_length()) - 1)


def _shift_left(a: Interval, b: Interval) -> Interval | None:
    return _corners(lambda x, y: x << y, a, b) if b.low >= 0 and b.high < 32 else None


def _shift_right(a: Interval, b: Interval) -> Interval | None:
    if b.low >= 0 and b.high < 32:
        return _corners(lambda x, y: x >> y, a, b)
    return Interval(min(a.low, 0), max(a.high, 0))


def _truth(a: Interval, b: Interval) -> Interval:
    return Interval(0, 1)


_BINARY: dict[ir.BinaryOp, Callable[[Interval, Interval], Interval | None]] = {
    ir.BinaryOp.ADD: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    ir.BinaryOp.SUB: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    ir.BinaryOp.MUL: _product,
    ir.BinaryOp.FLOOR_DIV: _floor_div,
    ir.BinaryOp.FLOOR_MOD: _floor_mod,
    ir.BinaryOp.TRUNC_DIV: _trunc_div,
    ir.BinaryOp.TRUNC_REM: _trunc_rem,
    ir.BinaryOp.BIT_AND: _bit_and,
    ir.BinaryOp.BIT_OR: _bit_or,
    ir.BinaryOp.BIT_XOR: _bit_or,
    ir.BinaryOp.SHL: _shift_left,
    ir.BinaryOp.SHR: _shift_right,
}


def _bits(*_: Interval) -> Interval:
    return Interval(0, 32)


def _min(a: Interval, b: Interval) -> Interval:
    return _corners(min, a, b)


def _max(a: Interval, b: Interval) -> Interval:
    return _corners(max, a, b)


def _abs(a: Interval) -> Interval | None:
    low = max(a.low, -a.high, 0)
    return Interval(low, max(abs(a.low), abs(a.high)))


_BUILTINS: dict[str, Callable[..., Interval | None]] = {
    "abs": _abs,
    "min": _min,
    "max": _max,
    "clamp": lambda x, low, high: _min(_max(x, low), high),
    "sign": lambda x: Interval(-1 if x.low < 0 else 0, 1 if x.high > 0 else 0),
    "select": lambda a, b, condition: _hull([a, b]),
    "count_one_bits": _bits,
    "count_leading_zeros": _bits,
    "count_trailing_zeros": _bits,
}

"""Loops: `while`, `for … in range(…)`, `reversed(range(…))`, and unrolled `static_range(…)`."""

from __future__ import annotations

import builtins as python
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pywgsl import ir, lang, syntax
from pywgsl.frontend.assign import assign_name
from pywgsl.frontend.context import Abort, Context, Host, LoopContext, is_simple
from pywgsl.frontend.convert import coerce, describe, known_value, number_of
from pywgsl.frontend.expressions import expression, short_circuit, value, values
from pywgsl.frontend.iterables import refuse_call, refuse_value
from pywgsl.frontend.operators import binary, compare, condition, negated, unary
from pywgsl.ir import BinaryOp
from pywgsl.source import Span
from pywgsl.types import BOOL, I32, U32, Scalar, Type

#: Checks the statements of an inner block (`statements.inner`).
Inner: TypeAlias = Callable[[Context, syntax.Block], ir.Block]

#: Start, stop and step.
Bounds: TypeAlias = tuple[ir.Expr, ir.Expr, ir.Expr]


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop over a range, whose target is the range's number or computed from it."""

    bounds: Bounds
    target: Callable[[ir.Expr], ir.Expr] | None = None


_RANGES = (python.range, lang.static_range)

#: A static_range of more trips would only make a text that no compiler takes.
_MOST_UNROLLED = 4096


def leave(ctx: Context, node: syntax.Break | syntax.Continue) -> None:
    """Write `break` or `continue` as the innermost loop wants it."""
    loop = ctx.loops[-1]
    if isinstance(node, syntax.Break):
        loop.broke = True
        statements = loop.on_break
    else:
        loop.continued = True
        statements = loop.on_continue
    for statement in statements:
        ctx.emit(replace(statement, span=node.span))


def while_loop(ctx: Context, node: syntax.While, inner: Inner) -> None:
    """Check `while test: … else: …`."""
    with ctx.block() as head:
        test = ctx.attempt(lambda: condition(ctx, expression(ctx, node.test), "`while`"))
    if test is None:
        _check_only(ctx, node, inner)
        raise Abort
    if isinstance(test, ir.Literal) and not test.value:
        _emit_all(ctx, head)
        _emit_all(ctx, inner(ctx, node.orelse))
        return

    def loop(body: ir.Block) -> ir.Stmt:
        if not head:
            return ir.While(test, body, span=node.span)
        # The test runs statements of its own, so it moves into the loop.
        done = negated(test)
        start = (*head, ir.If(done, (ir.Break(span=test.span),), span=test.span))
        always = ir.Literal(True, BOOL, span=test.span)
        return ir.While(always, (*start, *body), span=node.span)

    _with_else(ctx, node, inner, lambda: loop(inner(ctx, node.body)))


def for_loop(ctx: Context, node: syntax.For, inner: Inner) -> None:
    """Check `for target in …: … else: …`."""
    found = ctx.attempt(lambda: _iterable(ctx, node))
    if found is None:
        ctx.broken.add(ctx.web_of(node.target))
        _check_only(ctx, node, inner)
        raise Abort
    if isinstance(found, range):
        _unrolled(ctx, node, inner, found)
    else:
        _with_else(ctx, node, inner, lambda: _for_range(ctx, node, inner, found))


def _check_only(ctx: Context, node: syntax.While | syntax.For, inner: Inner) -> None:
    """Look for mistakes in what a loop contains whose head is wrong already."""
    ctx.loops.append(LoopContext())
    inner(ctx, node.body)
    ctx.loops.pop()
    inner(ctx, node.orelse)


def _iterable(ctx: Context, node: syntax.For) -> Counted | range:
    """Return the bounds of a loop, or, if it is to be unrolled, its numbers."""
    iterable, backwards = node.iterable, False
    callee = _callee(ctx, iterable)
    if callee is reversed and isinstance(iterable, syntax.Call) and len(iterable.args) == 1:
        iterable, backwards = iterable.args[0], True
        callee = _callee(ctx, iterable)
    if not isinstance(iterable, syntax.Call):
        refuse_value(ctx, node, value(ctx, iterable))
    if not any(callee is known for known in _RANGES):
        refuse_call(ctx, node, iterable, callee)
    name = iterable.callee.span.text
    if iterable.keywords:
        ctx.error("E0311", f"`{name}` takes no named arguments", iterable.keywords[0].span)
    if not 1 <= len(iterable.args) <= 3:
        ctx.error(
            "E0311", f"`{name}` takes 1 to 3 arguments, but got {len(iterable.args)}", iterable.span
        )
    bounds = [number_of(ctx, v) for v in values(ctx, iterable.args)]
    for bound in bounds:
        _check_bound(ctx, bound, name)
    if callee is lang.static_range:
        trips = _static_trips(ctx, bounds, iterable.span)
        return trips[::-1] if backwards else trips
    found = _range_bounds(ctx, bounds, iterable.span)
    return _reversed(ctx, *found) if backwards else Counted(found)


def _check_bound(ctx: Context, bound: ir.Expr, name: str) -> None:
    if isinstance(bound.type, Scalar) and bound.type.is_integer:
        return
    fix = f"convert it: `i32({bound.span.text})`" if isinstance(bound.type, Scalar) else None
    ctx.error(
        "E0328",
        f"a bound of `{name}` is an integer, but this is {describe(bound)}",
        bound.span,
        help=fix,
    )


def _callee(ctx: Context, node: syntax.Expr) -> object:
    if not isinstance(node, syntax.Call):
        return None
    with ctx.block():
        found = value(ctx, node.callee)
    return found.value if isinstance(found, Host) else None


def _emit_all(ctx: Context, statements: Sequence[ir.Stmt]) -> None:
    for statement in statements:
        ctx.emit(statement)


def _with_else(
    ctx: Context, node: syntax.While | syntax.For, inner: Inner, build: Callable[[], ir.Stmt]
) -> None:
    """Write a loop, and its `else`, which runs unless the loop was left by `break`."""
    loop = LoopContext()
    flag = ir.Local(ctx.fresh("broke"), BOOL, span=node.span) if node.orelse else None
    if flag is not None:
        note = ir.Assign(flag, ir.Literal(True, BOOL, span=node.span), span=node.span)
        loop.on_break = (note, ir.Break(span=node.span))
    position = len(ctx.out)
    ctx.loops.append(loop)
    statement = build()
    ctx.loops.pop()
    ctx.emit(statement)
    if flag is None:
        return
    orelse = inner(ctx, node.orelse)
    if not loop.broke:
        _emit_all(ctx, orelse)
        return
    start = ir.Literal(False, BOOL, span=node.span)
    ctx.out.insert(position, ir.Var(flag.name, BOOL, start, span=node.span))
    if orelse:
        ctx.emit(ir.If(negated(flag), orelse, span=node.span))


# ------------------------------------------------------------------------------------- range


def _range_bounds(ctx: Context, bounds: list[ir.Expr], span: Span) -> Bounds:
    """Return start, stop and step with one type."""
    types = {bound.type for bound in bounds}
    if {I32, U32} <= types:
        signed = next(b for b in bounds if b.type is I32)
        unsigned = next(b for b in bounds if b.type is U32)
        ctx.error(
            "E0306",
            "`range` does not mix `i32` and `u32`",
            span,
            help=f"convert one: `u32({signed.span.text})` or `i32({unsigned.span.text})`",
        )
    type_: Type = U32 if U32 in types else I32
    last = bounds[-1]
    if type_ is U32 and len(bounds) == 3 and isinstance(last, ir.Literal) and last.value < 0:
        ctx.error(
            "E0328",
            "a range of `u32` has no negative step",
            last.span,
            help="convert the other bounds with `i32(…)`",
        )
    typed = [coerce(ctx, bound, type_, "a bound of `range`") for bound in bounds]
    zero, one = (ir.Literal(n, type_, span=span) for n in (0, 1))
    start, stop = (zero, typed[0]) if len(typed) == 1 else (typed[0], typed[1])
    step = typed[2] if len(typed) == 3 else one
    if isinstance(step, ir.Literal) and step.value == 0:
        ctx.error("E0329", "the step of a `range` must not be zero", step.span)
    return start, stop, step


def _reversed(ctx: Context, start: ir.Expr, stop: ir.Expr, step: ir.Expr) -> Counted:
    """Return the range with the same numbers from the end."""
    span, type_ = stop.span, stop.type
    assert type_ is not None

    def calculate(op: BinaryOp, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return binary(ctx, op, a, b, span)

    def minus(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return calculate(BinaryOp.SUB, a, b)

    if type_ is not I32 or not isinstance(step, ir.Literal):
        return _counted_back(ctx, start, stop, step)
    back = ir.Literal(-step.value, type_, span=step.span)
    if abs(step.value) == 1:
        return Counted((minus(stop, step), minus(start, step), back))
    # The last number is start + ((stop - start - sign) // step) * step, and none if there are none.
    start = start if is_simple(start) else ctx.temporary(start, "start")
    stop = stop if is_simple(stop) else ctx.temporary(stop, "stop")
    sign = ir.Literal(1 if step.value > 0 else -1, type_, span=span)
    trips = calculate(BinaryOp.FLOOR_DIV, minus(minus(stop, start), sign), step)
    last = calculate(BinaryOp.ADD, start, calculate(BinaryOp.MUL, trips, step))
    return Counted((last, minus(start, sign), back))


def _counted_back(ctx: Context, start: ir.Expr, stop: ir.Expr, step: ir.Expr) -> Counted:
    """Return a reversed range by the number of its trips, for u32 and steps known at run time."""
    span, type_ = stop.span, stop.type
    assert isinstance(type_, Scalar)
    zero, one = (ir.Literal(n, type_, span=span) for n in (0, 1))
    start, stop, step = (
        bound if is_simple(bound) else ctx.temporary(bound, name)
        for bound, name in ((start, "start"), (stop, "stop"), (step, "step"))
    )

    def calculate(op: BinaryOp, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        neutral = one if op in (BinaryOp.MUL, BinaryOp.FLOOR_DIV) else zero
        if b == neutral:
            return a
        return b if a == zero and op is BinaryOp.ADD else binary(ctx, op, a, b, span)

    def upwards(low: ir.Expr, high: ir.Expr, size: ir.Expr) -> ir.Expr:
        """How many numbers from `low` up to before `high` there are, if `size` is positive."""
        gap = calculate(BinaryOp.SUB, calculate(BinaryOp.SUB, high, low), one)
        trips = calculate(BinaryOp.ADD, calculate(BinaryOp.FLOOR_DIV, gap, size), one)
        some = short_circuit(
            ctx,
            BinaryOp.LOGICAL_AND,
            compare(ctx, BinaryOp.LT, low, high, span),
            lambda: compare(ctx, BinaryOp.GT, size, zero, span),
            span,
        )
        if isinstance(some, ir.Literal):
            return trips if some.value else zero
        return ir.Select(some, trips, zero, type_, span=span)

    trips = upwards(start, stop, step)
    if type_ is I32:
        down = upwards(stop, start, unary(ctx, ir.UnaryOp.NEG, step, span))
        trips = calculate(BinaryOp.ADD, trips, down)  # one of the two is none
    trips = ctx.temporary(trips, "trips")
    last = calculate(
        BinaryOp.ADD,
        start,
        calculate(BinaryOp.MUL, calculate(BinaryOp.SUB, trips, one), step),
    )
    last = ctx.temporary(last, "last")
    return Counted(
        (zero, trips, one),
        lambda trip: calculate(BinaryOp.SUB, last, calculate(BinaryOp.MUL, trip, step)),
    )


def _for_range(ctx: Context, node: syntax.For, inner: Inner, counted: Counted) -> ir.Stmt:
    start, stop, step = counted.bounds
    assert start.type is not None
    web = ctx.web_of(node.target)
    annotated = ctx.annotations.get(node.target.id, (start.type,))[0]
    own = ctx.scope.assignments[web] == 1 and web not in ctx.scope.escaping
    if own and annotated == start.type and counted.target is None:
        # No one else assigns the target, so it can be the loop's index itself.
        index = ir.Local(ctx.spell(node.target.id), start.type, span=node.target.span)
        ctx.web_values[web] = index
        return ir.ForRange(index.name, start, stop, step, inner(ctx, node.body), span=node.span)
    index = ir.Local(ctx.fresh("index"), start.type, span=node.target.span)
    with ctx.block() as out:
        number = index if counted.target is None else counted.target(index)
        assign_name(ctx, node.target, web, number)
    return ir.ForRange(
        index.name, start, stop, step, (*out, *inner(ctx, node.body)), span=node.span
    )


# ------------------------------------------------------------------------------ static_range


def _static_trips(ctx: Context, bounds: list[ir.Expr], span: Span) -> range:
    numbers = []
    for bound in bounds:
        number = known_value(ctx, bound)
        if number is None:
            ctx.error(
                "E0330",
                "a bound of `static_range` must be known when the kernel is compiled",
                bound.span,
                help="use a literal, a parameter `n: pw.Const[int]`, or an ordinary `range`",
            )
        numbers.append(int(number))
    if len(numbers) == 3 and numbers[2] == 0:
        ctx.error("E0329", "the step of a `range` must not be zero", bounds[2].span)
    trips = range(*numbers)
    copies = len(trips) * ctx.copies
    if copies > _MOST_UNROLLED:
        ctx.error(
            "E0330",
            f"this would be unrolled {copies} times, more than {_MOST_UNROLLED}",
            span,
            help="use an ordinary `range`",
        )
    return trips


def _unrolled(ctx: Context, node: syntax.For, inner: Inner, trips: range) -> None:
    """Write the body once for each number.

    `continue` and `break` become exits of loops that run once: one around each copy for
    `continue`, one around all for `break`.
    """
    breaks, continues = _exits(node.body)
    loop = LoopContext()
    flag = None
    if breaks and (continues or node.orelse):
        flag = ir.Local(ctx.fresh("broke"), BOOL, span=node.span)
        note = ir.Assign(flag, ir.Literal(True, BOOL, span=node.span), span=node.span)
        loop.on_break = (note, ir.Break(span=node.span))
    loop.on_continue = (ir.Break(span=node.span),)
    known = dict(ctx.known)
    with ctx.block() as body:
        _copies(ctx, node, inner, trips, loop, continues, flag)
    if breaks or continues:
        ctx.known = known  # which copy was the last is not known any more
    if flag is not None:
        start = ir.Literal(False, BOOL, span=node.span)
        ctx.emit(ir.Var(flag.name, BOOL, start, span=node.span))
    if breaks:
        ctx.emit(_once(tuple(body), node.span))
    else:
        _emit_all(ctx, body)
    if flag is None or not node.orelse:
        _emit_all(ctx, inner(ctx, node.orelse))
    elif orelse := inner(ctx, node.orelse):
        ctx.emit(ir.If(negated(flag), orelse, span=node.span))


def _exits(body: syntax.Block) -> tuple[bool, bool]:
    """Return whether a loop's body has a `break`, and a `continue`, of that loop."""
    breaks = continues = False
    pending: list[syntax.Node] = list(body)
    while pending:
        node = pending.pop()
        breaks |= isinstance(node, syntax.Break)
        continues |= isinstance(node, syntax.Continue)
        if isinstance(node, syntax.While | syntax.For):
            pending.extend(node.orelse)
        else:
            pending.extend(syntax.children(node))
    return breaks, continues


def _copies(
    ctx: Context,
    node: syntax.For,
    inner: Inner,
    trips: range,
    loop: LoopContext,
    continues: bool,
    flag: ir.Local | None,
) -> None:
    """Write the copies of an unrolled body, up to one that never comes to its end."""
    web = ctx.web_of(node.target)
    ctx.loops.append(loop)
    ctx.copies *= max(1, len(trips))
    for number in trips:
        with ctx.block() as out:
            _bind_trip(ctx, node, number)
            _emit_all(ctx, inner(ctx, node.body))
        if not continues:
            _emit_all(ctx, out)
            if out and isinstance(out[-1], ir.Break | ir.Return):
                break
            continue
        ctx.emit(_once(tuple(out), node.span))
        if flag is not None and number != trips[-1]:
            ctx.emit(ir.If(flag, (ir.Break(span=node.span),), span=node.span))
    ctx.copies //= max(1, len(trips))
    ctx.loops.pop()
    if web in ctx.scope.escaping:
        ctx.web_values.pop(web, None)  # after the loop it is what it was at the `break`


def _bind_trip(ctx: Context, node: syntax.For, number: int) -> None:
    web = ctx.web_of(node.target)
    found = ir.Literal(number, I32, span=node.target.span)
    alone = ctx.scope.assignments[web] == 1 and node.target.id not in ctx.annotations
    if not alone or web in ctx.scope.escaping:
        assign_name(ctx, node.target, web, found)
    if alone:
        ctx.web_values[web] = found


def _once(body: ir.Block, span: Span) -> ir.While:
    """Return a loop that runs once, for `Break` to leave."""
    always = ir.Literal(True, BOOL, span=span)
    if body and isinstance(body[-1], ir.Break | ir.Continue | ir.Return):
        return ir.While(always, body, span=span)
    return ir.While(always, (*body, ir.Break(span=span)), span=span)

"""Loops: `while`, `for … in range(…)`, `reversed(range(…))`, and unrolled `static_range(…)`."""

from __future__ import annotations

import builtins as python
from collections.abc import Callable, Sequence
from typing import TypeAlias

from pywgsl import ir, lang, syntax
from pywgsl.frontend import calls
from pywgsl.frontend.assign import assign_variable, join_web
from pywgsl.frontend.context import Context, Host, LoopContext
from pywgsl.frontend.convert import coerce, describe, number_of
from pywgsl.frontend.expressions import expression, value, values
from pywgsl.frontend.operators import condition
from pywgsl.ir import BinaryOp
from pywgsl.source import Span
from pywgsl.types import BOOL, I32, U32, Scalar, Type

#: Checks the statements of an inner block (`statements.inner`).
Inner: TypeAlias = Callable[[Context, syntax.Block], ir.Block]

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
        ctx.emit(statement)


def while_loop(ctx: Context, node: syntax.While, inner: Inner) -> None:
    """Check `while test: … else: …`."""
    with ctx.block() as head:
        test = condition(ctx, expression(ctx, node.test), "`while`")
    if isinstance(test, ir.Literal) and not test.value:
        _emit_all(ctx, inner(ctx, node.orelse))
        return

    def loop(body: ir.Block) -> ir.Stmt:
        if not head:
            return ir.While(test, body, span=node.span)
        # The test runs statements of its own, so it moves into the loop.
        done = ir.Unary(ir.UnaryOp.NOT, test, BOOL, span=test.span)
        start = (*head, ir.If(done, (ir.Break(span=test.span),), span=test.span))
        always = ir.Literal(True, BOOL, span=test.span)
        return ir.While(always, (*start, *body), span=node.span)

    _with_else(ctx, node, inner, lambda: loop(inner(ctx, node.body)))


def for_loop(ctx: Context, node: syntax.For, inner: Inner) -> None:
    """Check `for target in …: … else: …`."""
    iterable, backwards = node.iterable, False
    callee = _callee(ctx, iterable)
    if callee is reversed and isinstance(iterable, syntax.Call) and len(iterable.args) == 1:
        iterable, backwards = iterable.args[0], True
        callee = _callee(ctx, iterable)
    if not isinstance(iterable, syntax.Call) or callee not in (python.range, lang.static_range):
        ctx.error(
            "E0327",
            "a loop runs over a `range`",
            node.iterable.span,
            help="for example `for i in range(len(x)):`",
        )
    if not 1 <= len(iterable.args) <= 3 or iterable.keywords:
        ctx.error(
            "E0311", f"`range` takes 1 to 3 arguments, but got {len(iterable.args)}", iterable.span
        )
    bounds = [number_of(ctx, v) for v in values(ctx, iterable.args)]
    for bound in bounds:
        if not isinstance(bound.type, Scalar) or not bound.type.is_integer:
            fix = (
                f"convert it: `i32({bound.span.text})`" if isinstance(bound.type, Scalar) else None
            )
            ctx.error(
                "E0328",
                f"a bound of `range` is an integer, but this is {describe(bound)}",
                bound.span,
                help=fix,
            )
    if callee is lang.static_range:
        trips = _static_trips(ctx, bounds, iterable.span)
        _unrolled(ctx, node, inner, trips[::-1] if backwards else trips)
        return
    start, stop, step = _range_bounds(ctx, bounds, iterable.span)
    if backwards:
        start, stop, step = _reversed(ctx, start, stop, step)
    _with_else(ctx, node, inner, lambda: _for_range(ctx, node, inner, start, stop, step))


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
    flag = ir.Local(ctx.fresh("left"), BOOL, span=node.span) if node.orelse else None
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
    ctx.emit(ir.If(ir.Unary(ir.UnaryOp.NOT, flag, BOOL, span=node.span), orelse, span=node.span))


# ------------------------------------------------------------------------------------- range


def _range_bounds(
    ctx: Context, bounds: list[ir.Expr], span: Span
) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
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
    typed = [coerce(ctx, bound, type_, "a bound of `range`") for bound in bounds]
    zero, one = (ir.Literal(n, type_, span=span) for n in (0, 1))
    start, stop = (zero, typed[0]) if len(typed) == 1 else (typed[0], typed[1])
    step = typed[2] if len(typed) == 3 else one
    if isinstance(step, ir.Literal) and step.value == 0:
        ctx.error("E0329", "the step of a `range` must not be zero", step.span)
    return start, stop, step


def _reversed(
    ctx: Context, start: ir.Expr, stop: ir.Expr, step: ir.Expr
) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    """Return the range with the same numbers from the end."""
    span, type_ = stop.span, stop.type
    assert type_ is not None
    if type_ is not I32 or not isinstance(step, ir.Literal):
        ctx.error(
            "E0327",
            "`reversed` works on a range of `i32` whose step is a constant",
            span,
            help="convert its bounds with `i32(…)`, or write the range backwards",
        )
    one = ir.Literal(1, type_, span=span)

    def minus(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        if isinstance(a, ir.Literal) and isinstance(b, ir.Literal):
            return ir.Literal(a.value - b.value, type_, span=span)
        return ir.Binary(BinaryOp.SUB, a, b, type_, span=span)

    back = ir.Literal(-step.value, type_, span=step.span)
    if abs(step.value) == 1:
        return minus(stop, step), minus(start, step), back
    # The last number is start + ((stop - start - sign) // step) * step, and none if there are none.
    start, stop = ctx.temporary(start, "start"), ctx.temporary(stop, "stop")
    sign = one if step.value > 0 else ir.Literal(-1, type_, span=span)
    trips = ir.Binary(BinaryOp.FLOOR_DIV, minus(minus(stop, start), sign), step, type_, span=span)
    last = ir.Binary(
        BinaryOp.ADD,
        start,
        ir.Binary(BinaryOp.MUL, trips, step, type_, span=span),
        type_,
        span=span,
    )
    return last, minus(start, sign), back


def _for_range(
    ctx: Context,
    node: syntax.For,
    inner: Inner,
    start: ir.Expr,
    stop: ir.Expr,
    step: ir.Expr,
) -> ir.Stmt:
    assert start.type is not None
    web = ctx.web_of(node.target)
    own = ctx.scope.assignments[web] == 1 and web not in ctx.scope.escaping
    if own:
        # No one else assigns the target, so it can be the loop's index itself.
        index = ir.Local(ctx.spell(node.target.id), start.type, span=node.target.span)
        ctx.web_values[web] = index
        return ir.ForRange(index.name, start, stop, step, inner(ctx, node.body), span=node.span)
    index = ir.Local(ctx.fresh("index"), start.type, span=node.target.span)
    type_ = join_web(ctx, web, index, node.target)
    with ctx.block() as out:
        assigned = coerce(ctx, index, type_)
        assign_variable(ctx, node.target.id, web, type_, assigned, node.target.span)
    return ir.ForRange(
        index.name, start, stop, step, (*out, *inner(ctx, node.body)), span=node.span
    )


# ------------------------------------------------------------------------------ static_range


def _static_trips(ctx: Context, bounds: list[ir.Expr], span: Span) -> Sequence[int]:
    numbers = []
    for bound in bounds:
        number = calls.known_value(ctx, bound)
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
    if len(trips) > _MOST_UNROLLED:
        ctx.error(
            "E0330",
            f"`static_range` would be unrolled {len(trips)} times, more than {_MOST_UNROLLED}",
            span,
            help="use an ordinary `range`",
        )
    return trips


def _unrolled(ctx: Context, node: syntax.For, inner: Inner, trips: Sequence[int]) -> None:
    """Write the body once for each number.

    `continue` and `break` become exits of loops that run once: one around each copy, one around
    all.
    """
    flag = ir.Local(ctx.fresh("left"), BOOL, span=node.span)
    leave_all = ir.Assign(flag, ir.Literal(True, BOOL, span=node.span), span=node.span)
    loop = LoopContext((leave_all, ir.Break(span=node.span)), (ir.Break(span=node.span),))
    copies: list[ir.Block] = []
    ctx.loops.append(loop)
    for number in trips:
        with ctx.block() as out:
            _bind_trip(ctx, node, number)
            _emit_all(ctx, inner(ctx, node.body))
        copies.append(tuple(out))
    ctx.loops.pop()
    if not (loop.broke or loop.continued):
        for copy in copies:
            _emit_all(ctx, copy)
        _emit_all(ctx, inner(ctx, node.orelse))
        return
    if loop.broke:
        start = ir.Literal(False, BOOL, span=node.span)
        ctx.emit(ir.Var(flag.name, BOOL, start, span=node.span))
    body: list[ir.Stmt] = []
    for copy in copies:
        body.append(_once(copy, node.span))
        if loop.broke:
            body.append(ir.If(flag, (ir.Break(span=node.span),), span=node.span))
    ctx.emit(_once(tuple(body), node.span))
    orelse = inner(ctx, node.orelse)
    if orelse and loop.broke:
        test = ir.Unary(ir.UnaryOp.NOT, flag, BOOL, span=node.span)
        ctx.emit(ir.If(test, orelse, span=node.span))
    else:
        _emit_all(ctx, orelse)


def _bind_trip(ctx: Context, node: syntax.For, number: int) -> None:
    web = ctx.web_of(node.target)
    found = ir.Literal(number, I32, span=node.target.span)
    if ctx.scope.assignments[web] == 1:
        ctx.web_values[web] = found
        return
    type_ = join_web(ctx, web, found, node.target)
    assign_variable(ctx, node.target.id, web, type_, coerce(ctx, found, type_), node.target.span)


def _once(body: ir.Block, span: Span) -> ir.While:
    """Return a loop that runs once, for `Break` to leave."""
    always = ir.Literal(True, BOOL, span=span)
    if body and isinstance(body[-1], ir.Break | ir.Return):
        return ir.While(always, body, span=span)
    return ir.While(always, (*body, ir.Break(span=span)), span=span)

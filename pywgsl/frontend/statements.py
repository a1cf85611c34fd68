"""Statements: `syntax` to `ir`. Variables are assigned here and declared later (`declare`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import NoReturn

from pywgsl import ir, syntax
from pywgsl.builtins import Builtin
from pywgsl.errors import Label
from pywgsl.frontend import loops, operators
from pywgsl.frontend.assign import annotated, assign, augmented
from pywgsl.frontend.context import (
    Abort,
    Context,
    Host,
    TupleValue,
    Value,
    is_simple,
)
from pywgsl.frontend.convert import (
    coerce,
    common_type,
    concrete,
    default_type,
    describe,
    mismatch,
    number_of,
)
from pywgsl.frontend.definition import Helper
from pywgsl.frontend.expressions import expression, short_circuit, value, values
from pywgsl.frontend.handing import hand_over
from pywgsl.frontend.operators import condition
from pywgsl.lang import Form
from pywgsl.source import Span
from pywgsl.types import (
    BOOL,
    I32,
    U32,
    TupleStruct,
    Type,
)


def block(ctx: Context, statements: syntax.Block) -> None:
    """Check statements, going on after a mistake; what cannot be reached is left out."""
    for node in statements:
        if node not in ctx.scope.reached or ctx.has_left():
            break
        try:
            statement(ctx, node)
        except Abort:
            ctx.gave_up = True
            _poison(ctx, node)


def inner(ctx: Context, statements: syntax.Block) -> ir.Block:
    """Check an inner block and return it."""
    with ctx.block() as out:
        block(ctx, statements)
    return tuple(out)


def _poison(ctx: Context, node: syntax.Stmt) -> None:
    """Mark what a wrong statement would have assigned, so that its uses say nothing more."""
    targets: tuple[syntax.Expr, ...] = ()
    if isinstance(node, syntax.Assign):
        targets = node.targets
    elif isinstance(node, syntax.Annotated | syntax.Augmented | syntax.For):
        targets = (node.target,)
    for target in targets:
        for name in syntax.walk(target):
            if isinstance(name, syntax.Name) and name in ctx.scope.writes:
                web = ctx.scope.writes[name]
                if web not in ctx.web_types:
                    ctx.broken.add(web)


def statement(ctx: Context, node: syntax.Stmt) -> None:  # noqa: C901
    """Check one statement."""
    match node:
        case syntax.Assign():
            assign(ctx, node)
        case syntax.Annotated():
            annotated(ctx, node)
        case syntax.Augmented():
            augmented(ctx, node)
        case syntax.Evaluate(value=call):
            _evaluate(ctx, call)
        case syntax.If():
            _if(ctx, node)
        case syntax.While():
            loops.while_loop(ctx, node, inner)
        case syntax.For():
            loops.for_loop(ctx, node, inner)
        case syntax.Match():
            _match(ctx, node)
        case syntax.Return():
            _return(ctx, node)
        case syntax.Break():
            loops.leave(ctx, node)
        case syntax.Continue():
            loops.leave(ctx, node)
        case syntax.Assert(test=test, message=message, span=span):
            holds = condition(ctx, expression(ctx, test), "`assert`")
            ctx.effect = True
            ctx.emit(ir.Assert(holds, message or "", span=span))


# ------------------------------------------------------------------------------------ others


def _evaluate(ctx: Context, node: syntax.Expr) -> None:
    if isinstance(node, syntax.Call) and _is_print(ctx, node):
        _print(ctx, node)
        return
    found = value(ctx, node)
    if isinstance(node, syntax.Name | syntax.Attribute):
        _refuse_idle(ctx, found, node.span)
    if isinstance(found, ir.Local):
        _drop_result(ctx, found)


def _refuse_idle(ctx: Context, found: Value, span: Span) -> NoReturn:
    """Say that a name alone on a line does nothing, whatever it stands for."""
    fix = "leave it out"
    functions = Builtin | Form | Helper | FunctionType
    if isinstance(found, Host) and isinstance(found.value, functions):
        fix = f"call it, `{span.text}()`, or leave it out"
    ctx.error("E0129", f"`{span.text}` does nothing here", span, help=fix)


def _print(ctx: Context, node: syntax.Call) -> None:
    end = "\n"
    for keyword in node.keywords:
        text = keyword.value.value if isinstance(keyword.value, syntax.Constant) else None
        if keyword.name != "end" or not isinstance(text, str):
            ctx.error(
                "E0311",
                f"`print` in a kernel takes no `{keyword.name}=`"
                if keyword.name != "end"
                else "`end` of `print` must be a plain text",
                keyword.span,
                help="it takes values, texts, and `end=` with a text",
            )
        end = text
    parts: list[str | ir.Expr] = []
    for found in values(ctx, node.args):
        if isinstance(found, Host) and isinstance(found.value, str):
            parts.append(found.value)
        else:
            parts.append(concrete(ctx, number_of(ctx, found)))
    ctx.effect = True
    ctx.emit(ir.Print(tuple(parts), end, span=node.span))


def _drop_result(ctx: Context, found: ir.Local) -> None:
    """Turn a call whose result is not used into a statement of its own."""
    last = ctx.out[-1] if ctx.out else None
    if isinstance(last, ir.Let) and last.name == found.name:
        called = last.value
        if isinstance(called, ir.Call | ir.Invoke):
            ctx.out[-1] = ir.Effect(called, span=last.span)


def _is_print(ctx: Context, node: syntax.Call) -> bool:
    callee = node.callee
    if not isinstance(callee, syntax.Name) or callee.id in ctx.scope.locals:
        return False
    try:
        return ctx.lookup(callee) is print
    except KeyError:
        return False


def _if(ctx: Context, node: syntax.If) -> None:
    decided = ctx.scope.decided.get(node.test)
    if decided is not None:
        _note_captures(ctx, (node.test,))
        block(ctx, node.body if decided else node.orelse)
        return
    test = ctx.attempt(lambda: condition(ctx, expression(ctx, node.test), "`if`"))
    if isinstance(test, ir.Literal):
        block(ctx, node.body if test.value else node.orelse)
        return
    body = inner(ctx, node.body)
    orelse = inner(ctx, node.orelse)
    if test is None:
        raise Abort
    if body or orelse:
        if not body:
            test = operators.negated(test)
            body, orelse = orelse, ()
        ctx.emit(ir.If(test, body, orelse, span=node.span))


def _note_captures(ctx: Context, nodes: Iterable[syntax.Expr]) -> None:
    """Note which globals a decision depended on that was made before the check."""
    with ctx.block():
        for node in nodes:
            ctx.attempt(partial(value, ctx, node))


def _match(ctx: Context, node: syntax.Match) -> None:
    decided = ctx.scope.matched.get(node)
    if decided is not None:
        parts = (p for case in node.cases for p in (*case.patterns, case.guard) if p is not None)
        _note_captures(ctx, (node.subject, *parts))
        block(ctx, decided)
        return
    subject = ctx.attempt(lambda: _subject(ctx, node))
    if subject is None:
        for case in node.cases:
            inner(ctx, case.body)
        raise Abort
    if not is_simple(subject):
        subject = ctx.temporary(subject, "subject")
    seen: dict[int, Span] = {}
    cases: list[ir.Case] = []
    for position, case in enumerate(node.cases):
        if case.guard is not None:
            orelse = replace(node, cases=node.cases[position:])
            _finish_match(ctx, subject, cases, _guarded(ctx, subject, orelse), node.span)
            return
        if not case.patterns:
            _finish_match(ctx, subject, cases, inner(ctx, case.body), node.span)
            return
        numbers = [_pattern(ctx, subject, p, seen) for p in case.patterns]
        body = inner(ctx, case.body)
        cases.append(ir.Case(tuple(n for n in numbers if n is not None), body, span=case.span))
    _finish_match(ctx, subject, cases, (), node.span)


def _subject(ctx: Context, node: syntax.Match) -> ir.Expr:
    subject = concrete(ctx, expression(ctx, node.subject))
    if subject.type not in (I32, U32):
        ctx.error(
            "E0325",
            f"`match` works on integers, but this is {describe(subject)}",
            node.subject.span,
            help=f"convert it: `i32({node.subject.span.text})`",
        )
    return subject


def _pattern(
    ctx: Context, subject: ir.Expr, node: syntax.Expr, seen: dict[int, Span]
) -> int | None:
    """Return the number of a pattern; None if an earlier case has it already."""
    found = expression(ctx, node)
    assert subject.type is not None
    if not isinstance(found, ir.Literal):
        ctx.error("E0325", "a case must be an integer known when the kernel is compiled", node.span)
    number = coerce(ctx, found, subject.type, "the subject")
    assert isinstance(number, ir.Literal)
    if number.value in seen:
        return None
    seen[int(number.value)] = node.span
    return int(number.value)


def _guarded(ctx: Context, subject: ir.Expr, node: syntax.Match) -> ir.Block:
    """Return the cases from one with a guard on, as tests one after the other."""
    case, rest = node.cases[0], node.cases[1:]
    with ctx.block() as out:
        test: ir.Expr | None = None
        for pattern in case.patterns:
            equal = operators.compare(
                ctx, ir.BinaryOp.EQ, subject, expression(ctx, pattern), pattern.span
            )
            test = (
                equal
                if test is None
                else ir.Binary(ir.BinaryOp.LOGICAL_OR, test, equal, BOOL, span=node.span)
            )
        guard = case.guard
        start = test if test is not None else ir.Literal(True, BOOL, span=case.span)
        holds = start if guard is None else _with_guard(ctx, start, guard)
        body = inner(ctx, case.body)
        with ctx.block() as others:
            if rest:
                _rest_of_match(ctx, subject, replace(node, cases=rest))
        if isinstance(holds, ir.Literal):
            for statement_ in body if holds.value else others:
                ctx.emit(statement_)
        elif body or others:
            ctx.emit(ir.If(holds, body, tuple(others), span=case.span))
    return tuple(out)


def _with_guard(ctx: Context, matches: ir.Expr, guard: syntax.Expr) -> ir.Expr:
    def holds() -> ir.Expr:
        return condition(ctx, expression(ctx, guard), "a guard")

    return short_circuit(ctx, ir.BinaryOp.LOGICAL_AND, matches, holds, guard.span)


def _rest_of_match(ctx: Context, subject: ir.Expr, node: syntax.Match) -> None:
    if not node.cases[0].patterns and node.cases[0].guard is None:
        block(ctx, node.cases[0].body)
        return
    for statement_ in _guarded(ctx, subject, node):
        ctx.emit(statement_)


def _finish_match(
    ctx: Context, subject: ir.Expr, cases: list[ir.Case], default: ir.Block, span: Span
) -> None:
    kept = tuple(case for case in cases if case.values)
    if kept:
        ctx.emit(ir.Switch(subject, kept, default, span=span))
    else:
        for statement_ in default:
            ctx.emit(statement_)


def _return(ctx: Context, node: syntax.Return) -> None:
    if node.value is None or (isinstance(node.value, syntax.Constant) and node.value.value is None):
        ctx.returns_nothing = node.span
        ctx.emit(ir.Return(None, span=node.span))
        return
    if ctx.is_kernel:
        ctx.error(
            "E0401",
            "a kernel returns nothing",
            node.value.span,
            help="store the result in a buffer: `output[i] = …`",
        )
    found = value(ctx, node.value)
    if isinstance(found, TupleValue):
        found = _tuple_result(ctx, found)
    result = number_of(ctx, found)
    assert result.type is not None
    joined = result.type if ctx.result is None else common_type(ctx.result, result.type)
    if joined is None:
        assert ctx.result is not None
        first = ctx.returns_value
        labels = (Label(first, f"here it returns {_described(ctx.result)}"),) if first else ()
        mismatch(ctx, result, ctx.result, "the result", *labels)
    if ctx.final:
        joined = default_type(joined)
    if joined != ctx.result:
        ctx.result = joined
        ctx.changed = True
    ctx.returns_value = ctx.returns_value or node.span
    hand_over(
        ctx,
        coerce(ctx, result, joined),
        lambda part: ctx.emit(ir.Return(part, span=node.span)),
    )


def _tuple_result(ctx: Context, found: TupleValue) -> ir.Expr:
    """Return several results as one value, each with the type that all returns agree on."""
    items = [number_of(ctx, item) for item in found.items]
    types = [item.type for item in items if item.type is not None]
    if isinstance(ctx.result, TupleStruct):
        earlier = [f.type for f in ctx.result.fields]
        if len(earlier) == len(types):
            joined = [common_type(a, b) for a, b in zip(earlier, types, strict=True)]
            types = [a if b is None else b for a, b in zip(earlier, joined, strict=True)]
    if ctx.final:
        types = [default_type(t) for t in types]
    parts = tuple(coerce(ctx, item, t) for item, t in zip(items, types, strict=True))
    struct = ctx.program.tuple_struct(tuple(types))
    if (
        isinstance(ctx.result, TupleStruct)
        and ctx.result != struct
        and len(types) == len(ctx.result.fields)
    ):
        ctx.result = struct
        ctx.changed = True
    return ir.Construct(struct, parts, span=found.span)


def _described(type_: Type) -> str:
    if isinstance(type_, TupleStruct):
        return f"a tuple of {len(type_.fields)}"
    return f"`{type_}`"

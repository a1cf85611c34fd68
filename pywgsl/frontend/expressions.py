"""Expressions: `syntax` to `ir`, with Python's order of evaluation."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pywgsl import ir, syntax
from pywgsl.frontend import calls, fold, operators
from pywgsl.frontend.access import (
    buffer_attribute,
    component,
    host_attribute,
    host_subscript,
    host_value,
    index,
)
from pywgsl.frontend.context import (
    Abort,
    Context,
    Host,
    TupleValue,
    Value,
    changes_memory,
    has_memory_load,
    is_simple,
)
from pywgsl.frontend.convert import (
    concrete,
    describe,
    number_of,
    unify,
)
from pywgsl.frontend.operators import condition
from pywgsl.ir import BinaryOp
from pywgsl.source import Span
from pywgsl.types import (
    BOOL,
    RuntimeArray,
    Scalar,
    Type,
    Vector,
    scalar_of,
)

#: A sum of more terms is continued in a temporary: compilers limit how deep expressions nest.
_LONGEST_CHAIN = 32


def expression(ctx: Context, node: syntax.Expr) -> ir.Expr:
    """Return an expression that can be computed with."""
    return number_of(ctx, value(ctx, node))


def value(ctx: Context, node: syntax.Expr) -> Value:  # noqa: C901
    """Return what an expression stands for: something computed, a Python object, or a tuple."""
    match node:
        case syntax.Name():
            return _name(ctx, node)
        case syntax.Constant(value=constant, span=span):
            return _constant(ctx, constant, span)
        case syntax.Unary(op=op, operand=operand, span=span):
            return operators.unary(ctx, op, expression(ctx, operand), span)
        case syntax.Binary():
            return _binary(ctx, node)
        case syntax.Compare():
            return _compare(ctx, node)
        case syntax.BoolOp():
            return _bool_op(ctx, node)
        case syntax.Conditional():
            return _conditional(ctx, node)
        case syntax.Call():
            return _call(ctx, node)
        case syntax.Attribute():
            return _attribute(ctx, node)
        case syntax.Subscript():
            return _subscript(ctx, node)
        case syntax.Tuple(items=items, span=span):
            return TupleValue(tuple(values(ctx, items)), span)


def values(ctx: Context, nodes: Iterable[syntax.Expr]) -> list[Value]:
    """Return what expressions stand for, evaluated from the left.

    If a later one has to run statements that change memory, what the earlier ones loaded is kept in
    temporaries. Mistakes in each are reported.
    """
    results: list[Value] = []
    failed = False
    for node in nodes:
        before = len(ctx.out)
        try:
            result = value(ctx, node)
        except Abort:
            failed = True
            continue
        if len(ctx.out) > before and changes_memory(ctx.out[before:], ctx.program):
            position = before
            for i, earlier in enumerate(results):
                if not isinstance(earlier, Host | TupleValue) and has_memory_load(
                    earlier, ctx.program
                ):
                    if isinstance(earlier.type, RuntimeArray):
                        continue
                    results[i] = ctx.temporary_at(position, earlier)
                    position += 1
        results.append(result)
    if failed:
        raise Abort
    return results


def operands(ctx: Context, nodes: Iterable[syntax.Expr]) -> list[ir.Expr]:
    """Return expressions that can be computed with, evaluated from the left."""
    return [number_of(ctx, v) for v in values(ctx, nodes)]


# -------------------------------------------------------------------------------------- names


def _constant(ctx: Context, constant: object, span: Span) -> Value:
    if isinstance(constant, bool | int | float):
        return fold.literal(constant, span)
    return Host(constant, span)


def _name(ctx: Context, node: syntax.Name) -> Value:
    web = ctx.scope.reads.get(node)
    if web is not None:
        return read_web(ctx, node, web)
    if node.id in ctx.scope.locals:
        raise Abort  # the scope has reported it
    try:
        found = ctx.lookup(node)
    except KeyError:
        close = difflib.get_close_matches(node.id, sorted(ctx.scope.locals), 1)
        ctx.error(
            "E0201",
            f"`{node.id}` is not defined",
            node.span,
            help=f"did you mean `{close[0]}`?" if close else None,
        )
    return host_value(ctx, found, node.span, (ctx.captured.function, node.id))


def read_web(ctx: Context, node: syntax.Name, web: int) -> Value:
    """Return the value of a local name."""
    if web in ctx.web_values:
        found = ctx.web_values[web]
        if isinstance(found, Host):
            return Host(found.value, node.span)
        if isinstance(found, TupleValue):
            return TupleValue(found.items, node.span)
        return replace(found, span=node.span)
    type_ = ctx.web_type(web)
    if web in ctx.broken or type_ is None:
        raise Abort
    variable = ctx.variable(node.id, type_)
    return ir.Local(variable.name, type_, span=node.span)


# ---------------------------------------------------------------------------------- operators


def _binary(ctx: Context, node: syntax.Binary) -> ir.Expr:
    """Return an operator's value; a long chain such as `a + b + …` does not recurse."""
    chain: list[syntax.Binary] = []
    first: syntax.Expr = node
    while isinstance(first, syntax.Binary):
        chain.append(first)
        first = first.left
    if len(chain) == 1:
        left, right = operands(ctx, (node.left, node.right))
        return _apply(ctx, node, left, right)
    chain.reverse()
    terms = operands(ctx, [first, *(link.right for link in chain)])
    result = terms[0]
    for count, (link, term) in enumerate(zip(chain, terms[1:], strict=True), 1):
        result = _apply(ctx, link, result, term)
        if (
            count % _LONGEST_CHAIN == 0
            and count < len(chain)
            and not isinstance(result, ir.Literal)
        ):
            result = ctx.temporary(concrete(ctx, result), "partial")
    return result


def _apply(ctx: Context, node: syntax.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if node.matmul:
        return operators.matrix_multiply(ctx, left, right, node.span)
    return operators.binary(ctx, node.op, left, right, node.span)


def _compare(ctx: Context, node: syntax.Compare) -> ir.Expr:
    if len(node.ops) == 1:
        left, right = operands(ctx, (node.first, node.operands[0]))
        return operators.compare(ctx, node.ops[0], left, right, node.span)

    left = expression(ctx, node.first)

    def link(index: int, left: ir.Expr) -> ir.Expr:
        right = expression(ctx, node.operands[index])
        last = index + 1 == len(node.ops)
        if not last and not is_simple(right):
            right = ctx.temporary(concrete(ctx, right), "middle")
        first = operators.compare(ctx, node.ops[index], left, right, node.span)
        if last:
            return first
        return _short_circuit(
            ctx, BinaryOp.LOGICAL_AND, first, lambda: link(index + 1, right), node.span
        )

    return link(0, left)


def _bool_op(ctx: Context, node: syntax.BoolOp) -> ir.Expr:
    where = f"`{operators.spelling(node.op)}`"
    result = condition(ctx, expression(ctx, node.operands[0]), where)
    for count, operand in enumerate(node.operands[1:], 1):
        result = _short_circuit(
            ctx,
            node.op,
            result,
            lambda operand=operand: condition(ctx, expression(ctx, operand), where),
            node.span,
        )
        if count % _LONGEST_CHAIN == 0 and not isinstance(result, ir.Literal):
            result = ctx.temporary(result, "partial")
    return result


def _short_circuit(ctx: Context, op: BinaryOp, left: ir.Expr, right: Any, span: Span) -> ir.Expr:
    """Return `left op right()`, where the right side runs only if the left leaves it open."""
    decides = op is BinaryOp.LOGICAL_OR
    if isinstance(left, ir.Literal):
        return left if left.value is decides else right()
    with ctx.block() as statements:
        second = right()
    if not statements:
        if isinstance(second, ir.Literal):
            return left if second.value is not decides else second
        return ir.Binary(op, left, second, BOOL, span=span)
    result = ir.Local(ctx.fresh("holds"), BOOL, span=span)
    ctx.emit(ir.Var(result.name, BOOL, left, span=span))
    statements.append(ir.Assign(result, second, span=span))
    test = ir.Unary(ir.UnaryOp.NOT, result, BOOL, span=span) if decides else result
    ctx.emit(ir.If(test, tuple(statements), span=span))
    return result


def _conditional(ctx: Context, node: syntax.Conditional) -> Value:
    test = condition(ctx, expression(ctx, node.test), "the condition")
    if isinstance(test, ir.Literal):
        return value(ctx, node.body if test.value else node.orelse)
    with ctx.block() as on_true:
        accept = expression(ctx, node.body)
    with ctx.block() as on_false:
        reject = expression(ctx, node.orelse)
    accept, reject = unify_arms(ctx, accept, reject, node.span)
    simple = not on_true and not on_false and _is_total(accept) and _is_total(reject)
    if simple and isinstance(accept.type, Scalar | Vector):
        accept, reject = concrete(ctx, accept), concrete(ctx, reject)
        assert accept.type is not None
        return ir.Select(test, accept, reject, accept.type, span=node.span)
    accept, reject = concrete(ctx, accept), concrete(ctx, reject)
    assert accept.type is not None
    result = ir.Local(ctx.fresh("chosen"), accept.type, span=node.span)
    ctx.emit(ir.Var(result.name, accept.type, span=node.span))
    on_true.append(ir.Assign(result, accept, span=node.span))
    on_false.append(ir.Assign(result, reject, span=node.span))
    ctx.emit(ir.If(test, tuple(on_true), tuple(on_false), span=node.span))
    return result


def unify_arms(
    ctx: Context, accept: ir.Expr, reject: ir.Expr, span: Span
) -> tuple[ir.Expr, ir.Expr]:
    """Return the two values of a conditional expression with one type."""
    if accept.type == reject.type:
        return accept, reject
    if isinstance(accept.type, Scalar | Vector) and isinstance(reject.type, Scalar | Vector):
        accept, reject = unify(ctx, accept, reject, span, "a conditional expression")
        if accept.type == reject.type:
            return accept, reject
    ctx.error(
        "E0306",
        f"a conditional expression does not mix {describe(accept)} and {describe(reject)}",
        span,
    )


def _is_total(expr: ir.Expr) -> bool:
    """Whether evaluating an expression needlessly does no harm: no load, call or division."""
    for node in ir.walk(expr):
        match node:
            case ir.Index() | ir.Invoke():
                return False
            case ir.Call(builtin=name) if name in _EXPENSIVE:
                return False
            case ir.Binary(op=op, type=type_) if op in _PARTIAL and not _is_float(type_):
                return False
    return True


def _is_float(type_: Type) -> bool:
    scalar = scalar_of(type_)
    return scalar is not None and scalar.is_float


_PARTIAL = {BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD, BinaryOp.TRUNC_DIV, BinaryOp.TRUNC_REM}
_EXPENSIVE: frozenset[str] = frozenset()


# -------------------------------------------------------------------------------------- calls


def _call(ctx: Context, node: syntax.Call) -> Value:
    callee = value(ctx, node.callee)
    if not isinstance(callee, Host):
        ctx.error("E0313", f"this is {describe(callee)}, not a function", node.callee.span)
    arguments = values(ctx, [*node.args, *(keyword.value for keyword in node.keywords)])
    positional = arguments[: len(node.args)]
    named = list(zip(node.keywords, arguments[len(node.args) :], strict=True))
    result = calls.call(ctx, callee, positional, named, node.span)
    if isinstance(result, ir.Call | ir.Invoke) and ctx.program.has_effect(result):
        if result.type is None:
            ctx.emit(ir.Effect(result, span=node.span))
            return result
        return ctx.temporary(result, "result")
    return result


# --------------------------------------------------------------------------------- attributes


def _attribute(ctx: Context, node: syntax.Attribute) -> Value:
    base = value(ctx, node.base)
    if isinstance(base, Host):
        return host_attribute(ctx, base, node)
    if isinstance(base, TupleValue):
        ctx.error("E0204", f"a tuple has no attribute `{node.name}`", node.name_span)
    if isinstance(base.type, RuntimeArray):
        return buffer_attribute(ctx, base, node)
    return component(ctx, base, node)


def _subscript(ctx: Context, node: syntax.Subscript) -> Value:
    base, *indices = values(ctx, (node.base, *node.indices))
    if isinstance(base, Host):
        return host_subscript(ctx, base, indices, node)
    return index(ctx, base, [number_of(ctx, i) for i in indices], node)

"""Expressions: `syntax` to `ir`, with Python's order of evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from pywgsl import ir, lang, syntax
from pywgsl.frontend import calls, fold, operators, suggestions
from pywgsl.frontend.access import (
    Origin,
    array_attribute,
    component,
    host_attribute,
    host_subscript,
    host_value,
    index,
    tuple_items,
)
from pywgsl.frontend.context import (
    Abort,
    Context,
    Host,
    TupleValue,
    Value,
    changes_memory,
    has_memory_load,
    is_memory,
    is_simple,
)
from pywgsl.frontend.convert import (
    concrete,
    describe,
    is_abstract,
    number_of,
    unify,
)
from pywgsl.frontend.handing import hand_over
from pywgsl.frontend.operators import condition
from pywgsl.ir import BinaryOp
from pywgsl.source import Span
from pywgsl.types import (
    BOOL,
    FixedArray,
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
        case syntax.Refused():
            raise Abort
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
            later = ctx.out[before:]
            del ctx.out[before:]
            results = [_loaded(ctx, earlier) for earlier in results]
            ctx.out += later
        results.append(result)
    if failed:
        raise Abort
    return results


def _loaded(ctx: Context, found: Value) -> Value:
    """Return a value as it is now, before what follows changes memory."""
    if isinstance(found, TupleValue):
        return replace(found, items=tuple(_loaded(ctx, item) for item in found.items))
    if isinstance(found, Host) or is_memory(found):
        return found
    return ctx.temporary(concrete(ctx, found)) if has_memory_load(found, ctx.program) else found


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
        ctx.error(
            "E0201",
            f"`{node.id}` is not defined",
            node.span,
            help=suggestions.for_name(ctx, node.id),
        )
    origin = Origin(ctx.captured.function, node.id, partial(ctx.captured.lookup, node.id))
    return host_value(ctx, found, node.span, origin)


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
    if is_abstract(type_):
        ctx.open_reads[node.span.start] = web
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

    def link(index: int, left: ir.Expr, right: ir.Expr) -> ir.Expr:
        last = index + 1 == len(node.ops)
        if not last and not is_simple(right):
            right = ctx.temporary(concrete(ctx, right), "middle")
        first = operators.compare(ctx, node.ops[index], left, right, node.span)
        if last:
            return first

        def others() -> ir.Expr:
            return link(index + 1, right, expression(ctx, node.operands[index + 1]))

        return short_circuit(ctx, BinaryOp.LOGICAL_AND, first, others, node.span)

    return link(0, *operands(ctx, (node.first, node.operands[0])))


def _bool_op(ctx: Context, node: syntax.BoolOp) -> ir.Expr:
    where = f"`{operators.spelling(node.op)}`"
    result = ctx.attempt(lambda: condition(ctx, expression(ctx, node.operands[0]), where))
    if result is None:
        with ctx.block():
            values(ctx, node.operands[1:])
        raise Abort
    for count, operand in enumerate(node.operands[1:], 1):
        result = short_circuit(
            ctx,
            node.op,
            result,
            lambda operand=operand: condition(ctx, expression(ctx, operand), where),
            node.span,
        )
        if count % _LONGEST_CHAIN == 0 and not isinstance(result, ir.Literal):
            result = ctx.temporary(result, "partial")
    return result


def short_circuit(ctx: Context, op: BinaryOp, left: ir.Expr, right: Any, span: Span) -> ir.Expr:
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
    test = ctx.attempt(lambda: condition(ctx, expression(ctx, node.test), "the condition"))
    if isinstance(test, ir.Literal):
        return value(ctx, node.body if test.value else node.orelse)
    with ctx.block() as on_true:
        accept = ctx.attempt(lambda: value(ctx, node.body))
    with ctx.block() as on_false:
        reject = ctx.attempt(lambda: value(ctx, node.orelse))
    if test is None or accept is None or reject is None:
        raise Abort
    if _is_fixed(accept) or _is_fixed(reject):
        ctx.error(
            "E0321",
            f"a conditional expression cannot choose between {describe(accept)} and "
            f"{describe(reject)}",
            node.span,
            help="choose between their elements or results: `a[i] if … else b[i]`",
        )
    first, second = tuple_items(accept), tuple_items(reject)
    if first is None or second is None:
        pair = number_of(ctx, accept), number_of(ctx, reject)
        return _choose(ctx, test, [pair], on_true, on_false, node.span)[0]
    if len(first) != len(second):
        ctx.error(
            "E0306",
            f"a conditional expression does not mix {describe(accept)} and {describe(reject)}",
            node.span,
        )
    pairs = [(number_of(ctx, a), number_of(ctx, b)) for a, b in zip(first, second, strict=True)]
    return TupleValue(tuple(_choose(ctx, test, pairs, on_true, on_false, node.span)), node.span)


def _is_fixed(found: Value) -> bool:
    """Whether something must be known when the kernel is compiled: an array, a function."""
    if isinstance(found, Host):
        return not isinstance(found.value, lang.Ids | lang.WorkgroupSize)
    return is_memory(found)


def _choose(
    ctx: Context,
    test: ir.Expr,
    pairs: Sequence[tuple[ir.Expr, ir.Expr]],
    on_true: list[ir.Stmt],
    on_false: list[ir.Stmt],
    span: Span,
) -> list[ir.Expr]:
    """Return the first of each pair where a condition holds, else the second.

    Both are evaluated only if they need no statements and cannot do harm.
    """
    plain = not on_true and not on_false
    results: list[ir.Expr] = []
    variables: list[ir.Stmt] = []
    for pair in pairs:
        accept, reject = unify_arms(ctx, *pair, span)
        assert accept.type is not None
        if plain and isinstance(accept.type, Scalar | Vector) and _is_total(accept, reject):
            results.append(ir.Select(test, accept, reject, accept.type, span=span))
            continue
        accept, reject = concrete(ctx, accept), concrete(ctx, reject)
        assert accept.type is not None
        result = ir.Local(ctx.fresh("chosen"), accept.type, span=span)
        variables.append(ir.Var(result.name, accept.type, span=span))
        for arm, part in ((on_true, accept), (on_false, reject)):
            with ctx.block() as out:
                out.extend(arm)
                hand_over(ctx, part, partial(_assign, ctx, result))
            arm[:] = out
        results.append(result)
    if variables:
        for variable in variables:
            ctx.emit(variable)
        ctx.emit(ir.If(test, tuple(on_true), tuple(on_false), span=span))
    return results


def _assign(ctx: Context, target: ir.Local, new: ir.Expr) -> None:
    ctx.emit(ir.Assign(target, new, span=target.span))


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


def _is_total(*expressions: ir.Expr) -> bool:
    """Whether evaluating expressions needlessly does no harm: no load, call or division."""
    for expr in expressions:
        for node in ir.walk(expr):
            match node:
                case ir.Index() | ir.Invoke():
                    return False
                case ir.Binary(op=op, type=type_) if op in _PARTIAL and not _is_float(type_):
                    return False
    return True


def _is_float(type_: Type) -> bool:
    scalar = scalar_of(type_)
    return scalar is not None and scalar.is_float


_PARTIAL = {BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD, BinaryOp.TRUNC_DIV, BinaryOp.TRUNC_REM}


# -------------------------------------------------------------------------------------- calls


def _call(ctx: Context, node: syntax.Call) -> Value:
    callee = value(ctx, node.callee)
    if not isinstance(callee, Host):
        _not_callable(ctx, callee, node)
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


def _not_callable(ctx: Context, callee: ir.Expr | TupleValue, node: syntax.Call) -> NoReturn:
    text, fix = node.callee.span.text, None
    if not isinstance(callee, TupleValue) and isinstance(callee.type, RuntimeArray):
        indices = ", ".join(arg.span.text for arg in node.args)
        fix = f"for an element write `{text}[{indices}]`"
    message = f"`{text}` is {describe(callee)}, not a function"
    ctx.error("E0313", message, node.callee.span, help=fix)


# --------------------------------------------------------------------------------- attributes


def _attribute(ctx: Context, node: syntax.Attribute) -> Value:
    base = value(ctx, node.base)
    if isinstance(base, Host):
        return host_attribute(ctx, base, node)
    if isinstance(base, TupleValue):
        ctx.error("E0204", f"a tuple has no attribute `{node.name}`", node.name_span)
    if isinstance(base.type, RuntimeArray | FixedArray):
        return array_attribute(ctx, base, node)
    return component(ctx, base, node)


def _subscript(ctx: Context, node: syntax.Subscript) -> Value:
    base, *indices = values(ctx, (node.base, *node.indices))
    if isinstance(base, Host):
        return host_subscript(ctx, base, indices, node)
    return index(ctx, base, [number_of(ctx, i) for i in indices], node)

"""When a value becomes a value of another type by itself, and what to say when it does not."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import NoReturn

import numpy as np

from pywgsl import ir, lang
from pywgsl.errors import Label
from pywgsl.frontend import fold
from pywgsl.frontend.annotations import as_parameter
from pywgsl.frontend.context import Abort, Context, Host, TupleValue, Undeclared, Value
from pywgsl.source import Span
from pywgsl.types import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    BOOL,
    F16,
    F32,
    I32,
    U32,
    FixedArray,
    Matrix,
    RuntimeArray,
    Scalar,
    Struct,
    Type,
    Vector,
    join,
    scalar_of,
    with_scalar,
)

_SHIFTS = {ir.BinaryOp.SHL, ir.BinaryOp.SHR}
_ON_BITS = {
    ir.UnaryOp.BIT_NOT,
    ir.BinaryOp.BIT_AND,
    ir.BinaryOp.BIT_OR,
    ir.BinaryOp.BIT_XOR,
}
#: What binds no tighter than a comparison does.
_LOOSE = (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)
_INTEGER_RANGE = {I32: (-(2**31), 2**31 - 1), U32: (0, 2**32 - 1)}


def describe(value: Value) -> str:
    """Return what a value is, for a message."""
    match value:
        case Host(value=host):
            name = getattr(host, "__name__", None)
            return f"`{name or repr(host)}`"
        case TupleValue(items=items):
            return f"a tuple of {len(items)}"
        case ir.Literal(type=type_) if isinstance(type_, Scalar) and type_.is_abstract:
            return "an integer" if type_ is ABSTRACT_INT else "a float"
        case _:
            return f"`{value.type}`" if value.type is not None else "nothing"


def number_of(ctx: Context, value: Value, what: str = "a value") -> ir.Expr:
    """Return a value that can be computed with, or say why it cannot."""
    match value:
        case Host(value=lang.Ids(id=id_), span=span):
            axes = (ir.InvocationId(id_, axis, I32, span=span) for axis in range(3))
            return ir.Construct(Vector(3, I32), tuple(axes), span=span)
        case Host(value=lang.WorkgroupSize(), span=span):
            sizes = (ir.Literal(n, I32, span=span) for n in ctx.program.workgroup_size)
            return ir.Construct(Vector(3, I32), tuple(sizes), span=span)
        case Host(value=host, span=span):
            name = getattr(host, "__name__", None) or repr(host)
            ctx.error(
                "E0301",
                f"expected {what}, but `{span.text or name}` is {_kind(host)}",
                span,
                help=_host_help(host, span),
            )
        case TupleValue(span=span, items=items):
            ctx.error("E0301", f"expected {what}, but this is a tuple of {len(items)}", span)
    if isinstance(value.type, RuntimeArray):
        subscript = ", ".join("ijkl"[: value.type.ndim])
        ctx.error(
            "E0301",
            f"expected {what}, but `{value.span.text}` is a whole `{value.type}`",
            value.span,
            help=f"pick an element: `{value.span.text}[{subscript}]`",
        )
    if value.type is None:
        ctx.error("E0301", f"expected {what}, but this call returns nothing", value.span)
    return value


def _kind(host: object) -> str:
    from types import ModuleType

    if isinstance(host, ModuleType):
        return "a module"
    if isinstance(host, Undeclared):
        return "workgroup memory without a name"
    if isinstance(host, str):
        return "a text"
    if isinstance(host, np.ndarray):
        return "an array of the surrounding program"
    if isinstance(host, Scalar | Vector | Matrix | FixedArray | Struct | type):
        return "a type"
    return "a function" if callable(host) else f"a Python `{type(host).__name__}`"


def _host_help(host: object, span: Span) -> str | None:
    if isinstance(host, Undeclared):
        return f"give it one first: `tile = {span.text}`"
    if isinstance(host, np.ndarray | list):
        return as_parameter(span.text, host)
    if isinstance(host, Scalar | Vector | Matrix | FixedArray):
        return f"call it to convert a value: `{span.text}(x)`"
    return None


def default_type(type_: Type) -> Type:
    """Return the type that a literal has when no context says otherwise."""
    if type_ is ABSTRACT_INT:
        return I32
    return F32 if type_ is ABSTRACT_FLOAT else type_


def concrete(ctx: Context, expr: ir.Expr) -> ir.Expr:
    """Return an expression with a type that can be stored.

    Gives up while that still depends on a variable that has only been assigned literals so far.
    """
    assert expr.type is not None
    goal = default_type(expr.type)
    if goal is not expr.type and not isinstance(expr, ir.Literal) and is_open(expr):
        raise Abort
    return coerce(ctx, expr, goal)


def is_open(expr: ir.Expr) -> bool:
    """Whether an expression's type depends on a variable whose type is not known yet."""
    return any(isinstance(n, ir.Local) and is_abstract(n.type) for n in ir.walk(expr))


def is_abstract(type_: Type | None) -> bool:
    """Whether a type is that of a literal that no context has typed yet."""
    return isinstance(type_, Scalar) and type_.is_abstract


def coerce(ctx: Context, expr: ir.Expr, type_: Type, where: str = "", *labels: Label) -> ir.Expr:
    """Return `expr` as `type_`, if it becomes that by itself; otherwise an error.

    Integers become floats; literals become what is asked for, if it can hold them.
    """
    if expr.type == type_:
        return expr
    source, target = expr.type, type_
    assert source is not None
    from_scalar, to_scalar = scalar_of(source), scalar_of(target)
    same_form = (
        from_scalar is not None
        and to_scalar is not None
        and with_scalar(source, to_scalar) == target
    )
    if same_form and from_scalar is not None and to_scalar is not None:
        if isinstance(expr, ir.Literal) and isinstance(target, Scalar):
            if from_scalar.is_abstract:
                return _literal(ctx, expr, target, where, *labels)
            if join(from_scalar, to_scalar) is to_scalar:
                return fold.convert(expr, target)
        elif isinstance(target, Scalar) and from_scalar.is_abstract:
            retyped = _retyped(ctx, expr, target, where, *labels)
            if retyped is not None:
                return retyped
        if join(from_scalar, to_scalar) is to_scalar:
            if from_scalar.is_abstract and isinstance(expr, ir.Local):
                ctx.wish(expr, to_scalar)
            return ir.Convert(expr, target, span=expr.span)
    mismatch(ctx, expr, target, where, *labels)


def _retyped(
    ctx: Context, expr: ir.Expr, target: Scalar, where: str, *labels: Label
) -> ir.Expr | None:
    """Return a computation on literals, such as `1 if c else 2`, carried out in another type."""
    match expr:
        case ir.Unary(op=op) | ir.Binary(op=op) if op in _ON_BITS and not target.is_integer:
            return ir.Convert(concrete(ctx, expr), target, span=expr.span)
        case ir.Select(accept=accept, reject=reject):
            return replace(
                expr,
                accept=coerce(ctx, accept, target, where, *labels),
                reject=coerce(ctx, reject, target, where, *labels),
                type=target,
            )
        case ir.Unary(operand=operand):
            return replace(expr, operand=coerce(ctx, operand, target, where, *labels), type=target)
        case ir.Binary(op=op, left=left, right=right) if op not in _SHIFTS:
            return replace(
                expr,
                left=coerce(ctx, left, target, where, *labels),
                right=coerce(ctx, right, target, where, *labels),
                type=target,
            )
        case _:
            return None


def mismatch(
    ctx: Context,
    expr: ir.Expr,
    target: Type,
    where: str = "",
    *labels: Label,
    help: str | None = None,
) -> NoReturn:
    """Say that a value is not of the type that is needed, and how to convert it.

    `help` says how where it is not enough to convert what is underlined.
    """
    wanted = f"{where} is `{target}`" if where else f"expected `{target}`"
    ctx.error(
        "E0303",
        f"{wanted}, but this is {describe(expr)}",
        expr.span,
        *labels,
        help=help or conversion_help(expr, target),
    )


def conversion_help(expr: ir.Expr, target: Type, text: str = "") -> str | None:
    """Return how to convert a value, whose text may be another than the underlined one."""
    source = expr.type
    text = text or expr.span.text
    if not text or "\n" in text or source is None:
        return None
    if isinstance(source, Scalar) and isinstance(target, Scalar):
        if target is BOOL:
            return comparison_help(text, source)
        divided = _floor_division(text) if target.is_integer and divides_integers(expr) else None
        return f"convert it: `{target}({text})`" + (f", or write `{divided}`" if divided else "")
    if isinstance(source, Scalar) and isinstance(target, Vector):
        return f"make a vector of it: `{target}({text})`"
    if isinstance(source, Vector) and isinstance(target, Scalar):
        return f"pick a component: `{parenthesized(text)}.x`"
    if isinstance(source, Vector) and isinstance(target, Vector) and source.width == target.width:
        return f"convert it: `{target}({text})`"
    return None


def divides_integers(expr: ir.Expr) -> bool:
    """Whether a value is the quotient of two whole numbers, which became floats for that."""
    if not isinstance(expr, ir.Binary) or expr.op is not ir.BinaryOp.DIV:
        return False
    return all(map(_was_integer, (expr.left, expr.right)))


def _was_integer(operand: ir.Expr) -> bool:
    if isinstance(operand, ir.Literal):
        return float(operand.value).is_integer() and "." not in operand.span.text
    return isinstance(operand, ir.Convert) and _is_integer(operand.operand.type)


def _is_integer(type_: Type | None) -> bool:
    return isinstance(type_, Scalar) and type_.is_integer


def _floor_division(text: str) -> str | None:
    """Return the text of a division with `//` for its `/`."""
    match _parsed(text):
        case ast.BinOp(op=ast.Div()) as node:
            node.op = ast.FloorDiv()
            return ast.unparse(node)
    return None


def comparison_help(text: str, scalar: Scalar) -> str:
    """Return how to make a truth value of a number."""
    zero = "0" if scalar.is_integer else "0.0"
    return f"compare it: `{_apart(text, _LOOSE)} != {zero}`"


def parenthesized(text: str) -> str:
    """Return an operand's text with parentheses where it needs them."""
    return _apart(text, (*_LOOSE, ast.BinOp, ast.UnaryOp))


def _apart(text: str, loose: tuple[type[ast.expr], ...]) -> str:
    """Return an expression's text, in parentheses if it is one of those that bind loosely."""
    node = _parsed(text)
    return f"({text})" if node is None or isinstance(node, loose) else text


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _literal(
    ctx: Context, expr: ir.Literal, target: Scalar, where: str, *labels: Label
) -> ir.Literal:
    value = expr.value
    if target is BOOL or (target.is_integer and isinstance(value, float)):
        mismatch(ctx, expr, target, where, *labels)
    if target.is_abstract:
        return replace(expr, value=float(value), type=target)
    if target.is_integer:
        low, high = _INTEGER_RANGE[target]
        if not low <= value <= high:
            fix = None
            if target is I32 and 0 <= value < 2**32:
                fix = f"say that it is unsigned: `u32({value})`"
            elif target is U32 and -(2**31) <= value < 0:
                fix = f"for the same bits write `u32(i32({value}))`"
            ctx.error(
                "E0304",
                f"{value} does not fit in `{target}` ({low} to {high})",
                expr.span,
                *labels,
                help=fix,
            )
        return replace(expr, type=target)
    try:
        exact = float(value)
    except OverflowError:
        exact = math.inf
    with np.errstate(over="ignore"):
        rounded = float(target.dtype.type(exact))
    if math.isinf(rounded) and (not isinstance(value, float) or math.isfinite(value)):
        limit = "3.4028235e38" if target is F32 else "65504.0"
        shown = f"{value:g}" if isinstance(value, float) else expr.span.text or "this"
        ctx.error(
            "E0304",
            f"{shown} does not fit in `{target}` (its largest number is {limit})",
            expr.span,
            *labels,
            help="for infinity write `math.inf`",
        )
    return replace(expr, value=rounded, type=target)


def unify(
    ctx: Context, left: ir.Expr, right: ir.Expr, span: Span, what: str
) -> tuple[ir.Expr, ir.Expr]:
    """Return two operands with the scalar type that Python's rules give both.

    Forms (scalar, vector) are left as they are.
    """
    a, b = scalar_of(_type(left)), scalar_of(_type(right))
    if a is None or b is None:
        ctx.error(
            "E0305",
            f"{what} does not work on {describe(left)} and {describe(right)}",
            span,
        )
    joined = join(a, b)
    if joined is None:
        _no_common_type(ctx, left, right, a, b, span, what)
    return (
        coerce(ctx, left, with_scalar(_type(left), joined)),
        coerce(ctx, right, with_scalar(_type(right), joined)),
    )


def _no_common_type(
    ctx: Context, left: ir.Expr, right: ir.Expr, a: Scalar, b: Scalar, span: Span, what: str
) -> NoReturn:
    fix = None
    if {a, b} == {I32, U32}:
        signed, unsigned = (left, right) if a is I32 else (right, left)
        fixes = [f"`u32({signed.span.text})`", f"`i32({unsigned.span.text})`"]
        if ctx.goal is I32:
            fixes.reverse()
        fix = "convert one"
        if signed.span.text and unsigned.span.text:
            fix += f": {fixes[0]} or {fixes[1]}"
    elif {a, b} == {F16, F32}:
        half = left if a is F16 else right
        fix = f"convert one: `f32({half.span.text})`"
    elif BOOL in (a, b):
        truth, other = (left, b) if a is BOOL else (right, a)
        target = default_type(other) if other is not BOOL else I32
        fix = f"convert it: `{target}({truth.span.text})`"
    ctx.error(
        "E0306",
        f"{what} does not mix {describe(left)} and {describe(right)}",
        span,
        *(
            Label(side.span, f"this is {describe(side)}")
            for side in (left, right)
            if side.span != span
        ),
        help=fix,
    )


def _type(expr: ir.Expr) -> Type:
    assert expr.type is not None
    return expr.type


def common_type(left: Type, right: Type) -> Type | None:
    """Return the type of a variable that is assigned values of both types, or None."""
    if left == right:
        return left
    a, b = scalar_of(left), scalar_of(right)
    if a is None or b is None or isinstance(left, Struct | FixedArray):
        return None
    if with_scalar(left, b) != right:
        return None
    joined = join(a, b)
    return None if joined is None else with_scalar(left, joined)


def known_value(ctx: Context, expr: ir.Expr) -> bool | int | float | None:
    """Return the value of a constant, or of a variable that only ever holds one."""
    match expr:
        case ir.Literal(value=value):
            return value
        case ir.Local(name=name):
            return ctx.known.get(name)
        case _:
            return None

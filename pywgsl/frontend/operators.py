"""The type rules of operators, and what they become in the typed tree."""

from __future__ import annotations

from pywgsl import ir
from pywgsl.errors import Label
from pywgsl.frontend import fold
from pywgsl.frontend.context import Context, is_simple
from pywgsl.frontend.convert import (
    coerce,
    comparison_help,
    concrete,
    default_type,
    describe,
    is_abstract,
    is_open,
    unify,
)
from pywgsl.ir import BinaryOp, UnaryOp
from pywgsl.source import Span
from pywgsl.types import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    BOOL,
    F32,
    I32,
    U32,
    Matrix,
    Scalar,
    Type,
    Vector,
    scalar_of,
    with_scalar,
)

_SPELLING = {
    BinaryOp.FLOOR_DIV: "//",
    BinaryOp.FLOOR_MOD: "%",
    BinaryOp.LOGICAL_AND: "and",
    BinaryOp.LOGICAL_OR: "or",
}
_BITWISE = {BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR}
_SHIFTS = {BinaryOp.SHL, BinaryOp.SHR}
_INTEGERS_ONLY = {*_SHIFTS, BinaryOp.TRUNC_DIV}


def spelling(op: BinaryOp) -> str:
    """Return an operator as the author wrote it."""
    return _SPELLING.get(op, op.value)


def unary(ctx: Context, op: UnaryOp, operand: ir.Expr, span: Span) -> ir.Expr:
    """Return `-x`, `~x` or `not x`."""
    if isinstance(operand, ir.Literal):
        folded = fold.unary(op, operand)
        if folded is not None:
            return ir.Literal(folded.value, folded.type, span=span)
    scalar = scalar_of(_type(operand))
    if op is UnaryOp.NOT:
        return ir.Unary(op, condition(ctx, operand, "`not`"), BOOL, span=span)
    if scalar is None or scalar is BOOL:
        ctx.error(
            "E0305",
            f"`{op.value}` does not work on {describe(operand)}",
            span,
            help=f"negate it: `not {operand.span.text}`" if scalar is BOOL else None,
        )
    if op is UnaryOp.BIT_NOT and not scalar.is_integer:
        ctx.error("E0305", f"`~` works on integers, but this is {describe(operand)}", span)
    return ir.Unary(op, operand, _type(operand), span=span)


def negated(test: ir.Expr) -> ir.Expr:
    """Return `not test`."""
    if isinstance(test, ir.Unary) and test.op is UnaryOp.NOT:
        return test.operand
    return ir.Unary(UnaryOp.NOT, test, BOOL, span=test.span)


def condition(ctx: Context, value: ir.Expr, where: str) -> ir.Expr:
    """Return a value that decides something: it must be a bool."""
    if value.type is not BOOL:
        text = value.span.text
        fix = None
        if isinstance(value.type, Scalar) and text:
            fix = comparison_help(text, value.type)
        elif isinstance(value.type, Vector) and value.type.scalar is BOOL:
            fix = f"say which you mean: `pw.all({text})` or `pw.any({text})`"
        ctx.error(
            "E0307", f"{where} needs a `bool`, but this is {describe(value)}", value.span, help=fix
        )
    return value


def binary(ctx: Context, op: BinaryOp, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    """Return `left op right` for an arithmetic or bitwise operator."""
    if (
        isinstance(left, ir.Literal)
        and isinstance(right, ir.Literal)
        and _is_abstract(left)
        and _is_abstract(right)
    ):
        return _fold_python(ctx, op, left, right, span)
    what = f"`{spelling(op)}`"
    if op in _SHIFTS:
        return _shift(ctx, op, left, right, span)
    _check_operands(ctx, op, left, right, span)
    if op is BinaryOp.POW:
        power = _power(ctx, left, right, span)
        if power is not None:
            return power
    if op is BinaryOp.DIV:
        left, right = _as_float(ctx, left), _as_float(ctx, right)
    left, right = unify(ctx, left, right, span, what)
    result = _result_form(ctx, op, left, right, span)
    if isinstance(left, ir.Literal) and isinstance(right, ir.Literal):
        folded = fold.typed_binary(op, left, right, result)
        if folded is not None:
            return ir.Literal(folded.value, folded.type, span=span)
    return ir.Binary(op, left, right, result, span=span)


def compare(ctx: Context, op: BinaryOp, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    """Return one comparison of a chain."""
    if _are_python(left, right):
        assert isinstance(left, ir.Literal)
        assert isinstance(right, ir.Literal)
        holds = bool(fold.python_binary(op, left.value, right.value))
        return ir.Literal(holds, BOOL, span=span)
    left, right = unify(ctx, left, right, span, f"`{op.value}`")
    if is_abstract(left.type) and not (is_open(left) or is_open(right)):
        left, right = concrete(ctx, left), concrete(ctx, right)
    scalar = scalar_of(_type(left))
    if scalar is BOOL and op not in (BinaryOp.EQ, BinaryOp.NE):
        ctx.error("E0305", f"`{op.value}` does not work on {describe(left)}", span)
    form = _result_form(ctx, op, left, right, span)
    if isinstance(left, ir.Literal) and isinstance(right, ir.Literal):
        folded = fold.typed_binary(op, left, right, BOOL)
        if folded is not None:
            return ir.Literal(folded.value, BOOL, span=span)
    return ir.Binary(op, left, right, with_scalar(form, BOOL), span=span)


def matrix_multiply(ctx: Context, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    """Return `left @ right`: WGSL's product, with matrices as columns."""
    a, b = _type(left), _type(right)
    result: Type | None = None
    match a, b:
        case Matrix(columns, rows, s), Matrix(c2, r2, t) if columns == r2 and s is t:
            result = Matrix(c2, rows, s)
        case Matrix(columns, rows, s), Vector(width, t) if columns == width and s is t:
            result = Vector(rows, s)
        case Vector(width, s), Matrix(columns, rows, t) if width == rows and s is t:
            result = Vector(columns, s)
        case Vector(w, s), Vector(v, t) if w == v and s is t:
            return ir.Call("dot", (left, right), s, span=span)
    if result is None:
        ctx.error("E0305", f"`@` does not work on {describe(left)} and {describe(right)}", span)
    return ir.Binary(BinaryOp.MUL, left, right, result, span=span)


def _type(expr: ir.Expr) -> Type:
    assert expr.type is not None
    return expr.type


def _are_python(left: ir.Expr, right: ir.Expr) -> bool:
    """Whether two operands are constants that Python itself compares."""
    if not isinstance(left, ir.Literal) or not isinstance(right, ir.Literal):
        return False
    return (_is_abstract(left) and _is_abstract(right)) or left.type is right.type is BOOL


def _is_abstract(expr: ir.Literal) -> bool:
    return isinstance(expr.type, Scalar) and expr.type.is_abstract


def _fold_python(
    ctx: Context, op: BinaryOp, left: ir.Literal, right: ir.Literal, span: Span
) -> ir.Expr:
    try:
        value = fold.python_binary(op, left.value, right.value)
    except ZeroDivisionError:
        ctx.error("E0308", "this divides by zero", span)
    except OverflowError:
        ctx.error("E0308", "this constant cannot be computed: it is too large", span)
    except (ValueError, TypeError) as error:
        ctx.error("E0308", f"this constant cannot be computed: {error}", span)
    return fold.literal(value, span)


def _check_operands(ctx: Context, op: BinaryOp, left: ir.Expr, right: ir.Expr, span: Span) -> None:
    a, b = scalar_of(_type(left)), scalar_of(_type(right))
    what = f"`{spelling(op)}`"
    if a is None or b is None:
        ctx.error("E0305", f"{what} does not work on {describe(left)} and {describe(right)}", span)
    if op in _BITWISE:
        if a.is_float or b.is_float:
            wrong = left if a.is_float else right
            ctx.error(
                "E0305",
                f"{what} works on integers and bools, but this is {describe(wrong)}",
                wrong.span,
            )
        return
    for side, scalar, other in ((left, a, b), (right, b, a)):
        if scalar is BOOL:
            number = I32 if other is BOOL else default_type(other)
            ctx.error(
                "E0305",
                f"{what} does not work on `bool`",
                span,
                Label(side.span, "this is `bool`"),
                help=f"convert it: `{number}({side.span.text})`" if side.span.text else None,
            )
    if op in _INTEGERS_ONLY and (a.is_float or b.is_float):
        ctx.error("E0305", f"{what} works on integers", span)


def _as_float(ctx: Context, operand: ir.Expr) -> ir.Expr:
    """Python's `/` gives a float whatever it is given."""
    scalar = scalar_of(_type(operand))
    if scalar is None or scalar.is_float or scalar.is_abstract:
        if isinstance(operand, ir.Literal) and operand.type is ABSTRACT_INT:
            return ir.Literal(float(operand.value), ABSTRACT_FLOAT, span=operand.span)
        return operand
    return coerce(ctx, operand, with_scalar(_type(operand), F32))


def _result_form(ctx: Context, op: BinaryOp, left: ir.Expr, right: ir.Expr, span: Span) -> Type:
    """Return the type of an operation on two operands with one scalar type."""
    a, b = _type(left), _type(right)
    if isinstance(a, Matrix) or isinstance(b, Matrix):
        return _matrix_form(ctx, op, left, right, span)
    if a == b or isinstance(b, Scalar):
        return a
    if isinstance(a, Scalar):
        return b
    ctx.error(
        "E0305", f"`{spelling(op)}` does not work on {describe(left)} and {describe(right)}", span
    )


def _matrix_form(ctx: Context, op: BinaryOp, left: ir.Expr, right: ir.Expr, span: Span) -> Type:
    a, b = _type(left), _type(right)
    if op in (BinaryOp.ADD, BinaryOp.SUB) and a == b:
        return a
    if op is BinaryOp.MUL and (isinstance(a, Scalar) or isinstance(b, Scalar)):
        return a if isinstance(b, Scalar) else b
    fix = None
    if op is BinaryOp.MUL:
        fix = f"for the matrix product write `{left.span.text} @ {right.span.text}`"
    ctx.error(
        "E0305",
        f"`{spelling(op)}` does not work on {describe(left)} and {describe(right)}",
        span,
        help=fix,
    )


def _shift(ctx: Context, op: BinaryOp, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    a, b = scalar_of(_type(left)), scalar_of(_type(right))
    if a is None or b is None or not (a.is_integer and b.is_integer):
        ctx.error(
            "E0305",
            f"`{op.value}` works on integers, but here are {describe(left)} and {describe(right)}",
            span,
        )
    left = concrete(ctx, left)
    if isinstance(right, ir.Literal):
        if not 0 <= right.value <= 31:
            ctx.error(
                "E0309",
                f"a shift count must be from 0 to 31, but this is {right.value}",
                right.span,
            )
        right = ir.Literal(right.value, U32, span=right.span)
    elif b.is_abstract:
        right = coerce(ctx, right, U32)
    elif b is not U32:
        right = ir.Convert(right, with_scalar(_type(right), U32), span=right.span)
    form = _result_form(
        ctx, op, left, ir.Convert(right, with_scalar(_type(right), _scalar(left))), span
    )
    if isinstance(left, ir.Literal) and isinstance(right, ir.Literal):
        folded = fold.typed_binary(op, left, right, form)
        if folded is not None:
            return ir.Literal(folded.value, folded.type, span=span)
    return ir.Binary(op, left, right, form, span=span)


def _scalar(expr: ir.Expr) -> Scalar:
    scalar = scalar_of(_type(expr))
    assert scalar is not None
    return scalar


def _power(ctx: Context, base: ir.Expr, exponent: ir.Expr, span: Span) -> ir.Expr | None:
    """Return small whole powers as products, which every back end computes alike; else None."""
    if not isinstance(exponent, ir.Literal):
        return None
    value, scalar = exponent.value, _scalar(base)
    if scalar.is_integer and isinstance(value, int) and value < 0:
        ctx.error(
            "E0310",
            f"an integer to the power {value} is not an integer",
            span,
            help=f"compute with floats: `f32({base.span.text}) ** {value}`",
        )
    if value not in (2, 3, 4) or isinstance(base, ir.Literal):
        return None
    if scalar.is_integer and isinstance(value, float):
        base = coerce(ctx, base, with_scalar(_type(base), F32))
    if not is_simple(base):
        base = ctx.temporary(base, "base")

    def product(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return ir.Binary(BinaryOp.MUL, a, b, _type(base), span=span)

    square = product(base, base)
    if value == 2:
        return square
    if value == 3:
        return product(square, base)
    square = ctx.temporary(square, "square")
    return product(square, square)

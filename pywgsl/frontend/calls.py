"""Calls: conversions and constructors, builtins, Python's own functions, and helpers."""

from __future__ import annotations

import builtins as python
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from pywgsl import ir, lang, syntax
from pywgsl.builtins import BUILTINS, FROM_PYTHON, Builtin, Scope
from pywgsl.frontend import fold
from pywgsl.frontend.access import refuse_launch
from pywgsl.frontend.context import Abort, Context, Host, TupleValue, Undeclared, Value
from pywgsl.frontend.convert import (
    coerce,
    concrete,
    describe,
    is_abstract,
    is_open,
    known_value,
    number_of,
)
from pywgsl.frontend.definition import Helper, Launchable
from pywgsl.frontend.shared import atomic_place
from pywgsl.frontend.suggestions import closest, module_name
from pywgsl.source import Span
from pywgsl.types import (
    ABSTRACT_FLOAT,
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
    size_of,
    with_scalar,
)

_NUMPY_TYPES: dict[Any, Scalar] = {
    np.float32: F32,
    np.float64: F32,
    np.float16: F16,
    np.int32: I32,
    np.int64: I32,
    np.uint32: U32,
    np.bool_: BOOL,
}
_ARRAY_MAKERS = {np.zeros, np.empty, np.ones, np.full}
#: Tint takes no more in the variables of a function.
_MOST_BYTES = 65536

_RANGE_HELP = "it stands behind the `in` of a loop: `for i in range(n):`"
_PYTHON_TYPES: dict[Any, Scalar] = {python.float: F32, python.int: I32, python.bool: BOOL}


def call(
    ctx: Context,
    callee: Host,
    args: Sequence[Value],
    keywords: Sequence[tuple[syntax.Keyword, Value]],
    span: Span,
) -> Value:
    """Return the value of a call of something the compiler knows."""
    function = callee.value
    if isinstance(function, Helper):
        return ctx.program.invoke(ctx, function, args, keywords, span)
    if isinstance(function, Launchable):
        refuse_launch(ctx, callee)
    if _hashable(function) and function in _ARRAY_MAKERS:
        _refuse_array_maker(ctx, callee, args, span)
    if isinstance(function, Struct):
        return _construct_struct(ctx, function, args, keywords, span)
    if keywords:
        keyword = keywords[0][0]
        ctx.error(
            "E0311",
            f"`{callee.span.text}` takes no named arguments, but here is `{keyword.name}=`",
            keyword.span,
            help="give every argument by position",
        )
    return _positional_call(ctx, callee, args, span)


def _positional_call(ctx: Context, callee: Host, args: Sequence[Value], span: Span) -> Value:
    """Return the value of a call of a builtin, a function of Python, or a form."""
    function = callee.value
    if not _hashable(function):
        _unknown(ctx, callee)
    if function in FROM_PYTHON and (constant := _by_python(ctx, function, args, span)):
        return constant
    row = function if isinstance(function, Builtin) else FROM_PYTHON.get(function)
    if row is not None:
        if row.scope is Scope.ATOMIC:
            place = atomic_place(ctx, row, args, span)
            return _builtin(ctx, row, [place, *_numbers(ctx, args[2:])], span)
        if row.name in ("min", "max") and len(args) == 1:
            _refuse_single(ctx, row, args[0], span)
        return _builtin(ctx, row, _numbers(ctx, args), span)
    return _form(ctx, callee, args, span)


def _refuse_array_maker(ctx: Context, callee: Host, args: Sequence[Value], span: Span) -> NoReturn:
    """Say what makes an array instead of `np.zeros(4)`."""
    lengths = args[0].span.text.strip("()").rstrip(", ") if args else "n"
    dtype = args[1].value if len(args) > 1 and isinstance(args[1], Host) else None
    element = _NUMPY_TYPES.get(dtype, F32) if _hashable(dtype) else F32
    maker = f"{module_name(ctx)}.local_array({element}, {lengths})"
    fix = f"an array of the invocation's own is `{maker}`"
    message = f"`{callee.span.text}` is not a function of the language"
    ctx.error("E0313", message, callee.span, help=fix)


def _by_python(ctx: Context, function: Any, args: Sequence[Value], span: Span) -> Value | None:
    """Return what a function of Python gives for constants, as Python computes it."""
    numbers = [arg.value for arg in args if isinstance(arg, ir.Literal) and is_abstract(arg.type)]
    if len(numbers) < len(args) or not numbers:
        return None
    try:
        result = fold.number(function(*numbers))
    except TypeError:
        return None  # the wrong number of them
    except Exception as error:  # Whatever it says against their values.
        ctx.error("E0308", f"this constant cannot be computed: {error}", span)
    return None if result is None else fold.literal(result, span)


def _form(ctx: Context, callee: Host, args: Sequence[Value], span: Span) -> Value:
    """Return the value of a call of a type, or of what only the checker can do."""
    function = _PYTHON_TYPES.get(callee.value, callee.value)
    match function:
        case Scalar():
            return _convert_scalar(ctx, function, args, span)
        case Vector():
            return _construct_vector(ctx, function, _numbers(ctx, args), span)
        case Matrix():
            return _construct_matrix(ctx, function, _numbers(ctx, args), span)
        case FixedArray():
            return _construct_array(ctx, function, _numbers(ctx, args), span)
        case lang.Form(name="local_array"):
            return ir.Construct(_array_type(ctx, "local_array", args, span), (), span=span)
        case lang.Form(name="workgroup_array"):
            return Host(Undeclared(_array_type(ctx, "workgroup_array", args, span)), span)
        case lang.Form(name="bitcast"):
            return _bitcast(ctx, args, span)
    if function in (python.range, python.reversed, lang.static_range):
        ctx.error(
            "E0312", f"`{callee.span.text}` cannot be used here", callee.span, help=_RANGE_HELP
        )
    if function is python.len:
        return _length(ctx, args, span)
    _unknown(ctx, callee)


def _hashable(value: object) -> bool:
    return type(value).__hash__ is not None


def _unknown(ctx: Context, callee: Host) -> NoReturn:
    function, text = callee.value, callee.span.text
    if function is python.print:
        ctx.error(
            "E0301",
            "expected a value, but `print` returns nothing",
            callee.span,
            help="print on a line of its own, before or after",
        )
    name = getattr(function, "__name__", text)
    known = _NUMPY_TYPES.get(function) if _hashable(function) else None
    fix = None
    if getattr(function, "__module__", None) and hasattr(function, "__code__"):
        fix = f"decorate it with `@pw.function` where `{name}` is defined"
    elif known is not None:
        fix = f"call the type of the language: `{known}(…)`"
    elif function is python.sum:
        fix = "add up in a loop: `total += x[k]`"
    elif name in BUILTINS:
        fix = f"call the one of the language: `pw.{name}(…)`"
    elif isinstance(function, np.ufunc) or not callable(function):
        fix = closest(str(name), BUILTINS, f"{module_name(ctx)}.")
    what = "is not a function of the language" if callable(function) else "is not a function"
    ctx.error("E0313", f"`{text}` {what}", callee.span, help=fix)


def _numbers(ctx: Context, args: Sequence[Value]) -> list[ir.Expr]:
    return [number_of(ctx, arg) for arg in args]


def _expect(
    ctx: Context, name: str, args: Sequence[Any], counts: str, ok: bool, span: Span
) -> None:
    if not ok:
        ctx.error("E0311", f"`{name}` takes {counts}, but got {len(args)}", span)


# -------------------------------------------------------------- conversions and constructors


def _convert_scalar(ctx: Context, target: Scalar, args: Sequence[Value], span: Span) -> ir.Expr:
    if len(args) == 1 and isinstance(args[0], Host) and isinstance(args[0].value, str):
        return _number_from_text(ctx, target, args[0], span)
    if not args:
        return ir.Literal(target.dtype.type(0).item(), target, span=span)
    _expect(ctx, str(target), args, "one argument", len(args) == 1, span)
    operand = number_of(ctx, args[0])
    source = operand.type
    if not isinstance(source, Scalar):
        ctx.error(
            "E0314",
            f"`{target}` converts a scalar, but this is {describe(operand)}",
            operand.span,
            help=f"convert the vector: `{with_scalar(source, target)}({operand.span.text})`"
            if isinstance(source, Vector)
            else None,
        )
    if isinstance(operand, ir.Literal):
        fits = target.is_float or (target.is_integer and not isinstance(operand.value, float))
        if source.is_abstract and fits:
            literal = coerce(ctx, operand, target)
            assert isinstance(literal, ir.Literal)
            return ir.Literal(literal.value, target, span=span)
        return ir.Literal(fold.convert(operand, target).value, target, span=span)
    if source is target:
        return operand
    if is_open(operand):
        # The conversion is asked for, so it says nothing about what the variable is.
        return ir.Convert(operand, target, span=span)
    if join(source, target) is target:
        return coerce(ctx, operand, target)
    return ir.Convert(concrete(ctx, operand), target, span=span)


def _number_from_text(ctx: Context, target: Scalar, text: Host, span: Span) -> ir.Expr:
    """Return `float("inf")` and its like."""
    try:
        value = float(text.value)
    except ValueError:
        value = None
    if value is None or not target.is_float:
        ctx.error("E0314", f"`{target}` does not convert a text", text.span)
    return coerce(ctx, ir.Literal(value, ABSTRACT_FLOAT, span=span), target)


def _construct_vector(ctx: Context, target: Vector, args: list[ir.Expr], span: Span) -> ir.Expr:
    if not args:
        return ir.Construct(target, (), span=span)
    if len(args) == 1 and isinstance(args[0].type, Vector) and args[0].type.width == target.width:
        if args[0].type == target:
            return args[0]
        return ir.Convert(args[0], target, span=span)
    parts, count = [], 0
    for arg in args:
        scalar = scalar_of(arg.type) if arg.type is not None else None
        if scalar is None or isinstance(arg.type, Matrix):
            ctx.error("E0314", f"`{target}` cannot be made of {describe(arg)}", arg.span)
        assert arg.type is not None
        parts.append(_component(ctx, arg, with_scalar(arg.type, target.scalar), str(target)))
        count += arg.type.width if isinstance(arg.type, Vector) else 1
    if count != target.width and not (count == 1 and len(args) == 1):
        ctx.error("E0311", f"`{target}` takes {target.width} components, but got {count}", span)
    return ir.Construct(target, tuple(parts), span=span)


def _component(ctx: Context, arg: ir.Expr, type_: Type, whole: str) -> ir.Expr:
    return coerce(ctx, arg, type_, f"a component of `{whole}`")


def _construct_matrix(ctx: Context, target: Matrix, args: list[ir.Expr], span: Span) -> ir.Expr:
    if not args:
        return ir.Construct(target, (), span=span)
    if (
        all(isinstance(arg.type, Scalar) for arg in args)
        and len(args) == target.columns * target.rows
    ):
        columns = [args[i : i + target.rows] for i in range(0, len(args), target.rows)]
        args = [_construct_vector(ctx, target.column, column, span) for column in columns]
    if len(args) != target.columns:
        ctx.error(
            "E0311",
            f"`{target}` takes {target.columns} columns or {target.columns * target.rows} numbers, "
            f"but got {len(args)} arguments",
            span,
        )
    parts = tuple(coerce(ctx, arg, target.column, f"a column of `{target}`") for arg in args)
    return ir.Construct(target, parts, span=span)


def _construct_array(ctx: Context, target: FixedArray, args: list[ir.Expr], span: Span) -> ir.Expr:
    if args and len(args) != target.length:
        ctx.error(
            "E0311", f"`{target}` takes {target.length} elements or none, but got {len(args)}", span
        )
    parts = tuple(coerce(ctx, arg, target.element, f"an element of `{target}`") for arg in args)
    return ir.Construct(target, parts, span=span)


def _construct_struct(
    ctx: Context,
    target: Struct,
    args: Sequence[Value],
    keywords: Sequence[tuple[syntax.Keyword, Value]],
    span: Span,
) -> ir.Expr:
    """Return a struct of its members, given by position or name; without any, all is zero."""
    named = {keyword.name: value for keyword, value in keywords}
    try:
        given = target.bind(args, named)
    except TypeError as error:
        ctx.error("E0311", str(error), span)
    parts = [
        coerce(ctx, number_of(ctx, given[m.name]), m.type, f"`{m.name}` of `{target}`")
        for m in target.fields
        if given
    ]
    return ir.Construct(target, tuple(parts), span=span)


def _array_type(ctx: Context, name: str, args: Sequence[Value], span: Span) -> Type:
    """Return the type of `local_array(f32, 8)` and its like: more lengths nest."""
    element = args[0].value if args and isinstance(args[0], Host) else None
    element = _PYTHON_TYPES.get(element, element) if _hashable(element) else element
    if not isinstance(element, Scalar | Vector | Matrix | FixedArray | Struct) or len(args) < 2:
        ctx.error(
            "E0311",
            f"`{name}` takes a type and at least one length",
            span,
            help=f"for example `pw.{name}(f32, 8)`",
        )
    type_: Type = element
    for arg in reversed(args[1:]):
        type_ = FixedArray(type_, constant_length(ctx, arg, f"`{name}`"))
    if size_of(type_) > _MOST_BYTES:
        ctx.error(
            "E0315",
            f"`{name}` takes at most {_MOST_BYTES} bytes, but this takes {size_of(type_)}",
            span,
            help="use a buffer, a parameter `Array[…]`, for so much",
        )
    return type_


def constant_length(ctx: Context, value: Value, where: str) -> int:
    """Return a length that must be known when the kernel is compiled."""
    number = known_value(ctx, number_of(ctx, value))
    if isinstance(number, bool) or not isinstance(number, int):
        ctx.error(
            "E0315",
            f"a length of {where} must be known when the kernel is compiled",
            value.span,
            help="use a literal, a number of the module, or a parameter `n: pw.Const[int]`",
        )
    if number < 1:
        ctx.error(
            "E0315", f"a length of {where} must be at least 1, but this is {number}", value.span
        )
    return number


def _bitcast(ctx: Context, args: Sequence[Value], span: Span) -> ir.Expr:
    target = args[0].value if args and isinstance(args[0], Host) else None
    if len(args) != 2 or not isinstance(target, Scalar | Vector):
        ctx.error(
            "E0311",
            "`bitcast` takes a type and a value",
            span,
            help="for example `pw.bitcast(u32, x)`",
        )
    operand = concrete(ctx, number_of(ctx, args[1]))
    scalar, goal = scalar_of(operand.type) if operand.type else None, scalar_of(target)
    same_form = (
        scalar is not None and goal is not None and operand.type == with_scalar(target, scalar)
    )
    if (
        scalar is None
        or goal is None
        or not same_form
        or BOOL in (scalar, goal)
        or scalar.size != goal.size
    ):
        message = f"{describe(operand)} and `{target}` do not have the same size"
        ctx.error("E0314", message, args[1].span)
    if isinstance(operand, ir.Literal):
        value = scalar.dtype.type(operand.value).view(goal.dtype)
        return fold.typed_literal(value, target, span)
    return operand if operand.type == target else ir.Bitcast(operand, target, span=span)


def _length(ctx: Context, args: Sequence[Value], span: Span) -> ir.Expr:
    _expect(ctx, "len", args, "one argument", len(args) == 1, span)
    value = args[0]
    match value:
        case TupleValue(items=items):
            return ir.Literal(len(items), I32, span=span)
        case Host():
            number_of(ctx, value, "an array")
        case ir.Global(type=RuntimeArray()):
            return ir.Shape(value, 0, I32, span=span)
        case _ if isinstance(value.type, FixedArray):
            return ir.Literal(value.type.length, I32, span=span)
        case _ if isinstance(value.type, Vector):
            return ir.Literal(value.type.width, I32, span=span)
    ctx.error("E0301", f"`len` takes an array or vector, but this is {describe(value)}", value.span)


# ----------------------------------------------------------------------------------- builtins


def _refuse_single(ctx: Context, row: Builtin, arg: Value, span: Span) -> NoReturn:
    """Say what to write for the largest element of an array, or for `max(x)` of one number."""
    fix, text = None, arg.span.text
    if not isinstance(arg, Host | TupleValue) and isinstance(arg.type, RuntimeArray | FixedArray):
        fix = f"loop over the array: `result = {row.name}(result, {text}[k])`"
    elif isinstance(arg, TupleValue):
        fix = f"give each value: `{row.name}({', '.join(item.span.text for item in arg.items)})`"
    ctx.error("E0311", f"`{row.name}` takes at least two values", span, help=fix)


def _builtin(ctx: Context, row: Builtin, args: list[ir.Expr], span: Span) -> ir.Expr:
    if row.name in ("min", "max") and len(args) > 2:
        first, second, *rest = args
        result = _builtin(ctx, row, [first, second], span)
        for arg in rest:
            result = _builtin(ctx, row, [result, arg], span)
        return result
    types = [arg.type for arg in args if arg.type is not None]
    match = next((m for s in row.signatures if (m := s.match(types)) is not None), None)
    if match is None:
        _no_overload(ctx, row, args, span)
    if any(is_abstract(arg.type) and is_open(arg) for arg in args):
        raise Abort  # another round will know
    converted = tuple(
        coerce(ctx, arg, type_) for arg, type_ in zip(args, match.parameters, strict=True)
    )
    if row.name == "pow":
        from pywgsl.frontend.operators import binary

        return binary(ctx, ir.BinaryOp.POW, converted[0], converted[1], span)
    if row.effect:
        ctx.effect = True
    elif all(isinstance(arg, ir.Literal) for arg in converted) and isinstance(match.result, Scalar):
        return _fold_builtin(row, converted, match.result, span)
    return ir.Call(row.name, converted, match.result, span=span)


def _fold_builtin(row: Builtin, args: Sequence[ir.Expr], type_: Scalar, span: Span) -> ir.Expr:
    values = []
    for arg in args:
        assert isinstance(arg, ir.Literal)
        assert isinstance(arg.type, Scalar)
        values.append(arg.type.dtype.type(arg.value))
    with np.errstate(all="ignore"):
        return fold.typed_literal(np.asarray(row.numpy(*values), type_.dtype), type_, span)


def _no_overload(ctx: Context, row: Builtin, args: list[ir.Expr], span: Span) -> NoReturn:
    counts = {len(s.parameters) for s in row.signatures}
    rules = "\n".join(f"`{row.name}{rule}`" for rule in row.rules)
    if len(args) not in counts:
        wanted, plural = " or ".join(str(n) for n in sorted(counts)), "s" * (counts != {1})
        ctx.error(
            "E0311",
            f"`{row.name}` takes {wanted} argument{plural}, but got {len(args)}",
            span,
            help=f"it is {rules}",
        )
    found = ", ".join(describe(arg) for arg in args)
    fix = f"it is {rules}"
    scalars = {scalar_of(arg.type) for arg in args if arg.type is not None}

    def text_of(scalar: Scalar) -> str:
        return next(a.span.text for a in args if a.type and scalar_of(a.type) is scalar)

    if {I32, U32} <= scalars:
        fix = f"convert one: `u32({text_of(I32)})` or `i32({text_of(U32)})`\n{fix}"
    elif {F16, F32} <= scalars:
        fix = f"convert one: `f32({text_of(F16)})`\n{fix}"
    elif len(args) == 1 and BOOL in scalars:
        fix = f"convert it: `f32({args[0].span.text})`\n{fix}"
    wrong = args[0].span if len(args) == 1 else span
    ctx.error("E0302", f"`{row.name}` does not accept {found}", wrong, help=fix)

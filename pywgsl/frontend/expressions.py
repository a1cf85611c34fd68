"""Expressions: `syntax` to `ir`, with Python's order of evaluation."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from pywgsl import ir, lang, syntax
from pywgsl.frontend import calls, fold, operators
from pywgsl.frontend.context import (
    Abort,
    Context,
    Host,
    TupleValue,
    Value,
    changes_memory,
    has_memory_load,
    is_simple,
    is_tuple,
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
    I32,
    U32,
    FixedArray,
    Matrix,
    RuntimeArray,
    Scalar,
    Struct,
    Type,
    Vector,
    scalar_of,
    with_scalar,
)

#: A sum of more terms is continued in a temporary: compilers limit how deep expressions nest.
_LONGEST_CHAIN = 32

_MISSING = object()


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


def host_value(ctx: Context, found: Any, span: Span, owner: tuple[object, str]) -> Value:
    """Return what a Python object of the surroundings is in a kernel; numbers are compiled in."""
    if isinstance(found, enum.Enum) and isinstance(found.value, int) and not isinstance(found, Scalar):
        found = found.value
    if isinstance(found, lang.Ids) and found.id in lang.WITHOUT_AXES:
        return ir.InvocationId(found.id, 0, I32, span=span)
    number = fold.number(found)
    if number is None:
        if hasattr(found, "captured"):
            _capture(ctx, owner, found)
        if isinstance(found, tuple):
            _capture(ctx, owner, found)
            items = tuple(host_value(ctx, item, span, (found, str(i))) for i, item in enumerate(found))
            return TupleValue(items, span)
        return Host(found, span)
    _capture(ctx, owner, found)
    return fold.literal(number, span)


def _capture(ctx: Context, owner: tuple[object, str], found: Any) -> None:
    source, name = owner
    if source is ctx.captured.function:
        lookup = ctx.captured.lookup
        ctx.program.captures.add(source, name, lambda: lookup(name), found)
    elif not isinstance(source, tuple):
        ctx.program.captures.add(source, name, lambda: getattr(source, name), found)


# ---------------------------------------------------------------------------------- operators


def _binary(ctx: Context, node: syntax.Binary) -> ir.Expr:
    """Return an operator's value; a long chain such as `a + b + …` is followed without recursion."""
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
        if count % _LONGEST_CHAIN == 0 and count < len(chain) and not isinstance(result, ir.Literal):
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
    if isinstance(result, ir.Call | ir.Invoke) and _has_effect(ctx, result):
        if result.type is None:
            ctx.emit(ir.Effect(result, span=node.span))
            return result
        return ctx.temporary(result, "result")
    return result


def _has_effect(ctx: Context, call: ir.Call | ir.Invoke) -> bool:
    if isinstance(call, ir.Invoke):
        return call.type is None or ctx.program.effects.get(call.function, False)
    return calls.BUILTINS[call.builtin].effect


# --------------------------------------------------------------------------------- attributes


def _attribute(ctx: Context, node: syntax.Attribute) -> Value:
    base = value(ctx, node.base)
    if isinstance(base, Host):
        return _host_attribute(ctx, base, node)
    if isinstance(base, TupleValue):
        ctx.error("E0204", f"a tuple has no attribute `{node.name}`", node.name_span)
    if isinstance(base.type, RuntimeArray):
        return _buffer_attribute(ctx, base, node)
    return component(ctx, base, node)


def _host_attribute(ctx: Context, base: Host, node: syntax.Attribute) -> Value:
    host = base.value
    if isinstance(host, lang.Ids):
        axis = {"x": 0, "y": 1, "z": 2}.get(node.name)
        if axis is None:
            ctx.error(
                "E0204",
                f"`{host.id.value}` has no component `{node.name}`",
                node.name_span,
                help="its components are `x`, `y` and `z`",
            )
        return ir.InvocationId(host.id, axis, I32, span=node.span)
    if isinstance(host, lang.WorkgroupSize):
        if node.name not in ("x", "y", "z"):
            ctx.error("E0204", f"`workgroup_size` has no component `{node.name}`", node.name_span)
        size = ctx.program.workgroup_size["xyz".index(node.name)]
        return ir.Literal(size, I32, span=node.span)
    found = getattr(host, node.name, _MISSING)
    if found is _MISSING:
        name = getattr(host, "__name__", node.base.span.text)
        close = difflib.get_close_matches(node.name, dir(host), 1)
        ctx.error(
            "E0204",
            f"`{name}` has no attribute `{node.name}`",
            node.name_span,
            help=f"did you mean `{close[0]}`?" if close else None,
        )
    if not isinstance(host, ModuleType) and callable(found) and not hasattr(found, "captured"):
        return Host(found, node.span)
    return host_value(ctx, found, node.span, (host, node.name))


def _buffer_attribute(ctx: Context, base: ir.Expr, node: syntax.Attribute) -> Value:
    assert isinstance(base, ir.Global)
    assert isinstance(base.type, RuntimeArray)
    lengths = [ir.Shape(base, axis, I32, span=node.span) for axis in range(base.type.ndim)]
    match node.name:
        case "shape":
            return TupleValue(tuple(lengths), node.span)
        case "ndim":
            return ir.Literal(base.type.ndim, I32, span=node.span)
        case "size":
            size: ir.Expr = lengths[0]
            for length in lengths[1:]:
                size = ir.Binary(BinaryOp.MUL, size, length, I32, span=node.span)
            return size
    ctx.error(
        "E0204",
        f"an array has no attribute `{node.name}`",
        node.name_span,
        help="it has `shape`, `size` and `ndim`",
    )


def component(ctx: Context, base: ir.Expr, node: syntax.Attribute) -> ir.Expr:
    """Return a component, a swizzle, or a member of a struct."""
    type_ = base.type
    if isinstance(type_, Struct) and not is_tuple(type_):
        member = type_.field_type(node.name)
        if member is not None:
            return ir.Member(base, node.name, member, span=node.span)
        close = difflib.get_close_matches(node.name, [f.name for f in type_.fields], 1)
        fix = f"did you mean `{close[0]}`?" if close else None
        ctx.error("E0204", f"`{type_}` has no member `{node.name}`", node.name_span, help=fix)
    if isinstance(type_, Vector):
        letters = _swizzle(node.name)
        if letters and max("xyzw".index(c) for c in letters) < type_.width:
            result: Type = type_.scalar
            if len(letters) > 1:
                result = Vector(len(letters), type_.scalar)
            return ir.Swizzle(base, letters, result, span=node.span)
        ctx.error(
            "E0204",
            f"`{type_}` has no component `{node.name}`",
            node.name_span,
            help=f"its components are {', '.join(f'`{c}`' for c in 'xyzw'[: type_.width])}",
        )
    ctx.error("E0204", f"{describe(base)} has no attribute `{node.name}`", node.name_span)


def _swizzle(name: str) -> str | None:
    if not 1 <= len(name) <= 4:
        return None
    if all(c in "xyzw" for c in name):
        return name
    if all(c in "rgba" for c in name):
        return "".join("xyzw"["rgba".index(c)] for c in name)
    return None


# --------------------------------------------------------------------------------- subscripts


def _subscript(ctx: Context, node: syntax.Subscript) -> Value:
    base, *indices = values(ctx, (node.base, *node.indices))
    if isinstance(base, Host):
        return _host_subscript(ctx, base, indices, node)
    return index(ctx, base, [number_of(ctx, i) for i in indices], node)


def _host_subscript(
    ctx: Context, base: Host, items: Sequence[Value], node: syntax.Subscript
) -> Value:
    """Return what a form such as `array[f32, 4]` makes of the objects in its brackets."""
    parts = []
    for item in items:
        known = item.value if isinstance(item, Host) else calls.known_value(ctx, number_of(ctx, item))
        if known is None:
            ctx.error("E0301", "expected a type or a constant", item.span)
        parts.append(known)
    try:
        found = base.value[tuple(parts) if len(parts) > 1 else parts[0]]
    except Exception as error:
        ctx.error("E0301", f"`{node.base.span.text}` cannot be subscripted: {error}", node.span)
    return host_value(ctx, found, node.span, (parts, "item"))


def index(
    ctx: Context, base: Value, indices: Sequence[ir.Expr], node: syntax.Subscript
) -> Value:
    """Return an element."""
    if isinstance(base, TupleValue) or (not isinstance(base, Host) and is_tuple(base.type)):
        return _tuple_item(ctx, base, indices, node)
    base = base if isinstance(base, ir.Global) else number_of(ctx, base)
    if isinstance(base.type, RuntimeArray):
        return _buffer_element(ctx, base, indices, node)
    for i in indices:
        base = _element(ctx, base, i, node)
    return base


def _buffer_element(
    ctx: Context, base: ir.Expr, indices: Sequence[ir.Expr], node: syntax.Subscript
) -> ir.Expr:
    assert isinstance(base, ir.Global)
    type_ = base.type
    assert isinstance(type_, RuntimeArray)
    if len(indices) != type_.ndim:
        example = ", ".join("ijkl"[: type_.ndim])
        ctx.error(
            "E0316",
            f"`{base.name}` is a `{type_}` and takes {type_.ndim} "
            f"{'index' if type_.ndim == 1 else 'indices'}, but got {len(indices)}",
            node.span,
            help=f"write `{base.name}[{example}]`",
        )
    checked = []
    for axis, i in enumerate(indices):
        i = _index_value(ctx, i)
        if isinstance(i, ir.Literal) and i.value < 0:
            length = ir.Shape(base, axis, I32, span=i.span)
            back = ir.Literal(-int(i.value), I32, span=i.span)
            i = ir.Binary(BinaryOp.SUB, length, back, I32, span=i.span)
        checked.append(i)
    return ir.Index(base, tuple(checked), type_.element, span=node.span)


def _index_value(ctx: Context, i: ir.Expr) -> ir.Expr:
    if isinstance(i, ir.Literal) and isinstance(i.value, int) and i.type is not BOOL:
        return concrete(ctx, i)
    if i.type not in (I32, U32):
        fix = f"convert it: `i32({i.span.text})`" if isinstance(i.type, Scalar) else None
        ctx.error("E0317", f"an index must be an integer, but this is {describe(i)}", i.span, help=fix)
    return i


def _element(ctx: Context, base: ir.Expr, i: ir.Expr, node: syntax.Subscript) -> ir.Expr:
    """Return one element of a fixed array, matrix or vector."""
    match base.type:
        case FixedArray(element=element, length=length):
            pass
        case Matrix(columns=length) as matrix:
            element = matrix.column
        case Vector(width=length, scalar=scalar):
            element = scalar
        case _:
            ctx.error("E0318", f"{describe(base)} has no elements", node.base.span)
    i = _index_value(ctx, i)
    if isinstance(i, ir.Literal):
        position = int(i.value) + length if i.value < 0 else int(i.value)
        if not 0 <= position < length:
            ctx.error(
                "E0319", f"index {i.value} is outside of `{base.type}` of length {length}", i.span
            )
        i = ir.Literal(position, I32, span=i.span)
        if isinstance(base.type, Vector):
            return ir.Swizzle(base, "xyzw"[position], element, span=node.span)
    return ir.Index(base, (i,), element, span=node.span)


def _tuple_item(
    ctx: Context, base: TupleValue | ir.Expr, indices: Sequence[ir.Expr], node: syntax.Subscript
) -> Value:
    items = tuple_items(base)
    position = indices[0].value if isinstance(indices[0], ir.Literal) else None
    if len(indices) != 1 or isinstance(position, bool) or not isinstance(position, int):
        ctx.error(
            "E0317",
            "an index of a tuple must be an integer known when the kernel is compiled",
            indices[0].span,
        )
    if not -len(items) <= position < len(items):
        ctx.error(
            "E0319", f"index {position} is outside of a tuple of {len(items)}", indices[0].span
        )
    return items[position]


def tuple_items(value: TupleValue | ir.Expr) -> tuple[Value, ...]:
    """Return the items of a tuple, or of the struct in which a helper returned them."""
    if isinstance(value, TupleValue):
        return value.items
    assert isinstance(value.type, Struct)
    return tuple(ir.Member(value, f.name, f.type, span=value.span) for f in value.type.fields)

"""What a name of the surroundings, an attribute or a subscript gives, once its base is known."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from pywgsl import ir, lang, syntax
from pywgsl.builtins import Builtin
from pywgsl.frontend import fold, suggestions
from pywgsl.frontend.annotations import as_parameter
from pywgsl.frontend.context import (
    Context,
    Host,
    TupleValue,
    Undeclared,
    Value,
)
from pywgsl.frontend.convert import (
    concrete,
    describe,
    known_value,
    number_of,
    parenthesized,
)
from pywgsl.frontend.definition import Launchable
from pywgsl.frontend.generics import resolve
from pywgsl.ir import BinaryOp
from pywgsl.source import Span
from pywgsl.types import (
    ABSTRACT_INT,
    F32,
    I32,
    U32,
    FixedArray,
    Matrix,
    RuntimeArray,
    Scalar,
    Struct,
    TupleStruct,
    Type,
    Vector,
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a Python object was found: `key` of `owner`, and how to read it again."""

    owner: object
    key: Any
    read: Callable[[], Any]


def host_value(ctx: Context, found: Any, span: Span, origin: Origin | None) -> Value:
    """Return what a Python object of the surroundings is in a kernel; numbers are compiled in.

    With an `origin`, it is noted what the kernel depends on.
    """
    if isinstance(found, lang.Ids) and found.id in lang.WITHOUT_AXES:
        return ir.InvocationId(found.id, 0, I32, span=span)
    if origin is not None and not _is_fixed(found):
        ctx.program.captures.add(origin.owner, origin.key, origin.read, found)
    found = resolve(ctx, found, span)
    if isinstance(found, enum.Enum) and not isinstance(found, Scalar):
        found = found.value
    number = fold.number(found)
    if number is not None:
        return fold.literal(number, span)
    if isinstance(found, tuple):
        return TupleValue(tuple(host_value(ctx, item, span, None) for item in found), span)
    return Host(found, span)


def _is_fixed(found: Any) -> bool:
    """Whether no one gives an object's name to something else while a program runs."""
    if isinstance(found, ModuleType | Builtin | lang.Ids | lang.WorkgroupSize | lang.Form):
        return True
    return getattr(found, "__module__", None) == "builtins"


def host_attribute(ctx: Context, base: Host, node: syntax.Attribute) -> Value:
    """Return an attribute of a Python object, or a component of an id."""
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
    try:
        found = getattr(host, node.name)
    except Exception:  # Whatever a property raises.
        name = getattr(host, "__name__", node.base.span.text)
        ctx.error(
            "E0204",
            f"`{name}` has no attribute `{node.name}`",
            node.name_span,
            help=suggestions.for_attribute(ctx, host, node.name),
        )
    read = partial(getattr, host, node.name)
    return host_value(ctx, found, node.span, Origin(host, node.name, read))


def array_attribute(ctx: Context, base: ir.Expr, node: syntax.Attribute) -> Value:
    """Return `shape`, `size` or `ndim` of an array."""
    lengths = _lengths(base, node.span)
    match node.name:
        case "shape":
            return TupleValue(lengths, node.span)
        case "ndim":
            return ir.Literal(len(lengths), I32, span=node.span)
        case "size":
            size = lengths[0]
            for length in lengths[1:]:
                if isinstance(size, ir.Literal) and isinstance(length, ir.Literal):
                    size = replace(size, value=size.value * length.value)
                else:
                    size = ir.Binary(BinaryOp.MUL, size, length, I32, span=node.span)
            return size
    ctx.error(
        "E0204",
        f"an array has no attribute `{node.name}`",
        node.name_span,
        help="it has `shape`, `size` and `ndim`",
    )


def _lengths(base: ir.Expr, span: Span) -> tuple[ir.Expr, ...]:
    """Return the lengths of a buffer, which a launch decides, or of an array of arrays."""
    if isinstance(base, ir.Global) and isinstance(base.type, RuntimeArray):
        return tuple(ir.Shape(base, axis, I32, span=span) for axis in range(base.type.ndim))
    lengths: list[ir.Expr] = []
    type_ = base.type
    while isinstance(type_, FixedArray):
        lengths.append(ir.Literal(type_.length, I32, span=span))
        type_ = type_.element
    return tuple(lengths)


def component(ctx: Context, base: ir.Expr, node: syntax.Attribute) -> ir.Expr:
    """Return a component, a swizzle, or a member of a struct."""
    type_ = base.type
    if isinstance(type_, Struct) and not isinstance(type_, TupleStruct):
        member = type_.field_type(node.name)
        if member is not None:
            return ir.Member(base, node.name, member, span=node.span)
        fix = suggestions.closest(node.name, (f.name for f in type_.fields))
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


def host_subscript(
    ctx: Context, base: Host, items: Sequence[Value], node: syntax.Subscript
) -> Value:
    """Return what a form such as `array[f32, 4]` makes of the objects in its brackets."""
    if isinstance(base.value, Undeclared):
        number_of(ctx, base, "a named array")
    if isinstance(base.value, lang.Ids | lang.WorkgroupSize):
        text = base.span.text
        fix = f"its components are `{text}.x`, `{text}.y` and `{text}.z`"
        ctx.error("E0301", f"`{text}` cannot be subscripted", node.span, help=fix)
    if isinstance(base.value, Launchable):
        refuse_launch(ctx, base)
    parts = []
    for item in items:
        known = item.value if isinstance(item, Host) else known_value(ctx, number_of(ctx, item))
        if known is None:
            _unknown_subscript(ctx, base, item)
        parts.append(known)
    key = tuple(parts) if len(parts) > 1 else parts[0]
    try:
        found = base.value[key]
    except Exception as error:  # Whatever the object raises.
        reason = f": {error}" if str(error) else ""
        ctx.error("E0301", f"`{node.base.span.text}` cannot be subscripted{reason}", node.span)
    if isinstance(found, FixedArray | RuntimeArray | lang.ConstType):
        return Host(found, node.span)
    read = partial(operator.getitem, base.value, key)
    return host_value(ctx, found, node.span, Origin(base.value, repr(key), read))


def refuse_launch(ctx: Context, kernel: Host) -> NoReturn:
    """Say that a kernel does not run another."""
    name = getattr(kernel.value, "__name__", kernel.span.text)
    ctx.error(
        "E0313",
        f"`{kernel.span.text}` is a kernel, which only the host can run",
        kernel.span,
        help=f"for what both do, write a function decorated with `@{suggestions.module_name(ctx)}"
        f".function`, and call it here and in `{name}`",
    )


def _unknown_subscript(ctx: Context, base: Host, item: Value) -> NoReturn:
    text = base.span.text
    if isinstance(base.value, np.ndarray | list):
        ctx.error(
            "E0317",
            f"an index of `{text}`, which is no parameter, must be known when the kernel is "
            "compiled",
            item.span,
            help=f"to index it at run time, {as_parameter(text, base.value)}",
        )
    ctx.error(
        "E0315",
        f"what stands in the brackets of `{text}` must be known when the kernel is compiled",
        item.span,
        help="use a literal, a number of the module, or a parameter `n: pw.Const[int]`",
    )


def index(ctx: Context, base: Value, indices: Sequence[ir.Expr], node: syntax.Subscript) -> Value:
    """Return an element."""
    if isinstance(base, TupleValue) or (
        not isinstance(base, Host) and isinstance(base.type, TupleStruct)
    ):
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
        name = node.base.span.text
        example = ", ".join("ijkl"[: type_.ndim])
        if (
            indices
            and isinstance(indices[0].type, Vector)
            and isinstance(node.indices[0], syntax.Name)
        ):
            example = ", ".join(f"{node.indices[0].id}.{c}" for c in "xyzw"[: type_.ndim])
        ctx.error(
            "E0316",
            f"`{name}` is an `{type_}` and takes {type_.ndim} "
            f"{'index' if type_.ndim == 1 else 'indices'}, but got {len(indices)}",
            node.span,
            help=f"write `{name}[{example}]`",
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
    if i.type is ABSTRACT_INT:
        return concrete(ctx, i)
    if i.type not in (I32, U32):
        fix = None
        if isinstance(i.type, Scalar):
            fix = f"convert it: `i32({i.span.text})`"
        elif isinstance(i.type, Vector):
            fix = f"pick a component: `{parenthesized(i.span.text)}.x`"
        ctx.error(
            "E0317", f"an index must be an integer, but this is {describe(i)}", i.span, help=fix
        )
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
    assert items is not None
    position = indices[0].value if isinstance(indices[0], ir.Literal) else None
    if len(indices) != 1 or isinstance(position, bool) or not isinstance(position, int):
        ctx.error(
            "E0317",
            "an index of a tuple must be an integer known when the kernel is compiled",
            indices[0].span,
            help=_tuple_help(ctx, base, node),
        )
    if not -len(items) <= position < len(items):
        ctx.error(
            "E0319", f"index {position} is outside of a tuple of {len(items)}", indices[0].span
        )
    item = items[position]
    return Host(item.value, node.span) if isinstance(item, Host) else item


def _tuple_help(ctx: Context, base: TupleValue | ir.Expr, node: syntax.Subscript) -> str | None:
    """Return how to index at run time what is a tuple of numbers now."""
    if not isinstance(node.base, syntax.Name | syntax.Attribute):
        return None
    if not isinstance(base, TupleValue):
        return f"make it an array: `{node.base.span.text} = {_array_of(ctx, base)}(…)`"
    items = base.items
    numbers = [item.value for item in items if isinstance(item, ir.Literal)]
    if not numbers or len(numbers) != len(items):
        return None
    return f"to index it at run time, {as_parameter(node.base.span.text, numbers)}"


def _array_of(ctx: Context, base: ir.Expr) -> str:
    """Return the type of an array that could hold the items of a tuple."""
    assert isinstance(base.type, Struct)
    types = [field.type for field in base.type.fields]
    element = F32 if F32 in types else types[0]
    return f"{suggestions.module_name(ctx)}.array[{element}, {len(types)}]"


def tuple_items(value: Value) -> tuple[Value, ...] | None:
    """Return the items of a tuple, or of the struct in which a helper returned them; else None."""
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, Host) or not isinstance(value.type, TupleStruct):
        return None
    return tuple(ir.Member(value, f.name, f.type, span=value.span) for f in value.type.fields)

"""Assignment: to names, elements, components and tuples of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn

from pywgsl import ir, lang, syntax
from pywgsl.errors import Label
from pywgsl.frontend import operators
from pywgsl.frontend.access import component as attribute
from pywgsl.frontend.access import index, tuple_items
from pywgsl.frontend.annotations import as_parameter, type_help
from pywgsl.frontend.context import (
    Abort,
    Context,
    Host,
    TupleValue,
    Undeclared,
    Value,
    changes_memory,
    has_memory_load,
    is_memory,
    is_simple,
)
from pywgsl.frontend.convert import (
    coerce,
    common_type,
    concrete,
    conversion_help,
    describe,
    divides_integers,
    is_abstract,
    is_open,
    mismatch,
    number_of,
    parenthesized,
)
from pywgsl.frontend.expressions import expression, value, values
from pywgsl.frontend.handing import hand_over, take_result
from pywgsl.frontend.shared import declare_shared
from pywgsl.source import Span
from pywgsl.types import (
    BOOL,
    RuntimeArray,
    Scalar,
    TupleStruct,
    Type,
    Vector,
    scalar_of,
)


def assign(ctx: Context, node: syntax.Assign) -> None:
    """Check `a = b = value`."""
    ctx.goal = _held(ctx, node.targets[0])
    found = value(ctx, node.value)
    if len(node.targets) > 1:
        found = _kept(ctx, found)
    for target in node.targets:
        store(ctx, target, found, node.value)


def _held(ctx: Context, target: syntax.Expr) -> Scalar | None:
    """Return what scalars an array holds of which a target is an element."""
    if not isinstance(target, syntax.Subscript) or not isinstance(target.base, syntax.Name):
        return None
    base = ctx.web_values.get(ctx.scope.reads.get(target.base, -1))
    if base is None or isinstance(base, Host | TupleValue):
        return None
    return scalar_of(base.type.element) if isinstance(base.type, RuntimeArray) else None


def _kept(ctx: Context, found: Value) -> Value:
    """Return a value for several targets: computed once, before any of them is assigned."""
    if isinstance(found, TupleValue):
        return replace(found, items=tuple(_kept(ctx, item) for item in found.items))
    if isinstance(found, Host) or is_memory(found):
        return found
    found = number_of(ctx, found)
    if isinstance(found, ir.Literal):
        return found
    if not isinstance(found, ir.Local) or found.name in ctx.scope.locals:
        found = ctx.temporary(concrete(ctx, found))
    assert isinstance(found, ir.Local)
    ctx.kept.add(found.name)
    return found


def store(ctx: Context, target: syntax.Expr, found: Value, source: syntax.Expr) -> None:
    """Store a value in a target: a name, an element, a component, or a tuple of targets."""
    match target:
        case syntax.Name():
            _store_name(ctx, target, found)
        case syntax.Tuple(items=targets, span=span):
            _store_tuple(ctx, targets, found, source, span)
        case syntax.Subscript() | syntax.Attribute():
            before = len(ctx.out)
            if isinstance(found, TupleValue):
                _refuse_tuple(ctx, found, place(ctx, target), target)
            new = number_of(ctx, found)
            where = place(ctx, target)
            if has_memory_load(new, ctx.program) and changes_memory(ctx.out[before:], ctx.program):
                new = ctx.temporary_at(before, concrete(ctx, new))
            _store_place(ctx, where, new, target)
        case _:
            _not_a_place(ctx, target)


def _refuse_tuple(ctx: Context, found: TupleValue, where: ir.Expr, target: syntax.Expr) -> NoReturn:
    """Say that an element holds no tuple, and how to make of it what it does hold."""
    count, fix = len(found.items), None
    if isinstance(where.type, Vector) and where.type.width == count:
        items = ", ".join(item.span.text for item in found.items)
        fix = f"make a vector of it: `{where.type}({items})`"
    elif isinstance(where.type, Scalar):
        fix = "assign each item to an element of its own"
    message = f"`{target.span.text}` is `{where.type}`, but this is a tuple of {count}"
    ctx.error("E0303", message, found.span, *_declared(ctx, where), help=fix)


def _store_name(ctx: Context, target: syntax.Name, found: Value) -> None:
    web = ctx.web_of(target)
    if _keep_as_alias(ctx, web, target, found):
        return
    if isinstance(found, TupleValue):
        items = [concrete(ctx, number_of(ctx, item)) for item in found.items]
        types = tuple(item.type for item in items if item.type is not None)
        found = ir.Construct(ctx.program.tuple_struct(types), tuple(items), span=found.span)
    assign_name(ctx, target, web, number_of(ctx, found))


def assign_name(ctx: Context, target: syntax.Name, web: int, new: ir.Expr) -> None:
    """Assign a value to a name, whose variable may get another type by that."""
    annotation = ctx.annotations.get(target.id)
    if annotation is not None:
        type_, span = annotation
        label = Label(span, "as annotated here")
        new = coerce(ctx, new, type_, f"`{target.id}`", label)
    type_ = join_web(ctx, web, new, target)
    variable = ctx.variable(target.id, type_)
    if isinstance(new, ir.Literal) and ctx.scope.assignments[web] == 1:
        ctx.known[variable.name] = new.value
    local = ir.Local(variable.name, type_, span=target.span)

    def write(value: ir.Expr) -> None:
        if value != local:
            ctx.emit(ir.Assign(local, value, span=target.span))

    hand_over(ctx, coerce(ctx, new, type_), write)


def _keep_as_alias(ctx: Context, web: int, target: syntax.Name, found: Value) -> bool:
    """Let a name stand for what has no place of its own: a buffer, a function, an id, a shape."""
    if isinstance(found, ir.Shape) or not _is_fixed(found):
        return False  # a number is given a name in the text too
    if ctx.scope.assignments[web] > 1:
        if _has_value(found):
            return False
        ctx.error(
            "E0321",
            f"`{target.id}` cannot stand for {describe(found)} on one path and something else on "
            "another",
            target.span,
        )
    if isinstance(found, Host) and isinstance(found.value, Undeclared):
        found = declare_shared(ctx, target, found.value)
    ctx.web_values[web] = found
    return True


def _is_fixed(found: Value) -> bool:
    """Whether something stays what it is wherever it is used: no place, and no load."""
    if isinstance(found, TupleValue):
        return all(_is_fixed(item) for item in found.items)
    return isinstance(found, Host | ir.Shape) or is_memory(found)


def _has_value(found: Value) -> bool:
    """Whether a variable could hold what is assigned as it is."""
    if isinstance(found, TupleValue):
        return all(isinstance(item, ir.Shape) for item in found.items)
    if isinstance(found, Host):
        return isinstance(found.value, lang.Ids | lang.WorkgroupSize)
    return isinstance(found, ir.Shape)


def join_web(ctx: Context, web: int, new: ir.Expr, target: syntax.Name) -> Type:
    """Return the type of a variable after it is also assigned `new`."""
    assert new.type is not None
    known = ctx.web_types.get(web)
    if web in ctx.broken:
        raise Abort
    if known is None:
        joined: Type | None = new.type
        ctx.web_spans[web] = target.span
    else:
        joined = common_type(known, new.type)
    if is_open(new):
        ctx.note_feeds(new, web)
    if joined is None:
        assert known is not None
        first = ctx.web_spans.get(web, target.span)
        labels = (Label(first, f"here it is `{known}`"),) if first != target.span else ()
        mismatch(ctx, new, known, f"`{target.id}`", *labels)
    if ctx.final and is_abstract(joined):
        joined = ctx.wanted_type(web, joined)
    if joined != known:
        ctx.web_types[web] = joined
        ctx.changed = True
    ctx.web_spans.setdefault(web, target.span)
    return joined


def _store_tuple(
    ctx: Context,
    targets: Sequence[syntax.Expr],
    found: Value,
    source: syntax.Expr,
    span: Span,
) -> None:
    if not isinstance(found, TupleValue):
        found = number_of(ctx, found)
        if not isinstance(found.type, TupleStruct):
            fix = None
            if isinstance(found.type, Vector) and found.type.width == len(targets):
                base = parenthesized(source.span.text)
                components = ", ".join(f"{base}.{c}" for c in "xyzw"[: len(targets)])
                fix = f"name its components: `{span.text} = {components}`"
            message = f"cannot unpack {describe(found)} into {len(targets)} targets"
            ctx.error("E0322", message, span, help=fix)
        if not is_simple(found):
            found = ctx.temporary(found, "results")
    items = list(tuple_items(found) or ())
    if len(items) != len(targets):
        count = f"{len(items)} value{'s' * (len(items) != 1)}"
        ctx.error("E0322", f"cannot unpack {count} into {len(targets)} targets", span)
    for position in range(1, len(items)):
        items[position] = _before(ctx, items[position], targets[:position])
    for target, item in zip(targets, items, strict=True):
        store(ctx, target, item, source)


def _before(ctx: Context, item: Value, targets: Sequence[syntax.Expr]) -> Value:
    """Return an item as it is before `targets` are assigned."""
    if isinstance(item, TupleValue):
        return replace(item, items=tuple(_before(ctx, i, targets) for i in item.items))
    if isinstance(item, Host | ir.Literal) or is_memory(item):
        return item
    if _may_be_changed(ctx, item, targets):
        return ctx.temporary(concrete(ctx, item))
    return item


def _may_be_changed(ctx: Context, item: ir.Expr, targets: Sequence[syntax.Expr]) -> bool:
    """Whether assigning to `targets` first could change what `item` evaluates to."""
    names = {n.id for t in targets for n in syntax.walk(t) if isinstance(n, syntax.Name)}
    variables = {v.name for (name, _), v in ctx.variables.items() if name in names} | names
    stores = any(not isinstance(t, syntax.Name) for t in targets)
    for node in ir.walk(item):
        if isinstance(node, ir.Local) and node.name in variables:
            return True
        if stores and isinstance(node, ir.Global) and node.space is not ir.Space.UNIFORM:
            return True
    return False


def annotated(ctx: Context, node: syntax.Annotated) -> None:
    """Check `name: type = value`; the annotation holds for every assignment of the name."""
    type_, span = ctx.annotations.get(node.target.id, (None, node.span))
    if type_ is None:
        raise Abort  # it is no type
    if node.value is None:
        return
    found = value(ctx, node.value)
    if isinstance(type_, RuntimeArray) and (
        isinstance(found, Host | TupleValue) or found.type != type_
    ):
        ctx.error(
            "E0303",
            f"`{node.target.id}` is `{type_}`, but this is {describe(found)}",
            node.value.span,
            Label(span, "as annotated here"),
        )
    _store_name(ctx, node.target, found)


def note_annotations(ctx: Context, nodes: Sequence[syntax.Annotated]) -> None:
    """Find the types that names of the function are annotated with."""
    for node in nodes:
        if node not in ctx.scope.reached:
            continue
        name, span = node.target.id, node.annotation.span
        type_ = ctx.attempt(partial(_annotated_type, ctx, node.annotation))
        known, first = ctx.annotations.get(name, (type_, span))
        if type_ is not None and known == type_:
            ctx.annotations[name] = (type_, first)
        elif type_ is not None:
            ctx.note(
                "E0323",
                f"`{name}` is annotated as `{known}` and as `{type_}`",
                span,
                Label(first, f"`{known}` here"),
                help="give one of them another name",
            )


def _annotated_type(ctx: Context, node: syntax.Expr) -> Type:
    found = value(ctx, node)
    try:
        return lang.as_type(found.value if isinstance(found, Host) else None, "")
    except Exception:  # Whatever comparing the object with a type raises.
        fix = type_help(found.value if isinstance(found, Host) else None)
        ctx.error("E0323", f"`{node.span.text}` is not a type of the language", node.span, help=fix)


def augmented(ctx: Context, node: syntax.Augmented) -> None:
    """Check `target op= value`."""
    if isinstance(node.target, syntax.Name):
        old = expression(ctx, node.target)
        operand = expression(ctx, node.value)
        new = _combine(ctx, node, old, operand)
        if node.target.id in ctx.annotations:
            type_, span = ctx.annotations[node.target.id]
            _check_combined(ctx, node, new, type_, Label(span, "as annotated here"))
        _store_name(ctx, node.target, new)
        return
    assert isinstance(node.target, syntax.Subscript | syntax.Attribute)
    ctx.goal = _held(ctx, node.target)
    where = _once(ctx, place(ctx, node.target))
    position = len(ctx.out)
    operand = expression(ctx, node.value)
    old = where
    if changes_memory(ctx.out[position:], ctx.program):
        old = ctx.temporary_at(position, where, "before")
    new = _combine(ctx, node, old, operand)
    assert where.type is not None
    _check_combined(ctx, node, new, where.type, *_declared(ctx, where))
    _store_place(ctx, where, new, node.target)


def _check_combined(
    ctx: Context, node: syntax.Augmented, new: ir.Expr, type_: Type, *labels: Label
) -> None:
    """Say it here if the result of an operator is no value for what it is assigned to."""
    assert new.type is not None
    if common_type(type_, new.type) == type_:
        return
    target, operator = node.target.span.text, "@" if node.matmul else operators.spelling(node.op)
    whole = f"{target} {operator} {parenthesized(node.value.span.text)}"
    fix = conversion_help(new, type_, whole)
    if isinstance(new.type, Scalar) and isinstance(type_, Scalar) and type_ is not BOOL:
        fix = f"convert the whole value: `{target} = {type_}({whole})`"
        if type_.is_integer and divides_integers(new):
            fix += f", or divide to an integer: `{target} //= {node.value.span.text}`"
    mismatch(ctx, new, type_, f"`{target}`", *labels, help=fix)


def _combine(ctx: Context, node: syntax.Augmented, old: ir.Expr, operand: ir.Expr) -> ir.Expr:
    span = node.value.span
    if node.matmul:
        return operators.matrix_multiply(ctx, old, operand, span)
    return operators.binary(ctx, node.op, old, operand, span)


def _once(ctx: Context, where: ir.Expr) -> ir.Expr:
    """Return a place whose indices are evaluated before, if evaluating them twice could differ."""
    match where:
        case ir.Index(base=base, indices=indices):
            kept = tuple(
                ctx.temporary(i, "index") if has_memory_load(i, ctx.program) else i for i in indices
            )
            return replace(where, base=_once(ctx, base), indices=kept)
        case ir.Swizzle(base=base) | ir.Member(base=base):
            return replace(where, base=_once(ctx, base))
        case _:
            return where


def place(ctx: Context, target: syntax.Subscript | syntax.Attribute) -> ir.Expr:
    """Return the memory that a target denotes."""
    base: Value
    root = _root(target)
    if not isinstance(root, syntax.Name):
        _not_a_place(ctx, target)
    if isinstance(target.base, syntax.Subscript | syntax.Attribute) and root.id in ctx.scope.locals:
        base = place(ctx, target.base)
    else:
        base = value(ctx, target.base)
    if isinstance(base, TupleValue) and isinstance(target, syntax.Subscript):
        base = index(ctx, base, [number_of(ctx, i) for i in values(ctx, target.indices)], target)
        if not isinstance(base, Host | TupleValue) and isinstance(base.type, RuntimeArray):
            return base
    if isinstance(base, Host | TupleValue | ir.Literal):
        _not_a_place(ctx, target, base)
    if isinstance(target, syntax.Attribute):
        found: Value = attribute(ctx, number_of(ctx, base), target)
    else:
        indices = [number_of(ctx, i) for i in values(ctx, target.indices)]
        found = index(ctx, base, indices, target)
    assert not isinstance(found, Host | TupleValue)
    _check_writable(ctx, found, target)
    return found


def _root(target: syntax.Expr) -> syntax.Expr:
    """Return what a target is an element or component of."""
    while isinstance(target, syntax.Subscript | syntax.Attribute):
        target = target.base
    return target


def _not_a_place(ctx: Context, target: syntax.Expr, base: Value | None = None) -> NoReturn:
    fix = "variables of the kernel can be assigned to, and elements of arrays"
    if isinstance(base, Host) and isinstance(base.value, lang.Ids | lang.WorkgroupSize):
        fix = f"copy it and change the copy: `own = {target.span.text}`"
    elif isinstance(base, Host) and isinstance(target, syntax.Subscript):
        fix = as_parameter(target.base.span.text, base.value) or fix
    ctx.error("E0320", f"`{target.span.text}` cannot be assigned to", target.span, help=fix)


def _check_writable(ctx: Context, found: ir.Expr, target: syntax.Expr) -> None:
    root = ir.root(found)
    if not isinstance(root, ir.Local | ir.Global):
        _not_a_place(ctx, target)
    name = _root(target)
    if not isinstance(name, syntax.Name) or isinstance(root.type, RuntimeArray):
        return
    if ctx.scope.reads.get(name) in ctx.scope.parameters.values():
        changed = (
            "" if ctx.is_kernel else ": its value was copied, so the caller's would not change"
        )
        ctx.error(
            "E0324",
            f"`{name.id}` is a parameter and cannot be stored into{changed}",
            target.span,
            help=f"copy it first: `own = {name.id}`",
        )


def _store_place(ctx: Context, where: ir.Expr, new: ir.Expr, target: syntax.Expr) -> None:
    assert where.type is not None
    root = ir.root(where)
    if isinstance(root, ir.Global):
        ctx.program.written.add(root.name)
        ctx.effect = True
    new = coerce(ctx, new, where.type, f"`{target.span.text}`", *_declared(ctx, where))
    if isinstance(where, ir.Swizzle) and len(where.components) > 1:
        _store_swizzle(ctx, where, new, target)
        return

    def write(part: ir.Expr) -> None:
        ctx.emit(ir.Assign(where, part, span=target.span))

    if is_simple_place(where):
        hand_over(ctx, new, write)
    else:
        write(take_result(ctx, new))


def _declared(ctx: Context, where: ir.Expr) -> list[Label]:
    """Return where the parameter is declared that a place is part of."""
    root = ir.root(where)
    if isinstance(root, ir.Global | ir.Local) and root.name in ctx.declared:
        return [Label(ctx.declared[root.name], f"`{root.name}` is declared here")]
    return []


def is_simple_place(where: ir.Expr) -> bool:
    """Whether a place is as short to write several times as once."""
    match where:
        case ir.Index(base=base, indices=indices):
            return is_simple_place(base) and all(is_simple(i) for i in indices)
        case ir.Member(base=base) | ir.Swizzle(base=base):
            return is_simple_place(base)
        case _:
            return True


def _store_swizzle(ctx: Context, where: ir.Swizzle, new: ir.Expr, target: syntax.Expr) -> None:
    """Store several components one by one, as not every WGSL compiler takes them at once."""
    letters = where.components
    if len(set(letters)) != len(letters):
        ctx.error("E0320", f"`{letters}` names a component twice", target.span)
    assert isinstance(new.type, Vector)
    if not isinstance(new, ir.Local) or new.name == getattr(ir.root(where), "name", None):
        new = ctx.temporary(new)
    where = replace(where, base=_once(ctx, where.base))
    for position, letter in enumerate(letters):
        scalar = new.type.scalar if isinstance(new.type, Vector) else BOOL
        part = ir.Swizzle(new, "xyzw"[position], scalar, span=new.span)
        ctx.emit(ir.Assign(replace(where, components=letter, type=scalar), part, span=target.span))

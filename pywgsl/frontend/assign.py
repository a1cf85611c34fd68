"""Assignment: to names, elements, components and tuples of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pywgsl import ir, lang, syntax
from pywgsl.errors import Label
from pywgsl.frontend import operators
from pywgsl.frontend.access import component as attribute
from pywgsl.frontend.access import index, tuple_items
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
    coerce,
    common_type,
    concrete,
    default_type,
    describe,
    mismatch,
    number_of,
)
from pywgsl.frontend.expressions import expression, value, values
from pywgsl.source import Span
from pywgsl.types import (
    BOOL,
    RuntimeArray,
    Type,
    Vector,
)


def assign(ctx: Context, node: syntax.Assign) -> None:
    """Check `a = b = value`."""
    found = value(ctx, node.value)
    computed = not isinstance(found, Host | TupleValue) and not isinstance(found.type, RuntimeArray)
    if len(node.targets) > 1 and computed:
        found = number_of(ctx, found)
        if not is_simple(found):
            found = ctx.temporary(concrete(ctx, found))
    for target in node.targets:
        store(ctx, target, found, node.value)


def store(ctx: Context, target: syntax.Expr, found: Value, source: syntax.Expr) -> None:
    """Store a value in a target: a name, an element, a component, or a tuple of targets."""
    match target:
        case syntax.Name():
            _store_name(ctx, target, found)
        case syntax.Tuple(items=targets, span=span):
            _store_tuple(ctx, targets, found, source, span)
        case syntax.Subscript() | syntax.Attribute():
            before = len(ctx.out)
            new = number_of(ctx, found)
            where = place(ctx, target)
            if has_memory_load(new, ctx.program) and changes_memory(ctx.out[before:], ctx.program):
                new = ctx.temporary_at(before, new)
            _store_place(ctx, where, new, target)
        case _:
            ctx.error("E0320", "this cannot be assigned to", target.span)


def _store_name(ctx: Context, target: syntax.Name, found: Value) -> None:
    web = ctx.web_of(target)
    if _keep_as_alias(ctx, web, target, found):
        return
    if isinstance(found, TupleValue):
        items = [concrete(ctx, number_of(ctx, item)) for item in found.items]
        types = tuple(item.type for item in items if item.type is not None)
        found = ir.Construct(ctx.program.tuple_struct(types), tuple(items), span=found.span)
    new = number_of(ctx, found)
    assert new.type is not None
    type_ = join_web(ctx, web, new, target)
    assign_variable(ctx, target.id, web, type_, coerce(ctx, new, type_), target.span)


def assign_variable(
    ctx: Context, name: str, web: int, type_: Type, new: ir.Expr, span: Span
) -> None:
    """Write the assignment of a checked value to a variable."""
    variable = ctx.variable(name, type_)
    if isinstance(new, ir.Literal) and ctx.scope.assignments[web] == 1:
        ctx.known[variable.name] = new.value
    new = take_result(ctx, new)
    ctx.emit(ir.Assign(ir.Local(variable.name, type_, span=span), new, span=span))


def take_result(ctx: Context, new: ir.Expr) -> ir.Expr:
    """Use a call directly where it would only be handed on by a temporary."""
    last = ctx.out[-1] if ctx.out else None
    if not isinstance(new, ir.Local) or new.name in ctx.scope.locals:
        return new
    if isinstance(last, ir.Let) and last.name == new.name:
        ctx.out.pop()
        return last.value
    return new


def _keep_as_alias(ctx: Context, web: int, target: syntax.Name, found: Value) -> bool:
    """Let a name stand for what has no place of its own: a buffer, a function, an id, a shape."""
    is_buffer = not isinstance(found, Host | TupleValue) and isinstance(found.type, RuntimeArray)
    is_host = isinstance(found, Host)
    is_shape = isinstance(found, TupleValue) and all(isinstance(i, ir.Shape) for i in found.items)
    if not (is_buffer or is_host or is_shape):
        return False
    if ctx.scope.assignments[web] > 1:
        if is_shape:
            return False
        if isinstance(found, Host) and isinstance(found.value, lang.Ids | lang.WorkgroupSize):
            return False
        ctx.error(
            "E0321",
            f"`{target.id}` cannot stand for {describe(found)} on one path and something else on "
            "another",
            target.span,
        )
    ctx.web_values[web] = found
    return True


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
    if joined is None:
        assert known is not None
        first = ctx.web_spans.get(web, target.span)
        labels = (Label(first, f"here it is `{known}`"),) if first != target.span else ()
        mismatch(ctx, new, known, f"`{target.id}`", *labels)
    if ctx.final:
        joined = default_type(joined)
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
        if not is_tuple(found.type):
            ctx.error("E0322", f"cannot unpack {describe(found)} into {len(targets)} names", span)
        if not is_simple(found):
            found = ctx.temporary(found, "results")
    items = list(tuple_items(found))
    if len(items) != len(targets):
        ctx.error("E0322", f"cannot unpack {len(items)} values into {len(targets)} names", span)
    for position in range(1, len(items)):
        item = items[position]
        if isinstance(item, Host | TupleValue | ir.Literal) or isinstance(item.type, RuntimeArray):
            continue
        if _may_be_changed(ctx, item, targets[:position]):
            items[position] = ctx.temporary(concrete(ctx, item))
    for target, item in zip(targets, items, strict=True):
        store(ctx, target, item, source)


def _may_be_changed(ctx: Context, item: ir.Expr, targets: Sequence[syntax.Expr]) -> bool:
    """Whether assigning to `targets` first could change what `item` evaluates to."""
    names = {t.id for t in targets if isinstance(t, syntax.Name)}
    if any(not isinstance(t, syntax.Name) for t in targets):
        return any(isinstance(n, ir.Local | ir.Global) for n in ir.walk(item))
    variables = {v.name for (name, _), v in ctx.variables.items() if name in names} | names
    return any(isinstance(n, ir.Local) and n.name in variables for n in ir.walk(item))


def annotated(ctx: Context, node: syntax.Annotated) -> None:
    """Check `name: type = value`."""
    found = value(ctx, node.annotation)
    try:
        type_ = lang.as_type(found.value if isinstance(found, Host) else None, "")
    except TypeError:
        ctx.error("E0323", "expected a type such as `f32`", node.annotation.span)
    if node.value is None:
        return
    new = expression(ctx, node.value)
    label = Label(node.annotation.span, "as annotated here")
    _store_name(ctx, node.target, coerce(ctx, new, type_, f"`{node.target.id}`", label))


def augmented(ctx: Context, node: syntax.Augmented) -> None:
    """Check `target op= value`."""
    if isinstance(node.target, syntax.Name):
        old = expression(ctx, node.target)
        operand = expression(ctx, node.value)
        _store_name(ctx, node.target, _combine(ctx, node, old, operand))
        return
    assert isinstance(node.target, syntax.Subscript | syntax.Attribute)
    where = _once(ctx, place(ctx, node.target))
    position = len(ctx.out)
    operand = expression(ctx, node.value)
    old = where
    if changes_memory(ctx.out[position:], ctx.program):
        old = ctx.temporary_at(position, where, "before")
    _store_place(ctx, where, _combine(ctx, node, old, operand), node.target)


def _combine(ctx: Context, node: syntax.Augmented, old: ir.Expr, operand: ir.Expr) -> ir.Expr:
    span = node.span
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
    if isinstance(target.base, syntax.Subscript | syntax.Attribute):
        base = place(ctx, target.base)
    else:
        base = value(ctx, target.base)
    if isinstance(base, Host):
        ctx.error("E0320", f"{describe(base)} cannot be assigned to", target.span)
    if isinstance(target, syntax.Attribute):
        found: Value = attribute(ctx, number_of(ctx, base), target)
    else:
        indices = [number_of(ctx, i) for i in values(ctx, target.indices)]
        found = index(ctx, base, indices, target)
    assert not isinstance(found, Host | TupleValue)
    _check_writable(ctx, found, target)
    return found


def _check_writable(ctx: Context, found: ir.Expr, target: syntax.Expr) -> None:
    root = ir.root(found)
    name = root.span.text
    if isinstance(root, ir.Global) and root.space is ir.Space.UNIFORM:
        ctx.error(
            "E0324",
            f"`{name}` is a parameter and cannot be stored into",
            target.span,
            help=f"copy it first: `{name} = {root.type}({name})`"
            if isinstance(root.type, Vector)
            else None,
        )
    if isinstance(root, ir.Local) and root.name in ctx.scope.parameters:
        ctx.error(
            "E0324",
            f"`{name}` is a parameter: its value was copied, so the caller's would not change",
            target.span,
            help=f"return the changed value, or copy it first: `own = {name}`",
        )
    if not isinstance(root, ir.Local | ir.Global):
        ctx.error("E0320", "this cannot be assigned to", target.span)


def _store_place(ctx: Context, where: ir.Expr, new: ir.Expr, target: syntax.Expr) -> None:
    assert where.type is not None
    root = ir.root(where)
    if isinstance(root, ir.Global):
        ctx.program.written.add(root.name)
        ctx.effect = True
    labels: list[Label] = []
    if isinstance(root, ir.Global | ir.Local) and root.name in ctx.declared:
        labels.append(Label(ctx.declared[root.name], f"`{root.name}` is declared here"))
    new = coerce(ctx, new, where.type, f"`{target.span.text}`", *labels)
    if isinstance(where, ir.Swizzle) and len(where.components) > 1:
        _store_swizzle(ctx, where, new, target)
        return
    new = take_result(ctx, new)
    ctx.emit(ir.Assign(where, new, span=target.span))


def _store_swizzle(ctx: Context, where: ir.Swizzle, new: ir.Expr, target: syntax.Expr) -> None:
    """Store several components one by one, as not every WGSL compiler takes them at once."""
    letters = where.components
    if len(set(letters)) != len(letters):
        ctx.error("E0320", f"`{letters}` names a component twice", target.span)
    assert isinstance(new.type, Vector)
    new = new if isinstance(new, ir.Local) else ctx.temporary(new)
    for position, letter in enumerate(letters):
        scalar = new.type.scalar if isinstance(new.type, Vector) else BOOL
        part = ir.Swizzle(new, "xyzw"[position], scalar, span=new.span)
        ctx.emit(ir.Assign(replace(where, components=letter, type=scalar), part, span=target.span))

"""Statements: `syntax` to `ir`. Variables are assigned here and declared later (`declare`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pywgsl import ir, lang, syntax
from pywgsl.errors import Label
from pywgsl.frontend import loops, operators
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
from pywgsl.frontend.expressions import expression, index, tuple_items, value, values
from pywgsl.frontend.expressions import component as attribute
from pywgsl.frontend.operators import condition
from pywgsl.source import Span
from pywgsl.types import (
    BOOL,
    I32,
    U32,
    RuntimeArray,
    Struct,
    Type,
    Vector,
)


def block(ctx: Context, statements: syntax.Block) -> None:
    """Check statements, going on after a mistake; what cannot be reached is left out."""
    for node in statements:
        try:
            statement(ctx, node)
        except Abort:
            _poison(ctx, node)
        if ctx.out and isinstance(ctx.out[-1], ir.Break | ir.Continue | ir.Return):
            break


def inner(ctx: Context, statements: syntax.Block) -> ir.Block:
    """Check an inner block and return it."""
    with ctx.block() as out:
        block(ctx, statements)
    return tuple(out)


def _poison(ctx: Context, node: syntax.Stmt) -> None:
    """Mark what a statement with a mistake would have assigned, so that its uses say nothing more."""
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
            _assign(ctx, node)
        case syntax.Annotated():
            _annotated(ctx, node)
        case syntax.Augmented():
            _augmented(ctx, node)
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


# -------------------------------------------------------------------------------- assignment


def _assign(ctx: Context, node: syntax.Assign) -> None:
    found = value(ctx, node.value)
    if len(node.targets) > 1:
        if not isinstance(found, Host | TupleValue) and not isinstance(found.type, RuntimeArray):
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
    new = _take_result(ctx, new)
    ctx.emit(ir.Assign(ir.Local(variable.name, type_, span=span), new, span=span))


def _take_result(ctx: Context, new: ir.Expr) -> ir.Expr:
    """Use a call directly where it would only be handed on by a temporary."""
    last = ctx.out[-1] if ctx.out else None
    if isinstance(new, ir.Local) and isinstance(last, ir.Let) and last.name == new.name:
        if new.name not in ctx.scope.locals:
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


def _annotated(ctx: Context, node: syntax.Annotated) -> None:
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


def _augmented(ctx: Context, node: syntax.Augmented) -> None:
    if isinstance(node.target, syntax.Name):
        old = expression(ctx, node.target)
        operand = expression(ctx, node.value)
        _store_name(ctx, node.target, _combine(ctx, node, old, operand))
        return
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
    if isinstance(target.base, syntax.Subscript | syntax.Attribute):
        base: Value = place(ctx, target.base)
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
    labels = ()
    if isinstance(root, ir.Global | ir.Local):
        declared = ctx.declared.get(root.name)
        labels = (Label(declared, f"`{root.name}` is declared here"),) if declared else ()
    new = coerce(ctx, new, where.type, f"`{target.span.text}`", *labels)
    if isinstance(where, ir.Swizzle) and len(where.components) > 1:
        _store_swizzle(ctx, where, new, target)
        return
    new = _take_result(ctx, new)
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
        ctx.emit(
            ir.Assign(replace(where, components=letter, type=scalar), part, span=target.span)
        )


# ------------------------------------------------------------------------------------ others


def _evaluate(ctx: Context, node: syntax.Expr) -> None:
    if isinstance(node, syntax.Call) and _is_print(ctx, node):
        parts: list[str | ir.Expr] = []
        for arg in node.args:
            if isinstance(arg, syntax.Constant) and isinstance(arg.value, str):
                parts.append(arg.value)
            else:
                parts.append(concrete(ctx, expression(ctx, arg)))
        ctx.effect = True
        ctx.emit(ir.Print(tuple(parts), span=node.span))
        return
    found = value(ctx, node)
    if isinstance(found, ir.Local):
        _drop_result(ctx, found)


def _drop_result(ctx: Context, found: ir.Local) -> None:
    """Turn a call whose result is not used into a statement of its own."""
    last = ctx.out[-1] if ctx.out else None
    if isinstance(last, ir.Let) and last.name == found.name:
        if isinstance(last.value, ir.Call | ir.Invoke):
            ctx.out[-1] = ir.Effect(last.value, span=last.span)


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
        block(ctx, node.body if decided else node.orelse)
        return
    test = condition(ctx, expression(ctx, node.test), "`if`")
    body = inner(ctx, node.body)
    orelse = inner(ctx, node.orelse)
    if body or orelse:
        if not body:
            test = ir.Unary(ir.UnaryOp.NOT, test, BOOL, span=test.span)
            body, orelse = orelse, ()
        ctx.emit(ir.If(test, body, orelse, span=node.span))


def _match(ctx: Context, node: syntax.Match) -> None:
    subject = concrete(ctx, expression(ctx, node.subject))
    if subject.type not in (I32, U32):
        ctx.error(
            "E0325", f"`match` works on integers, but this is {describe(subject)}", node.subject.span
        )
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
        matched = ir.Local(ctx.fresh("matched"), BOOL, span=case.span)
        start = test if test is not None else ir.Literal(True, BOOL, span=case.span)
        ctx.emit(ir.Var(matched.name, BOOL, start, span=case.span))
        if case.guard is not None:
            with ctx.block() as guarded:
                holds = condition(ctx, expression(ctx, case.guard), "a guard")
                ctx.emit(ir.Assign(matched, holds, span=case.guard.span))
            ctx.emit(ir.If(matched, tuple(guarded), span=case.span))
        body = inner(ctx, case.body)
        with ctx.block() as others:
            if rest:
                _rest_of_match(ctx, subject, replace(node, cases=rest))
        ctx.emit(ir.If(matched, body, tuple(others), span=case.span))
    return tuple(out)


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
    if node.value is None or (
        isinstance(node.value, syntax.Constant) and node.value.value is None
    ):
        ctx.returns_nothing = node.span
        ctx.emit(ir.Return(None, span=node.span))
        return
    if ctx.is_kernel:
        ctx.error(
            "E0326",
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
    result = _take_result(ctx, coerce(ctx, result, joined))
    ctx.emit(ir.Return(result, span=node.span))


def _tuple_result(ctx: Context, found: TupleValue) -> ir.Expr:
    """Return several results as one value, each with the type that all returns agree on."""
    items = [number_of(ctx, item) for item in found.items]
    types = [item.type for item in items if item.type is not None]
    if is_tuple(ctx.result) and isinstance(ctx.result, Struct):
        earlier = [f.type for f in ctx.result.fields]
        if len(earlier) == len(types):
            joined = [common_type(a, b) for a, b in zip(earlier, types, strict=True)]
            types = [a if b is None else b for a, b in zip(earlier, joined, strict=True)]
    if ctx.final:
        types = [default_type(t) for t in types]
    parts = tuple(coerce(ctx, item, t) for item, t in zip(items, types, strict=True))
    struct = ctx.program.tuple_struct(tuple(types))
    if is_tuple(ctx.result) and ctx.result != struct and len(types) == len(ctx.result_fields()):
        ctx.result = struct
        ctx.changed = True
    return ir.Construct(struct, parts, span=found.span)


def _described(type_: Type) -> str:
    if isinstance(type_, Struct) and is_tuple(type_):
        return f"a tuple of {len(type_.fields)}"
    return f"`{type_}`"

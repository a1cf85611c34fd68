"""One function, from its tree to typed statements; and helpers, compiled for each kind of call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pywgsl import ir, lang, syntax
from pywgsl.errors import Diagnostic, Label
from pywgsl.frontend import fold, statements
from pywgsl.frontend.assign import assign_variable, join_web
from pywgsl.frontend.constants import evaluator
from pywgsl.frontend.context import Abort, Context, Host, Program, TupleValue, Value
from pywgsl.frontend.convert import coerce, concrete, describe, number_of
from pywgsl.frontend.declare import declare
from pywgsl.frontend.definition import MISSING, Captured, Helper, Parameter
from pywgsl.frontend.scope import assigned_names, resolve
from pywgsl.source import NOWHERE, Span
from pywgsl.types import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    F16,
    F32,
    I32,
    U32,
    RuntimeArray,
    Scalar,
    Type,
    scalar_of,
)

#: Types only grow while a body is checked again and again, so few rounds are ever needed.
_MOST_ROUNDS = 64


@dataclass(frozen=True, slots=True)
class CheckedBody:
    """What checking a function found."""

    body: ir.Block
    result: Type | None
    effect: bool


def check_body(
    program: Program, captured: Captured, bound: Mapping[str, Value], *, is_kernel: bool
) -> CheckedBody:
    """Check a function whose parameters have the values `bound`.

    Mistakes go to `program.diagnostics`; `Abort` if there were any.
    """
    constants = {name: v.value for name, v in bound.items() if isinstance(v, ir.Literal)}
    assigned = assigned_names(captured.tree)
    scope, unassigned = resolve(
        captured.tree,
        bound,
        evaluator(captured.lookup, constants, assigned | (bound.keys() - constants.keys())),
    )
    web_types: dict[int, Type] = {}
    result: Type | None = None
    final = False
    for _ in range(_MOST_ROUNDS):
        ctx = Context(program, captured, scope, bound, web_types)
        ctx.is_kernel, ctx.result, ctx.final = is_kernel, result, final
        ctx.declared = {p.name: p.span for p in captured.parameters}
        _bind_parameters(ctx)
        statements.block(ctx, captured.tree.body)
        result = ctx.result
        if ctx.changed:
            continue
        if final or not any(_is_abstract(t) for t in (*web_types.values(), result)):
            break
        final = True
    _check_result(ctx)
    found = [*unassigned, *ctx.diagnostics]
    if found:
        found.sort(key=lambda d: d.primary.span.start)
        _report(program, found)
        raise Abort
    variables = {v.name: v.type for v in ctx.variables.values()}
    body = declare(tuple(ctx.out), variables, program.has_effect)
    return CheckedBody(body, ctx.result, ctx.effect)


def _report(program: Program, found: Sequence[Diagnostic]) -> None:
    program.diagnostics.extend(d for d in found if d not in program.diagnostics)


def _is_abstract(type_: Type | None) -> bool:
    scalar = None if type_ is None else scalar_of(type_)
    if scalar is None and type_ is not None and hasattr(type_, "fields"):
        return any(_is_abstract(f.type) for f in type_.fields)
    return scalar is not None and scalar.is_abstract


def _bind_parameters(ctx: Context) -> None:
    """Give parameters their values; one that a branch or loop may change becomes a variable."""
    for parameter in ctx.captured.parameters:
        web = ctx.scope.parameters[parameter.name]
        bound = ctx.bound[parameter.name]
        if ctx.scope.assignments[web] == 1:
            ctx.web_values[web] = bound
            continue
        target = syntax.Name(parameter.name, span=parameter.span)
        try:
            if isinstance(bound, Host | TupleValue) or isinstance(bound.type, RuntimeArray):
                ctx.error(
                    "E0321",
                    f"`{parameter.name}` cannot stand for {describe(bound)} on one path and "
                    "something else on another",
                    parameter.span,
                )
            type_ = join_web(ctx, web, bound, target)
            value = coerce(ctx, bound, type_)
            assign_variable(ctx, parameter.name, web, type_, value, parameter.span)
        except Abort:
            ctx.broken.add(web)


def _check_result(ctx: Context) -> None:
    if ctx.result is None or ctx.diagnostics:
        return
    if ctx.returns_nothing is not None or not ends(tuple(ctx.out)):
        assert ctx.returns_value is not None
        name = ctx.captured.tree.name
        where = ctx.returns_nothing or ctx.captured.tree.span
        ctx.note(
            "E0402",
            f"`{name}` may end without returning a value",
            where,
            Label(ctx.returns_value, "here it returns one"),
            help="return a value on every path",
        )


def ends(block: ir.Block) -> bool:
    """Whether control never comes out at the end of a block of a function."""
    if not block:
        return False
    match block[-1]:
        case ir.Return():
            return True
        case ir.If(body=body, orelse=orelse):
            return ends(body) and ends(orelse)
        case ir.Switch(cases=cases, default=default):
            return ends(default) and all(ends(case.body) for case in cases)
        case ir.While(condition=ir.Literal(value=True), body=body):
            return not _has_break(body)
        case _:
            return False


def _has_break(block: ir.Block) -> bool:
    pending: list[ir.Node] = list(block)
    while pending:
        node = pending.pop()
        if isinstance(node, ir.Break):
            return True
        if not isinstance(node, ir.While | ir.ForRange):
            pending.extend(ir.children(node))
    return False


# ------------------------------------------------------------------------------------ helpers


def invoke(
    ctx: Context,
    helper: Helper,
    args: Sequence[Value],
    keywords: Sequence[tuple[syntax.Keyword, Value]],
    span: Span,
) -> Value:
    """Return the value of a call of a helper, compiled for these kinds of arguments."""
    captured = helper.captured
    given = _match_arguments(ctx, captured, args, keywords, span)
    bound: dict[str, Value] = {}
    passed: list[ir.Expr] = []
    params: list[ir.Param] = []
    hint = _literal_types(given.values())
    for parameter in captured.parameters:
        value = _argument(ctx, captured, parameter, given[parameter.name], hint)
        if isinstance(value, Host | TupleValue) or not _passes(parameter, value):
            bound[parameter.name] = value
            continue
        assert value.type is not None
        passed.append(value)
        params.append(ir.Param(parameter.name, value.type, span=parameter.span))
        bound[parameter.name] = ir.Local(parameter.name, value.type, span=parameter.span)
    function = _specialize(ctx, captured, bound, tuple(params), span)
    if ctx.program.effects[function.name]:
        ctx.effect = True
    return ir.Invoke(function.name, tuple(passed), function.result, span=span)


def _passes(parameter: Parameter, value: ir.Expr) -> bool:
    """Whether an argument is passed at run time; buffers and constants are compiled in."""
    return not isinstance(value.type, RuntimeArray) and not isinstance(
        parameter.annotation, lang.ConstType
    )


def _match_arguments(
    ctx: Context,
    captured: Captured,
    args: Sequence[Value],
    keywords: Sequence[tuple[syntax.Keyword, Value]],
    span: Span,
) -> dict[str, Value]:
    name, parameters = captured.tree.name, captured.parameters
    if len(args) > len(parameters):
        ctx.error("E0311", f"`{name}` takes {len(parameters)} arguments, but got {len(args)}", span)
    given = {p.name: value for p, value in zip(parameters, args, strict=False)}
    for keyword, value in keywords:
        if keyword.name not in {p.name for p in parameters}:
            ctx.error("E0311", f"`{name}` has no parameter `{keyword.name}`", keyword.span)
        if keyword.name in given:
            ctx.error("E0311", f"`{name}` got `{keyword.name}` twice", keyword.span)
        given[keyword.name] = value
    for parameter in parameters:
        if parameter.name not in given:
            if parameter.default is MISSING:
                ctx.error(
                    "E0311",
                    f"this call of `{name}` gives no `{parameter.name}`",
                    span,
                    Label(parameter.span, "this parameter"),
                )
            given[parameter.name] = _default(parameter, span)
    return given


def _default(parameter: Parameter, span: Span) -> Value:
    number = fold.number(parameter.default)
    return Host(parameter.default, span) if number is None else fold.literal(number, span)


def _literal_types(values: Any) -> dict[Scalar, Scalar]:
    """What literals among arguments are: as the other arguments are, else i32 and f32."""
    scalars = {
        scalar_of(v.type)
        for v in values
        if not isinstance(v, Host | TupleValue) and v.type is not None
    }
    return {
        ABSTRACT_INT: U32 if U32 in scalars and I32 not in scalars else I32,
        ABSTRACT_FLOAT: F16 if F16 in scalars and F32 not in scalars else F32,
    }


def _argument(
    ctx: Context, captured: Captured, parameter: Parameter, value: Value, hint: dict[Scalar, Scalar]
) -> Value:
    """Return an argument as its parameter takes it."""
    annotation = parameter.annotation
    label = Label(parameter.annotation_span, f"`{parameter.name}` is declared here")
    if isinstance(annotation, lang.ConstType):
        if not isinstance(value, ir.Literal):
            ctx.error(
                "E0332",
                f"`{parameter.name}` of `{captured.tree.name}` must be known when the kernel is "
                "compiled",
                value.span,
                label,
            )
        return value
    if annotation is MISSING:
        if isinstance(value, ir.Literal) and value.type in hint:
            return coerce(ctx, value, hint[value.type])
        if isinstance(value, TupleValue) and not all(isinstance(i, ir.Shape) for i in value.items):
            items = tuple(concrete(ctx, number_of(ctx, item)) for item in value.items)
            types = tuple(item.type for item in items if item.type is not None)
            return ir.Construct(ctx.program.tuple_struct(types), items, span=value.span)
        return value
    type_ = lang.as_type(annotation, f"`{parameter.name}`")
    where = f"`{parameter.name}` of `{captured.tree.name}`"
    if isinstance(type_, RuntimeArray):
        if isinstance(value, Host | TupleValue) or value.type != type_:
            ctx.error(
                "E0303", f"{where} is `{type_}`, but this is {describe(value)}", value.span, label
            )
        return value
    return coerce(ctx, number_of(ctx, value), type_, where, label)


def _specialize(
    ctx: Context,
    captured: Captured,
    bound: Mapping[str, Value],
    params: tuple[ir.Param, ...],
    span: Span,
) -> ir.Function:
    program = ctx.program
    key = (captured.function, tuple(_signature(bound[p.name]) for p in captured.parameters))
    if key in program.in_progress or any(k[0] is captured.function for k in program.in_progress):
        ctx.error(
            "E0403",
            f"`{captured.tree.name}` calls itself",
            span,
            help="GPUs have no call stack: write a loop",
        )
    if key not in program.functions:
        program.in_progress.append(key)
        try:
            found = check_body(program, captured, bound, is_kernel=False)
        finally:
            program.in_progress.pop()
        name = _unique(captured.tree.name, program.function_names)
        program.functions[key] = ir.Function(
            name, params, found.result, found.body, span=captured.tree.span
        )
        program.effects[name] = found.effect
    return program.functions[key]


def _signature(value: Value) -> Any:
    """Return what makes two arguments need different compilations."""
    match value:
        case Host(value=host):
            return ("host", id(host))
        case TupleValue(items=items):
            return ("tuple", tuple(_signature(item) for item in items))
        case ir.Literal() | ir.Global() | ir.Shape():
            return replace(value, span=NOWHERE)
        case _:
            return value.type


def _unique(name: str, taken: set[str]) -> str:
    candidate, n = name, 1
    while candidate in taken:
        candidate, n = f"{name}_{n}", n + 1
    taken.add(candidate)
    return candidate

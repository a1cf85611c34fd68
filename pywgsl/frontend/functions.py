"""One function, from its tree to typed statements; and helpers, compiled for each kind of call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from pywgsl import ir, lang, syntax
from pywgsl.errors import Diagnostic, Label
from pywgsl.frontend import fold, statements
from pywgsl.frontend.annotations import type_help
from pywgsl.frontend.assign import assign_name, note_annotations
from pywgsl.frontend.constants import evaluator
from pywgsl.frontend.context import (
    Abort,
    Context,
    Host,
    Inferred,
    Program,
    TupleValue,
    Value,
    is_memory,
)
from pywgsl.frontend.convert import (
    coerce,
    concrete,
    describe,
    is_abstract,
    is_open,
    known_value,
    number_of,
)
from pywgsl.frontend.declare import declare
from pywgsl.frontend.definition import MISSING, Captured, Helper, Parameter
from pywgsl.frontend.generics import TypeArguments, substitute, types_of_call
from pywgsl.frontend.nesting import check_nesting
from pywgsl.frontend.scalarize import scalarize
from pywgsl.frontend.scope import Scope, assigned_names, resolve
from pywgsl.source import NOWHERE, Span
from pywgsl.types import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    F16,
    F32,
    I32,
    U32,
    FixedArray,
    RuntimeArray,
    Scalar,
    TupleStruct,
    Type,
    scalar_of,
)


@dataclass(frozen=True, slots=True)
class CheckedBody:
    """What checking a function found."""

    body: ir.Block
    result: Type | None
    effect: bool


class Rejected(Exception):  # noqa: N818
    """A function cannot be compiled; holds what is wrong with it."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        super().__init__(diagnostics)


def check_body(
    program: Program,
    captured: Captured,
    bound: Mapping[str, Value],
    types: TypeArguments,
    *,
    is_kernel: bool,
) -> CheckedBody:
    """Check a function whose parameters have the values `bound`, its type variables `types`.

    Raises:
        Rejected: with every mistake.
    """
    scope, unassigned = _scope(program, captured, bound)
    annotated = [n for n in syntax.walk(captured.tree) if isinstance(n, syntax.Annotated)]
    inferred = Inferred()
    result: Type | None = None
    final = False
    # Each round but the last gives some variable another type, and there are few to give.
    for _ in range(8 * len(scope.assignments) + 8):
        ctx = Context(program, captured, scope, bound, inferred, types)
        ctx.is_kernel, ctx.result, ctx.final = is_kernel, result, final
        ctx.declared = {p.name: p.span for p in captured.parameters}
        note_annotations(ctx, annotated)
        _bind_parameters(ctx)
        statements.block(ctx, captured.tree.body)
        result = ctx.result
        if ctx.changed:
            continue
        if final or not (
            ctx.gave_up or any(_is_abstract(t) for t in (*inferred.types.values(), result))
        ):
            break
        final = True
    _check_result(ctx)
    found = [*captured.mistakes, *unassigned, *ctx.diagnostics]
    if found:
        raise Rejected(_in_order(found, captured))
    assert not ctx.gave_up, f"{captured.tree.name}: a statement was dropped without a reason"
    return CheckedBody(finish(ctx), ctx.result, ctx.effect)


def _in_order(found: Sequence[Diagnostic], captured: Captured) -> list[Diagnostic]:
    """Return diagnostics in the order of the text, those of other functions last."""

    def place(diagnostic: Diagnostic) -> tuple[bool, str, int]:
        span = diagnostic.primary.span
        return span.source is not captured.source, span.source.name, span.start

    return sorted(found, key=place)


def _scope(
    program: Program, captured: Captured, bound: Mapping[str, Value]
) -> tuple[Scope, list[Diagnostic]]:
    constants: dict[str, Any] = {}
    for name, value in bound.items():
        if isinstance(value, ir.Literal):
            constants[name] = value.value
        elif isinstance(value, ir.Global) and is_memory(value):
            constants[name] = value.type
    hidden = assigned_names(captured.tree) | (bound.keys() - constants.keys())
    constant = evaluator(captured.lookup, constants, hidden, program.workgroup_size)
    return resolve(captured.tree, bound, constant)


def finish(ctx: Context) -> ir.Block:
    """Return the statements of a checked function, with its variables declared."""
    variables = {v.name: v.type for v in ctx.variables.values()}
    body = scalarize(tuple(ctx.out), variables, ctx.fresh)
    body = declare(body, variables, ctx.program.has_effect)
    check_nesting(body, ctx.captured.tree)
    return body


def _is_abstract(type_: Type | None) -> bool:
    if isinstance(type_, TupleStruct):
        return any(_is_abstract(f.type) for f in type_.fields)
    return is_abstract(type_)


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
            if isinstance(bound, Host | TupleValue) or is_memory(bound):
                ctx.error(
                    "E0321",
                    f"`{parameter.name}` cannot stand for {describe(bound)} on one path and "
                    "something else on another",
                    parameter.span,
                )
            assign_name(ctx, target, web, bound)
        except Abort:
            ctx.broken.add(web)


def _check_result(ctx: Context) -> None:
    if ctx.result is None or ctx.diagnostics:
        return
    if ctx.returns_nothing is not None or ctx.scope.ends_open:
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
    types = types_of_call(ctx, captured, given)
    bound: dict[str, Value] = {}
    passed: list[ir.Expr] = []
    params: list[ir.Param] = []
    hint = _literal_types(given.values())
    for parameter in captured.parameters:
        value = _argument(ctx, captured, parameter, given[parameter.name], hint, types)
        if isinstance(value, Host | TupleValue) or not _passes(parameter, value):
            bound[parameter.name] = value
            continue
        assert value.type is not None
        passed.append(value)
        params.append(ir.Param(parameter.name, value.type, span=parameter.span))
        bound[parameter.name] = ir.Local(parameter.name, value.type, span=parameter.span)
    function = _specialize(ctx, captured, bound, types, tuple(params), span)
    if ctx.program.effects[function.name]:
        ctx.effect = True
    return ir.Invoke(function.name, tuple(passed), function.result, span=span)


def _passes(parameter: Parameter, value: ir.Expr) -> bool:
    """Whether an argument is passed at run time; buffers and constants are compiled in."""
    return not is_memory(value) and not isinstance(parameter.annotation, lang.ConstType)


def _match_arguments(
    ctx: Context,
    captured: Captured,
    args: Sequence[Value],
    keywords: Sequence[tuple[syntax.Keyword, Value]],
    span: Span,
) -> dict[str, Value]:
    name, parameters = captured.tree.name, captured.parameters
    defined = Label(captured.tree.span, f"`{name}` is defined here")
    if len(args) > len(parameters):
        takes = f"{len(parameters)} argument{'s' * (len(parameters) != 1)}"
        ctx.error("E0311", f"`{name}` takes {takes}, but got {len(args)}", span, defined)
    given = {p.name: value for p, value in zip(parameters, args, strict=False)}
    for keyword, value in keywords:
        if keyword.name not in {p.name for p in parameters}:
            message = f"`{name}` has no parameter `{keyword.name}`"
            ctx.error("E0311", message, keyword.span, defined)
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
    ctx: Context,
    captured: Captured,
    parameter: Parameter,
    value: Value,
    hint: dict[Scalar, Scalar],
    types: TypeArguments,
) -> Value:
    """Return an argument as its parameter takes it."""
    annotation = parameter.annotation
    label = Label(parameter.annotation_span, f"`{parameter.name}` is declared here")
    where = f"`{parameter.name}` of `{captured.tree.name}`"
    if isinstance(annotation, lang.ConstType):
        return _constant(ctx, value, annotation.kind, where, label)
    if annotation is MISSING:
        if not isinstance(value, Host | TupleValue) and is_abstract(value.type):
            if is_open(value):
                raise Abort  # another round will know its type
            assert isinstance(value.type, Scalar)
            return coerce(ctx, value, hint[value.type])
        if isinstance(value, TupleValue) and not all(isinstance(i, ir.Shape) for i in value.items):
            items = tuple(concrete(ctx, number_of(ctx, item)) for item in value.items)
            members = tuple(item.type for item in items if item.type is not None)
            return ir.Construct(ctx.program.tuple_struct(members), items, span=value.span)
        return value
    type_ = substitute(_annotated(ctx, parameter), types)
    if isinstance(type_, RuntimeArray):
        if isinstance(value, Host | TupleValue) or not _is_array_of(value, type_):
            ctx.error(
                "E0303", f"{where} is `{type_}`, but this is {describe(value)}", value.span, label
            )
        return value
    return coerce(ctx, number_of(ctx, value), type_, where, label)


def _is_array_of(value: ir.Expr, type_: RuntimeArray) -> bool:
    """Whether a value is a buffer or workgroup array of that element type and number of axes."""
    if value.type == type_:
        return True
    element, ndim = value.type, 0
    while isinstance(element, FixedArray) and ndim < type_.ndim:
        element, ndim = element.element, ndim + 1
    return is_memory(value) and element == type_.element and ndim == type_.ndim


def _annotated(ctx: Context, parameter: Parameter) -> Type:
    try:
        return lang.as_type(parameter.annotation, f"`{parameter.name}`")
    except Exception:  # Whatever comparing the object with a type raises.
        span, fix = parameter.annotation_span, type_help(parameter.annotation)
        ctx.error("E0323", f"`{span.text}` is not a type of the language", span, help=fix)


def _constant(ctx: Context, value: Value, kind: type, where: str, label: Label) -> ir.Literal:
    """Return the argument for a compile-time parameter."""
    number = None if isinstance(value, Host | TupleValue) else known_value(ctx, value)
    if number is None:
        fix = f"use a literal, a number of the module, or a `pw.Const[{kind.__name__}]`"
        message = f"{where} must be known when the kernel is compiled"
        ctx.error("E0332", message, value.span, label, help=fix)
    if kind is float and type(number) is int:
        number = float(number)
    if type(number) is not kind:
        ctx.error(
            "E0303",
            f"{where} is `Const[{kind.__name__}]`, but this is `{number}`",
            value.span,
            label,
        )
    return fold.literal(number, value.span)


def _specialize(
    ctx: Context,
    captured: Captured,
    bound: Mapping[str, Value],
    types: TypeArguments,
    params: tuple[ir.Param, ...],
    span: Span,
) -> ir.Function:
    program = ctx.program
    signature = tuple(_signature(bound[p.name]) for p in captured.parameters)
    key = (captured.function, signature, tuple(types.items()))
    if key in program.in_progress or any(k[0] is captured.function for k in program.in_progress):
        ctx.error(
            "E0403",
            f"`{captured.tree.name}` calls itself",
            span,
            help="GPUs have no call stack: write a loop",
        )
    if key in program.rejected:
        _pass_on(ctx, program.rejected[key], span)
    if key not in program.functions:
        program.in_progress.append(key)
        try:
            found = check_body(program, captured, bound, types, is_kernel=False)
        except Rejected as rejected:
            program.rejected[key] = rejected.diagnostics
            _pass_on(ctx, rejected.diagnostics, span)
        finally:
            program.in_progress.pop()
        name = _unique(captured.tree.name, program.function_names)
        program.functions[key] = ir.Function(
            name, params, found.result, found.body, span=captured.tree.span
        )
        program.effects[name] = found.effect
    return program.functions[key]


def _pass_on(ctx: Context, diagnostics: Sequence[Diagnostic], span: Span) -> NoReturn:
    """Report what is wrong with a helper, once for all its calls, and where it is called."""
    for found in diagnostics:
        known = any(d.code == found.code and d.primary == found.primary for d in ctx.diagnostics)
        if not known:
            labels = (*found.secondary, Label(span, "called here"))
            ctx.diagnostics.append(replace(found, secondary=labels))
    raise Abort


def _signature(value: Value) -> Any:
    """Return what makes two arguments need different compilations."""
    match value:
        case Host(value=host):
            return ("host", _ById(host))
        case TupleValue(items=items):
            return ("tuple", tuple(_signature(item) for item in items))
        case ir.Literal(value=number, type=type_):
            return (repr(number), type_)  # 0.0 equals -0.0
        case ir.Global() | ir.Shape():
            return replace(value, span=NOWHERE)
        case _:
            return value.type


@dataclass(frozen=True, slots=True)
class _ById:
    """An object as a key, kept so that no other gets its id."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _unique(name: str, taken: set[str]) -> str:
    candidate, n = name, 1
    while candidate in taken:
        candidate, n = f"{name}_{n}", n + 1
    taken.add(candidate)
    return candidate

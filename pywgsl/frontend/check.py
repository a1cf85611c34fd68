"""From a captured function to a typed module: the checker's front door."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from pywgsl import ir, lang
from pywgsl.errors import CompileError, Diagnostic, Label
from pywgsl.frontend import functions
from pywgsl.frontend.annotations import type_help
from pywgsl.frontend.capture import capture
from pywgsl.frontend.context import Captures, Program, Value
from pywgsl.frontend.definition import (
    MISSING,
    Captured,
    KernelParameter,
    Kind,
    Parameter,
    TypeParameter,
)
from pywgsl.frontend.fold import literal
from pywgsl.frontend.generics import (
    TypeArguments,
    constraint_help,
    substitute,
    type_parameter,
    variable_in,
)
from pywgsl.frontend.shared import check_uniform_flow
from pywgsl.source import Span
from pywgsl.types import (
    BOOL,
    FixedArray,
    Matrix,
    RuntimeArray,
    Scalar,
    Struct,
    Type,
    Vector,
)

DEFAULT_WORKGROUP_SIZE = (256, 1, 1)

#: The values of compile-time parameters and type variables, by name.
Constants: TypeAlias = Mapping[str, bool | int | float | Scalar]

#: Python's own limit would stop at a few hundred nested branches.
_RECURSION_LIMIT = 20_000


@dataclass(frozen=True, eq=False)
class KernelDefinition:
    """A kernel as declared, before any specialization."""

    name: str
    captured: Captured
    parameters: tuple[KernelParameter, ...]
    type_parameters: tuple[TypeParameter, ...]
    workgroup_size: tuple[int, int, int]
    checked: bool

    def with_types(self, types: TypeArguments) -> KernelDefinition:
        """Return the definition with type variables replaced, those that `types` has."""
        parameters = (
            replace(p, type=substitute(p.type, types))  # type: ignore[arg-type]  # not a constant's
            if getattr(variable_in(p.type), "__name__", None) in types
            else p
            for p in self.parameters
        )
        return replace(self, parameters=tuple(parameters))


@dataclass(frozen=True, eq=False)
class Checked:
    """A specialization: its module, and what it took from its surroundings."""

    module: ir.Module
    captures: Captures


def define_kernel(
    function: Callable[..., Any],
    workgroup_size: int | tuple[int, ...] | None = None,
    checked: bool = False,
    source: tuple[str, str] | None = None,
) -> KernelDefinition:
    """Read a kernel's declaration; `source` is the name and text of its file, if they are known.

    Raises:
        CompileError: if its text is not of the language, or a parameter's annotation is not.
    """
    with _deep_recursion():
        captured = capture(function, source=source)
    diagnostics: list[Diagnostic] = []
    parameters = []
    type_parameters: dict[str, TypeParameter] = {}
    for parameter in captured.parameters:
        try:
            _note_variable(parameter, type_parameters)
            parameters.append(_kernel_parameter(parameter))
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
        if parameter.name in type_parameters:
            refused = _refuse(
                parameter,
                f"`{parameter.name}` is both a parameter and a type",
                "give the parameter another name",
                whole=True,
            )
            diagnostics.extend(refused.diagnostics)
    diagnostics += _result(captured)
    if diagnostics:
        raise CompileError(diagnostics)
    size = DEFAULT_WORKGROUP_SIZE if workgroup_size is None else workgroup_shape(workgroup_size)
    return KernelDefinition(
        captured.tree.name,
        captured,
        tuple(parameters),
        tuple(type_parameters.values()),
        size,
        checked,
    )


def _result(captured: Captured) -> list[Diagnostic]:
    """Return what is wrong with what a kernel says that it returns."""
    span = captured.tree.result
    if span is None:
        return []
    message = f"a kernel returns nothing, but `{captured.tree.name}` says `-> {span.text}`"
    fix = "leave it out, or write `-> None`; results go into a buffer: `output: Array[f32]`"
    return [Diagnostic("E0401", message, Label(span), help=fix)]


def workgroup_shape(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    """Return a workgroup size as three numbers.

    Raises:
        TypeError: if it is not one to three integers.
        ValueError: if one of them is below 1.
    """
    sizes = size if isinstance(size, tuple | list) else (size,)
    if not 1 <= len(sizes) <= 3 or any(
        isinstance(n, bool) or not isinstance(n, int | np.integer) for n in sizes
    ):
        raise TypeError(f"workgroup_size takes one to three integers, not {size!r}")
    if min(sizes) < 1:
        raise ValueError(f"workgroup_size must be at least 1 along every axis, not {size!r}")
    x, y, z = (*(int(n) for n in sizes), 1, 1)[:3]
    return x, y, z


def check_kernel(
    definition: KernelDefinition,
    constants: Constants,
    workgroup_size: tuple[int, int, int] | None = None,
) -> Checked:
    """Compile a kernel for some values of its compile-time parameters and type variables.

    Raises:
        CompileError: with every independent mistake.
    """
    types = {n: value for n, value in constants.items() if isinstance(value, Scalar)}
    definition = definition.with_types(types)
    program = Program(workgroup_size or definition.workgroup_size, functions.invoke)
    program.global_names |= {p.name for p in definition.parameters}
    bound = {p.name: _bound(p, constants) for p in definition.parameters}
    with _deep_recursion():
        try:
            checked = functions.check_body(
                program, definition.captured, bound, types, is_kernel=True
            )
        except functions.Rejected as rejected:
            raise CompileError(rejected.diagnostics) from None
        module = _module(definition, constants, program, checked.body)
        diverging = check_uniform_flow(module)
    if diverging:
        raise CompileError(diverging)
    return Checked(module, program.captures)


def _module(
    definition: KernelDefinition,
    constants: Constants,
    program: Program,
    body: ir.Block,
) -> ir.Module:
    used = _reachable(program, body)
    parameters = tuple(
        _declaration(p, program) for p in definition.parameters if p.kind is not Kind.CONST
    )
    variables = _named_variables(program, (body, *(f.body for f in used)))
    return ir.Module(
        definition.name,
        parameters,
        body,
        program.workgroup_size,
        structs=_structs((*parameters, *variables, *used, *body)),
        variables=variables,
        functions=used,
        constants=tuple(constants.items()),
        checked=definition.checked,
        doc=definition.captured.tree.doc,
        span=definition.captured.tree.span,
    )


def _named_variables(program: Program, blocks: tuple[ir.Block, ...]) -> tuple[ir.Variable, ...]:
    """Return the workgroup variables that are used."""
    names = {
        node.name
        for block in blocks
        for node in ir.walk_block(block)
        if isinstance(node, ir.Global) and node.space is ir.Space.WORKGROUP
    }
    return tuple(v for v in program.variables.values() if v.name in names)


def _structs(nodes: tuple[ir.Node, ...]) -> tuple[Struct, ...]:
    """Return the structs that nodes mention."""
    found: dict[str, Struct] = {}
    for node in nodes:
        for inner in ir.walk(node):
            _note_structs(getattr(inner, "type", None), found, inner.span)
    return tuple(found.values())


def _note_structs(type_: Type | None, found: dict[str, Struct], span: Span) -> None:
    """Note a struct and those in it, the inner ones first."""
    match type_:
        case Struct(name=name, fields=fields) if name not in found:
            for field in fields:
                _note_structs(field.type, found, span)
            found[name] = type_
        case Struct(name=name) if found[name] != type_:
            message = f"two structs of this kernel are called `{name}`"
            fix = "give one of them another name"
            raise CompileError([Diagnostic("E0337", message, Label(span), help=fix)])
        case FixedArray(element=element) | RuntimeArray(element=element):
            _note_structs(element, found, span)
        case _:
            pass


def _reachable(program: Program, body: ir.Block) -> tuple[ir.Function, ...]:
    """Return the helpers that are used, each before its callers."""
    by_name = {f.name: f for f in program.functions.values()}
    ordered: dict[str, ir.Function] = {}

    def visit(block: ir.Block) -> None:
        for name in sorted(ir.called(block)):
            if name not in ordered:
                visit(by_name[name].body)
                ordered[name] = by_name[name]

    visit(body)
    return tuple(ordered.values())


def _declaration(parameter: KernelParameter, program: Program) -> ir.Buffer | ir.Uniform:
    assert isinstance(parameter.type, Scalar | Vector | Matrix | Struct | RuntimeArray)
    if parameter.kind is Kind.UNIFORM:
        return ir.Uniform(parameter.name, parameter.type, span=parameter.span)
    written = parameter.name in program.written
    access = ir.Access.READ_WRITE if written else ir.Access.READ
    return ir.Buffer(parameter.name, parameter.type, access, span=parameter.span)


def _bound(parameter: KernelParameter, constants: Constants) -> Value:
    if parameter.kind is Kind.CONST:
        value = constants[parameter.name]
        assert not isinstance(value, Scalar)
        return literal(value, parameter.span)
    space = ir.Space.STORAGE if parameter.kind is Kind.BUFFER else ir.Space.UNIFORM
    assert isinstance(parameter.type, Scalar | Vector | Matrix | Struct | RuntimeArray)
    return ir.Global(parameter.name, parameter.type, space, span=parameter.span)


def _kernel_parameter(parameter: Parameter) -> KernelParameter:
    annotation, name = parameter.annotation, parameter.name
    if isinstance(annotation, lang.ConstType):
        return KernelParameter(name, Kind.CONST, annotation.kind, parameter.default, parameter.span)
    type_ = _annotated_type(parameter)
    kind = Kind.BUFFER if isinstance(type_, RuntimeArray) else Kind.UNIFORM
    return KernelParameter(name, kind, type_, parameter.default, parameter.span)


def _note_variable(parameter: Parameter, known: dict[str, TypeParameter]) -> None:
    """Note the type variable in a parameter's type, if there is one."""
    variable = variable_in(parameter.annotation)
    if variable is None:
        return
    try:
        found = type_parameter(variable)
    except ValueError as error:
        span, fix = parameter.annotation_span, constraint_help(variable)
        raise CompileError([Diagnostic("E0335", str(error), Label(span), help=fix)]) from None
    if known.setdefault(found.name, found) != found:
        raise _refuse(
            parameter,
            f"two type variables of this kernel are called `{found.name}`, with different types",
            f'give one another name: `{found.name}2 = TypeVar("{found.name}2", f32, f16)`',
        )


def _annotated_type(parameter: Parameter) -> Type | TypeVar:
    name = parameter.name
    if parameter.annotation is MISSING:
        raise _refuse(
            parameter,
            f"`{name}` has no type",
            f"say what it is: `{name}: Array[f32]` or `{name}: f32`",
            whole=True,
        )
    try:
        type_ = lang.as_type(parameter.annotation, f"`{name}`")
    except Exception:  # Whatever comparing the object with a type raises.
        text = parameter.annotation_span.text
        raise _refuse(
            parameter, f"`{text}` is not a type of the language", type_help(parameter.annotation)
        ) from None
    if isinstance(type_, RuntimeArray):
        if isinstance(type_.element, RuntimeArray):
            raise _refuse(
                parameter,
                f"`{name}` is an array of arrays",
                f"use one array with more axes: `Array2D[{type_.element.element}]`",
            )
        return type_
    if not isinstance(type_, Scalar | Vector | Matrix | Struct | TypeVar) or _has_bool_components(
        type_
    ):
        raise _refuse(
            parameter,
            f"`{name}` cannot have the type `{type_}`",
            "pass it in a buffer: `Array[f32]`",
        )
    return type_


def _has_bool_components(type_: Type | TypeVar) -> bool:
    return isinstance(type_, Vector) and type_.scalar is BOOL


def _refuse(parameter: Parameter, message: str, fix: str, whole: bool = False) -> CompileError:
    span = parameter.span if whole else parameter.annotation_span
    return CompileError([Diagnostic("E0323", message, Label(span), help=fix)])


class _Recursion:
    """How many threads want to recurse deeply, and the limit from before the first did."""

    lock = threading.Lock()
    users = 0
    before = 0


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Let the checker follow deeply nested source; it is Python frames only, no C stack."""
    with _Recursion.lock:
        if _Recursion.users == 0:
            _Recursion.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_Recursion.before, _RECURSION_LIMIT))
        _Recursion.users += 1
    try:
        yield
    finally:
        with _Recursion.lock:
            _Recursion.users -= 1
            if _Recursion.users == 0:
                sys.setrecursionlimit(_Recursion.before)

"""Type variables: what `T` of `T = TypeVar("T", f32, f16)` stands for.

A kernel's variables are chosen for each specialization, by the arrays of a launch or by name; a
helper's by each call, and one that its parameters do not mention is the caller's. They are known by
their names, so that functions of several modules can each have their own `T`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypeVar

from pywgsl import ir, lang
from pywgsl.errors import Label
from pywgsl.frontend.context import Abort, Context, Host, TupleValue, Value
from pywgsl.frontend.convert import is_abstract, is_open
from pywgsl.frontend.definition import Captured, Parameter, TypeParameter
from pywgsl.signature import settle
from pywgsl.source import Span
from pywgsl.types import ABSTRACT_INT, FixedArray, RuntimeArray, Scalar, Type, join

#: What type variables stand for, by their names.
TypeArguments: TypeAlias = Mapping[str, Scalar]


def variable_in(annotation: object) -> TypeVar | None:
    """Return the type variable that an annotation is made of, or None."""
    while isinstance(annotation, RuntimeArray | FixedArray):
        annotation = annotation.element
    return annotation if isinstance(annotation, TypeVar) else None


def type_parameter(variable: TypeVar) -> TypeParameter:
    """Return what may be chosen for a variable.

    Raises:
        ValueError: it does not say, or names something else than scalar types.
    """
    name = variable.__name__
    if not variable.__constraints__:
        raise ValueError(f"`{name}` does not say which types it stands for")
    choices = []
    for constraint in variable.__constraints__:
        try:
            choice: Any = lang.as_type(constraint, "")
        except TypeError:
            choice = None
        if not isinstance(choice, Scalar):
            shown = getattr(constraint, "__name__", None) or repr(constraint)
            raise ValueError(f"`{name}` stands for scalar types, and `{shown}` is none")
        choices.append(choice)
    return TypeParameter(name, tuple(choices))


def substitute(type_: Type | TypeVar, types: TypeArguments) -> Type:
    """Return a type with its variable replaced by what that stands for."""
    match type_:
        case TypeVar(__name__=name):
            return types[name]
        case RuntimeArray(element=element, ndim=ndim):
            return RuntimeArray(substitute(element, types), ndim)
        case FixedArray(element=element, length=length):
            return FixedArray(substitute(element, types), length)
        case _:
            return type_


def resolve(ctx: Context, found: Any, span: Span) -> Any:
    """Return a Python object with the type variable in it replaced, if there is one."""
    variable = variable_in(found)
    if variable is None:
        return found
    if variable.__name__ not in ctx.types:
        ctx.error(
            "E0335",
            f"nothing says what `{variable.__name__}` stands for here",
            span,
            help=f"use it in a parameter's type: `x: Array[{variable.__name__}]`",
        )
    return substitute(found, ctx.types)


# ------------------------------------------------------------------------------ helpers' calls


@dataclass(frozen=True, slots=True)
class _Given:
    """An argument of a call whose type says something about a variable."""

    parameter: Parameter
    value: ir.Expr
    scalar: Scalar
    is_array: bool


def types_of_call(
    ctx: Context, captured: Captured, arguments: Mapping[str, Value]
) -> dict[str, Scalar]:
    """Return what type variables stand for in a helper, by the arguments of a call."""
    variables: dict[str, TypeVar] = {}
    for parameter in captured.parameters:
        variable = variable_in(parameter.annotation)
        if variable is not None:
            variables[variable.__name__] = variable
    types = dict(ctx.types)
    for name, variable in variables.items():
        given = [g for p in captured.parameters for g in _given(p, variable, arguments[p.name])]
        types[name] = _chosen(ctx, captured, variable, given)
    return types


def _given(parameter: Parameter, variable: TypeVar, value: Value) -> Sequence[_Given]:
    annotation = parameter.annotation
    if variable_in(annotation) is not variable or isinstance(value, Host | TupleValue):
        return ()
    type_, is_array = value.type, isinstance(annotation, RuntimeArray | FixedArray)
    while is_array and isinstance(type_, RuntimeArray | FixedArray):
        type_ = type_.element
    return (_Given(parameter, value, type_, is_array),) if isinstance(type_, Scalar) else ()


def _chosen(ctx: Context, captured: Captured, variable: TypeVar, given: Sequence[_Given]) -> Scalar:
    """Return the type that the arguments for a variable agree on.

    An array's elements are what they are; numbers become floats, and literals what is asked for.
    """
    choices = _choices(ctx, captured, variable)
    decisive = [g for g in given if g.is_array] or given
    joined: Scalar | None = None
    for argument in decisive:
        both = argument.scalar if joined is None else join(joined, argument.scalar)
        if both is None:
            _disagree(ctx, captured, variable, decisive[0], argument)
        joined = both
    if joined is None:
        return choices[0]  # what is wrong with the arguments is reported for each
    if is_abstract(joined):
        if any(is_open(argument.value) for argument in decisive):
            raise Abort  # another round will know their types
        around = ctx.types.get(variable.__name__)
        if around is not None and around in choices and (around.is_float or joined is ABSTRACT_INT):
            return around
    chosen = settle(joined, choices)
    if chosen is None:
        argument = decisive[0]
        ctx.error(
            "E0336",
            f"`{variable.__name__}` of `{captured.tree.name}` is {_listed(choices)}, but this is "
            f"`{joined}`",
            argument.value.span,
            Label(argument.parameter.annotation_span, "declared here"),
        )
    return chosen


def _choices(ctx: Context, captured: Captured, variable: TypeVar) -> tuple[Scalar, ...]:
    try:
        return type_parameter(variable).choices
    except ValueError as error:
        parameter = next(p for p in captured.parameters if variable_in(p.annotation) is variable)
        ctx.error("E0335", str(error), parameter.annotation_span, help=constraint_help(variable))


def constraint_help(variable: TypeVar) -> str:
    """Return how to say what a variable stands for."""
    name = variable.__name__
    return f'name the types: `{name} = TypeVar("{name}", f32, f16)`'


def _disagree(
    ctx: Context, captured: Captured, variable: TypeVar, first: _Given, second: _Given
) -> NoReturn:
    ctx.error(
        "E0336",
        f"`{variable.__name__}` of `{captured.tree.name}` is one type in a call, but "
        f"`{first.parameter.name}` is `{first.scalar}` and `{second.parameter.name}` "
        f"`{second.scalar}`",
        second.value.span,
        Label(first.value.span, f"this is `{first.scalar}`"),
        label=f"this is `{second.scalar}`",
        help=None
        if second.is_array
        else f"convert one: `{first.scalar}({second.value.span.text})`",
    )


def _listed(choices: Sequence[Scalar]) -> str:
    return " or ".join(f"`{choice}`" for choice in choices)

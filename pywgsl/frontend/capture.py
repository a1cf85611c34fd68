"""A Python function as the decorators see it: its text read, its annotations and defaults found."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Any

from pywgsl.errors import CompileError, Diagnostic, Label, fail
from pywgsl.frontend.definition import MISSING, Captured, Parameter
from pywgsl.frontend.from_python import FunctionNode, Positions, read
from pywgsl.frontend.locate import Definition, locate, text_of
from pywgsl.source import NOWHERE, Source, Span


def capture(function: Callable[..., Any], *, source: tuple[str, str] | None = None) -> Captured:
    """Read a function: its tree, its parameters, and how to find the names around it.

    Args:
        function: A function made by `def`.
        source: The name and text of its file, if known (see `locate.text_of`).

    Raises:
        CompileError: If it is not such a function, its text cannot be found, or the text is not
            of the language; with every mistake.
    """
    if not isinstance(function, FunctionType):
        raise _not_a_function(function)
    if function.__code__.co_name == "<lambda>":
        raise _lambda(function)
    text, definition = locate(function, source)
    node, lookup = definition.node, _lookup(function)
    diagnostics = _method(definition, text)
    parameters, unresolved = _parameters(function, node, text, lookup)
    diagnostics += unresolved
    try:
        tree, mistakes = read(node, text)
    except CompileError as error:
        diagnostics += error.diagnostics
    else:
        if not diagnostics:
            return Captured(function, text, tree, parameters, lookup, tuple(mistakes))
        diagnostics += mistakes
    raise CompileError(sorted(diagnostics, key=lambda d: d.primary.span.start))


def _not_a_function(value: Any) -> CompileError:
    if isinstance(value, staticmethod | classmethod):
        kind = type(value).__name__
        message, hint = f"a `{kind}` is not a function", f"put `@{kind}` above the decorator"
    elif isinstance(value, type):
        message = f"the class `{value.__name__}` is not a function"
        hint = "decorate a class with `@pw.struct`"
    elif isinstance(value, int | tuple):
        message = f"`{value!r:.60}` is not a function"
        hint = f"name what it sets: `@pw.kernel(workgroup_size={value!r:.60})`"
    else:
        message = f"`{value!r:.60}` is not a function"
        hint = "decorate a function made by `def`"
    return fail("E0102", f"{message} that can be compiled", NOWHERE, help=hint)


def _lambda(function: FunctionType) -> CompileError:
    span, code = NOWHERE, function.__code__
    if found := text_of(function):
        line = found[1].split("\n")[code.co_firstlineno - 1]
        start = max(0, line.find("lambda"))
        span = Source(found[0], line, code.co_firstlineno).span(start, start + len("lambda"))
    names = ", ".join(code.co_varnames[: code.co_argcount])
    return fail(
        "E0102",
        "a `lambda` cannot be compiled",
        span,
        help=f"write it as a `def`: `def name({names}): return …`",
    )


def _method(definition: Definition, source: Source) -> list[Diagnostic]:
    arguments = definition.node.args.args
    if not (definition.in_class and arguments and arguments[0].arg in ("self", "cls")):
        return []
    first = arguments[0]
    return [
        Diagnostic(
            "E0105",
            "a method cannot be a kernel or helper",
            Label(Positions(source).word(first), "is no value that a GPU has"),
            help=f"move it to module level and pass what it needs of `{first.arg}`",
        )
    ]


# ------------------------------------------------------------------- the names around it


def _lookup(function: FunctionType) -> Callable[[str], Any]:
    """Return a function that finds a name as the body of `function` would."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def lookup(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        if name in function.__globals__:
            return function.__globals__[name]
        return vars(builtins)[name]

    return lookup


class _Names(dict[str, Any]):
    """A lookup as the namespace that `eval` asks."""

    def __init__(self, lookup: Callable[[str], Any]) -> None:
        super().__init__()
        self._lookup = lookup

    def __missing__(self, name: str) -> Any:
        return self._lookup(name)


# ----------------------------------------------------------------------------- parameters


def _parameters(
    function: FunctionType, node: FunctionNode, source: Source, lookup: Callable[[str], Any]
) -> tuple[tuple[Parameter, ...], list[Diagnostic]]:
    """Return the parameters, and what is wrong with their annotations."""
    positions = Positions(source)
    annotations, defaults = _annotations(function), _defaults(function)
    parameters, diagnostics = [], []
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    # The compiled names differ from the written ones where a class mangles `__x`.
    for argument, name in zip(arguments, function.__code__.co_varnames, strict=False):
        annotation, span = MISSING, positions.word(argument)
        annotation_span = span
        if argument.annotation is not None:
            annotation_span = positions.span(argument.annotation)
            annotation = annotations.get(name, ast.unparse(argument.annotation))
            try:
                annotation = _evaluated(annotation, lookup)
            except Exception as error:  # Whatever the author's annotation raises.
                diagnostics.append(_unresolved(argument, error, positions))
        default = defaults.get(name, MISSING)
        parameters.append(Parameter(argument.arg, annotation, default, span, annotation_span))
    return tuple(parameters), diagnostics


def _annotations(function: FunctionType) -> dict[str, Any]:
    try:
        return dict(function.__annotations__)
    except Exception:
        # From Python 3.14 on they are evaluated when asked for. One that fails is reported by
        # evaluating each from its text.
        return {}


def _defaults(function: FunctionType) -> dict[str, Any]:
    values = function.__defaults__ or ()
    count = function.__code__.co_argcount
    names = function.__code__.co_varnames[count - len(values) : count]
    return {**dict(zip(names, values, strict=True)), **(function.__kwdefaults__ or {})}


def _evaluated(annotation: Any, lookup: Callable[[str], Any]) -> Any:
    """Return the object that an annotation stands for."""
    for _ in range(2):  # Twice a text: in quotes, under `from __future__ import annotations`.
        if isinstance(annotation, str):
            annotation = eval(annotation.strip(), {"__builtins__": {}}, _Names(lookup))
    return annotation


def _unresolved(argument: ast.arg, error: Exception, positions: Positions) -> Diagnostic:
    assert argument.annotation is not None
    if not isinstance(error, KeyError | NameError):
        span = positions.span(argument.annotation)
        message = f"the annotation of `{argument.arg}` raises {type(error).__name__}: {error}"
        hint = f"give `{argument.arg}` a type: `{argument.arg}: Array[f32]`"
        return Diagnostic("E0108", message, Label(span), help=hint)
    name = error.name if isinstance(error, NameError) else error.args[0]
    return Diagnostic(
        "E0108",
        f"the annotation of `{argument.arg}` uses `{name}`, which is not defined",
        Label(_name_in(argument.annotation, str(name), positions)),
        help=f"import `{name}`, or define it at module level",
    )


def _name_in(annotation: ast.expr, name: str, positions: Positions) -> Span:
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name) and node.id == name:
            return positions.span(node)
    return positions.span(annotation)

"""Pickling kernels and helpers: by module and name where that finds them again, else by source.

A source travels with the values of the names that it uses; helpers among them travel the same way.
"""

from __future__ import annotations

import ast
import builtins as python
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from pywgsl import builtins, lang
from pywgsl.from_source import execute
from pywgsl.frontend.definition import Captured
from pywgsl.kernel import Function, Kernel


class Reference(NamedTuple):
    """An object pickled as where to import it from: a module (no name) or something in it."""

    module: str
    name: str

    def resolve(self) -> Any:
        """Import the object."""
        found: Any = importlib.import_module(self.module)
        for part in self.name.split(".") if self.name else ():
            found = getattr(found, part)
        return found


class Variable(NamedTuple):
    """A type variable, which pickle would look for in its module."""

    name: str
    choices: tuple[Any, ...]

    def resolve(self) -> Any:
        """Make the variable again."""
        return TypeVar(self.name, *self.choices)


class SourceText(NamedTuple):
    """A function as text, and the values of the names that it uses."""

    name: str
    text: str
    values: dict[str, Any]

    def make(self) -> Callable[..., Any]:
        """Define the function again."""
        values = {
            name: value.resolve() if isinstance(value, Reference | Variable) else value
            for name, value in self.values.items()
        }
        execute(self.text, values, f"pickled {self.name}")
        function: Callable[..., Any] = values[self.name]
        return function


def reduce_kernel(kernel: Kernel, function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return how to make a kernel again, for `__reduce__`."""
    reference = Reference(function.__module__, function.__qualname__)
    known = _importable(reference)
    if known is kernel:
        return _import, (reference,)
    if isinstance(known, Kernel) and known.__wrapped__ is function:
        return _specialized, (known, kernel.options["workgroup_size"], kernel.constants)
    source = _source_text(function, kernel.definition.captured)
    return _kernel, (source, kernel.options, kernel.constants)


def reduce_function(helper: Function, function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return how to make a helper again, for `__reduce__`."""
    reference = Reference(function.__module__, function.__qualname__)
    if _importable(reference) is helper:
        return _import, (reference,)
    return _function, (_source_text(function, helper.captured),)


def _importable(reference: Reference) -> Any:
    """Return what another process would find under a name, or None."""
    # Elsewhere `__main__` is another program.
    if reference.module == "__main__" or reference.module not in sys.modules:
        return None
    try:
        return reference.resolve()
    except AttributeError:
        return None


def _source_text(function: Callable[..., Any], captured: Captured) -> SourceText:
    text = captured.source.text
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    node.decorator_list.clear()
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    values = {}
    for name in sorted(used - set(function.__code__.co_varnames)):
        try:
            value = captured.lookup(name)
        except KeyError:
            continue
        if vars(python).get(name) is not value:
            values[name] = _portable(value)
    lines = text.splitlines(keepends=True)[node.lineno - 1 :]
    return SourceText(function.__name__, "".join(lines), values)


def _portable(value: Any) -> Any:
    """Return a value, or a reference to it where pickle would copy or refuse it."""
    if isinstance(value, ModuleType):
        return Reference(value.__name__, "")
    if isinstance(value, TypeVar):
        return Variable(value.__name__, value.__constraints__)
    if not isinstance(value, bool | int | float | str):
        for module in (lang, builtins):
            for name, found in vars(module).items():
                if found is value:
                    return Reference(module.__name__, name)
    return value


def _import(reference: Reference) -> Any:
    return reference.resolve()


def _specialized(kernel: Kernel, workgroup_size: Any, constants: dict[str, Any]) -> Kernel:
    return kernel.specialize(workgroup_size, **constants)


def _kernel(source: SourceText, options: dict[str, Any], constants: dict[str, Any]) -> Kernel:
    return Kernel(source.make(), constants=constants, **options)


def _function(source: SourceText) -> Function:
    return Function(source.make())

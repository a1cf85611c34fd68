"""What the decorators know of a function: its text, parameters and surroundings."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pywgsl.errors import Diagnostic
from pywgsl.source import Source, Span
from pywgsl.types import Scalar, Type

if TYPE_CHECKING:
    from pywgsl import syntax

#: A parameter without a default, or without an annotation.
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as captured: the annotation is the object it evaluates to."""

    name: str
    annotation: Any
    default: Any
    span: Span
    annotation_span: Span


@dataclass(frozen=True, eq=False)
class Captured:
    """A Python function, read: its text as a tree, and the names it can see.

    `mistakes` are those of its text that left a tree to check; a kernel with any is refused.
    `lookup` finds a name in the closure, the module and Python's builtins, at the time of the
    call (a `KeyError` if there is none).
    """

    function: Callable[..., Any]
    source: Source
    tree: syntax.Function
    parameters: tuple[Parameter, ...]
    lookup: Callable[[str], Any]
    mistakes: tuple[Diagnostic, ...] = ()


class Kind(enum.Enum):
    """How a kernel's parameter travels."""

    BUFFER = "buffer"
    UNIFORM = "uniform"
    CONST = "constant"


@dataclass(frozen=True, slots=True)
class TypeParameter:
    """A type variable of a kernel: a compile-time parameter whose value is one of `choices`."""

    name: str
    choices: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A kernel's parameter. A constant's type is its Python type; a buffer's may hold a TypeVar."""

    name: str
    kind: Kind
    type: Type | TypeVar | type
    default: Any
    span: Span


class Launchable:
    """What the host runs over a shape; `pywgsl.kernel.Kernel` is the author's side of it."""


class Helper:
    """A function that kernels may call; `pywgsl.kernel.Function` is the author's side of it."""

    @property
    def captured(self) -> Captured:
        """The function, read."""
        raise NotImplementedError

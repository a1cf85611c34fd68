"""What a row of the table of builtins holds, and the table itself.

Rows are callable, so that a kernel's body is also plain Python. Vector arguments of a NumPy
function have their components along the last axis, matrices their columns along the last but
one; scalars beside a vector come with a last axis of length 1.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pywgsl.signature import Signature, parse
from pywgsl.types import F16, Scalar


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a device may be from the NumPy function: `|a - b| <= absolute + relative * |b|`."""

    relative: float = 0.0
    absolute: float = 0.0

    def of(self, scalar: Scalar | None) -> Tolerance:
        """Return the tolerance for a type: in f16 a device may round every step of a function."""
        if scalar is not F16 or self == EXACT:
            return self
        return Tolerance(max(self.relative, 4e-3), max(self.absolute, 1e-3))


EXACT = Tolerance()


class Scope(enum.Enum):
    """Which invocations an operation joins, or that it is an atomic one."""

    WORKGROUP = "workgroup"
    SUBGROUP = "subgroup"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True, eq=False)
class Builtin:
    """One row; `wgsl` is None where `pywgsl.codegen.prelude` spells it.

    One with an effect stands only in statements.
    """

    name: str
    rules: tuple[str, ...]
    numpy: Callable[..., Any] = field(repr=False)
    doc: str = field(repr=False)
    wgsl: str | None
    tolerance: Tolerance
    scope: Scope | None = None
    shared: bool = False

    @property
    def effect(self) -> bool:
        """Whether it does more than give a value."""
        return self.scope is not None

    def __call__(self, *args: Any) -> Any:
        """Run the NumPy function; infinities and nans are results, not warnings."""
        with np.errstate(all="ignore"):
            return self.numpy(*args)

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The type rules, parsed."""
        return tuple(parse(rule) for rule in self.rules)


#: Every builtin by its name in the language.
BUILTINS: dict[str, Builtin] = {}

#: Stands for a spelling that `pywgsl.codegen.prelude` makes.
PRELUDE = "(prelude)"


def define(
    name: str,
    rules: tuple[str, ...],
    numpy: Callable[..., Any],
    doc: str,
    *,
    wgsl: str = "",
    relative: float = 0.0,
    absolute: float = 0.0,
    scope: Scope | None = None,
    shared: bool = False,
) -> Builtin:
    """Add a row to the table; without a WGSL spelling it is the name in camel case."""
    first, *rest = name.split("_")
    spelling = wgsl or first + "".join(word.capitalize() for word in rest)
    row = Builtin(
        name,
        rules,
        numpy,
        doc,
        None if wgsl == PRELUDE else spelling,
        Tolerance(relative, absolute),
        scope,
        shared,
    )
    BUILTINS[name] = row
    return row


def each(parameters: int, kind: str) -> tuple[str, ...]:
    """The rules of a function that works component by component."""
    scalars, vectors = ", ".join(["T"] * parameters), ", ".join(["vec<N, T>"] * parameters)
    return (
        f"({scalars}) -> T where T: {kind}",
        f"({vectors}) -> vec<N, T> where T: {kind}",
    )


def test(kind: str) -> tuple[str, ...]:
    """The rules of a predicate on components."""
    return (f"(T) -> bool where T: {kind}", f"(vec<N, T>) -> vec<N, bool> where T: {kind}")

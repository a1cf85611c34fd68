"""The language in which a builtin's type rule is written.

`(vec<N, T>, T) -> vec<N, T> where T: float` reads: for some width N and some floating-point
type T, a vector and a scalar give a vector. The same string is the rule, the documentation and
what an error message shows. Sets are `float`, `integer`, `number`, `word`
(of 32 bits) and `scalar`; other words are types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from pywgsl.types import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    BOOL,
    F16,
    F32,
    I32,
    U32,
    Matrix,
    Scalar,
    Type,
    Vector,
    join,
)

SETS: dict[str, tuple[Scalar, ...]] = {
    "float": (F32, F16),
    "integer": (I32, U32),
    "number": (F32, F16, I32, U32),
    "word": (F32, I32, U32),
    "scalar": (F32, F16, I32, U32, BOOL),
}
_SCALARS = {str(s): s for s in (F32, F16, I32, U32, BOOL)}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One parameter: a scalar, vector or matrix; its type and dimensions may be variables."""

    kind: str  # "scalar", "vec" or "mat"
    dimensions: tuple[str, ...]
    scalar: str


@dataclass(frozen=True, slots=True)
class Match:
    """How a signature accepts arguments: the type each is converted to, and the result."""

    parameters: tuple[Type, ...]
    result: Type | None


Bindings: TypeAlias = dict[str, Scalar | int]


@dataclass(frozen=True, slots=True)
class Signature:
    """A parsed type rule."""

    text: str
    parameters: tuple[Pattern, ...]
    result: Pattern | None
    sets: tuple[tuple[str, str], ...]

    def match(self, args: Sequence[Type]) -> Match | None:
        """Return how these argument types are accepted, or None."""
        if len(args) != len(self.parameters):
            return None
        bindings: Bindings = {}
        for pattern, arg in zip(self.parameters, args, strict=True):
            if not _bind(pattern, arg, bindings):
                return None
        for variable, set_name in self.sets:
            scalar = settle(bindings.get(variable), SETS[set_name])
            if scalar is None:
                return None
            bindings[variable] = scalar
        parameters = tuple(_build(p, bindings) for p in self.parameters)
        return Match(parameters, None if self.result is None else _build(self.result, bindings))


@cache
def parse(text: str) -> Signature:
    """Return the signature that `text` says."""
    head, _, where = text.partition(" where ")
    params, _, result = head.partition(" -> ")
    sets = tuple(
        (name.strip(), kind.strip())
        for name, kind in (clause.split(":") for clause in where.split(",") if clause)
    )
    patterns = tuple(_pattern(p) for p in _split(params.strip()[1:-1]))
    return Signature(text, patterns, _pattern(result) if result else None, sets)


def _split(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^<]*>)", text) if part.strip()]


def _pattern(text: str) -> Pattern:
    kind, _, rest = text.strip().partition("<")
    if not rest:
        return Pattern("scalar", (), kind)
    *dimensions, scalar = (part.strip() for part in rest.rstrip(">").split(","))
    return Pattern(kind, tuple(dimensions), scalar)


def _bind(pattern: Pattern, arg: Type, bindings: Bindings) -> bool:
    """Match the form of an argument, noting what the pattern's variables must be."""
    dimensions: tuple[int, ...]
    match arg:
        case Scalar():
            kind, dimensions, scalar = "scalar", (), arg
        case Vector(width, scalar):
            kind, dimensions = "vec", (width,)
        case Matrix(columns, rows, scalar):
            kind, dimensions = "mat", (columns, rows)
        case _:
            return False
    if kind != pattern.kind:
        return False
    for name, size in zip(pattern.dimensions, dimensions, strict=True):
        if bindings.setdefault(name, int(name) if name.isdigit() else size) != size:
            return False
    fixed = _SCALARS.get(pattern.scalar)
    if fixed is not None:
        return settle(scalar, (fixed,)) is fixed
    seen = bindings.get(pattern.scalar)
    joined = scalar if not isinstance(seen, Scalar) else join(seen, scalar)
    if joined is None:
        return False
    bindings[pattern.scalar] = joined
    return True


def settle(scalar: Scalar | int | None, allowed: tuple[Scalar, ...]) -> Scalar | None:
    """Return the member of `allowed` that `scalar` becomes by itself, or None."""
    if not isinstance(scalar, Scalar) or scalar in allowed:
        return scalar if isinstance(scalar, Scalar) else None
    if scalar is ABSTRACT_INT:
        return next((s for s in (I32, U32, F32, F16) if s in allowed), None)
    if scalar is ABSTRACT_FLOAT:
        return next((s for s in (F32, F16) if s in allowed), None)
    # Python's math functions take whole numbers too.
    return F32 if scalar.is_integer and F32 in allowed and len(allowed) > 1 else None


def _build(pattern: Pattern, bindings: Bindings) -> Type:
    def size(name: str) -> int:
        value = int(name) if name.isdigit() else bindings[name]
        assert isinstance(value, int)
        return value

    bound = _SCALARS.get(pattern.scalar) or bindings[pattern.scalar]
    assert isinstance(bound, Scalar)
    match pattern.kind:
        case "scalar":
            return bound
        case "vec":
            return Vector(size(pattern.dimensions[0]), bound)
        case _:
            return Matrix(size(pattern.dimensions[0]), size(pattern.dimensions[1]), bound)

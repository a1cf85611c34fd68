"""Arithmetic on constants, done once when a kernel is compiled.

Literals without a type yet fold as Python numbers, typed ones as the reference would compute
them, so that no back end's own constant evaluation is ever asked (they differ, and turn an
infinity into an error).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pywgsl import numerics
from pywgsl.ir import COMPARISONS, BinaryOp, Literal, UnaryOp
from pywgsl.source import Span
from pywgsl.types import ABSTRACT_FLOAT, ABSTRACT_INT, BOOL, Scalar, Type

_PYTHON: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.DIV: operator.truediv,
    BinaryOp.FLOOR_DIV: operator.floordiv,
    BinaryOp.FLOOR_MOD: operator.mod,
    BinaryOp.TRUNC_DIV: lambda a, b: math.trunc(a / b),
    BinaryOp.TRUNC_REM: math.fmod,
    BinaryOp.POW: operator.pow,
    BinaryOp.SHL: operator.lshift,
    BinaryOp.SHR: operator.rshift,
    BinaryOp.BIT_AND: operator.and_,
    BinaryOp.BIT_OR: operator.or_,
    BinaryOp.BIT_XOR: operator.xor,
    BinaryOp.EQ: operator.eq,
    BinaryOp.NE: operator.ne,
    BinaryOp.LT: operator.lt,
    BinaryOp.LE: operator.le,
    BinaryOp.GT: operator.gt,
    BinaryOp.GE: operator.ge,
    BinaryOp.LOGICAL_AND: lambda a, b: a and b,
    BinaryOp.LOGICAL_OR: lambda a, b: a or b,
}

_TYPED: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    **_PYTHON,
    BinaryOp.FLOOR_DIV: numerics.floor_div,
    BinaryOp.FLOOR_MOD: numerics.floor_mod,
    BinaryOp.TRUNC_DIV: numerics.trunc_div,
    BinaryOp.TRUNC_REM: numerics.trunc_rem,
    BinaryOp.SHL: lambda a, b: a << (b & np.uint32(31)).astype(a.dtype),
    BinaryOp.SHR: lambda a, b: a >> (b & np.uint32(31)).astype(a.dtype),
}

#: No constant of a kernel needs more bits; more would only take time and memory.
_BITS = 4096


def number(value: Any) -> bool | int | float | None:
    """Return a host value (a Python or NumPy scalar) as a Python number, or None."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)  # of a subclass, the number itself
    return None


def literal(value: bool | int | float, span: Span) -> Literal:
    """Return a literal with the type that Python's value has before any context."""
    if isinstance(value, bool):
        return Literal(value, BOOL, span=span)
    return Literal(value, ABSTRACT_INT if isinstance(value, int) else ABSTRACT_FLOAT, span=span)


def typed_literal(value: Any, type_: Type, span: Span) -> Literal:
    """Return a NumPy scalar as a literal of a type."""
    return Literal(np.asarray(value).item(), type_, span=span)


def python_binary(op: BinaryOp, left: Any, right: Any) -> bool | int | float:
    """Fold two Python numbers, as Python does; `OverflowError` if the result would be huge."""
    if isinstance(left, int) and isinstance(right, int):
        grows = (op is BinaryOp.SHL and right > _BITS) or (
            op is BinaryOp.POW and left.bit_length() * max(right, 0) > _BITS
        )
        if grows:
            raise OverflowError("too large")
    result = _PYTHON[op](left, right)
    if isinstance(result, complex):
        raise ValueError("a complex number")
    checked = number(result)
    assert checked is not None
    return checked


def typed_binary(op: BinaryOp, left: Literal, right: Literal, type_: Type) -> Literal | None:
    """Fold two typed constants of one scalar type, or return None where that is not wanted."""
    if op is BinaryOp.POW or not isinstance(left.type, Scalar):
        return None
    assert isinstance(right.type, Scalar)
    with np.errstate(all="ignore"):
        a, b = left.type.dtype.type(left.value), right.type.dtype.type(right.value)
        result = _TYPED[op](a, b)
    dtype = np.bool_ if op in COMPARISONS else left.type.dtype
    return typed_literal(np.asarray(result, dtype), type_, left.span)


def unary(op: UnaryOp, operand: Literal) -> Literal | None:
    """Fold an operator on a constant, or return None where it does not apply."""
    value, type_ = operand.value, operand.type
    if op is UnaryOp.NOT:
        return Literal(not value, BOOL, span=operand.span) if type_ is BOOL else None
    if type_ is BOOL or (op is UnaryOp.BIT_NOT and isinstance(value, float)):
        return None
    if type_ in (ABSTRACT_INT, ABSTRACT_FLOAT):
        folded = -value if op is UnaryOp.NEG else ~int(value)
        return Literal(folded, type_, span=operand.span)
    assert isinstance(type_, Scalar)
    with np.errstate(all="ignore"):
        typed = type_.dtype.type(value)
        result = np.negative(typed) if op is UnaryOp.NEG else np.invert(typed)
    return typed_literal(result, type_, operand.span)


def convert(operand: Literal, type_: Scalar) -> Literal:
    """Convert a constant explicitly, as `i32(2.7)` does."""
    value = operand.value
    if type_ is BOOL:
        return Literal(bool(value), BOOL, span=operand.span)
    return typed_literal(type_(value), type_, operand.span)

"""The values of the scalar reference, and what operators make of them.

Integers are Python's, wrapped after each operation; floats are NumPy scalars; vectors, matrices and
arrays are lists, structs dicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pywgsl import ir
from pywgsl.ir import BinaryOp
from pywgsl.types import (
    BOOL,
    F16,
    F32,
    I32,
    FixedArray,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    scalar_of,
)

FLOATS = {F32: np.float32, F16: np.float16}


def wrap(value: int, type_: Type) -> int:
    value &= 0xFFFFFFFF
    return value - 2**32 if type_ is I32 and value >= 2**31 else value


def zero(type_: Type) -> Any:
    match type_:
        case Scalar():
            return False if type_ is BOOL else FLOATS[type_](0) if type_.is_float else 0
        case Vector(width=width, scalar=scalar):
            return [zero(scalar) for _ in range(width)]
        case Matrix(columns=columns, column=column):
            return [zero(column) for _ in range(columns)]
        case FixedArray(element=element, length=length):
            return [zero(element) for _ in range(length)]
        case Struct(fields=members):
            return {member.name: zero(member.type) for member in members}
        case _:
            raise AssertionError(type_)


def from_numpy(value: Any, type_: Type) -> Any:
    match type_:
        case Scalar():
            scalar = np.asarray(value)[()]
            return FLOATS[type_](scalar) if type_.is_float else scalar.item()
        case Vector(scalar=scalar):
            return [from_numpy(v, scalar) for v in value]
        case Matrix(column=column):
            return [from_numpy(v, column) for v in value]
        case FixedArray(element=element):
            return [from_numpy(v, element) for v in value]
        case Struct(fields=members):
            return {m.name: from_numpy(value[m.name], m.type) for m in members}
        case _:
            raise AssertionError(type_)


def to_numpy_value(value: Any, type_: Type) -> Any:
    if isinstance(type_, Struct):
        return tuple(to_numpy_value(value[m.name], m.type) for m in type_.fields)
    scalar = scalar_of(type_)
    return np.array(value, None if scalar is None else scalar.dtype)


def each(function: Any, *values: Any) -> Any:
    """Apply a function of scalars to the components of values."""
    if not any(isinstance(v, list) for v in values):
        return function(*values)
    length = next(len(v) for v in values if isinstance(v, list))
    spread = [v if isinstance(v, list) else [v] * length for v in values]
    return [each(function, *parts) for parts in zip(*spread, strict=True)]


def operate(op: BinaryOp, a: Any, b: Any, scalar: Scalar) -> Any:
    """Return the result of an operator on two scalars of one type."""
    if op in ir.COMPARISONS or scalar is BOOL:
        return _TESTS[op](a, b)
    if op in (BinaryOp.SHL, BinaryOp.SHR):
        count = b & 31
        return wrap(a << count if op is BinaryOp.SHL else a >> count, scalar)
    return _float(op, a, b) if scalar.is_float else wrap(_integer(op, a, b), scalar)


_TESTS: dict[BinaryOp, Any] = {
    BinaryOp.EQ: lambda a, b: bool(a == b),
    BinaryOp.NE: lambda a, b: bool(a != b),
    BinaryOp.LT: lambda a, b: bool(a < b),
    BinaryOp.LE: lambda a, b: bool(a <= b),
    BinaryOp.GT: lambda a, b: bool(a > b),
    BinaryOp.GE: lambda a, b: bool(a >= b),
    BinaryOp.BIT_AND: lambda a, b: a and b,
    BinaryOp.BIT_OR: lambda a, b: a or b,
    BinaryOp.BIT_XOR: lambda a, b: a != b,
    BinaryOp.LOGICAL_AND: lambda a, b: a and b,
    BinaryOp.LOGICAL_OR: lambda a, b: a or b,
}


def _integer(op: BinaryOp, a: int, b: int) -> int:  # noqa: C901
    match op:
        case BinaryOp.ADD:
            return a + b
        case BinaryOp.SUB:
            return a - b
        case BinaryOp.MUL:
            return a * b
        case BinaryOp.FLOOR_DIV:
            return a // b if b else a
        case BinaryOp.FLOOR_MOD:
            return a % b if b else 0
        case BinaryOp.TRUNC_DIV:
            return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else a
        case BinaryOp.TRUNC_REM:
            return (abs(a) % abs(b)) * (-1 if a < 0 else 1) if b else 0
        case BinaryOp.POW:
            return pow(a, b, 2**32) if b >= 0 else 1
        case BinaryOp.BIT_AND:
            return a & b
        case BinaryOp.BIT_OR:
            return a | b
        case BinaryOp.BIT_XOR:
            return a ^ b
        case _:
            raise AssertionError(op)


def _float(op: BinaryOp, a: Any, b: Any) -> Any:
    match op:
        case BinaryOp.ADD:
            return a + b
        case BinaryOp.SUB:
            return a - b
        case BinaryOp.MUL:
            return a * b
        case BinaryOp.DIV:
            return a / b
        case BinaryOp.FLOOR_DIV:
            return np.floor(a / b)
        case BinaryOp.FLOOR_MOD:
            return a - b * np.floor(a / b)
        case BinaryOp.TRUNC_REM:
            return a - b * np.trunc(a / b)
        case BinaryOp.POW:
            whole = {2.0: a * a, 3.0: a * a * a, 4.0: (a * a) * (a * a)}
            return whole.get(float(b), np.power(a, b))
        case _:
            raise AssertionError(op)


def convert(value: Any, source: Type, target: Type) -> Any:
    """Return a scalar as another type."""
    kind, becomes = scalar_of(source), scalar_of(target)
    assert kind is not None
    assert becomes is not None
    if becomes is BOOL:
        return bool(value != 0)
    if becomes.is_float:
        return FLOATS[becomes](value)
    if not kind.is_float:
        return wrap(int(value), becomes)
    if np.isnan(value):
        return 0
    low, high = (-(2**31), 2147483520) if becomes is I32 else (0, 4294967040)
    return int(min(max(float(value), low), high))


def product(left: Any, right: Any, left_type: type, right_type: type) -> Any:
    """Return a product with a matrix, summing from the first term on."""
    if left_type is Vector:
        return [_dot(left, column) for column in right]
    if right_type is Vector:
        return [_dot([column[r] for column in left], right) for r in range(len(left[0]))]
    return [product(left, column, Matrix, Vector) for column in right]


def _dot(a: Any, b: Any) -> Any:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total

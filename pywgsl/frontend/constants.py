"""What an untyped expression is worth, if that is known before anything is checked."""

from __future__ import annotations

import builtins as python
import enum
import operator
from collections.abc import Callable, Mapping
from typing import Any

from pywgsl import lang, syntax
from pywgsl.frontend import fold
from pywgsl.ir import BinaryOp, UnaryOp

_UNARY: dict[UnaryOp, Callable[[Any], Any]] = {
    UnaryOp.NEG: operator.neg,
    UnaryOp.NOT: operator.not_,
    UnaryOp.BIT_NOT: operator.invert,
}


class Unknown(Exception):  # noqa: N818
    """The value depends on the launch."""


def _number_of(value: Any) -> bool | int | float:
    found = fold.number(value.value if isinstance(value, enum.Enum) else value)
    if found is None:
        raise Unknown
    return found


def _unary(op: UnaryOp, operand: Any) -> Any:
    if op is not UnaryOp.NOT and isinstance(operand, bool):
        raise Unknown  # the checker refuses it
    return _UNARY[op](operand)


def evaluator(  # noqa: C901
    lookup: Callable[[str], Any],
    constants: Mapping[str, Any],
    local: set[str],
    workgroup_size: tuple[int, int, int],
) -> Callable[[syntax.Expr], Any]:
    """Return a function that gives the value of a constant expression, else None.

    `constants` are the compile-time parameters and the types of arrays, `local` the names that
    the function assigns.
    """

    def host(node: syntax.Expr) -> Any:
        match node:
            case syntax.Name(id=name):
                if name in constants and name not in local:
                    return constants[name]
                if name in local:
                    raise Unknown
                try:
                    return lookup(name)
                except KeyError:
                    raise Unknown from None
            case syntax.Attribute(base=base, name=name):
                found = host(base)
                if isinstance(found, lang.WorkgroupSize) and name in "xyz":
                    return workgroup_size["xyz".index(name)]
                try:
                    return getattr(found, name)
                except Exception:
                    raise Unknown from None
            case _:
                return number(node)

    def number(node: syntax.Expr) -> Any:
        match node:
            case syntax.Constant(value=bool() | int() | float() as constant):
                return constant
            case syntax.Name() | syntax.Attribute():
                return _number_of(host(node))
            case syntax.Unary(op=op, operand=operand):
                return _unary(op, number(operand))
            case syntax.Binary(op=op, left=left, right=right):
                return fold.python_binary(op, number(left), number(right))
            case syntax.Compare(first=first, ops=ops, operands=operands):
                numbers = [number(first), *(number(n) for n in operands)]
                return all(map(fold.python_binary, ops, numbers, numbers[1:]))
            case syntax.BoolOp(op=op, operands=operands):
                decides = op is BinaryOp.LOGICAL_OR
                return decides if _decided(operands, decides) else not decides
            case syntax.Call(callee=callee, args=args, keywords=()):
                if args and host(callee) in (python.range, lang.static_range):
                    return range(*(number(arg) for arg in args))
        raise Unknown

    def _decided(operands: tuple[syntax.Expr, ...], decides: bool) -> bool:
        """Whether some operand settles the result, each before it being known."""
        return any(number(operand) is decides for operand in operands)

    def evaluate(node: syntax.Expr) -> Any:
        try:
            return number(node)
        except (Unknown, ArithmeticError, TypeError, ValueError):
            return None

    return evaluate

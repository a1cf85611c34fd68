"""What an untyped expression is worth, if that is known before anything is checked."""

from __future__ import annotations

import builtins as python
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


def evaluator(  # noqa: C901
    lookup: Callable[[str], Any], constants: Mapping[str, Any], local: set[str]
) -> Callable[[syntax.Expr], Any]:
    """Return a function that gives the value of a constant expression, else None.

    `constants` are the compile-time parameters, `local` the names that the function assigns.
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
                try:
                    return getattr(host(base), name)
                except Exception:
                    raise Unknown from None
            case _:
                return number(node)

    def number(node: syntax.Expr) -> Any:
        match node:
            case syntax.Constant(value=bool() | int() | float() as constant):
                return constant
            case syntax.Name() | syntax.Attribute():
                found = fold.number(host(node))
                if found is None:
                    raise Unknown
                return found
            case syntax.Unary(op=op, operand=operand):
                return _UNARY[op](number(operand))
            case syntax.Binary(op=op, left=left, right=right):
                return fold.python_binary(op, number(left), number(right))
            case syntax.Compare(first=first, ops=ops, operands=operands):
                numbers = [number(first), *(number(n) for n in operands)]
                pairs = zip(ops, numbers, numbers[1:], strict=False)
                return all(fold.python_binary(op, a, b) for op, a, b in pairs)
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

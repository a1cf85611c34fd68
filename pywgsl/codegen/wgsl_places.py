"""What can be said of an expression without writing it."""

from __future__ import annotations

from pywgsl import ir
from pywgsl.ir import type_of
from pywgsl.types import BOOL, FixedArray, Matrix, Type, Vector, scalar_of

#: The length of a buffer, which is known only at launch. Naga refuses the last index of a u32.
NO_END = 2**32 - 1


def is_constant(node: ir.Expr) -> bool:
    """Whether the compilers would evaluate an expression's text, and fail where that overflows."""
    match node:
        case ir.Literal():
            return True
        case ir.Construct(args=args):
            return all(is_constant(arg) for arg in args)
        case ir.Select(condition=condition, accept=accept, reject=reject):
            return all(is_constant(part) for part in (condition, accept, reject))
        case ir.Index(base=base, indices=indices):
            return is_constant(base) and all(is_constant(index) for index in indices)
        case ir.Swizzle(base=base) | ir.Member(base=base):
            return is_constant(base)
        case _:
            return False


def length_of(type_: Type) -> int:
    """How many elements an index may select from."""
    match type_:
        case FixedArray(length=length) | Vector(width=length) | Matrix(columns=length):
            return length
        case _:
            return NO_END


def is_place(node: ir.Expr) -> bool:
    """Whether an expression denotes memory."""
    return isinstance(ir.root(node), ir.Local | ir.Global)


def is_simple(node: ir.Expr) -> bool:
    """Whether an expression costs nothing to write and evaluate twice."""
    match node:
        case ir.Literal() | ir.Local() | ir.Shape():
            return True
        case ir.Global(space=space):
            return space is ir.Space.UNIFORM
        case ir.Swizzle(base=base) | ir.Member(base=base):
            return is_simple(base)
        case _:
            return False


def is_carried(node: ir.Expr) -> bool:
    """Whether a bool (or vector of them) is kept as u32 where this expression finds it."""
    if scalar_of(type_of(node)) is not BOOL:
        return False
    match node:
        case ir.Global(space=space):
            return space is ir.Space.UNIFORM
        case ir.Member():
            return True
        case ir.Index(base=base):
            return not isinstance(base.type, Vector) or is_carried(base)
        case ir.Swizzle(base=base):
            return is_carried(base)
        case _:
            return False

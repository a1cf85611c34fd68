"""Where it shows in which order the parts of a statement are evaluated."""

from __future__ import annotations

from pywgsl import ir
from pywgsl.builtins import BUILTINS


def acts(value: ir.Expr) -> bool:
    """Whether a statement's value is a call that may do more than give a result."""
    if isinstance(value, ir.Call):
        return BUILTINS[value.builtin].effect
    return isinstance(value, ir.Invoke)


def value_first(node: ir.Assign) -> bool:
    """Whether an assignment's value must be computed before the indices of its target are.

    The representation always means that; it shows where the value is a call that may store and
    an index loads.
    """
    if not acts(node.value):
        return False
    target = node.target
    while isinstance(target, ir.Index | ir.Member | ir.Swizzle):
        if isinstance(target, ir.Index) and any(map(_loads, target.indices)):
            return True
        target = target.base
    return False


def _loads(node: ir.Expr) -> bool:
    return any(
        isinstance(part, ir.Global) and part.space is not ir.Space.UNIFORM for part in ir.walk(node)
    )

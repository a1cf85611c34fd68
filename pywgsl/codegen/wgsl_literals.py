"""How constants are written so that both WGSL compilers read back the same bits."""

from __future__ import annotations

import math

import numpy as np

from pywgsl import ir
from pywgsl.codegen.writer import PRIMARY, UNARY, Code
from pywgsl.types import BOOL, F16, I32, U32

_LARGEST_SHORT = 3.4e38
_SMALLEST_NORMAL = 1.1754944e-38


def literal(node: ir.Literal, *, suffix: bool = False) -> Code | None:
    """Return a constant's text, or None for infinities and nans, which have none.

    An i32 or f32 is written without its suffix where its surroundings give it the type: unless
    `suffix` is set.
    """
    if node.type is BOOL:
        return Code("true" if node.value else "false")
    if node.type in (I32, U32):
        return _integer(int(node.value), unsigned=node.type is U32, suffix=suffix)
    value = float(node.value)
    if not math.isfinite(value):
        return None
    if value == 0.0 and math.copysign(1.0, value) < 0.0:
        # Tint reads the literal -0.0 as 0.0.
        return Code("bitcast<f32>(0x80000000u)") if node.type is not F16 else None
    text = _half(value) if node.type is F16 else _float(value, suffix=suffix)
    return Code(text, UNARY if text[0] == "-" else PRIMARY)


def _integer(value: int, *, unsigned: bool, suffix: bool) -> Code:
    if unsigned:
        return Code(f"{value}u")
    if value == -(2**31):
        return Code(f"i32({value})")
    text = f"{value}i" if suffix else str(value)
    return Code(text, UNARY if value < 0 else PRIMARY)


def _float(value: float, *, suffix: bool) -> str:
    """The shortest decimal text, if both compilers round it to `value`; else an exact one."""
    size = abs(value)
    short = str(np.float32(value))
    if size != 0.0 and not _SMALLEST_NORMAL < size < _LARGEST_SHORT:
        return f"{float(np.float32(value))!r}f"
    if np.float32(float(short)) != np.float32(value):
        short = repr(value)
    return f"{short}f" if suffix else short


def _half(value: float) -> str:
    """The shorter of the exact decimal text and the shortest that rounds to `value`."""
    half = np.float16(value)
    return f"{min(repr(float(half)), str(half), key=len)}h"

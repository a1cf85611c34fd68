"""The table of builtins: one row each, and nothing else in the package names one.

A row (see `pywgsl.table`) holds the name in the language, the type rule, the NumPy function, the
WGSL spelling, how far a device may differ, and the documentation. Those that join invocations are
in `pywgsl.collectives`.
"""

from __future__ import annotations

import builtins as python
import math
from typing import Any

import numpy as np

from pywgsl import collectives, numerics
from pywgsl.table import BUILTINS, EXACT, PRELUDE, Builtin, Scope, Tolerance, define, each, test

__all__ = ["BUILTINS", "EXACT", "FROM_PYTHON", "Builtin", "Scope", "Tolerance", "collectives"]

_FLOAT = each(1, "float")
_FLOAT2 = each(2, "float")
_INTEGER = each(1, "integer")
_TRIG = 5e-4

# ---------------------------------------------------------------------------- any number
abs = define("abs", each(1, "number"), np.abs, "Absolute value; that of -2147483648 is itself.")
min = define(
    "min",
    each(2, "number"),
    numerics.minimum,
    "The smaller of two, as Python: `b if b < a else a`.",
    wgsl=PRELUDE,
)
max = define(
    "max",
    each(2, "number"),
    numerics.maximum,
    "The larger of two, as Python: `b if b > a else a`.",
    wgsl=PRELUDE,
)
clamp = define(
    "clamp",
    each(3, "number"),
    numerics.clamp,
    "`min(max(x, low), high)`; nan gives nan.",
    wgsl=PRELUDE,
)
sign = define("sign", each(1, "number"), numerics.sign, "-1, 0 or 1; of nan 0.", wgsl=PRELUDE)
select = define(
    "select",
    (
        "(T, T, bool) -> T where T: scalar",
        "(vec<N, T>, vec<N, T>, bool) -> vec<N, T> where T: scalar",
        "(vec<N, T>, vec<N, T>, vec<N, bool>) -> vec<N, T> where T: scalar",
    ),
    numerics.select,
    "`select(if_false, if_true, condition)`; both values are evaluated.",
)
# --------------------------------------------------------------------------------- floats
floor = define("floor", _FLOAT, np.floor, "Round down to a whole number.")
ceil = define("ceil", _FLOAT, np.ceil, "Round up to a whole number.")
round = define("round", _FLOAT, np.rint, "Round to the nearest whole number, halves to even.")
trunc = define("trunc", _FLOAT, np.trunc, "Round toward zero.")
fract = define("fract", _FLOAT, numerics.fract, "`x - floor(x)`.", wgsl=PRELUDE)
saturate = define("saturate", _FLOAT, numerics.saturate, "Clamp to 0…1.", wgsl=PRELUDE)
sqrt = define("sqrt", _FLOAT, np.sqrt, "Square root.", relative=2.5e-7)
inverse_sqrt = define(
    "inverse_sqrt", _FLOAT, numerics.inverse_sqrt, "`1 / sqrt(x)`.", relative=3e-7
)
exp = define("exp", _FLOAT, np.exp, "*e* to the power x.", relative=1e-5)
exp2 = define("exp2", _FLOAT, np.exp2, "2 to the power x.", relative=1e-5)
expm1 = define(
    "expm1",
    _FLOAT,
    np.expm1,
    "`exp(x) - 1`, right near 0 too.",
    wgsl=PRELUDE,
    relative=2e-5,
    absolute=1e-7,
)
log = define("log", _FLOAT, np.log, "Natural logarithm.", relative=1e-6, absolute=1e-6)
log2 = define("log2", _FLOAT, np.log2, "Logarithm to base 2.", relative=1e-6, absolute=1e-6)
log10 = define(
    "log10",
    _FLOAT,
    np.log10,
    "Logarithm to base 10.",
    wgsl=PRELUDE,
    relative=1e-6,
    absolute=1e-6,
)
log1p = define(
    "log1p",
    _FLOAT,
    np.log1p,
    "`log(1 + x)`, right near 0 too.",
    wgsl=PRELUDE,
    relative=1e-5,
    absolute=1e-6,
)
pow = define(
    "pow",
    _FLOAT2,
    numerics.power,
    "x to the power y, as Python's `**`: right for negative bases.",
    wgsl=PRELUDE,
    relative=2e-5,
)
sin = define("sin", _FLOAT, np.sin, "Sine; the argument is in radians.", absolute=_TRIG)
cos = define("cos", _FLOAT, np.cos, "Cosine; the argument is in radians.", absolute=_TRIG)
tan = define("tan", _FLOAT, np.tan, "Tangent.", relative=5e-3, absolute=_TRIG)
asin = define("asin", _FLOAT, np.arcsin, "Arc sine, in radians.", absolute=1e-3)
acos = define("acos", _FLOAT, np.arccos, "Arc cosine, in radians.", absolute=1e-3)
atan = define("atan", _FLOAT, np.arctan, "Arc tangent, in radians.", absolute=1e-5)
atan2 = define(
    "atan2",
    _FLOAT2,
    np.arctan2,
    "The angle of the point (x, y) given as `atan2(y, x)`.",
    wgsl=PRELUDE,
    absolute=1e-5,
)
sinh = define(
    "sinh", _FLOAT, np.sinh, "Hyperbolic sine.", wgsl=PRELUDE, relative=2e-5, absolute=5e-7
)
cosh = define("cosh", _FLOAT, np.cosh, "Hyperbolic cosine.", relative=1e-3)
tanh = define("tanh", _FLOAT, np.tanh, "Hyperbolic tangent.", wgsl=PRELUDE, absolute=5e-7)
asinh = define(
    "asinh", _FLOAT, np.arcsinh, "Inverse hyperbolic sine.", relative=1e-5, absolute=2e-6
)
acosh = define(
    "acosh", _FLOAT, np.arccosh, "Inverse hyperbolic cosine.", relative=1e-5, absolute=1e-3
)
atanh = define(
    "atanh", _FLOAT, np.arctanh, "Inverse hyperbolic tangent.", relative=1e-4, absolute=2e-6
)
erf = define("erf", _FLOAT, numerics.erf, "The error function.", wgsl=PRELUDE, absolute=1e-6)
erfc = define(
    "erfc", _FLOAT, numerics.erfc, "`1 - erf(x)`.", wgsl=PRELUDE, relative=1e-4, absolute=1e-7
)
hypot = define(
    "hypot",
    _FLOAT2,
    np.hypot,
    "`sqrt(x*x + y*y)` without overflow.",
    wgsl=PRELUDE,
    relative=5e-7,
)
copysign = define(
    "copysign", _FLOAT2, np.copysign, "The first's size with the second's sign.", wgsl=PRELUDE
)
fma = define("fma", each(3, "float"), numerics.fma, "`a * b + c`; may round once.", relative=2e-7)
mix = define(
    "mix",
    (*each(3, "float"), "(vec<N, T>, vec<N, T>, T) -> vec<N, T> where T: float"),
    numerics.mix,
    "`a * (1 - t) + b * t`.",
    wgsl=PRELUDE,
)
step = define("step", _FLOAT2, numerics.step, "`1.0 if edge <= x else 0.0` of `step(edge, x)`.")
smoothstep = define(
    "smoothstep",
    each(3, "float"),
    numerics.smoothstep,
    "Smooth rise from 0 at `low` to 1 at `high`, of `smoothstep(low, high, x)`.",
    wgsl=PRELUDE,
    relative=1e-6,
    absolute=1e-6,
)
degrees = define("degrees", _FLOAT, np.degrees, "Radians to degrees.", relative=3e-7)
radians = define("radians", _FLOAT, np.radians, "Degrees to radians.", relative=3e-7)
quantize_to_f16 = define(
    "quantize_to_f16",
    ("(f32) -> f32", "(vec<N, f32>) -> vec<N, f32>"),
    numerics.quantize_to_f16,
    "Round to the nearest f16; too large gives inf.",
    wgsl=PRELUDE,
)
ldexp = define(
    "ldexp",
    ("(T, i32) -> T where T: float", "(vec<N, T>, vec<N, i32>) -> vec<N, T> where T: float"),
    np.ldexp,
    "`x * 2 ** exponent`.",
    wgsl=PRELUDE,
)
isnan = define("isnan", test("float"), np.isnan, "Whether x is nan.", wgsl=PRELUDE)
isinf = define("isinf", test("float"), np.isinf, "Whether x is an infinity.", wgsl=PRELUDE)
isfinite = define(
    "isfinite", test("float"), np.isfinite, "Whether x is neither nan nor inf.", wgsl=PRELUDE
)
# ------------------------------------------------------------------------------- integers
trunc_div = define(
    "trunc_div",
    each(2, "integer"),
    numerics.trunc_div,
    "Division that rounds toward zero, as WGSL's `/`; by 0 it gives the dividend.",
    wgsl=PRELUDE,
)
trunc_rem = define(
    "trunc_rem",
    each(2, "number"),
    numerics.trunc_rem,
    "Remainder with the dividend's sign, as WGSL's `%`; by 0 an integer one gives 0.",
    wgsl=PRELUDE,
)
count_one_bits = define("count_one_bits", _INTEGER, numerics.count_one_bits, "How many bits are 1.")
count_leading_zeros = define(
    "count_leading_zeros", _INTEGER, numerics.count_leading_zeros, "Zero bits above the highest 1."
)
count_trailing_zeros = define(
    "count_trailing_zeros", _INTEGER, numerics.count_trailing_zeros, "Zero bits below the lowest 1."
)
first_leading_bit = define(
    "first_leading_bit",
    _INTEGER,
    numerics.first_leading_bit,
    "Index of the highest bit that is not a sign bit; -1 if there is none.",
)
first_trailing_bit = define(
    "first_trailing_bit", _INTEGER, numerics.first_trailing_bit, "Index of the lowest 1; -1 for 0."
)
reverse_bits = define("reverse_bits", _INTEGER, numerics.reverse_bits, "The bits in reverse order.")
extract_bits = define(
    "extract_bits",
    (
        "(T, u32, u32) -> T where T: integer",
        "(vec<N, T>, u32, u32) -> vec<N, T> where T: integer",
    ),
    numerics.extract_bits,
    "`count` bits from `offset` up of `extract_bits(x, offset, count)`, sign-extended for i32.",
    wgsl=PRELUDE,
)
insert_bits = define(
    "insert_bits",
    (
        "(T, T, u32, u32) -> T where T: integer",
        "(vec<N, T>, vec<N, T>, u32, u32) -> vec<N, T> where T: integer",
    ),
    numerics.insert_bits,
    "x with `count` bits from `offset` up replaced by those of `new`.",
    wgsl=PRELUDE,
)
# ---------------------------------------------------------------------------------- bools
all = define("all", ("(vec<N, bool>) -> bool",), numerics.all_, "Whether every component holds.")
any = define("any", ("(vec<N, bool>) -> bool",), numerics.any_, "Whether some component holds.")
# ------------------------------------------------------------------- vectors and matrices
_VECTOR_ULP = 1e-6
dot = define(
    "dot",
    ("(vec<N, T>, vec<N, T>) -> T where T: number",),
    numerics.dot,
    "Sum of the products of components.",
    relative=_VECTOR_ULP,
    absolute=1e-6,
)
cross = define(
    "cross",
    ("(vec<3, T>, vec<3, T>) -> vec<3, T> where T: float",),
    numerics.cross,
    "Cross product.",
    relative=_VECTOR_ULP,
    absolute=1e-6,
)
length = define(
    "length",
    ("(T) -> T where T: float", "(vec<N, T>) -> T where T: float"),
    numerics.length,
    "Euclidean length.",
    wgsl=PRELUDE,
    relative=_VECTOR_ULP,
)
distance = define(
    "distance",
    ("(vec<N, T>, vec<N, T>) -> T where T: float",),
    numerics.distance,
    "Length of the difference.",
    relative=_VECTOR_ULP,
)
normalize = define(
    "normalize",
    ("(vec<N, T>) -> vec<N, T> where T: float",),
    numerics.normalize,
    "The vector of length 1 in the same direction.",
    relative=2e-6,
)
reflect = define(
    "reflect",
    ("(vec<N, T>, vec<N, T>) -> vec<N, T> where T: float",),
    numerics.reflect,
    "Reflection of the first at the plane whose normal is the second.",
    relative=2e-6,
    absolute=1e-6,
)
refract = define(
    "refract",
    ("(vec<N, T>, vec<N, T>, T) -> vec<N, T> where T: float",),
    numerics.refract,
    "Refraction of the first at a surface with the second as normal.",
    relative=2e-5,
    absolute=2e-6,
)
face_forward = define(
    "face_forward",
    ("(vec<N, T>, vec<N, T>, vec<N, T>) -> vec<N, T> where T: float",),
    numerics.face_forward,
    "`n if dot(i, reference) < 0 else -n` of `face_forward(n, i, reference)`.",
)
transpose = define(
    "transpose",
    ("(mat<C, R, T>) -> mat<R, C, T> where T: float",),
    numerics.transpose,
    "Rows become columns.",
)
determinant = define(
    "determinant",
    ("(mat<N, N, T>) -> T where T: float",),
    numerics.determinant,
    "The determinant.",
    relative=1e-5,
    absolute=1e-5,
)
# -------------------------------------------------------------------------------- packing
_PACK4 = ("(vec<4, f32>) -> u32",)
_UNPACK4 = ("(u32) -> vec<4, f32>",)
pack4x8unorm = define(
    "pack4x8unorm", _PACK4, numerics.pack4x8unorm, "Four 0…1 floats to 8 bits each."
)
pack4x8snorm = define(
    "pack4x8snorm", _PACK4, numerics.pack4x8snorm, "Four -1…1 floats to 8 bits each."
)
unpack4x8unorm = define(
    "unpack4x8unorm",
    _UNPACK4,
    numerics.unpack4x8unorm,
    "The reverse of pack4x8unorm.",
    relative=2e-7,
)
unpack4x8snorm = define(
    "unpack4x8snorm",
    _UNPACK4,
    numerics.unpack4x8snorm,
    "The reverse of pack4x8snorm.",
    relative=2e-7,
)
pack2x16float = define(
    "pack2x16float", ("(vec<2, f32>) -> u32",), numerics.pack2x16float, "Two floats to f16 bits."
)
unpack2x16float = define(
    "unpack2x16float", ("(u32) -> vec<2, f32>",), numerics.unpack2x16float, "Two f16 to floats."
)

_OF_MATH = (
    math.acos,
    math.acosh,
    math.asin,
    math.asinh,
    math.atan,
    math.atan2,
    math.atanh,
    math.ceil,
    math.copysign,
    math.cos,
    math.cosh,
    math.degrees,
    math.erf,
    math.erfc,
    math.exp,
    math.expm1,
    math.floor,
    math.hypot,
    math.isfinite,
    math.isinf,
    math.isnan,
    math.ldexp,
    math.log,
    math.log10,
    math.log1p,
    math.log2,
    math.pow,
    math.radians,
    math.sin,
    math.sinh,
    math.sqrt,
    math.tan,
    math.tanh,
    math.trunc,
)

#: What Python's own functions and those of `math` are in a kernel, by the function itself.
FROM_PYTHON: dict[Any, Builtin] = {
    python.abs: abs,
    python.min: min,
    python.max: max,
    python.round: round,
    python.pow: pow,
    math.fabs: abs,
    **{function: BUILTINS[function.__name__] for function in _OF_MATH},
    **({math.exp2: exp2} if hasattr(math, "exp2") else {}),
}

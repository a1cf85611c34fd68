"""The table of builtins: one row each, and nothing else in the package names one.

A row holds the name in the language, the type rule, the NumPy function, the WGSL spelling, how
far a device may differ, and the documentation. Rows are callable, so that a kernel's body is
also plain Python. Vector arguments of a NumPy function have their components along the last
axis, matrices their columns along the last but one; scalars beside a vector come with a last
axis of length 1.
"""

from __future__ import annotations

import builtins as python
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pywgsl import numerics
from pywgsl.signature import Signature, parse


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a device may be from the NumPy function: `|a - b| <= absolute + relative * |b|`."""

    relative: float = 0.0
    absolute: float = 0.0


EXACT = Tolerance()


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
    effect: bool

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

_PRELUDE = "(prelude)"


def _row(
    name: str,
    rules: tuple[str, ...],
    numpy: Callable[..., Any],
    doc: str,
    *,
    wgsl: str = "",
    relative: float = 0.0,
    absolute: float = 0.0,
    effect: bool = False,
) -> Builtin:
    first, *rest = name.split("_")
    spelling = wgsl or first + "".join(word.capitalize() for word in rest)
    row = Builtin(
        name,
        rules,
        numpy,
        doc,
        None if wgsl == _PRELUDE else spelling,
        Tolerance(relative, absolute),
        effect,
    )
    BUILTINS[name] = row
    return row


def _each(parameters: int, kind: str) -> tuple[str, ...]:
    """The rules of a function that works component by component."""
    scalars, vectors = ", ".join(["T"] * parameters), ", ".join(["vec<N, T>"] * parameters)
    return (
        f"({scalars}) -> T where T: {kind}",
        f"({vectors}) -> vec<N, T> where T: {kind}",
    )


def _test(kind: str) -> tuple[str, ...]:
    """The rules of a predicate on components."""
    return (f"(T) -> bool where T: {kind}", f"(vec<N, T>) -> vec<N, bool> where T: {kind}")


_FLOAT = _each(1, "float")
_FLOAT2 = _each(2, "float")
_INTEGER = _each(1, "integer")
_TRIG = 5e-4

# ---------------------------------------------------------------------------- any number
abs = _row("abs", _each(1, "number"), np.abs, "Absolute value; that of -2147483648 is itself.")
min = _row(
    "min",
    _each(2, "number"),
    numerics.minimum,
    "The smaller of two, as Python: `b if b < a else a`.",
    wgsl=_PRELUDE,
)
max = _row(
    "max",
    _each(2, "number"),
    numerics.maximum,
    "The larger of two, as Python: `b if b > a else a`.",
    wgsl=_PRELUDE,
)
clamp = _row(
    "clamp",
    _each(3, "number"),
    numerics.clamp,
    "`min(max(x, low), high)`; nan gives nan.",
    wgsl=_PRELUDE,
)
sign = _row("sign", _each(1, "number"), numerics.sign, "-1, 0 or 1; of nan 0.", wgsl=_PRELUDE)
select = _row(
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
floor = _row("floor", _FLOAT, np.floor, "Round down to a whole number.")
ceil = _row("ceil", _FLOAT, np.ceil, "Round up to a whole number.")
round = _row("round", _FLOAT, np.rint, "Round to the nearest whole number, halves to even.")
trunc = _row("trunc", _FLOAT, np.trunc, "Round toward zero.")
fract = _row("fract", _FLOAT, numerics.fract, "`x - floor(x)`.", wgsl=_PRELUDE)
saturate = _row("saturate", _FLOAT, numerics.saturate, "Clamp to 0…1.", wgsl=_PRELUDE)
sqrt = _row("sqrt", _FLOAT, np.sqrt, "Square root.", relative=2.5e-7)
inverse_sqrt = _row("inverse_sqrt", _FLOAT, numerics.inverse_sqrt, "`1 / sqrt(x)`.", relative=3e-7)
exp = _row("exp", _FLOAT, np.exp, "*e* to the power x.", relative=1e-5)
exp2 = _row("exp2", _FLOAT, np.exp2, "2 to the power x.", relative=1e-5)
expm1 = _row(
    "expm1",
    _FLOAT,
    np.expm1,
    "`exp(x) - 1`, right near 0 too.",
    wgsl=_PRELUDE,
    relative=2e-5,
    absolute=1e-7,
)
log = _row("log", _FLOAT, np.log, "Natural logarithm.", relative=1e-6, absolute=1e-6)
log2 = _row("log2", _FLOAT, np.log2, "Logarithm to base 2.", relative=1e-6, absolute=1e-6)
log10 = _row(
    "log10",
    _FLOAT,
    np.log10,
    "Logarithm to base 10.",
    wgsl=_PRELUDE,
    relative=1e-6,
    absolute=1e-6,
)
log1p = _row(
    "log1p",
    _FLOAT,
    np.log1p,
    "`log(1 + x)`, right near 0 too.",
    wgsl=_PRELUDE,
    relative=1e-5,
    absolute=1e-6,
)
pow = _row(
    "pow",
    _FLOAT2,
    numerics.power,
    "x to the power y, as Python's `**`: right for negative bases.",
    wgsl=_PRELUDE,
    relative=2e-5,
)
sin = _row("sin", _FLOAT, np.sin, "Sine; the argument is in radians.", absolute=_TRIG)
cos = _row("cos", _FLOAT, np.cos, "Cosine; the argument is in radians.", absolute=_TRIG)
tan = _row("tan", _FLOAT, np.tan, "Tangent.", relative=5e-3, absolute=_TRIG)
asin = _row("asin", _FLOAT, np.arcsin, "Arc sine, in radians.", absolute=1e-3)
acos = _row("acos", _FLOAT, np.arccos, "Arc cosine, in radians.", absolute=1e-3)
atan = _row("atan", _FLOAT, np.arctan, "Arc tangent, in radians.", absolute=1e-5)
atan2 = _row(
    "atan2",
    _FLOAT2,
    np.arctan2,
    "The angle of the point (x, y) given as `atan2(y, x)`.",
    wgsl=_PRELUDE,
    absolute=1e-5,
)
sinh = _row(
    "sinh", _FLOAT, np.sinh, "Hyperbolic sine.", wgsl=_PRELUDE, relative=2e-5, absolute=5e-7
)
cosh = _row("cosh", _FLOAT, np.cosh, "Hyperbolic cosine.", relative=1e-3)
tanh = _row("tanh", _FLOAT, np.tanh, "Hyperbolic tangent.", wgsl=_PRELUDE, absolute=5e-7)
asinh = _row("asinh", _FLOAT, np.arcsinh, "Inverse hyperbolic sine.", relative=1e-5, absolute=2e-6)
acosh = _row(
    "acosh", _FLOAT, np.arccosh, "Inverse hyperbolic cosine.", relative=1e-5, absolute=1e-3
)
atanh = _row(
    "atanh", _FLOAT, np.arctanh, "Inverse hyperbolic tangent.", relative=1e-4, absolute=2e-6
)
erf = _row("erf", _FLOAT, numerics.erf, "The error function.", wgsl=_PRELUDE, absolute=1e-6)
erfc = _row(
    "erfc", _FLOAT, numerics.erfc, "`1 - erf(x)`.", wgsl=_PRELUDE, relative=1e-4, absolute=1e-7
)
hypot = _row(
    "hypot",
    _FLOAT2,
    np.hypot,
    "`sqrt(x*x + y*y)` without overflow.",
    wgsl=_PRELUDE,
    relative=5e-7,
)
copysign = _row(
    "copysign", _FLOAT2, np.copysign, "The first's size with the second's sign.", wgsl=_PRELUDE
)
fma = _row("fma", _each(3, "float"), numerics.fma, "`a * b + c`; may round once.", relative=2e-7)
mix = _row(
    "mix",
    (*_each(3, "float"), "(vec<N, T>, vec<N, T>, T) -> vec<N, T> where T: float"),
    numerics.mix,
    "`a * (1 - t) + b * t`.",
    wgsl=_PRELUDE,
)
step = _row("step", _FLOAT2, numerics.step, "`1.0 if edge <= x else 0.0` of `step(edge, x)`.")
smoothstep = _row(
    "smoothstep",
    _each(3, "float"),
    numerics.smoothstep,
    "Smooth rise from 0 at `low` to 1 at `high`, of `smoothstep(low, high, x)`.",
    wgsl=_PRELUDE,
    relative=1e-6,
    absolute=1e-6,
)
degrees = _row("degrees", _FLOAT, np.degrees, "Radians to degrees.", relative=3e-7)
radians = _row("radians", _FLOAT, np.radians, "Degrees to radians.", relative=3e-7)
quantize_to_f16 = _row(
    "quantize_to_f16",
    ("(f32) -> f32", "(vec<N, f32>) -> vec<N, f32>"),
    numerics.quantize_to_f16,
    "Round to the nearest f16; too large gives inf.",
    wgsl=_PRELUDE,
)
ldexp = _row(
    "ldexp",
    ("(T, i32) -> T where T: float", "(vec<N, T>, vec<N, i32>) -> vec<N, T> where T: float"),
    np.ldexp,
    "`x * 2 ** exponent`.",
    wgsl=_PRELUDE,
)
isnan = _row("isnan", _test("float"), np.isnan, "Whether x is nan.", wgsl=_PRELUDE)
isinf = _row("isinf", _test("float"), np.isinf, "Whether x is an infinity.", wgsl=_PRELUDE)
isfinite = _row(
    "isfinite", _test("float"), np.isfinite, "Whether x is neither nan nor inf.", wgsl=_PRELUDE
)
# ------------------------------------------------------------------------------- integers
trunc_div = _row(
    "trunc_div",
    _each(2, "integer"),
    numerics.trunc_div,
    "Division that rounds toward zero, as WGSL's `/`; by 0 it gives the dividend.",
    wgsl=_PRELUDE,
)
trunc_rem = _row(
    "trunc_rem",
    _each(2, "number"),
    numerics.trunc_rem,
    "Remainder with the dividend's sign, as WGSL's `%`; by 0 an integer one gives 0.",
    wgsl=_PRELUDE,
)
count_one_bits = _row("count_one_bits", _INTEGER, numerics.count_one_bits, "How many bits are 1.")
count_leading_zeros = _row(
    "count_leading_zeros", _INTEGER, numerics.count_leading_zeros, "Zero bits above the highest 1."
)
count_trailing_zeros = _row(
    "count_trailing_zeros", _INTEGER, numerics.count_trailing_zeros, "Zero bits below the lowest 1."
)
first_leading_bit = _row(
    "first_leading_bit",
    _INTEGER,
    numerics.first_leading_bit,
    "Index of the highest bit that is not a sign bit; -1 if there is none.",
)
first_trailing_bit = _row(
    "first_trailing_bit", _INTEGER, numerics.first_trailing_bit, "Index of the lowest 1; -1 for 0."
)
reverse_bits = _row("reverse_bits", _INTEGER, numerics.reverse_bits, "The bits in reverse order.")
extract_bits = _row(
    "extract_bits",
    (
        "(T, u32, u32) -> T where T: integer",
        "(vec<N, T>, u32, u32) -> vec<N, T> where T: integer",
    ),
    numerics.extract_bits,
    "`count` bits from `offset` up of `extract_bits(x, offset, count)`, sign-extended for i32.",
    wgsl=_PRELUDE,
)
insert_bits = _row(
    "insert_bits",
    (
        "(T, T, u32, u32) -> T where T: integer",
        "(vec<N, T>, vec<N, T>, u32, u32) -> vec<N, T> where T: integer",
    ),
    numerics.insert_bits,
    "x with `count` bits from `offset` up replaced by those of `new`.",
    wgsl=_PRELUDE,
)
# ---------------------------------------------------------------------------------- bools
all = _row("all", ("(vec<N, bool>) -> bool",), numerics.all_, "Whether every component holds.")
any = _row("any", ("(vec<N, bool>) -> bool",), numerics.any_, "Whether some component holds.")
# ------------------------------------------------------------------- vectors and matrices
_VECTOR_ULP = 1e-6
dot = _row(
    "dot",
    ("(vec<N, T>, vec<N, T>) -> T where T: number",),
    numerics.dot,
    "Sum of the products of components.",
    relative=_VECTOR_ULP,
    absolute=1e-6,
)
cross = _row(
    "cross",
    ("(vec<3, T>, vec<3, T>) -> vec<3, T> where T: float",),
    numerics.cross,
    "Cross product.",
    relative=_VECTOR_ULP,
    absolute=1e-6,
)
length = _row(
    "length",
    ("(T) -> T where T: float", "(vec<N, T>) -> T where T: float"),
    numerics.length,
    "Euclidean length.",
    wgsl=_PRELUDE,
    relative=_VECTOR_ULP,
)
distance = _row(
    "distance",
    ("(vec<N, T>, vec<N, T>) -> T where T: float",),
    numerics.distance,
    "Length of the difference.",
    relative=_VECTOR_ULP,
)
normalize = _row(
    "normalize",
    ("(vec<N, T>) -> vec<N, T> where T: float",),
    numerics.normalize,
    "The vector of length 1 in the same direction.",
    relative=2e-6,
)
reflect = _row(
    "reflect",
    ("(vec<N, T>, vec<N, T>) -> vec<N, T> where T: float",),
    numerics.reflect,
    "Reflection of the first at the plane whose normal is the second.",
    relative=2e-6,
    absolute=1e-6,
)
refract = _row(
    "refract",
    ("(vec<N, T>, vec<N, T>, T) -> vec<N, T> where T: float",),
    numerics.refract,
    "Refraction of the first at a surface with the second as normal.",
    relative=2e-5,
    absolute=2e-6,
)
face_forward = _row(
    "face_forward",
    ("(vec<N, T>, vec<N, T>, vec<N, T>) -> vec<N, T> where T: float",),
    numerics.face_forward,
    "`n if dot(i, reference) < 0 else -n` of `face_forward(n, i, reference)`.",
)
transpose = _row(
    "transpose",
    ("(mat<C, R, T>) -> mat<R, C, T> where T: float",),
    numerics.transpose,
    "Rows become columns.",
)
determinant = _row(
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
pack4x8unorm = _row(
    "pack4x8unorm", _PACK4, numerics.pack4x8unorm, "Four 0…1 floats to 8 bits each."
)
pack4x8snorm = _row(
    "pack4x8snorm", _PACK4, numerics.pack4x8snorm, "Four -1…1 floats to 8 bits each."
)
unpack4x8unorm = _row(
    "unpack4x8unorm",
    _UNPACK4,
    numerics.unpack4x8unorm,
    "The reverse of pack4x8unorm.",
    relative=2e-7,
)
unpack4x8snorm = _row(
    "unpack4x8snorm",
    _UNPACK4,
    numerics.unpack4x8snorm,
    "The reverse of pack4x8snorm.",
    relative=2e-7,
)
pack2x16float = _row(
    "pack2x16float", ("(vec<2, f32>) -> u32",), numerics.pack2x16float, "Two floats to f16 bits."
)
unpack2x16float = _row(
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

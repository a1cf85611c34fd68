"""WGSL functions for what WGSL does not have, or has otherwise than Python: added where used.

`pywgsl.numerics` computes the same. Each function is written once for a scalar; the variant for
vectors calls it for each component, and that for f16, unless written out, computes in f32. In a
text, `T` is the scalar type and `$name` another function of the prelude for it.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from pywgsl.codegen.names import fresh
from pywgsl.types import (
    BOOL,
    F16,
    F32,
    I32,
    U32,
    Scalar,
    Type,
    Vector,
    scalar_of,
    with_scalar,
)

# Vulkan leaves the remainder of negative operands open, naga passes it on, and an H200's is wrong:
# the quotient gives it.
_INTEGER = {
    "trunc_rem": """
fn $trunc_rem(a: T, b: T) -> T {
    return select(a - a / b * b, T(0), b == T(0));
}""",
    "floor_div": """
fn $floor_div(a: T, b: T) -> T {
    let quotient = a / b;
    let remainder = a - quotient * b;
    return select(quotient, quotient - 1, remainder != 0 && b != 0 && (remainder < 0) != (b < 0));
}""",
    "floor_mod": """
fn $floor_mod(a: T, b: T) -> T {
    let remainder = $trunc_rem(a, b);
    return select(remainder, remainder + b, remainder != 0 && (remainder < 0) != (b < 0));
}""",
    # By squaring; wraps. A negative exponent gives 1.
    "pow": """
fn $pow(base: T, exponent: T) -> T {
    var result = T(1);
    var square = base;
    for (var rest = exponent; rest > 0; rest >>= 1u) {
        if ((rest & 1) == 1) {
            result *= square;
        }
        square *= square;
    }
    return result;
}""",
    "sign": """
fn $sign(x: T) -> T {
    return select(select(T(0), T(-1), x < 0), T(1), x > 0);
}""",
    # The number of trips of Python's range(start, stop, step), which never wraps.
    "range_length": """
fn $range_length(start: T, stop: T, step: T) -> u32 {
    if (step > 0 && start < stop) {
        return (u32(stop) - u32(start) - 1u) / u32(step) + 1u;
    }
    if (step < 0 && start > stop) {
        return (u32(start) - u32(stop) - 1u) / (0u - u32(step)) + 1u;
    }
    return 0u;
}""",
    # WGSL leaves counts that reach past the last bit to constant evaluation's errors.
    "extract_bits": """
fn $extract_bits(x: T, offset: u32, count: u32) -> T {
    let first = min(offset, 32u);
    return extractBits(x, first, min(count, 32u - first));
}""",
    "insert_bits": """
fn $insert_bits(x: T, bits: T, offset: u32, count: u32) -> T {
    let first = min(offset, 32u);
    return insertBits(x, bits, first, min(count, 32u - first));
}""",
}

_UNSIGNED = {
    **{name: _INTEGER[name] for name in ("extract_bits", "insert_bits")},
    "pow": _INTEGER["pow"].replace("& 1) == 1)", "& 1u) == 1u)").replace("> 0;", "> 0u;"),
    "sign": """
fn $sign(x: T) -> T {
    return min(x, 1u);
}""",
    "range_length": """
fn $range_length(start: T, stop: T, step: T) -> u32 {
    if (step > 0u && start < stop) {
        return (stop - start - 1u) / step + 1u;
    }
    return 0u;
}""",
    # f32() of a number above 2^31 is not always the nearest: halve it first, keeping the last bit.
    "to_f32": """
fn $to_f32(x: T) -> f32 {
    if (x < 0x80000000u) {
        return f32(i32(x));
    }
    return f32(i32((x >> 1u) | (x & 1u))) * 2.0;
}""",
}

# Right in f16 as they stand: rounding each step is what the language says.
_FLOAT = {
    "floor_mod": """
fn $floor_mod(a: T, b: T) -> T {
    return a - b * floor(a / b);
}""",
    "trunc_rem": """
fn $trunc_rem(a: T, b: T) -> T {
    return a - b * trunc(a / b);
}""",
    "square": """
fn $square(x: T) -> T {
    return x * x;
}""",
    "cube": """
fn $cube(x: T) -> T {
    return x * x * x;
}""",
    "mix": """
fn $mix(a: T, b: T, t: T) -> T {
    return a * (T(1) - t) + b * t;
}""",
    # Python's rules: a nan stays where the comparison with it fails. Without the test that says so
    # again, drivers take the select for their own minimum, which drops a nan.
    "min": """
fn $min(a: T, b: T) -> T {
    return select(a, b, b < a && !$isnan(a));
}""",
    "max": """
fn $max(a: T, b: T) -> T {
    return select(a, b, b > a && !$isnan(a));
}""",
    # Of many values: a nan stays, on whichever side it is.
    "smaller": """
fn $smaller(a: T, b: T) -> T {
    return select(a, b, b < a || $isnan(b));
}""",
    "larger": """
fn $larger(a: T, b: T) -> T {
    return select(a, b, b > a || $isnan(b));
}""",
    "clamp": """
fn $clamp(x: T, low: T, high: T) -> T {
    return $min($max(x, low), high);
}""",
    "saturate": """
fn $saturate(x: T) -> T {
    return $clamp(x, T(0), T(1));
}""",
    "sign": """
fn $sign(x: T) -> T {
    return select(select(T(0), T(-1), x < T(0)), T(1), x > T(0));
}""",
    "fract": """
fn $fract(x: T) -> T {
    return x - floor(x);
}""",
    "smoothstep": """
fn $smoothstep(low: T, high: T, x: T) -> T {
    let t = $saturate((x - low) / (high - low));
    return t * t * (T(3) - T(2) * t);
}""",
}

_F32 = {
    **_FLOAT,
    # A compiler must not see that these are constants: it would refuse them.
    "inf": """
fn $inf() -> f32 {
    var bits = 0x7f800000u;
    return bitcast<f32>(bits);
}""",
    "nan": """
fn $nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}""",
    # `x != x` is folded to false by drivers, hence the bits.
    "isnan": """
fn $isnan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}""",
    "isinf": """
fn $isinf(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}""",
    "isfinite": """
fn $isfinite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}""",
    "to_bool": """
fn $to_bool(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) != 0u;
}""",
    # Truncates and saturates; the limit is the largest f32 that fits.
    "to_i32": """
fn $to_i32(x: f32) -> i32 {
    return select(i32(clamp(x, -2147483648.0, 2147483520.0)), 0i, $isnan(x));
}""",
    "to_u32": """
fn $to_u32(x: f32) -> u32 {
    return select(u32(clamp(x, 0.0, 4294967040.0)), 0u, $isnan(x));
}""",
    "copysign": """
fn $copysign(size: f32, sign: f32) -> f32 {
    return bitcast<f32>(
        (bitcast<u32>(size) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}""",
    # exp(x) - 1 loses all digits near 0; there, Taylor's series.
    "expm1": """
fn $expm1(x: f32) -> f32 {
    if (abs(x) < 0.5) {
        let tail = 0.0083333333 + x * (0.0013888889 + x * (0.00019841270 + x * 0.000024801587));
        return x * (1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666667 + x * tail))));
    }
    return select(exp(x) - 1.0, x, $isnan(x));
}""",
    # log(1 + x) = 2 atanh(x / (2 + x)), by the series of atanh where x is small.
    "log1p": """
fn $log1p(x: f32) -> f32 {
    if (abs(x) < 0.4) {
        let s = x / (2.0 + x);
        let q = s * s;
        let tail = 0.14285714 + q * (0.11111111 + q * 0.090909091);
        return 2.0 * s * (1.0 + q * (0.33333333 + q * (0.2 + q * tail)));
    }
    return log(1.0 + x);
}""",
    "log10": """
fn $log10(x: f32) -> f32 {
    return log(x) * 0.43429448;
}""",
    # WGSL's pow knows no negative base, and drivers differ at 0, inf and nan.
    "pow": """
fn $pow(x: f32, y: f32) -> f32 {
    if (x == 1.0 || y == 0.0) {
        return 1.0;
    }
    if ($isnan(x) || $isnan(y)) {
        return $nan();
    }
    let size = abs(x);
    let whole = floor(y) == y;
    let odd = whole && abs(y) < 16777216.0 && floor(y * 0.5) * 2.0 < y;
    var result = 1.0;
    if (size == 0.0 || $isinf(x)) {
        result = select(0.0, $inf(), (size == 0.0) == (y < 0.0));
    } else if ($isinf(y) && !(size == 1.0)) {
        result = select(0.0, $inf(), (size > 1.0) == (y > 0.0));
    } else if (x < 0.0 && !whole) {
        return $nan();
    } else if (!(size == 1.0)) {
        result = pow(size, y);
    }
    return select(result, -result, odd && (bitcast<u32>(x) >> 31u) == 1u);
}""",
    # WGSL's atan2 is undefined at (0, 0); infinities and the signs of zeros as in Python.
    "atan2": """
fn $atan2(y: f32, x: f32) -> f32 {
    if ($isnan(x) || $isnan(y)) {
        return $nan();
    }
    let across = abs(x);
    let up = abs(y);
    let large = $max(across, up);
    var ratio = 1.0;
    if (large == 0.0) {
        ratio = 0.0;
    } else if (!(across == up)) {
        ratio = $min(across, up) / large;
    }
    var angle = atan(ratio);
    if (up > across) {
        angle = 1.5707964 - angle;
    }
    if ((bitcast<u32>(x) >> 31u) == 1u) {
        angle = 3.1415927 - angle;
    }
    return $copysign(angle, y);
}""",
    # Near 0 the difference of exponentials loses all digits; there, Taylor's series.
    "sinh": """
fn $sinh(x: f32) -> f32 {
    let size = abs(x);
    if (size < 1.0) {
        let q = x * x;
        let tail = 0.0083333333 + q * (0.00019841270 + q * 0.0000027557319);
        return x * (1.0 + q * (0.16666667 + q * tail));
    }
    // The root of exp(size), since sinh is finite a little further than exp.
    let root = exp(0.5 * size);
    let result = 0.5 * root * root - 0.5 / root / root;
    return select($copysign(result, x), x, $isnan(x));
}""",
    # Drivers overflow to nan from 89 on; the result is 1 long before.
    "tanh": """
fn $tanh(x: f32) -> f32 {
    return select(tanh(clamp(x, -10.0, 10.0)), x, $isnan(x));
}""",
    # The polynomials are those of numerics.erf; in f32 the absolute error is below 5e-7.
    "erf": """
fn $erf(x: f32) -> f32 {
    if (abs(x) < 0.5) {
        return x * $erf_ratio(x * x);
    }
    return $copysign(1.0 - $erfc_tail(abs(x)), x);
}""",
    "erfc": """
fn $erfc(x: f32) -> f32 {
    if (abs(x) < 0.5) {
        return 1.0 - x * $erf_ratio(x * x);
    }
    let tail = $erfc_tail(abs(x));
    return select(tail, 2.0 - tail, x < 0.0);
}""",
    # erf(x) / x as a polynomial of x * x, for |x| below 0.55.
    "erf_ratio": """
fn $erf_ratio(q: f32) -> f32 {
    let high = 0.11282127 + q * (-0.026710225 + q * 0.0046207597);
    return 1.1283792 + q * (-0.37612576 + q * high);
}""",
    # erfc(size), for sizes from 0.4 on.
    "erfc_tail": """
fn $erfc_tail(size: f32) -> f32 {
    if (!(size < 12.0)) {
        return select(0.0, size, $isnan(size));
    }
    let t = 2.0 / (2.0 + size);
    let high = 2.1582899 + t * (-1.1718827 + t * 0.24881957);
    let middle = -0.37647489 + t * (0.74398026 + t * (-1.8497953 + t * high));
    let fit = -1.2655331 + t * (1.0006341 + t * (0.3666952 + t * (0.14529271 + t * middle)));
    return t * exp(fit - size * size);
}""",
    "hypot": """
fn $hypot(x: f32, y: f32) -> f32 {
    if ($isinf(x) || $isinf(y)) {
        return $inf();
    }
    if ($isnan(x) || $isnan(y)) {
        return $nan();
    }
    let large = $max(abs(x), abs(y));
    let ratio = $min(abs(x), abs(y)) / large;
    return select(large * sqrt(1.0 + ratio * ratio), large, large == 0.0);
}""",
    # Rounds the bits by hand: what pack2x16float does past the largest f16 is open.
    "quantize_to_f16": """
fn $quantize_to_f16(x: f32) -> f32 {
    let size = abs(x);
    if ($isnan(x)) {
        return x;
    }
    var result = $inf();
    if (size < 0.00006103515625) {
        result = round(size * 16777216.0) / 16777216.0;
    } else if (size < 65520.0) {
        let bits = bitcast<u32>(size);
        result = bitcast<f32>((bits + 0xfffu + ((bits >> 13u) & 1u)) & 0xffffe000u);
    }
    return $copysign(result, x);
}""",
    # In three steps, each by a power of two that is a normal number.
    "ldexp": """
fn $ldexp(x: f32, exponent: i32) -> f32 {
    let e = clamp(exponent, -300, 300);
    let first = e / 3;
    let second = (e - first) / 2;
    let third = e - first - second;
    return x * bitcast<f32>((first + 127) << 23u) * bitcast<f32>((second + 127) << 23u)
        * bitcast<f32>((third + 127) << 23u);
}""",
}

_TEXTS: dict[str, dict[str, str]] = {"i32": _INTEGER, "u32": _UNSIGNED, "f32": _F32, "f16": _FLOAT}

_SUFFIX = {I32: "", U32: "u", F32: ".0", F16: ".0h"}

_NUMBER = re.compile(r"\bT\((-?\d+)\)")
_CALL = re.compile(r"\$(\w+)")
_CALLED = re.compile(r"(\w+)\(")


class Prelude:
    """The functions that one text needs, in an order in which each stands before its callers."""

    def __init__(self, author_names: AbstractSet[str]) -> None:
        self._author_names = author_names
        self._names: dict[tuple[str, tuple[Type, ...]], str] = {}
        self._used: set[str] = set()
        self.functions: list[str] = []

    def use(self, name: str, *types: Type) -> str:
        """Return the WGSL name of function `name` for arguments of `types`."""
        key = (name, types)
        if key not in self._names:
            self._names[key] = self.declare(spelling(name, types))
            self.functions.append(self._text(name, types))
        return self._names[key]

    def declare(self, name: str) -> str:
        """Return a module-scope name, as close to `name` as there is a free one."""
        unique = fresh(name, self._author_names, self._used)
        self._used.add(unique)
        return unique

    def called(self) -> set[str]:
        """Return the names of what the functions call, WGSL's own among them."""
        return {name for text in self.functions for name in _CALLED.findall(text)}

    def _text(self, name: str, types: tuple[Type, ...]) -> str:
        scalar = scalar_of(types[0]) if types else F32
        assert scalar is not None
        if any(isinstance(type_, Vector) for type_ in types):
            return self._by_component(name, types)
        text = _TEXTS[str(scalar)].get(name)
        if text is None:
            return self._through_f32(name, types)
        self_name = self._names[name, types]

        def callee(match: re.Match[str]) -> str:
            other = match[1]
            if other == name:
                return self_name
            return self.use(other) if other in ("inf", "nan") else self.use(other, scalar)

        text = _NUMBER.sub(lambda match: match[1] + _SUFFIX[scalar], _CALL.sub(callee, text))
        return re.sub(r"\bT\b", str(scalar), text).strip()

    def _through_f32(self, name: str, types: tuple[Type, ...]) -> str:
        wide = tuple(F32 if type_ is F16 else type_ for type_ in types)
        args = ", ".join(
            f"f32({_letter(i)})" if type_ is F16 else _letter(i) for i, type_ in enumerate(types)
        )
        result = _result(name, F16)
        value = f"{self.use(name, *wide)}({args})"
        if result is F16:
            value = f"f16({value})"
        return f"{self._header(name, types, result)} {{\n    return {value};\n}}"

    def _by_component(self, name: str, types: tuple[Type, ...]) -> str:
        vector = next(type_ for type_ in types if isinstance(type_, Vector))
        scalars = tuple(type_.scalar if isinstance(type_, Vector) else type_ for type_ in types)
        first = scalars[0]
        assert isinstance(first, Scalar)
        function = self.use(name, *scalars)
        calls = []
        for component in "xyzw"[: vector.width]:
            args = ", ".join(
                f"{_letter(i)}.{component}" if isinstance(type_, Vector) else _letter(i)
                for i, type_ in enumerate(types)
            )
            calls.append(f"{function}({args})")
        result = with_scalar(vector, _result(name, first))
        body = f"    return {result}({', '.join(calls)});"
        return f"{self._header(name, types, result)} {{\n{body}\n}}"

    def _header(self, name: str, types: tuple[Type, ...], result: Type) -> str:
        params = ", ".join(f"{_letter(i)}: {type_}" for i, type_ in enumerate(types))
        return f"fn {self._names[name, types]}({params}) -> {result}"


def spelling(name: str, types: tuple[Type, ...]) -> str:
    """Return a function's name: `floor_div_i32`; a conversion says both types, `f32_to_i32`."""
    if not types:
        return name
    kind = re.sub(r"\W+", "_", str(types[0])).strip("_")
    return f"{kind}_{name}" if name.startswith("to_") else f"{name}_{kind}"


def _letter(position: int) -> str:
    return "abcd"[position]


def _result(name: str, scalar: Scalar) -> Scalar:
    """The scalar type that a function gives for arguments of a scalar type."""
    text = _TEXTS[str(scalar)].get(name) or _F32[name]
    result = text.partition(") -> ")[2].split()[0]
    if result == "T" or (result == "f32" and scalar is F16):
        return scalar
    return {str(s): s for s in (BOOL, I32, U32, F32)}[result]

"""WGSL's arithmetic on NumPy arrays, where NumPy does not have it already.

Functions work element by element on scalars or arrays of int32, uint32, float32, float16 or bool
and keep that dtype. They are the reference's meaning of an operator or builtin; the WGSL of
`pywgsl.codegen.prelude` computes the same, bit for bit where semantics allow.

Vectors have their components along the last axis, matrices their columns along the last but one;
a scalar beside a vector has a last axis of length 1. Constants are written with a dtype, because
NumPy 1 would otherwise widen scalars. Infinities and nans are results like any other: who calls
these functions holds `np.errstate(all="ignore")`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_LIMITS = {
    np.dtype(np.int32): (-2147483648.0, 2147483520.0),
    np.dtype(np.uint32): (0.0, 4294967040.0),
}


def convert(value: Any, dtype: Any) -> Any:
    """Return `value` as `dtype`: floats to integers truncate and saturate, and nan gives 0."""
    array, dtype = np.asarray(value), np.dtype(dtype)
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f" and dtype in _LIMITS:
            low, high = _LIMITS[dtype]
            wide = array.astype(np.float32) if array.dtype == np.float16 else array
            clipped = np.minimum(np.maximum(wide, _constant(wide, low)), _constant(wide, high))
            return where(np.isnan(wide), _constant(wide, 0), clipped).astype(dtype)[()]
        return array.astype(dtype)[()]


def _constant(like: Any, value: float) -> Any:
    """Return `value` as a scalar of the dtype of `like`."""
    return np.asarray(like).dtype.type(value)


def _is_float(x: Any) -> bool:
    return bool(np.asarray(x).dtype.kind == "f")


# --------------------------------------------------------------------------------- choices

_BITS: dict[int, Any] = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32)}
# Below this NumPy's own function costs less than the calls of ours.
_FEW = 1024


def where(test: Any, accept: Any, reject: Any) -> Any:
    """`np.where`, but without its branch for each element, which makes it slow.

    Both values have one dtype. They are chosen from by their bits.
    """
    dtype = getattr(accept, "dtype", None)
    bits = _BITS.get(dtype.itemsize) if dtype is not None and dtype.names is None else None
    few = max(np.size(test), np.size(accept), np.size(reject)) < _FEW
    if few or bits is None or dtype != getattr(reject, "dtype", None):
        return np.where(test, accept, reject)[()]
    if dtype == np.bool_:
        return (accept & test) | (reject & ~test)
    chosen, other = accept.view(bits), reject.view(bits)
    flags = np.asarray(test).view(np.int8)
    if np.ndim(other) == 0 and other == 0:
        return (chosen & (-flags).astype(bits)).view(dtype)
    if np.ndim(chosen) == 0 and chosen == 0:
        return (other & (flags - np.int8(1)).astype(bits)).view(dtype)
    return ((chosen ^ other) & (-flags).astype(bits) ^ other).view(dtype)


# -------------------------------------------------------------------------------- operators


def floor_div(a: Any, b: Any) -> Any:
    """Python's `//`; an integer divided by zero stays what it is."""
    if _is_float(a):
        return np.floor(a / b)
    return where(b == 0, a, np.floor_divide(a, b))


def floor_mod(a: Any, b: Any) -> Any:
    """Python's `%`; an integer modulo zero is zero."""
    if _is_float(a):
        return a - b * np.floor(a / b)
    if np.ndim(b) == 0 and b != 0:
        # NumPy divides by one number faster than it takes remainders.
        return a - np.floor_divide(a, b) * b
    return np.remainder(a, b)


def trunc_div(a: Any, b: Any) -> Any:
    """WGSL's integer `/`, which rounds toward zero; by zero it gives the dividend."""
    quotient = np.floor_divide(a, b)
    inexact = (a - quotient * b != 0) & ((a < 0) != (b < 0))
    return where(b == 0, a, quotient + inexact.astype(quotient.dtype))


def trunc_rem(a: Any, b: Any) -> Any:
    """WGSL's `%`, which has the dividend's sign; by zero an integer one is zero."""
    if _is_float(a):
        return a - b * np.trunc(a / b)
    remainder = floor_mod(a, b)
    opposite = (remainder != 0) & ((a < 0) != (b < 0))
    return where(opposite, remainder - b, remainder)


def power(x: Any, y: Any) -> Any:
    """Python's `**`, except that an integer to a negative power is 1 and nothing raises."""
    if _is_float(x):
        return np.power(x, y)
    return np.power(x, np.maximum(y, _constant(y, 0)))


def whole_power(x: Any, exponent: int) -> Any:
    """`x ** 3` or `x ** 4` by multiplication."""
    square = x * x
    return square * x if exponent == 3 else square * square


def shift_left(x: Any, count: Any) -> Any:
    """`x << count`, with the low five bits of the count."""
    return x << (count & _constant(count, 31)).astype(x.dtype)


def shift_right(x: Any, count: Any) -> Any:
    """`x >> count`, with the low five bits of the count; arithmetic on int32."""
    return x >> (count & _constant(count, 31)).astype(x.dtype)


# ------------------------------------------------------------------------------- any number


def minimum(a: Any, b: Any) -> Any:
    """Python's `min(a, b)`: the first unless the second is smaller, so nan in the first stays."""
    smaller = np.minimum(a, b)
    return smaller if _is_plain(b) or _is_settled(smaller) else where(b < a, b, a)


def maximum(a: Any, b: Any) -> Any:
    """Python's `max(a, b)`: the first unless the second is larger."""
    larger = np.maximum(a, b)
    return larger if _is_plain(b) or _is_settled(larger) else where(b > a, b, a)


def _is_plain(b: Any) -> bool:
    """Whether NumPy's and Python's order agree on `b`: no nan, and no zero to tell from -0."""
    return not _is_float(b) or (np.ndim(b) == 0 and b == b and b != 0)


def _is_settled(chosen: Any) -> bool:
    """Whether NumPy chose as Python does: there is no nan, and no zero to tell from -0."""
    return bool(np.all(np.abs(chosen) > 0))


def clamp(x: Any, low: Any, high: Any) -> Any:
    """`min(max(x, low), high)`."""
    return minimum(maximum(x, low), high)


def sign(x: Any) -> Any:
    """-1, 0 or 1; of nan 0."""
    dtype = np.asarray(x).dtype
    return np.greater(x, 0).astype(dtype) - np.less(x, 0).astype(dtype)


def select(reject: Any, accept: Any, condition: Any) -> Any:
    """`accept` where the condition holds, else `reject`."""
    return where(condition, accept, reject)


# ----------------------------------------------------------------------------------- floats


def fract(x: Any) -> Any:
    """`x - floor(x)`."""
    return x - np.floor(x)


def saturate(x: Any) -> Any:
    """Clamp to 0…1."""
    return clamp(x, _constant(x, 0), _constant(x, 1))


def inverse_sqrt(x: Any) -> Any:
    """`1 / sqrt(x)`."""
    return _constant(x, 1) / np.sqrt(x)


def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded twice."""
    return a * b + c


def mix(a: Any, b: Any, t: Any) -> Any:
    """`a * (1 - t) + b * t`."""
    return a * (_constant(t, 1) - t) + b * t


def step(edge: Any, x: Any) -> Any:
    """1 where `edge <= x`, else 0."""
    return np.less_equal(edge, x).astype(np.asarray(x).dtype)


def smoothstep(low: Any, high: Any, x: Any) -> Any:
    """Rise smoothly from 0 at `low` to 1 at `high`."""
    t = saturate((x - low) / (high - low))
    return t * t * (_constant(t, 3) - _constant(t, 2) * t)


def quantize_to_f16(x: Any) -> Any:
    """Round to the nearest float16; too large gives inf."""
    return np.asarray(x).astype(np.float16).astype(np.float32)[()]


# erfc(z) = t * exp(-z*z + p(t)) with t = 2 / (2 + z), z >= 0.4: within 2e-9 of the value.
_ERFC = (
    *(0.248819567581, -1.17188270113, 2.15828988873, -1.84979533993, 0.743980262923),
    *(-0.376474890068, 0.145292710327, 0.366695159369, 1.00063408628, -1.26553310572),
)
# erf(x) = x * q(x*x), |x| <= 0.55: within 4e-9 of the value.
_ERF = (0.0046207596851, -0.0267102252067, 0.112821266822, -0.376125763899, 1.12837916333)
_ERF_SMALL = 0.5


def erf(x: Any) -> Any:
    """The error function."""
    wide = np.asarray(x, np.float64)
    size = np.abs(wide)
    large = np.copysign(1.0 - _erfc_tail(size), wide)
    result = np.where(size < _ERF_SMALL, wide * _polynomial(_ERF, wide * wide), large)
    return result.astype(np.asarray(x).dtype)[()]


def erfc(x: Any) -> Any:
    """`1 - erf(x)`, also where that is tiny."""
    wide = np.asarray(x, np.float64)
    size = np.abs(wide)
    tail = _erfc_tail(size)
    small = 1.0 - wide * _polynomial(_ERF, wide * wide)
    result = np.where(size < _ERF_SMALL, small, np.where(wide < 0.0, 2.0 - tail, tail))
    return result.astype(np.asarray(x).dtype)[()]


def _erfc_tail(size: Any) -> Any:
    t = 2.0 / (2.0 + size)
    return t * np.exp(_polynomial(_ERFC, t) - size * size)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    result = coefficients[0] * x + coefficients[1]
    for coefficient in coefficients[2:]:
        result = result * x + coefficient
    return result


# --------------------------------------------------------------------------------- integers


def count_one_bits(x: Any) -> Any:
    """How many bits are 1."""
    return _on_bits(_population, x)


def count_leading_zeros(x: Any) -> Any:
    """How many bits above the highest 1."""
    return _on_bits(_leading_zeros, x)


def count_trailing_zeros(x: Any) -> Any:
    """How many bits below the lowest 1."""
    return _on_bits(_trailing_zeros, x)


def first_leading_bit(x: Any) -> Any:
    """The index of the highest bit that is not a sign bit, or -1."""
    bits = np.where(np.less(x, 0), ~np.asarray(x), x)
    return _on_bits(lambda u: np.uint32(31) - _leading_zeros(u), bits)


def first_trailing_bit(x: Any) -> Any:
    """The index of the lowest 1, or -1."""
    return _on_bits(lambda u: np.where(u == 0, np.uint32(0xFFFFFFFF), _trailing_zeros(u)), x)


def reverse_bits(x: Any) -> Any:
    """The bits in reverse order."""
    return _on_bits(_reversed, x)


def extract_bits(x: Any, offset: Any, count: Any) -> Any:
    """`count` bits from `offset` up, sign-extended for int32."""
    dtype = np.asarray(x).dtype
    start, width = _bit_range(offset, count)
    high = (np.uint32(32) - start - width).astype(dtype)
    low = (np.uint32(32) - width).astype(dtype)
    return np.where(width == 0, dtype.type(0), (x << high) >> low)[()]


def insert_bits(x: Any, new: Any, offset: Any, count: Any) -> Any:
    """`x` with `count` bits from `offset` up replaced by the low bits of `new`."""
    start, width = _bit_range(offset, count)
    # NumPy shifts everything out where the count is 32: a width of 32 makes all ones.
    mask = ((np.uint32(1) << width) - np.uint32(1)) << start
    return _on_bits(lambda u: (u & ~mask) | ((_bits(new) << start) & mask), x)


def bitcast(x: Any, dtype: Any, was_vector: bool, becomes_vector: bool) -> Any:
    """The bits of `x` as numbers of another size: a vector of two f16 is one of 32 bits."""
    bits = np.array(x if was_vector else np.asarray(x)[..., None], order="C").view(dtype)
    return bits if becomes_vector else bits[..., 0]


def _bit_range(offset: Any, count: Any) -> tuple[Any, Any]:
    start = np.minimum(offset, np.uint32(32))
    return start, np.minimum(count, np.uint32(32) - start)


def _bits(x: Any) -> Any:
    return np.asarray(x).view(np.uint32)


def _on_bits(function: Callable[[Any], Any], x: Any) -> Any:
    """Apply a function of uint32 to the bits of `x` and return the result in its dtype."""
    return np.asarray(function(_bits(x))).view(np.asarray(x).dtype)[()]


def _population(u: Any) -> Any:
    u = u - ((u >> np.uint32(1)) & np.uint32(0x55555555))
    u = (u & np.uint32(0x33333333)) + ((u >> np.uint32(2)) & np.uint32(0x33333333))
    u = (u + (u >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    return (u * np.uint32(0x01010101)) >> np.uint32(24)


def _leading_zeros(u: Any) -> Any:
    for distance in (1, 2, 4, 8, 16):
        u = u | (u >> np.uint32(distance))
    return np.uint32(32) - _population(u)


def _trailing_zeros(u: Any) -> Any:
    return _population(~u & (u - np.uint32(1)))


def _reversed(u: Any) -> Any:
    masks = (0x55555555, 0x33333333, 0x0F0F0F0F, 0x00FF00FF, 0x0000FFFF)
    for position, mask in enumerate(map(np.uint32, masks)):
        distance = np.uint32(1 << position)
        u = ((u >> distance) & mask) | ((u & mask) << distance)
    return u


# -------------------------------------------------------------------- vectors and matrices


def all_(x: Any) -> Any:
    """Whether every component holds."""
    return np.all(x, axis=-1)


def any_(x: Any) -> Any:
    """Whether some component holds."""
    return np.any(x, axis=-1)


def dot(a: Any, b: Any) -> Any:
    """The sum of the products of components, first to last."""
    products = np.asarray(a) * np.asarray(b)
    total = products[..., 0]
    for component in range(1, products.shape[-1]):
        total = total + products[..., component]
    return total


def cross(a: Any, b: Any) -> Any:
    """The cross product."""
    ax, ay, az = np.moveaxis(np.asarray(a), -1, 0)
    bx, by, bz = np.moveaxis(np.asarray(b), -1, 0)
    return np.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), axis=-1)


def length(v: Any) -> Any:
    """The Euclidean length (of a single number its size)."""
    return np.sqrt(dot(v, v)) if np.ndim(v) else np.abs(v)


def distance(a: Any, b: Any) -> Any:
    """The length of the difference."""
    return length(np.asarray(a) - np.asarray(b))


def normalize(v: Any) -> Any:
    """The vector of length 1 in the same direction."""
    return np.asarray(v) / np.sqrt(dot(v, v))[..., None]


def reflect(v: Any, normal: Any) -> Any:
    """The reflection of `v` at the plane with this normal."""
    across = dot(normal, v)[..., None]
    return v - _constant(v, 2) * across * normal


def refract(v: Any, normal: Any, ratio: Any) -> Any:
    """The refraction of `v` at a surface, or zero where all of it is reflected."""
    one = _constant(v, 1)
    across = dot(normal, v)[..., None]
    k = one - ratio * ratio * (one - across * across)
    bent = ratio * v - (ratio * across + np.sqrt(k)) * normal
    return np.where(k < 0, _constant(v, 0), bent)


def face_forward(normal: Any, incident: Any, reference: Any) -> Any:
    """`normal` where the incident vector points against the reference, else its opposite."""
    return np.where(dot(incident, reference)[..., None] < 0, normal, np.negative(normal))


def transpose(m: Any) -> Any:
    """The matrix with rows as columns."""
    return np.swapaxes(m, -1, -2)


def determinant(m: Any) -> Any:
    """The determinant, by its first column."""
    m = np.asarray(m)
    if m.shape[-1] == 2:
        return m[..., 0, 0] * m[..., 1, 1] - m[..., 1, 0] * m[..., 0, 1]
    total = _constant(m, 0)
    for row in range(m.shape[-1]):
        minor = determinant(np.delete(m[..., 1:, :], row, axis=-1))
        term = m[..., 0, row] * minor
        total = total - term if row % 2 else total + term
    return total


def matrix_vector(m: Any, v: Any) -> Any:
    """`m * v`: the columns of `m`, each times a component of `v`."""
    total = m[..., 0, :] * v[..., 0, None]
    for column in range(1, m.shape[-2]):
        total = total + m[..., column, :] * v[..., column, None]
    return total


def vector_matrix(v: Any, m: Any) -> Any:
    """`v * m`: the product of `v` with each column of `m`."""
    return dot(v[..., None, :], m)


def matrix_matrix(a: Any, b: Any) -> Any:
    """`a * b`: `a` times each column of `b`."""
    return matrix_vector(a[..., None, :, :], b)


# ----------------------------------------------------------------------------------- packing


def pack4x8unorm(v: Any) -> Any:
    """Four floats of 0…1 as 8 bits each."""
    return _pack_bytes(clamp(v, np.float32(0), np.float32(1)), 255)


def pack4x8snorm(v: Any) -> Any:
    """Four floats of -1…1 as 8 bits each."""
    return _pack_bytes(clamp(v, np.float32(-1), np.float32(1)), 127)


def unpack4x8unorm(u: Any) -> Any:
    """Four floats of 0…1 from 8 bits each."""
    return _unpack_bytes(u, np.uint8) / np.float32(255)


def unpack4x8snorm(u: Any) -> Any:
    """Four floats of -1…1 from 8 bits each."""
    return maximum(_unpack_bytes(u, np.int8) / np.float32(127), np.float32(-1))


def pack2x16float(v: Any) -> Any:
    """Two floats as f16 bits, the first lowest."""
    halves = np.asarray(v).astype(np.float16).view(np.uint16).astype(np.uint32)
    return halves[..., 0] | (halves[..., 1] << np.uint32(16))


def unpack2x16float(u: Any) -> Any:
    """Two floats from f16 bits, the lowest first."""
    halves = np.asarray(u)[..., None] >> np.array([0, 16], np.uint32)
    return halves.astype(np.uint16).view(np.float16).astype(np.float32)


def _pack_bytes(v: Any, scale: float) -> Any:
    rounded = np.floor(np.float32(0.5) + np.float32(scale) * v)
    parts = convert(rounded, np.int32).view(np.uint32) & np.uint32(255)
    return dot(parts, np.array([1, 1 << 8, 1 << 16, 1 << 24], np.uint32))


def _unpack_bytes(u: Any, dtype: Any) -> Any:
    parts = np.asarray(u)[..., None] >> np.array([0, 8, 16, 24], np.uint32)
    return parts.astype(np.uint8).view(dtype).astype(np.float32)

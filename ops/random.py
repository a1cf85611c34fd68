"""Random numbers from a counter, and dropout: the same on every device, bit for bit.

The generator is Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1,
2, 3, 2011). It maps a counter of 128 bits and a key of 64 to four words of 32 bits. Here the seed
is the key, lower half first, and the counter is (b, 0, stream, 0), lowest word first. Of an array
of n elements, seen as four rows of B = ⌈n / 4⌉, block b gives column b its words; stream, 0…2³²-1,
tells apart arrays that are drawn with one seed. So element i has word i // B of block i mod B,
however a kernel is launched: equal seeds and streams give equal numbers, and others unrelated ones.
"""

import math

import pywgsl as pw
from pywgsl import Array, f32, i32, u32
from pywgsl.ops.arrays import (
    BOOLEAN,
    A,
    AnyArray,
    T,
    booleans,
    flat,
    floats,
    in_place,
    outs,
    result,
    same_device,
    same_shape,
)

# ----------------------------------------------------------------------------------- generator

# What Philox multiplies by, and what it adds to the key in every round: the golden ratio and √3-1.
_MULTIPLIER_0, _MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
_STEP_0, _STEP_1 = 0x9E3779B9, 0xBB67AE85


@pw.function
def _high_word(a: u32, b: u32) -> u32:
    """The upper 32 bits of the 64-bit product."""
    low = (a & 0xFFFF) * (b & 0xFFFF)
    first = (a >> 16) * (b & 0xFFFF) + (low >> 16)
    second = (a & 0xFFFF) * (b >> 16) + (first & 0xFFFF)
    return (a >> 16) * (b >> 16) + (first >> 16) + (second >> 16)


@pw.function
def philox(counter: pw.vec4u, key: pw.vec2u) -> pw.vec4u:
    """Four random words for a counter and a key: Philox 4x32-10."""
    for _ in range(10):
        high_0, low_0 = _high_word(counter.x, u32(_MULTIPLIER_0)), counter.x * _MULTIPLIER_0
        high_1, low_1 = _high_word(counter.z, u32(_MULTIPLIER_1)), counter.z * _MULTIPLIER_1
        counter = pw.vec4u(high_1 ^ counter.y ^ key.x, low_1, high_0 ^ counter.w ^ key.y, low_0)
        key = pw.vec2u(key.x + _STEP_0, key.y + _STEP_1)
    return counter


# ------------------------------------------------------------------------------------- kernels


@pw.function
def _block(block: i32, stream: u32, seed: pw.vec2u) -> pw.vec4u:
    """The words of a block: those of the elements b, b + B, b + 2 B and b + 3 B."""
    return philox(pw.vec4u(u32(block), u32(0), stream, u32(0)), seed)


@pw.function
def _fraction(word: u32) -> f32:
    """A multiple of 2⁻²⁴ from 0 up to but without 1."""
    return f32(word >> 8) * 2.0**-24


@pw.kernel
def uniform_fill(
    x: Array[f32], seed: pw.vec2u, stream: u32 = 0, low: f32 = 0.0, high: f32 = 1.0
) -> None:
    """`x = low + (high - low) u`, with u one of the 2²⁴ multiples of 2⁻²⁴ in 0…1, without 1.

    Shapes: x [n]. Launch over ⌈n / 4⌉. O(n).
    """
    block, blocks = pw.global_id.x, (x.size + 3) // 4
    words = _block(block, stream, seed)
    for k in pw.static_range(4):
        i = block + k * blocks
        if i < x.size:
            x[i] = low + (high - low) * _fraction(words[k])


@pw.kernel
def normal_fill(
    x: Array[f32], seed: pw.vec2u, stream: u32 = 0, mean: f32 = 0.0, std: f32 = 1.0
) -> None:
    """`x = mean + std z`, with z from the standard normal distribution.

    By Box and Muller: two fractions u, v give √(-2 log(1 - u)) cos t and … sin t, t = π (2 v - 1).
    So |z| is at most 5.8. Shapes: x [n]. Launch over ⌈n / 4⌉. O(n).
    """
    block, blocks = pw.global_id.x, (x.size + 3) // 4
    words = _block(block, stream, seed)
    for k in pw.static_range(4):
        i = block + k * blocks
        if i < x.size:
            pair = k // 2 * 2
            radius = pw.sqrt(-2.0 * pw.log(1.0 - _fraction(words[pair])))
            angle = math.pi * (2.0 * _fraction(words[pair + 1]) - 1.0)
            z = radius * (pw.cos(angle) if k % 2 == 0 else pw.sin(angle))
            x[i] = mean + std * z


@pw.kernel
def dropout_forward(
    x: Array[T],
    output: Array[T],
    mask: Array[bool],
    threshold: u32,
    scale: f32,
    seed: pw.vec2u,
    stream: u32 = 0,
) -> None:
    """`output = scale x` where `mask`, else 0; mask where the element's word is ≥ threshold.

    A scale of 0 drops everything, whatever the threshold. Shapes: [n]. Launch over ⌈n / 4⌉. O(n).
    After `dropout` of RUMUS, whose masks for seeds near each other are permutations of one another,
    and which multiplies by infinity if everything is dropped.
    """
    block, blocks = pw.global_id.x, (x.size + 3) // 4
    words = _block(block, stream, seed)
    for k in pw.static_range(4):
        i = block + k * blocks
        if i < x.size:
            kept = scale > 0.0 and words[k] >= threshold
            mask[i] = kept
            output[i] = T(scale * f32(x[i])) if kept else T(0.0)


@pw.kernel
def dropout_gradient(
    grad_output: Array[T], mask: Array[bool], grad_input: Array[T], scale: f32
) -> None:
    """`grad_input = scale grad_output` where `mask`, else 0. Arrays [n], O(n)."""
    i = pw.global_id.x
    grad_input[i] = T(scale * f32(grad_output[i])) if mask[i] else T(0.0)


# ----------------------------------------------------------------------------------- functions


def uniform_(x: A, seed: int, low: float = 0.0, high: float = 1.0, *, stream: int = 0) -> None:
    """Fill an array of f32 with numbers of low…high, all equally likely. O(n).

    Bounds of 0 and 1 give the same bits on every device, and never 1.

    Args:
        x: what to fill, of any shape.
        seed: 0…2⁶⁴-1.
        low: the lower bound.
        high: the upper bound.
        stream: 0…2³²-1; tells apart arrays with one seed.

    Raises:
        LaunchError: x is not f32 or not contiguous.
        ValueError: the seed or the stream is out of range.
    """
    in_place("uniform_", x=x)
    key = _key("uniform_", seed, stream)
    uniform_fill[_blocks(x)](flat(x), key, stream, low, high)


def normal_(x: A, seed: int, mean: float = 0.0, std: float = 1.0, *, stream: int = 0) -> None:
    """Fill an array of f32 with numbers from a normal distribution. O(n).

    Devices differ by the rounding of logarithms, sines and cosines.

    Args:
        x: what to fill, of any shape.
        seed: 0…2⁶⁴-1.
        mean: the mean of the distribution.
        std: its standard deviation.
        stream: 0…2³²-1; tells apart arrays with one seed.

    Raises:
        LaunchError: x is not f32 or not contiguous.
        ValueError: the seed or the stream is out of range.
    """
    in_place("normal_", x=x)
    key = _key("normal_", seed, stream)
    normal_fill[_blocks(x)](flat(x), key, stream, mean, std)


def dropout(
    x: A, p: float, seed: int, *, stream: int = 0, out: tuple[A, A] | None = None
) -> tuple[A, A]:
    """Return x with some elements 0 and the others divided by 1 - p, and which those are. O(n).

    As `torch.native_dropout` in training, with a seed of its own.

    Args:
        x: f32 or f16, of any shape.
        p: the probability of an element to become 0, 0…1, in steps of 2⁻³².
        seed: 0…2⁶⁴-1; take another one, or another stream, for each layer and step.
        stream: 0…2³²-1.
        out: where to write the result and the mask, both of the shape of x, the mask of bool.

    Raises:
        LaunchError: the arrays do not fit, or have other dtypes.
        ValueError: p, the seed or the stream is out of range.
    """
    (x,) = floats("dropout", x=x)
    scale, key = _scale("dropout", p), _key("dropout", seed, stream)
    out_y, out_mask = outs("dropout", out, 2)
    y = result("dropout", x, x.shape, out_y, x.dtype)
    mask = result("dropout", x, x.shape, out_mask, BOOLEAN)
    threshold = min(round(p * 2**32), 2**32 - 1)
    dropout_forward[_blocks(x)](flat(x), flat(y), flat(mask), threshold, scale, key, stream)
    return y, mask


def dropout_backward(grad: A, mask: A, p: float, *, out: A | None = None) -> A:
    """Return the gradient by x of `dropout(x, p, seed)`. O(n).

    Args:
        grad: the gradient by the first result.
        mask: the second result.
        p: what `dropout` took.
        out: where to write the gradient.

    Raises:
        LaunchError: the arrays do not fit, or have other dtypes.
        ValueError: p is outside of 0…1.
    """
    name = "dropout_backward"
    (grad,) = floats(name, grad=grad)
    mask = booleans(name, "mask", mask)
    same_device(name, grad=grad, mask=mask)
    same_shape(name, grad=grad, mask=mask)
    scale = _scale(name, p)
    output = result(name, grad, grad.shape, out, grad.dtype)
    dropout_gradient[output.size](flat(grad), flat(mask), flat(output), scale)
    return output


def _blocks(array: AnyArray) -> int:
    """Return how many blocks of four elements an array has."""
    return -(-array.size // 4)


def _key(function: str, seed: int, stream: int) -> tuple[int, int]:
    """Check a seed and a stream, and return the key of the generator."""
    if not 0 <= seed < 2**64:
        raise ValueError(f"{function}: `seed` is 0…2⁶⁴-1, not {seed}")
    if not 0 <= stream < 2**32:
        raise ValueError(f"{function}: `stream` is 0…2³²-1, not {stream}")
    return seed % 2**32, seed // 2**32


def _scale(function: str, p: float) -> float:
    """Return what dropout multiplies the elements by that stay."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{function}: `p` is 0…1, not {p}")
    return 0.0 if p == 1.0 else 1.0 / (1.0 - p)

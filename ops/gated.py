"""Activations of the form x times a gate: SiLU, GELU and SwiGLU. `activations` has the rest.

The conventions are those of `activations`.
"""

import math
from typing import Literal

import pywgsl as pw
from pywgsl import Array, f32
from pywgsl.ops.arrays import A, elementwise, flat, operands, outs, result, same_shape

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_1_OVER_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_CUBIC = 0.044715

# Beyond this, the GELUs are 0 or x in f32. Squares and cubes of larger numbers may overflow.
_GELU_END = 10.0


@pw.function
def logistic(x: f32) -> f32:
    """1 / (1 + exp(-x)); the exponential never overflows."""
    z = pw.exp(-abs(x))
    return (1.0 if x >= 0.0 else z) / (1.0 + z)


# -------------------------------------------------------------------------------------- SiLU


@pw.kernel
def silu_forward(x: Array[f32], output: Array[f32]) -> None:
    """`output = x s`, with s = 1 / (1 + exp(-x)). Arrays [n], O(n).

    After `swish_main` (activation_functions of ruv-FANN) and meganeura's `silu`.
    """
    i = pw.global_id.x
    value = x[i]
    output[i] = value * logistic(value)


@pw.kernel
def silu_gradient(grad_output: Array[f32], x: Array[f32], grad_input: Array[f32]) -> None:
    """`grad_input = grad_output (s + x s (1 - s))`, with s = 1 / (1 + exp(-x)).

    Arrays [n], O(n). After meganeura's `silu_grad`.
    """
    i = pw.global_id.x
    value = x[i]
    gate = logistic(value)
    grad_input[i] = grad_output[i] * (gate + value * gate * (1.0 - gate))


def silu(x: A, *, out: A | None = None) -> A:
    """Return x / (1 + exp(-x)), as `torch.nn.functional.silu`; x of any shape. O(n)."""
    return elementwise("silu", silu_forward, out, x=x)


def silu_backward(grad: A, x: A, *, out: A | None = None) -> A:
    """Return the gradient by x of `silu(x)`, given that by its result. O(n)."""
    return elementwise("silu_backward", silu_gradient, out, grad=grad, x=x)


# -------------------------------------------------------------------------------------- GELU


@pw.kernel
def gelu_forward(x: Array[f32], output: Array[f32]) -> None:
    """`output = x Φ(x)`, with Φ the normal distribution function. Arrays [n], O(n).

    Φ(x) is computed as erfc(-x / √2) / 2, which keeps its digits where it is small. No original has
    the exact form.
    """
    i = pw.global_id.x
    value = x[i]
    output[i] = 0.5 * value * pw.erfc(-value * _SQRT_HALF)


@pw.kernel
def gelu_gradient(grad_output: Array[f32], x: Array[f32], grad_input: Array[f32]) -> None:
    """`grad_input = grad_output (Φ(x) + x φ(x))`, with φ the normal density. Arrays [n], O(n)."""
    i = pw.global_id.x
    value = x[i]
    near = pw.clamp(value, -_GELU_END - 4.0, _GELU_END + 4.0)
    density = _1_OVER_SQRT_2PI * pw.exp(-0.5 * near * near)
    grad_input[i] = grad_output[i] * (0.5 * pw.erfc(-value * _SQRT_HALF) + near * density)


@pw.function
def _gelu_tanh(x: f32) -> f32:
    """The tanh in the approximation; x is not far from 0."""
    return pw.tanh(_SQRT_2_OVER_PI * (x + _CUBIC * x * x * x))


@pw.kernel
def gelu_tanh_forward(x: Array[f32], output: Array[f32]) -> None:
    """`output = x (1 + t) / 2`, with t = tanh(√(2/π) (x + 0.044715 x³)). Arrays [n], O(n).

    After `gelu_main` (advanced_operations of ruv-FANN), meganeura's `gelu`, RUMUS's
    `gelu_kernel` and gpu.cpp's `kShaderGelu`, which all compute this. x is cut to -10…10 inside t,
    which is ±1 there.
    """
    i = pw.global_id.x
    value = x[i]
    output[i] = 0.5 * value * (1.0 + _gelu_tanh(pw.clamp(value, -_GELU_END, _GELU_END)))


@pw.kernel
def gelu_tanh_gradient(grad_output: Array[f32], x: Array[f32], grad_input: Array[f32]) -> None:
    """`grad_input = grad_output ((1 + t) / 2 + x (1 - t²) √(2/π) (1 + 3·0.044715 x²) / 2)`.

    Arrays [n], O(n). t as in `gelu_tanh_forward`. After RUMUS's `gelu_backward_kernel` and
    gpu.cpp's `kShaderGeluBackward`. meganeura differentiates another function than its
    forward pass computes, x / (1 + exp(-1.702 x)), and is off by up to 0.029.
    """
    i = pw.global_id.x
    near = pw.clamp(x[i], -_GELU_END, _GELU_END)
    t = _gelu_tanh(near)
    inner = _SQRT_2_OVER_PI * (1.0 + 3.0 * _CUBIC * near * near)
    grad_input[i] = grad_output[i] * 0.5 * (1.0 + t + near * (1.0 - t * t) * inner)


Approximation = Literal["none", "tanh"]


def gelu(x: A, approximate: Approximation = "none", *, out: A | None = None) -> A:
    """Return the Gaussian error linear unit, as `torch.nn.functional.gelu`.

    Args:
        x: of any shape.
        approximate: `"none"` for x Φ(x); `"tanh"` for GPT-2's approximation of it.
        out: where to write the result.

    Raises:
        ValueError: there is no such approximation.
    """
    _check_approximation("gelu", approximate)
    kernel = gelu_tanh_forward if approximate == "tanh" else gelu_forward
    return elementwise("gelu", kernel, out, x=x)


def gelu_backward(grad: A, x: A, approximate: Approximation = "none", *, out: A | None = None) -> A:
    """Return the gradient by x of `gelu(x, approximate)`, given that by its result. O(n).

    Raises:
        ValueError: there is no such approximation.
    """
    _check_approximation("gelu_backward", approximate)
    kernel = gelu_tanh_gradient if approximate == "tanh" else gelu_gradient
    return elementwise("gelu_backward", kernel, out, grad=grad, x=x)


def _check_approximation(function: str, approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise ValueError(f"{function}: `approximate` is 'none' or 'tanh', not {approximate!r}")


# ------------------------------------------------------------------------------------ SwiGLU


@pw.kernel
def swiglu_forward(gate: Array[f32], up: Array[f32], output: Array[f32]) -> None:
    """`output = g s up`, with g the gate and s = 1 / (1 + exp(-g)). Arrays [n], O(n).

    After meganeura's `swiglu`.
    """
    i = pw.global_id.x
    g = gate[i]
    output[i] = g * logistic(g) * up[i]


@pw.kernel
def swiglu_gradient(
    grad_output: Array[f32],
    gate: Array[f32],
    up: Array[f32],
    grad_gate: Array[f32],
    grad_up: Array[f32],
) -> None:
    """`grad_gate = grad_output up (s + g s (1 - s))`, `grad_up = grad_output g s`.

    Arrays [n], O(n); g and s as in `swiglu_forward`. After meganeura's
    `swiglu_grad_gate` and `swiglu_grad_up`, in one pass.
    """
    i = pw.global_id.x
    g = gate[i]
    open_ = logistic(g)
    grad = grad_output[i]
    grad_gate[i] = grad * up[i] * (open_ + g * open_ * (1.0 - open_))
    grad_up[i] = grad * g * open_


def swiglu(gate: A, up: A, *, out: A | None = None) -> A:
    """Return `silu(gate) * up`, the gated unit of Llama's feed-forward layers.

    Args:
        gate: of any shape.
        up: of the same shape.
        out: where to write the result, of that shape.
    """
    return elementwise("swiglu", swiglu_forward, out, gate=gate, up=up)


def swiglu_backward(grad: A, gate: A, up: A, *, out: tuple[A, A] | None = None) -> tuple[A, A]:
    """Return the gradients by gate and up of `swiglu(gate, up)`, given that by its result. O(n).

    Args:
        grad: the gradient by the result, of any shape.
        gate: what `swiglu` took, of the same shape.
        up: what `swiglu` took, of the same shape.
        out: where to write the two gradients.
    """
    name = "swiglu_backward"
    grad, gate, up = operands(name, grad=grad, gate=gate, up=up)
    same_shape(name, grad=grad, gate=gate, up=up)
    grad_gate, grad_up = (result(name, gate, gate.shape, o) for o in outs(name, out, 2))
    arrays = map(flat, (grad, gate, up, grad_gate, grad_up))
    swiglu_gradient[gate.size](*arrays)
    return grad_gate, grad_up

"""Activations and their gradients, as PyTorch has them.

Kernels work on flat arrays [n] of f32, one invocation an element, O(n). Forward kernels take
`x` and write `output`. Gradient kernels take `grad_output`, the gradient of the loss by the
output, and what the forward pass saved: its input `x`, or its `output` where the derivative is
simpler in it. Numbers have no units.

The functions on arrays take any shape and return a new array of that shape beside their input, or
`out`. They raise `LaunchError` (a TypeError and ValueError) if arrays are not f32, differ in shape
or device, or if `out` is an input. Not-a-number goes in and comes out, as in PyTorch.

GELU, SiLU and SwiGLU are in `gated` and those of FANN, with a steepness, in `fann`.
"""

import pywgsl as pw
from pywgsl import Array, f32
from pywgsl.ops.arrays import A, elementwise
from pywgsl.ops.gated import (
    gelu,
    gelu_backward,
    gelu_forward,
    gelu_gradient,
    gelu_tanh_forward,
    gelu_tanh_gradient,
    logistic,
    silu,
    silu_backward,
    silu_forward,
    silu_gradient,
    swiglu,
    swiglu_backward,
    swiglu_forward,
    swiglu_gradient,
)

__all__ = [
    "elu",
    "elu_backward",
    "elu_forward",
    "elu_gradient",
    "gelu",
    "gelu_backward",
    "gelu_forward",
    "gelu_gradient",
    "gelu_tanh_forward",
    "gelu_tanh_gradient",
    "hardtanh",
    "hardtanh_backward",
    "hardtanh_forward",
    "hardtanh_gradient",
    "leaky_relu",
    "leaky_relu_backward",
    "leaky_relu_forward",
    "leaky_relu_gradient",
    "linear_activation",
    "linear_gradient",
    "relu",
    "relu_backward",
    "relu_forward",
    "relu_gradient",
    "sigmoid",
    "sigmoid_backward",
    "sigmoid_forward",
    "sigmoid_gradient",
    "silu",
    "silu_backward",
    "silu_forward",
    "silu_gradient",
    "softplus",
    "softplus_backward",
    "softplus_forward",
    "softplus_gradient",
    "softsign",
    "softsign_backward",
    "softsign_forward",
    "softsign_gradient",
    "swiglu",
    "swiglu_backward",
    "swiglu_forward",
    "swiglu_gradient",
    "tanh",
    "tanh_backward",
    "tanh_forward",
    "tanh_gradient",
]

# ----------------------------------------------------------------------------------- sigmoid


@pw.kernel
def sigmoid_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = 1 / (1 + exp(-steepness x))`. Arrays [n], O(n).

    After `sigmoid_main` (activation_functions of ruv-FANN), which cuts steepness·x to -10…10 and
    so ends at 0.99995.
    """
    i = pw.global_id.x
    output[i] = logistic(steepness * x[i])


@pw.kernel
def sigmoid_gradient(
    grad_output: Array[f32], output: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · output (1 - output) steepness`. Arrays [n], O(n).

    After `sigmoid_gradient_main` (gradient_operations of ruv-FANN), which computes the same. This
    is the derivative by ruv-FANN's x; FANN's own sigmoid has twice the steepness.
    """
    i = pw.global_id.x
    y = output[i]
    grad_input[i] = grad_output[i] * (y * (1.0 - y) * steepness)


def sigmoid(x: A, *, out: A | None = None) -> A:
    """Return 1 / (1 + exp(-x)), as `torch.sigmoid`; x of any shape. O(n)."""
    return elementwise("sigmoid", sigmoid_forward, out, x=x)


def sigmoid_backward(grad: A, output: A, *, out: A | None = None) -> A:
    """Return the gradient by x of `output = sigmoid(x)`, given that by `output`. O(n)."""
    return elementwise("sigmoid_backward", sigmoid_gradient, out, grad=grad, output=output)


# -------------------------------------------------------------------------------------- tanh


@pw.kernel
def tanh_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = tanh(steepness x)`. Arrays [n], O(n).

    After `tanh_main` (activation_functions of ruv-FANN), which cuts steepness·x to -5…5 and so ends
    at 0.99991.
    """
    i = pw.global_id.x
    output[i] = pw.tanh(steepness * x[i])


@pw.kernel
def tanh_gradient(
    grad_output: Array[f32], output: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · steepness (1 - output²)`. Arrays [n], O(n).

    After `tanh_gradient_main` (gradient_operations of ruv-FANN), which computes the same.
    """
    i = pw.global_id.x
    y = output[i]
    grad_input[i] = grad_output[i] * (steepness * (1.0 - y * y))


def tanh(x: A, *, out: A | None = None) -> A:
    """Return the hyperbolic tangent, as `torch.tanh`; x of any shape. O(n)."""
    return elementwise("tanh", tanh_forward, out, x=x)


def tanh_backward(grad: A, output: A, *, out: A | None = None) -> A:
    """Return the gradient by x of `output = tanh(x)`, given that by `output`. O(n)."""
    return elementwise("tanh_backward", tanh_gradient, out, grad=grad, output=output)


# ---------------------------------------------------------------------------- rectified units


@pw.kernel
def relu_forward(x: Array[f32], output: Array[f32]) -> None:
    """`output = max(x, 0)`. Arrays [n], O(n).

    After `relu_main` (activation_functions of ruv-FANN). WGSL's own `max`, which the originals
    use, may turn nan into 0; this one keeps it.
    """
    i = pw.global_id.x
    output[i] = max(x[i], 0.0)


@pw.kernel
def relu_gradient(grad_output: Array[f32], x: Array[f32], grad_input: Array[f32]) -> None:
    """`grad_input = grad_output` where x > 0, else 0; x may be the output too. Arrays [n], O(n).

    After `relu_gradient_main` (gradient_operations of ruv-FANN), which multiplies by 0 and 1: an
    infinite gradient becomes nan where x is negative, and where x is nan the gradient is lost.
    """
    i = pw.global_id.x
    grad = grad_output[i]
    grad_input[i] = 0.0 if x[i] <= 0.0 else grad


def relu(x: A, *, out: A | None = None) -> A:
    """Return max(x, 0), as `torch.relu`; x of any shape. O(n)."""
    return elementwise("relu", relu_forward, out, x=x)


def relu_backward(grad: A, x: A, *, out: A | None = None) -> A:
    """Return the gradient by x of `relu(x)`, given that by its result; 0 at 0. O(n).

    Args:
        grad: the gradient by the result.
        x: what `relu` took, or what it returned.
        out: where to write the gradient.
    """
    return elementwise("relu_backward", relu_gradient, out, grad=grad, x=x)


@pw.kernel
def leaky_relu_forward(x: Array[f32], output: Array[f32], negative_slope: f32 = 0.01) -> None:
    """`output = x` where x > 0, else negative_slope · x. Arrays [n], O(n).

    After `leaky_relu_main` (activation_functions of ruv-FANN), which computes the same.
    """
    i = pw.global_id.x
    value = x[i]
    output[i] = value if value > 0.0 else negative_slope * value


@pw.kernel
def leaky_relu_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], negative_slope: f32 = 0.01
) -> None:
    """`grad_input = grad_output` where x > 0, else negative_slope · grad_output. Arrays [n], O(n).

    After `leaky_relu_gradient_main` (gradient_operations of ruv-FANN), which computes the same; it
    is given outputs for x, whose signs are those of x only if the slope is positive.
    """
    i = pw.global_id.x
    grad = grad_output[i]
    grad_input[i] = grad if x[i] > 0.0 else negative_slope * grad


def leaky_relu(x: A, negative_slope: float = 0.01, *, out: A | None = None) -> A:
    """Return x where it is positive, else negative_slope · x; x of any shape. O(n)."""
    return elementwise("leaky_relu", leaky_relu_forward, out, negative_slope, x=x)


def leaky_relu_backward(grad: A, x: A, negative_slope: float = 0.01, *, out: A | None = None) -> A:
    """Return the gradient by x of `leaky_relu(x)`, given that by its result. O(n).

    Args:
        grad: the gradient by the result.
        x: what `leaky_relu` took, or for a positive slope what it returned.
        negative_slope: as in `leaky_relu`.
        out: where to write the gradient.
    """
    return elementwise(
        "leaky_relu_backward", leaky_relu_gradient, out, negative_slope, grad=grad, x=x
    )


@pw.kernel
def elu_forward(x: Array[f32], output: Array[f32], alpha: f32 = 1.0) -> None:
    """`output = x` where x > 0, else alpha (exp(x) - 1). Arrays [n], O(n)."""
    i = pw.global_id.x
    value = x[i]
    output[i] = alpha * pw.expm1(value) if value <= 0.0 else value


@pw.kernel
def elu_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], alpha: f32 = 1.0
) -> None:
    """`grad_input = grad_output` where x > 0, else grad_output · alpha exp(x). Arrays [n], O(n)."""
    i = pw.global_id.x
    value = x[i]
    grad = grad_output[i]
    grad_input[i] = grad * alpha * pw.exp(value) if value <= 0.0 else grad


def elu(x: A, alpha: float = 1.0, *, out: A | None = None) -> A:
    """Return x where it is positive, else alpha (exp(x) - 1); x of any shape. O(n)."""
    return elementwise("elu", elu_forward, out, alpha, x=x)


def elu_backward(grad: A, x: A, alpha: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `elu(x, alpha)`, given that by its result. O(n)."""
    return elementwise("elu_backward", elu_gradient, out, alpha, grad=grad, x=x)


@pw.kernel
def softplus_forward(
    x: Array[f32], output: Array[f32], beta: f32 = 1.0, threshold: f32 = 20.0
) -> None:
    """`output = log(1 + exp(beta x)) / beta`, and x itself where beta x > threshold.

    Arrays [n], O(n). Computed as (max(z, 0) + log(1 + exp(-|z|))) / beta with z = beta x, which
    neither overflows nor loses digits.
    """
    i = pw.global_id.x
    value = x[i]
    z = beta * value
    smooth = (max(z, 0.0) + pw.log1p(pw.exp(-abs(z)))) / beta
    output[i] = value if z > threshold else smooth


@pw.kernel
def softplus_gradient(
    grad_output: Array[f32],
    x: Array[f32],
    grad_input: Array[f32],
    beta: f32 = 1.0,
    threshold: f32 = 20.0,
) -> None:
    """`grad_input = grad_output / (1 + exp(-beta x))`, and grad_output where beta x > threshold.

    Arrays [n], O(n).
    """
    i = pw.global_id.x
    z = beta * x[i]
    slope = logistic(z)
    grad_input[i] = grad_output[i] * (1.0 if z > threshold else slope)


def softplus(x: A, beta: float = 1.0, threshold: float = 20.0, *, out: A | None = None) -> A:
    """Return log(1 + exp(beta x)) / beta, as `torch.nn.functional.softplus`. O(n).

    Args:
        x: of any shape.
        beta: how sharp the bend is; not 0.
        threshold: the result is x where beta x is larger.
        out: where to write the result.
    """
    return elementwise("softplus", softplus_forward, out, beta, threshold, x=x)


def softplus_backward(
    grad: A, x: A, beta: float = 1.0, threshold: float = 20.0, *, out: A | None = None
) -> A:
    """Return the gradient by x of `softplus(x, …)`, given that by its result. O(n)."""
    return elementwise("softplus_backward", softplus_gradient, out, beta, threshold, grad=grad, x=x)


# ---------------------------------------------------------------------------- bounded and cut


@pw.kernel
def hardtanh_forward(
    x: Array[f32], output: Array[f32], min_val: f32 = -1.0, max_val: f32 = 1.0
) -> None:
    """`output = x` cut to min_val…max_val. Arrays [n], O(n)."""
    i = pw.global_id.x
    output[i] = pw.clamp(x[i], min_val, max_val)


@pw.kernel
def hardtanh_gradient(
    grad_output: Array[f32],
    x: Array[f32],
    grad_input: Array[f32],
    min_val: f32 = -1.0,
    max_val: f32 = 1.0,
) -> None:
    """`grad_input = grad_output` strictly between min_val and max_val, else 0. Arrays [n], O(n)."""
    i = pw.global_id.x
    value = x[i]
    grad = grad_output[i]
    grad_input[i] = 0.0 if value <= min_val or value >= max_val else grad


def hardtanh(x: A, min_val: float = -1.0, max_val: float = 1.0, *, out: A | None = None) -> A:
    """Return x cut to min_val…max_val, as `torch.nn.functional.hardtanh`; any shape. O(n)."""
    return elementwise("hardtanh", hardtanh_forward, out, min_val, max_val, x=x)


def hardtanh_backward(
    grad: A, x: A, min_val: float = -1.0, max_val: float = 1.0, *, out: A | None = None
) -> A:
    """Return the gradient by x of `hardtanh(x, …)`, given that by its result. O(n)."""
    return elementwise(
        "hardtanh_backward", hardtanh_gradient, out, min_val, max_val, grad=grad, x=x
    )


@pw.kernel
def softsign_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = z / (1 + |z|)`, with z = steepness x. Arrays [n], O(n).

    After `elliott_symmetric_main` (activation_functions of ruv-FANN), which computes the same.
    """
    i = pw.global_id.x
    z = steepness * x[i]
    output[i] = z / (1.0 + abs(z))


@pw.kernel
def softsign_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · steepness / (1 + |z|)²`, with z = steepness x. O(n)."""
    i = pw.global_id.x
    slope = 1.0 / (1.0 + abs(steepness * x[i]))
    grad_input[i] = grad_output[i] * (steepness * slope * slope)


def softsign(x: A, *, out: A | None = None) -> A:
    """Return x / (1 + |x|), as `torch.nn.functional.softsign`; x of any shape. O(n)."""
    return elementwise("softsign", softsign_forward, out, x=x)


def softsign_backward(grad: A, x: A, *, out: A | None = None) -> A:
    """Return the gradient by x of `softsign(x)`, given that by its result. O(n)."""
    return elementwise("softsign_backward", softsign_gradient, out, grad=grad, x=x)


# ------------------------------------------------------------------------------------ linear


@pw.kernel
def linear_activation(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = steepness x`. Arrays [n], O(n). After `linear_main` of ruv-FANN."""
    i = pw.global_id.x
    output[i] = steepness * x[i]


@pw.kernel
def linear_gradient(grad_output: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0) -> None:
    """`grad_input = grad_output · steepness`. Arrays [n], O(n).

    After `linear_gradient_main` (gradient_operations of ruv-FANN), which computes the same.
    """
    i = pw.global_id.x
    grad_input[i] = grad_output[i] * steepness

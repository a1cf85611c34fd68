"""FANN's activations, with a steepness, and their gradients.

`from pywgsl.ops import fann`, then `fann.gaussian(x, steepness)`: some names mean something else in
PyTorch, so these stay in their module. The formulas are those of ruv-FANN's activation_functions,
which has no gradient kernels for them; with z = steepness x:

    sigmoid   1 / (1 + exp(-z))          linear           z
    tanh      tanh(z)
    gaussian  exp(-z²)                   gaussian_symmetric      2 exp(-z²) - 1
    elliott   z / (2 (1 + |z|)) + 1/2    elliott_symmetric       z / (1 + |z|)
    sin       sin(z) / 2 + 1/2           sin_symmetric           sin(z)
    cos       cos(z) / 2 + 1/2           cos_symmetric           cos(z)
    linear_piece  z cut to 0…1           linear_piece_symmetric  z cut to -1…1
    threshold     1 where x >= 0, else 0 threshold_symmetric     1 where x >= 0, else -1

The kernels ..._forward(x, output, …) and ..._gradient(grad_output, x, grad_input, …) work on flat
arrays [n] of f32, O(n). The conventions are those of `activations`. (The sigmoid that C's FANN
calls so is this one with twice the steepness.)
"""

import pywgsl as pw
from pywgsl import Array, f32
from pywgsl.ops.activations import (
    linear_activation,
    linear_gradient,
    sigmoid_forward,
    sigmoid_gradient,
    softsign_forward,
    softsign_gradient,
    tanh_forward,
    tanh_gradient,
)
from pywgsl.ops.arrays import A, elementwise

# --------------------------------------------------------------- sigmoid, tanh, linear, elliott


def sigmoid(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the logistic function of steepness x."""
    return elementwise("fann.sigmoid", sigmoid_forward, out, steepness, x=x)


def sigmoid_backward(grad: A, output: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `output = sigmoid(x, steepness)`, given that by `output`."""
    return elementwise(
        "fann.sigmoid_backward", sigmoid_gradient, out, steepness, grad=grad, output=output
    )


def tanh(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the hyperbolic tangent of steepness x."""
    return elementwise("fann.tanh", tanh_forward, out, steepness, x=x)


def tanh_backward(grad: A, output: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `output = tanh(x, steepness)`, given that by `output`."""
    return elementwise(
        "fann.tanh_backward", tanh_gradient, out, steepness, grad=grad, output=output
    )


def linear(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return steepness x."""
    return elementwise("fann.linear", linear_activation, out, steepness, x=x)


def linear_backward(grad: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `linear(x, steepness)`, given that by its result."""
    return elementwise("fann.linear_backward", linear_gradient, out, steepness, grad=grad)


@pw.kernel
def elliott_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = z / (2 (1 + |z|)) + 1/2`."""
    i = pw.global_id.x
    z = steepness * x[i]
    output[i] = 0.5 * z / (1.0 + abs(z)) + 0.5


@pw.kernel
def elliott_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · steepness / (2 (1 + |z|)²)`."""
    i = pw.global_id.x
    slope = 1.0 / (1.0 + abs(steepness * x[i]))
    grad_input[i] = grad_output[i] * (0.5 * steepness * slope * slope)


def elliott(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return z / (2 (1 + |z|)) + 1/2, a sigmoid without an exponential."""
    return elementwise("fann.elliott", elliott_forward, out, steepness, x=x)


def elliott_backward(grad: A, x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `elliott(x, steepness)`, given that by its result."""
    return elementwise("fann.elliott_backward", elliott_gradient, out, steepness, grad=grad, x=x)


def elliott_symmetric(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return z / (1 + |z|); with steepness 1, PyTorch's softsign."""
    return elementwise("fann.elliott_symmetric", softsign_forward, out, steepness, x=x)


def elliott_symmetric_backward(grad: A, x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `elliott_symmetric(x, steepness)`, given that by its result."""
    return elementwise(
        "fann.elliott_symmetric_backward", softsign_gradient, out, steepness, grad=grad, x=x
    )


# ---------------------------------------------------------------------------------- gaussian


@pw.kernel
def gaussian_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = exp(-z²)`."""
    i = pw.global_id.x
    z = steepness * x[i]
    output[i] = pw.exp(-z * z)


@pw.kernel
def gaussian_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · -2 steepness z exp(-z²)`; ruv-FANN's CPU code forgets the x."""
    i = pw.global_id.x
    z = pw.clamp(steepness * x[i], -20.0, 20.0)
    grad_input[i] = grad_output[i] * (-2.0 * steepness * z * pw.exp(-z * z))


def gaussian(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return exp(-z²)."""
    return elementwise("fann.gaussian", gaussian_forward, out, steepness, x=x)


def gaussian_backward(grad: A, x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `gaussian(x, steepness)`, given that by its result."""
    return elementwise("fann.gaussian_backward", gaussian_gradient, out, steepness, grad=grad, x=x)


@pw.kernel
def gaussian_symmetric_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = 2 exp(-z²) - 1`."""
    i = pw.global_id.x
    z = steepness * x[i]
    output[i] = 2.0 * pw.exp(-z * z) - 1.0


@pw.kernel
def gaussian_symmetric_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · -4 steepness z exp(-z²)`."""
    i = pw.global_id.x
    z = pw.clamp(steepness * x[i], -20.0, 20.0)
    grad_input[i] = grad_output[i] * (-4.0 * steepness * z * pw.exp(-z * z))


def gaussian_symmetric(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return 2 exp(-z²) - 1."""
    return elementwise("fann.gaussian_symmetric", gaussian_symmetric_forward, out, steepness, x=x)


def gaussian_symmetric_backward(
    grad: A, x: A, steepness: float = 1.0, *, out: A | None = None
) -> A:
    """Return the gradient by x of `gaussian_symmetric(x, steepness)`, given that by its result."""
    return elementwise(
        "fann.gaussian_symmetric_backward",
        gaussian_symmetric_gradient,
        out,
        steepness,
        grad=grad,
        x=x,
    )


# ------------------------------------------------------------------------------ sine and cosine


@pw.kernel
def sin_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = sin(z) / 2 + 1/2`."""
    i = pw.global_id.x
    output[i] = 0.5 * pw.sin(steepness * x[i]) + 0.5


@pw.kernel
def sin_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · steepness cos(z) / 2`."""
    i = pw.global_id.x
    grad_input[i] = grad_output[i] * (0.5 * steepness * pw.cos(steepness * x[i]))


def sin(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return half the sine of z, plus 1/2."""
    return elementwise("fann.sin", sin_forward, out, steepness, x=x)


def sin_backward(grad: A, x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `sin(x, steepness)`, given that by its result."""
    return elementwise("fann.sin_backward", sin_gradient, out, steepness, grad=grad, x=x)


@pw.kernel
def cos_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = cos(z) / 2 + 1/2`."""
    i = pw.global_id.x
    output[i] = 0.5 * pw.cos(steepness * x[i]) + 0.5


@pw.kernel
def cos_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · -steepness sin(z) / 2`."""
    i = pw.global_id.x
    grad_input[i] = grad_output[i] * (-0.5 * steepness * pw.sin(steepness * x[i]))


def cos(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return half the cosine of z, plus 1/2."""
    return elementwise("fann.cos", cos_forward, out, steepness, x=x)


def cos_backward(grad: A, x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `cos(x, steepness)`, given that by its result."""
    return elementwise("fann.cos_backward", cos_gradient, out, steepness, grad=grad, x=x)


@pw.kernel
def sin_symmetric_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = sin(z)`."""
    i = pw.global_id.x
    output[i] = pw.sin(steepness * x[i])


@pw.kernel
def sin_symmetric_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · steepness cos(z)`."""
    i = pw.global_id.x
    grad_input[i] = grad_output[i] * (steepness * pw.cos(steepness * x[i]))


def sin_symmetric(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the sine of z."""
    return elementwise("fann.sin_symmetric", sin_symmetric_forward, out, steepness, x=x)


def sin_symmetric_backward(grad: A, x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `sin_symmetric(x, steepness)`, given that by its result."""
    return elementwise(
        "fann.sin_symmetric_backward", sin_symmetric_gradient, out, steepness, grad=grad, x=x
    )


@pw.kernel
def cos_symmetric_forward(x: Array[f32], output: Array[f32], steepness: f32 = 1.0) -> None:
    """`output = cos(z)`."""
    i = pw.global_id.x
    output[i] = pw.cos(steepness * x[i])


@pw.kernel
def cos_symmetric_gradient(
    grad_output: Array[f32], x: Array[f32], grad_input: Array[f32], steepness: f32 = 1.0
) -> None:
    """`grad_input = grad_output · -steepness sin(z)`."""
    i = pw.global_id.x
    grad_input[i] = grad_output[i] * (-steepness * pw.sin(steepness * x[i]))


def cos_symmetric(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the cosine of z."""
    return elementwise("fann.cos_symmetric", cos_symmetric_forward, out, steepness, x=x)


def cos_symmetric_backward(grad: A, x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `cos_symmetric(x, steepness)`, given that by its result."""
    return elementwise(
        "fann.cos_symmetric_backward", cos_symmetric_gradient, out, steepness, grad=grad, x=x
    )


# ---------------------------------------------------------------------- pieces and thresholds


@pw.kernel
def linear_piece_forward(
    x: Array[f32], output: Array[f32], steepness: f32 = 1.0, low: f32 = 0.0
) -> None:
    """`output = z` cut to low…1."""
    i = pw.global_id.x
    output[i] = pw.clamp(steepness * x[i], low, 1.0)


@pw.kernel
def linear_piece_gradient(
    grad_output: Array[f32],
    x: Array[f32],
    grad_input: Array[f32],
    steepness: f32 = 1.0,
    low: f32 = 0.0,
) -> None:
    """`grad_input = grad_output · steepness` where low < z < 1, else 0."""
    i = pw.global_id.x
    z = steepness * x[i]
    slope = 0.0 if z <= low or z >= 1.0 else steepness
    grad_input[i] = grad_output[i] * slope


def linear_piece(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return z cut to 0…1."""
    return elementwise("fann.linear_piece", linear_piece_forward, out, steepness, 0.0, x=x)


def linear_piece_backward(grad: A, x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return the gradient by x of `linear_piece(x, steepness)`; 0 at the ends of the piece."""
    return elementwise(
        "fann.linear_piece_backward", linear_piece_gradient, out, steepness, 0.0, grad=grad, x=x
    )


def linear_piece_symmetric(x: A, steepness: float = 1.0, *, out: A | None = None) -> A:
    """Return z cut to -1…1; with steepness 1, PyTorch's hardtanh."""
    return elementwise(
        "fann.linear_piece_symmetric", linear_piece_forward, out, steepness, -1.0, x=x
    )


def linear_piece_symmetric_backward(
    grad: A, x: A, steepness: float = 1.0, *, out: A | None = None
) -> A:
    """Return the gradient by x of `linear_piece_symmetric`; 0 at the ends of the piece."""
    return elementwise(
        "fann.linear_piece_symmetric_backward",
        linear_piece_gradient,
        out,
        steepness,
        -1.0,
        grad=grad,
        x=x,
    )


@pw.kernel
def threshold_forward(x: Array[f32], output: Array[f32], below: f32 = 0.0) -> None:
    """`output = 1` where x >= 0, `below` where x < 0; nan stays. Nowhere has it a slope."""
    i = pw.global_id.x
    value = x[i]
    output[i] = 1.0 if value >= 0.0 else below if value < 0.0 else value


def threshold(x: A, *, out: A | None = None) -> A:
    """Return 1 where x >= 0, else 0. Its gradient is 0 wherever there is one."""
    return elementwise("fann.threshold", threshold_forward, out, 0.0, x=x)


def threshold_symmetric(x: A, *, out: A | None = None) -> A:
    """Return 1 where x >= 0, else -1. Its gradient is 0 wherever there is one."""
    return elementwise("fann.threshold_symmetric", threshold_forward, out, -1.0, x=x)

"""Activations and their gradients against PyTorch, themselves and the limits of f32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops import fann
from pywgsl.ops.elementwise import scale_forward

Array = Any
Recorded = Mapping[str, np.ndarray[Any, Any]]

#: Forward and backward of each name in the recording. The backward pass takes (grad, x, output).
UNARY: dict[str, tuple[Callable[[Array], Array], Callable[[Array, Array, Array], Array]]] = {
    "sigmoid": (ops.sigmoid, lambda grad, x, y: ops.sigmoid_backward(grad, y)),
    "tanh": (ops.tanh, lambda grad, x, y: ops.tanh_backward(grad, y)),
    "relu": (ops.relu, lambda grad, x, y: ops.relu_backward(grad, x)),
    "leaky_relu": (
        lambda x: ops.leaky_relu(x, 0.2),
        lambda grad, x, y: ops.leaky_relu_backward(grad, x, 0.2),
    ),
    "silu": (ops.silu, lambda grad, x, y: ops.silu_backward(grad, x)),
    "gelu": (ops.gelu, lambda grad, x, y: ops.gelu_backward(grad, x)),
    "gelu_tanh": (
        lambda x: ops.gelu(x, "tanh"),
        lambda grad, x, y: ops.gelu_backward(grad, x, "tanh"),
    ),
    "hardtanh": (
        lambda x: ops.hardtanh(x, -0.5, 2.0),
        lambda grad, x, y: ops.hardtanh_backward(grad, x, -0.5, 2.0),
    ),
    "softsign": (ops.softsign, lambda grad, x, y: ops.softsign_backward(grad, x)),
    "softplus": (ops.softplus, lambda grad, x, y: ops.softplus_backward(grad, x)),
    "softplus_sharp": (
        lambda x: ops.softplus(x, 3.0, 5.0),
        lambda grad, x, y: ops.softplus_backward(grad, x, 3.0, 5.0),
    ),
    "elu": (lambda x: ops.elu(x, 1.5), lambda grad, x, y: ops.elu_backward(grad, x, 1.5)),
}

STEEPNESS = 0.7
FROM_OUTPUT = ("sigmoid", "tanh")
FANN = (
    *("sigmoid", "tanh", "gaussian", "gaussian_symmetric", "elliott", "elliott_symmetric"),
    *("sin", "cos", "sin_symmetric", "cos_symmetric", "linear_piece", "linear_piece_symmetric"),
)
# A device's exponential may be 1e-5 off, its sine 5e-4.
TOLERANCE = {"rtol": 2e-5, "atol": 3e-6}
LOOSE = {"rtol": 1e-4, "atol": 1e-3}

SIZES = [0, 1, 255, 256, 257, 1000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", UNARY)
def test_activations_are_torchs(
    name: str, size: int, put: Any, close: Any, recorded: Recorded
) -> None:
    forward, backward = UNARY[name]
    x, grad = put(recorded["x"][:size]), put(recorded["grad"][:size])
    output = forward(x)
    close(output, recorded[name][:size], **TOLERANCE)
    close(backward(grad, x, output), recorded[f"{name}_backward"][:size], **TOLERANCE)


@pytest.mark.parametrize("name", UNARY)
def test_special_numbers_give_what_they_give_in_torch(name: str, recorded: Recorded) -> None:
    output = UNARY[name][0](recorded["special"])
    np.testing.assert_allclose(output, recorded[f"{name}_special"], 1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [n for n in UNARY if n != "softsign"])
def test_nan_stays_on_a_gpu(name: str) -> None:
    x = pw.device("gpu").array(np.array([np.nan, 1.0], np.float32))
    assert list(np.isnan(np.asarray(UNARY[name][0](x)))) == [True, False]


@pytest.mark.parametrize("name", ["silu", "gelu", "gelu_tanh", "softplus", "elu", "tanh"])
def test_gradients_far_out_are_finite(name: str, put: Any) -> None:
    forward, backward = UNARY[name]
    x = put(np.array([-3e38, -1e20, -60.0, 60.0, 1e20, 3e38], np.float32))
    slope = np.asarray(backward(put(np.ones(6, np.float32)), x, forward(x)))
    ends = (0.0, 0.0) if name == "tanh" else (0.0, 1.0)
    np.testing.assert_allclose(slope, np.repeat(ends, 3), atol=1e-6)


def test_the_gradients_of_rectified_units_follow_their_masks() -> None:
    x = np.array([-1.0, 0.0, 2.0, np.nan], np.float32)
    grad = np.array([np.inf, np.inf, np.nan, 3.0], np.float32)
    np.testing.assert_array_equal(ops.relu_backward(grad, x), [0.0, 0.0, np.nan, 3.0])
    np.testing.assert_array_equal(ops.hardtanh_backward(grad, x), [0.0, np.inf, 0.0, 3.0])


@pytest.mark.parametrize("size", SIZES)
def test_swiglu_is_silu_times_up(size: int, put: Any, close: Any, recorded: Recorded) -> None:
    gate, up, grad = (put(recorded[n][:size]) for n in ("x", "up", "grad"))
    close(ops.swiglu(gate, up), recorded["swiglu"][:size], **TOLERANCE)
    d_gate, d_up = ops.swiglu_backward(grad, gate, up)
    close(d_gate, recorded["swiglu_gate"][:size], **TOLERANCE)
    close(d_up, recorded["swiglu_up"][:size], **TOLERANCE)


@pytest.mark.parametrize("name", FANN)
def test_fanns_activations_have_a_steepness(
    name: str, put: Any, close: Any, recorded: Recorded
) -> None:
    forward, backward = getattr(fann, name), getattr(fann, f"{name}_backward")
    tolerance = LOOSE if name.startswith(("sin", "cos")) else TOLERANCE
    # A device's sine loses its digits far out.
    near = np.abs(recorded["x"]) < (20.0 if tolerance is LOOSE else np.inf)
    x, grad = put(recorded["x"][near]), put(recorded["grad"][near])
    output = forward(x, STEEPNESS)
    close(output, recorded[f"fann_{name}"][near], **tolerance)
    slope = backward(grad, output if name in FROM_OUTPUT else x, STEEPNESS)
    close(slope, recorded[f"fann_{name}_backward"][near], **tolerance)


def test_fanns_linear_and_threshold(put: Any, close: Any) -> None:
    x = put(np.array([-2.0, -0.0, 0.0, 3.0], np.float32))
    close(fann.linear(x, 0.5), np.float32([-1.0, 0.0, 0.0, 1.5]))
    close(fann.linear_backward(x, 0.5), np.float32([-1.0, 0.0, 0.0, 1.5]))
    close(fann.threshold(x), np.float32([0.0, 1.0, 1.0, 1.0]))
    close(fann.threshold_symmetric(x), np.float32([-1.0, 1.0, 1.0, 1.0]))


def slope_by_differences(forward: Callable[[Array], Array], x: Array) -> Array:
    h = np.float32(2.0**-6)
    return (forward(x + h) - forward(x - h)) / (2.0 * h)


@pytest.mark.parametrize("name", [*UNARY, *(f"fann.{n}" for n in FANN)])
def test_a_gradient_is_the_slope_of_its_function(name: str) -> None:
    # None of the kinks, at multiples of 0.5 and 1 / 0.7, is within a step of these.
    x = np.arange(-3.13, 3.0, 0.21, np.float32)
    if name.startswith("fann."):
        plain = name.removeprefix("fann.")
        forward = partial(getattr(fann, plain), steepness=STEEPNESS)
        saved = forward(x) if plain in FROM_OUTPUT else x
        slope = getattr(fann, f"{plain}_backward")(np.ones_like(x), saved, STEEPNESS)
    else:
        forward, backward = UNARY[name]
        slope = backward(np.ones_like(x), x, forward(x))
    np.testing.assert_allclose(slope, slope_by_differences(forward, x), atol=2e-3)


# ------------------------------------------------------------------------- arrays and arguments


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 3, 4), (0, 3)])
def test_any_shape_is_kept(shape: tuple[int, ...], put: Any, close: Any) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 2.0
    close(ops.relu(put(values)), np.maximum(values, 0.0))


def test_out_takes_the_result(put: Any, close: Any) -> None:
    x, out = put(np.float32([[-1.0, 2.0]])), put(np.zeros((1, 2), np.float32))
    assert ops.relu(x, out=out) is out
    close(out, np.float32([[0.0, 2.0]]))
    pair = put(np.zeros((1, 2), np.float32)), put(np.zeros((1, 2), np.float32))
    assert ops.swiglu_backward(x, x, x, out=pair) == pair


def test_inputs_may_be_strided() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(ops.neg(x.T), -x.T)
    np.testing.assert_array_equal(ops.add(x[:, ::2], x[:, 1::2]), x[:, ::2] + x[:, 1::2])


def test_arithmetic_is_torchs(put: Any, close: Any) -> None:
    a, b = np.float32([1.0, -2.0, 0.5]), np.float32([4.0, -2.0, 0.25])
    x, y = put(a), put(b)
    close(ops.neg(x), -a)
    close(ops.abs(x), np.abs(a))
    close(ops.log(ops.abs(x)), np.log(np.abs(a)))
    close(ops.reciprocal(x), 1.0 / a)
    close(ops.add(x, y), a + b)
    close(ops.add(x, y, 2.0), a + 2.0 * b)
    close(ops.sub(x, y), a - b)
    close(ops.mul(x, y), a * b)
    close(ops.mul(x, 3), 3.0 * a)
    greater = ops.gt(x, y)
    assert greater.dtype == np.bool_
    close(greater, a > b)


X = np.zeros((2, 3), np.float32)

MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: ops.relu([1.0]),
        TypeError,
        "relu: `x` takes an array of float32, but got [1.0] (list)",
    ),
    (lambda: ops.relu(X.astype(np.float64)), TypeError, "convert it with `.astype(np.float32)`"),
    (lambda: ops.relu_backward(X, X[0]), ValueError, "`grad` has the shape (2, 3) and `x` the"),
    (lambda: ops.relu(X, out=X[0]), ValueError, "`out` should have the shape (2, 3), but has"),
    (lambda: ops.relu(X, out=X.astype(np.int32)), TypeError, "`out` takes an array of float32"),
    (lambda: ops.relu(X, out=np.zeros((3, 2), np.float32).T), ValueError, "strides are (4, 8)"),
    (lambda: ops.relu(X, out=X), ValueError, "share memory"),
    (lambda: ops.swiglu_backward(X, X, X, out=X), ValueError, "`out` takes a tuple of 2 arrays"),
    (lambda: ops.gelu(X, "erf"), ValueError, "`approximate` is 'none' or 'tanh', not 'erf'"),
]


@pytest.mark.parametrize(("call", "kind", "message"), MISTAKES)
def test_mistakes_are_reported(
    call: Callable[[], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.gpu
def test_arrays_of_two_devices_are_refused() -> None:
    on_gpu = pw.device("gpu").array(X)
    with pytest.raises(pw.LaunchError, match="put all arrays on one device"):
        ops.relu_backward(on_gpu, X)
    with pytest.raises(pw.LaunchError, match="put all arrays on one device"):
        ops.relu(X, out=on_gpu)


def test_kernels_are_launched_like_any_other(put: Any, close: Any) -> None:
    x, output = put(np.float32([1.0, 2.0, 3.0])), put(np.zeros(3, np.float32))
    scale_forward[2](x, output, 2.0)
    close(output, np.float32([2.0, 4.0, 0.0]))

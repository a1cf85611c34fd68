"""Linear layers and matrix products against PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops.linear import (
    bias_gradient,
    input_gradient,
    matrix_product,
    tiled_matrix_product,
    weight_gradient,
)

Recorded = Mapping[str, np.ndarray[Any, Any]]
LAYERS = range(6)
TOLERANCE = {"rtol": 1e-5, "atol": 2e-5}


def layer(recorded: Recorded, number: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return what was recorded of one layer, by name."""
    prefix = f"{number}_"
    return {k.removeprefix(prefix): v for k, v in recorded.items() if k.startswith(prefix)}


@pytest.mark.parametrize("number", LAYERS)
def test_layers_are_torchs(number: int, put: Any, close: Any, recorded: Recorded) -> None:
    values = layer(recorded, number)
    x, weight, bias, grad = (put(values[n]) for n in ("x", "weight", "bias", "grad"))
    close(ops.linear(x, weight, bias), values["result"], **TOLERANCE)
    close(ops.linear(x, weight), values["result"] - values["bias"], **TOLERANCE)
    for slope, name in zip(
        ops.linear_backward(grad, x, weight), ("dx", "dweight", "dbias"), strict=True
    ):
        close(slope, values[name], **TOLERANCE)


@pytest.mark.parametrize("number", [1, 2])
def test_gradients_are_slopes_of_the_layer(number: int, recorded: Recorded) -> None:
    values = layer(recorded, number)
    x, weight, bias, grad = (values[n] for n in ("x", "weight", "bias", "grad"))
    inputs, h = [x, weight, bias], np.float32(2.0**-4)
    for position, slope in enumerate(ops.linear_backward(grad, x, weight)):
        place = tuple(n // 2 for n in slope.shape)
        losses = []
        for side in (h, -h):
            moved = [value.copy() for value in inputs]
            moved[position][place] += side
            losses.append(np.sum(grad * ops.linear(*moved), dtype=np.float64))
        np.testing.assert_allclose(slope[place], (losses[0] - losses[1]) / (2 * h), rtol=1e-3)


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        *[((3, 4), (4, 5)), ((1, 1), (1, 1)), ((17, 33), (33, 16)), ((4,), (4, 5)), ((3, 4), (4,))],
        *[((4,), (4,)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 2, 4, 5))],
        *[((1, 3, 4), (2, 4, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((0, 3, 4), (0, 4, 5))],
    ],
)
def test_products_of_any_shape(
    a: tuple[int, ...],
    b: tuple[int, ...],
    transpose_a: bool,
    transpose_b: bool,
    put: Any,
    close: Any,
) -> None:
    rng = np.random.default_rng(7)
    left = rng.standard_normal(a).astype(np.float32)
    right = rng.standard_normal(b).astype(np.float32)
    given_a = np.ascontiguousarray(left.swapaxes(-1, -2)) if transpose_a and len(a) > 1 else left
    given_b = np.ascontiguousarray(right.swapaxes(-1, -2)) if transpose_b and len(b) > 1 else right
    product = ops.matmul(put(given_a), put(given_b), transpose_a, transpose_b)
    close(product, np.asarray(left @ right), **TOLERANCE)


def test_out_takes_the_results(put: Any, close: Any) -> None:
    x, weight = put(np.float32([[1.0, 2.0]])), put(np.float32([[3.0, 4.0]]))
    out = put(np.zeros((1, 1), np.float32))
    assert ops.linear(x, weight, out=out) is out
    close(out, np.float32([[11.0]]))
    assert ops.matmul(x, weight, transpose_b=True, out=out) is out
    grads = tuple(put(np.zeros(shape, np.float32)) for shape in ((1, 2), (1, 2), (1,)))
    assert ops.linear_backward(out, x, weight, out=grads) == grads
    close(grads[0], np.float32([[33.0, 44.0]]))


def test_strided_inputs_are_read_as_they_are() -> None:
    rng = np.random.default_rng(3)
    x, weight = (rng.standard_normal(s).astype(np.float32) for s in ((4, 3), (4, 5)))
    np.testing.assert_allclose(ops.linear(x.T, weight.T), x.T @ weight, rtol=1e-5, atol=1e-6)


def test_kernels_keep_the_names_and_shapes_of_the_shaders(put: Any, close: Any) -> None:
    x, grad = np.float32([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.float32([[1.0, -1.0], [2.0, 0.5]])
    weight = np.float32([[1.0, 0.0, 2.0], [-1.0, 1.0, 0.0]])
    grad_weight, grad_x, grad_bias = (put(np.zeros(s, np.float32)) for s in ((2, 3), (2, 3), 2))
    weight_gradient[3, 2](put(x), put(grad), grad_weight)
    close(grad_weight, grad.T @ x)
    input_gradient[3, 2](put(grad), put(weight), grad_x)
    close(grad_x, grad @ weight)
    bias_gradient[2](put(grad), grad_bias)
    close(grad_bias, grad.sum(0))


X, W = np.zeros((2, 3), np.float32), np.zeros((4, 3), np.float32)

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.linear(X, W.T), "rows of 4, but `x` has the shape (2, 3)"),
    (lambda: ops.linear(X, W[0]), "`weight` takes [out, in], but has the shape (3,)"),
    (lambda: ops.linear(X, W, W[0]), "`bias` should have the shape (4,), but has (3,)"),
    (lambda: ops.linear_backward(X, X, W), "`grad` should have the shape (2, 4), but has (2, 3)"),
    (lambda: ops.matmul(X, W), "do not fit: rows of 3 meet columns of 4"),
    (lambda: ops.matmul(X[None][[0, 0]], W[None][[0, 0, 0]], False, True), "leading shapes (2,)"),
    (lambda: ops.matmul(X[0, 0, ...].copy(), W), "`a` takes at least one axis"),
    (lambda: ops.matmul(X.astype(np.float64), W), "`a` takes an array of float32"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_reported(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (16, 16, 16), (17, 15, 33), (3, 40, 2)])
def test_tiles_and_single_elements_are_summed_alike(
    sizes: tuple[int, int, int], transpose_a: bool, transpose_b: bool
) -> None:
    rows, columns, depth = sizes
    random = np.random.default_rng(0)
    a = random.standard_normal((2, *((depth, rows) if transpose_a else (rows, depth))))
    b = random.standard_normal((1, *((columns, depth) if transpose_b else (depth, columns))))
    a, b = a.astype(np.float32), b.astype(np.float32)
    plain, tiled = (np.zeros((2, rows, columns), np.float32) for _ in range(2))
    matrix_product[columns, rows, 2](a, b, plain, transpose_a, transpose_b)
    tiles = pw.groups(-(-columns // 16), -(-rows // 16), 2)
    tiled_matrix_product[tiles](a, b, tiled, transpose_a, transpose_b)
    np.testing.assert_array_equal(tiled, plain)
    wanted = np.swapaxes(a, 1, 2) if transpose_a else a
    np.testing.assert_allclose(
        plain, wanted @ (np.swapaxes(b, 1, 2) if transpose_b else b), rtol=1e-4, atol=1e-5
    )

"""Layer and RMS normalization against PyTorch, finite differences, and each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops import normalization as kernels

Floats = np.ndarray[Any, Any]
Recorded = Mapping[str, Floats]

SMALL = ["3x1", "1x5", "2x63", "3x64", "2x3x65", "5x257", "4x3x5x7"]
PLAIN = [*SMALL, "530x9", "2x1030", "2x4097"]
FAR = [f"{shape}_far" for shape in SMALL]
CONSTANT = [f"{shape}_constant" for shape in SMALL]
ALL = [*PLAIN, *FAR, *CONSTANT]


def case(recorded: Recorded, name: str, keys: str) -> list[Floats]:
    return [recorded[f"{name}_{key}"] for key in keys.split()]


def backward_error(name: str) -> float:
    # A mean of 1000 is saved to the next multiple of 6e-5, and x̂ is off by half of that times r.
    return 1e-4 if name in FAR else 2e-6


# ------------------------------------------------------------------------------------ PyTorch


@pytest.mark.parametrize("name", ALL)
def test_layer_norm(name: str, put: Any, near: Any, recorded: Recorded) -> None:
    results = ops.layer_norm(*map(put, case(recorded, name, "x weight bias")))
    near(results, case(recorded, name, "y mean rstd"))


@pytest.mark.parametrize("name", ALL)
def test_layer_norm_backward(name: str, put: Any, near: Any, recorded: Recorded) -> None:
    results = ops.layer_norm_backward(*map(put, case(recorded, name, "grad x mean rstd weight")))
    near(results, case(recorded, name, "dx dweight dbias"), backward_error(name))


@pytest.mark.parametrize("name", ALL)
def test_rms_norm(name: str, put: Any, near: Any, recorded: Recorded) -> None:
    results = ops.rms_norm(*map(put, case(recorded, name, "x weight")))
    near(results, case(recorded, name, "rms_y rms_rstd"))


@pytest.mark.parametrize("name", ALL)
def test_rms_norm_backward(name: str, put: Any, near: Any, recorded: Recorded) -> None:
    results = ops.rms_norm_backward(*map(put, case(recorded, name, "grad x rms_rstd weight")))
    near(results, case(recorded, name, "rms_dx rms_dweight"))


HALVES: list[tuple[Callable[..., Any], str]] = [
    (ops.layer_norm, "x weight bias"),
    (ops.layer_norm_backward, "grad x mean rstd weight"),
    (ops.rms_norm, "x weight"),
    (ops.rms_norm_backward, "grad x rms_rstd weight"),
]


@pytest.mark.parametrize("name", ["2x63", "2x3x65", "2x4097"])
@pytest.mark.parametrize(("function", "keys"), HALVES)
def test_halves_are_computed_in_f32(
    name: str, function: Callable[..., Any], keys: str, put: Any, near: Any, recorded: Recorded
) -> None:
    named = dict(zip(keys.split(), case(recorded, name, keys), strict=True))
    halves = [a if "mean" in k or "rstd" in k else a.astype(np.float16) for k, a in named.items()]
    results = function(*map(put, halves))
    expected = function(*(a.astype(np.float32) for a in halves))
    assert results[0].dtype == np.float16
    near(results, expected, 5e-4)


# ---------------------------------------------------------------------------------- arguments


def test_weight_and_bias_may_be_missing(put: Any, near: Any, recorded: Recorded) -> None:
    x, grad, mean, rstd = case(recorded, "5x257", "x grad mean rstd")
    ones, zeros = np.ones(257, np.float32), np.zeros(257, np.float32)
    near(ops.layer_norm(put(x)), ops.layer_norm(x, ones, zeros))
    near(ops.layer_norm(put(x), bias=put(ones)), ops.layer_norm(x, ones, ones))
    near(ops.rms_norm(put(x)), ops.rms_norm(x, ones))
    saved = (grad, x, mean, rstd)
    near(ops.layer_norm_backward(*map(put, saved)), ops.layer_norm_backward(*saved, ones))
    saved = (grad, x, rstd)
    near(ops.rms_norm_backward(*map(put, saved)), ops.rms_norm_backward(*saved, ones))


def test_eps_is_added_to_the_variance(put: Any, near: Any) -> None:
    x = np.float32([[1.0, 3.0], [-2.0, 2.0]])
    near(ops.layer_norm(put(x), eps=3.0)[2:], [np.float32([[0.5], [1 / np.sqrt(7)]])])
    near(ops.rms_norm(put(x), eps=4.0)[1:], [np.float32([[1 / 3], [1 / np.sqrt(8)]])])


def test_results_are_written_to_out(put: Any, near: Any, recorded: Recorded) -> None:
    x, weight, grad, mean, rstd = map(put, case(recorded, "2x63", "x weight grad mean rstd"))
    out = tuple(put(np.zeros(shape, np.float32)) for shape in ((2, 63), (2, 1), (2, 1)))
    assert ops.layer_norm(x, weight, out=out) == out
    near(out, [np.asarray(a) for a in ops.layer_norm(x, weight)])
    out = tuple(put(np.zeros(shape, np.float32)) for shape in ((2, 63), (63,), (63,)))
    assert ops.layer_norm_backward(grad, x, mean, rstd, weight, out=out) == out
    near(out, [np.asarray(a) for a in ops.layer_norm_backward(grad, x, mean, rstd, weight)])


@pytest.mark.parametrize("shape", [(0, 5), (2, 0, 5), (3, 0)])
def test_nothing_is_normalized_to_nothing(shape: tuple[int, ...], put: Any) -> None:
    x, weight = put(np.zeros(shape, np.float32)), put(np.ones(shape[-1], np.float32))
    y, mean, rstd = ops.layer_norm(x, weight, weight)
    assert y.shape == shape
    assert mean.shape == rstd.shape == (*shape[:-1], 1)
    dx, *sums = ops.layer_norm_backward(x, x, mean, rstd, weight)
    assert dx.shape == shape
    for gradient in (*sums, ops.rms_norm_backward(x, x, rstd, weight)[1]):
        np.testing.assert_array_equal(gradient, np.zeros(shape[-1]))


def test_shapes_have_to_fit() -> None:
    x, row = np.zeros((2, 3), np.float32), np.ones(2, np.float32)
    with pytest.raises(pw.LaunchError, match=r"`weight` has the shape \(2,\), which is not that"):
        ops.layer_norm(x, row)
    with pytest.raises(pw.LaunchError, match="`x` takes at least one axis"):
        ops.rms_norm(np.float32(1.0))
    with pytest.raises(pw.LaunchError, match="`mean` should have 2 elements"):
        ops.layer_norm_backward(x, x, np.zeros(3, np.float32), row)
    with pytest.raises(pw.LaunchError, match="`grad` should have the shape"):
        ops.rms_norm_backward(x[:1], x, row)
    with pytest.raises(pw.LaunchError, match="takes an array of float32, but got one of float16"):
        ops.layer_norm(x, np.ones(3, np.float16))


# ------------------------------------------------------------------------- finite differences


def slope(function: Callable[[Floats], Floats], x: Floats, step: Floats, grad: Floats) -> float:
    """Return how fast the sum of function(x) grad grows along a step."""
    high, low = (function((x + s * step).astype(np.float32)) for s in (1e-2, -1e-2))
    return float(np.sum((high.astype(float) - low) * grad) / 2e-2)


@pytest.mark.parametrize("shape", [(3, 7), (2, 130)])
def test_gradients_are_slopes(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    x, grad, step = (rng.standard_normal(shape).astype(np.float32) for _ in range(3))
    weight, bias, row_step = (rng.standard_normal(shape[1]).astype(np.float32) for _ in range(3))
    _, mean, rstd = ops.layer_norm(x, weight, bias)
    dx, dweight, dbias = ops.layer_norm_backward(grad, x, mean, rstd, weight)
    rms_dx, rms_dweight = ops.rms_norm_backward(grad, x, ops.rms_norm(x)[1], weight)
    for function, at, along, gradient in (
        (lambda v: ops.layer_norm(v, weight, bias)[0], x, step, dx),
        (lambda v: ops.layer_norm(x, v, bias)[0], weight, row_step, dweight),
        (lambda v: ops.layer_norm(x, weight, v)[0], bias, row_step, dbias),
        (lambda v: ops.rms_norm(v, weight)[0], x, step, rms_dx),
        (lambda v: ops.rms_norm(x, v)[0], weight, row_step, rms_dweight),
    ):
        expected = slope(function, at, along, grad)
        assert np.sum(gradient * along) == pytest.approx(expected, rel=2e-3, abs=2e-3)


# ------------------------------------------------------------------------------------ kernels


@pytest.mark.parametrize("size", [1, 32, 48, 128, 256])
def test_any_size_of_a_workgroup_will_do(
    size: int, put: Any, near: Any, recorded: Recorded
) -> None:
    x, weight, bias, grad = map(put, case(recorded, "5x257", "x weight bias grad"))
    mean, rstd, rms = map(put, case(recorded, "5x257", "mean rstd rms_rstd"))
    mean, rstd, rms = (a.reshape(5) for a in (mean, rstd, rms))

    def run(kernel: pw.Kernel, *inputs: Any, numbers: tuple[float, ...] = (), rest: int = 0) -> Any:
        outputs = [put(np.zeros((5, 257), np.float32))]
        outputs += [put(np.zeros(5, np.float32)) for _ in range(rest)]
        kernel.specialize(workgroup_size=size)[pw.groups(5)](*inputs, *outputs, *numbers)
        return outputs

    forward = run(kernels.layer_norm_forward, x, weight, bias, numbers=(1e-5,), rest=2)
    y, mu, r = case(recorded, "5x257", "y mean rstd")
    near(forward, (y, mu.reshape(5), r.reshape(5)))
    by_x = run(kernels.layer_norm_grad_x, grad, x, mean, rstd, weight)
    near(by_x, case(recorded, "5x257", "dx"))
    y, r = case(recorded, "5x257", "rms_y rms_rstd")
    near(run(kernels.rms_norm_forward, x, weight, numbers=(2.0**-23,), rest=1), (y, r.reshape(5)))
    by_x = run(kernels.rms_norm_grad_x, grad, x, rms, weight)
    near(by_x, case(recorded, "5x257", "rms_dx"))


@pytest.mark.parametrize("size", [(1, 1), (4, 3), (16, 16), (32, 8)])
def test_any_size_of_a_workgroup_sums_columns(
    size: tuple[int, int], put: Any, near: Any, recorded: Recorded
) -> None:
    grad, x, mean, rstd = map(put, case(recorded, "5x257", "grad x mean rstd"))
    rms = put(recorded["5x257_rms_rstd"]).reshape(5)
    groups = pw.groups(-(-257 // size[0]))

    def run(kernel: pw.Kernel, *inputs: Any, outputs: int = 1) -> Any:
        sums = [put(np.zeros(257, np.float32)) for _ in range(outputs)]
        kernel.specialize(workgroup_size=size)[groups](*inputs, *sums)
        return sums

    saved = (mean.reshape(5), rstd.reshape(5))
    both = run(kernels.layer_norm_grad_wb, grad, x, *saved, outputs=2)
    near(both, case(recorded, "5x257", "dweight dbias"))
    near(run(kernels.rms_norm_grad_w, grad, x, rms), case(recorded, "5x257", "rms_dweight"))
    near(run(kernels.column_sums, grad), case(recorded, "5x257", "dbias"))


@pytest.mark.parametrize(("size", "items"), [(32, 9), (96, 3), (256, 2), (64, 16)])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_rows_in_registers(
    size: int, items: int, parts: int, put: Any, near: Any, recorded: Recorded
) -> None:
    grad, x, mean, rstd, weight = map(put, case(recorded, "5x257", "grad x mean rstd weight"))
    dx = put(np.zeros((5, 257), np.float32))
    partials = [put(np.zeros((parts, 257), np.float32)) for _ in range(2)]
    kernel = kernels.layer_norm_gradient.specialize(workgroup_size=size, items=items)
    saved = (mean.reshape(5), rstd.reshape(5))
    kernel[pw.groups(parts)](grad, x, *saved, weight, dx, *partials)
    sums = [np.asarray(part).sum(0) for part in partials]
    for actual, expected in zip(
        (dx, *sums), case(recorded, "5x257", "dx dweight dbias"), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
    rms = put(recorded["5x257_rms_rstd"]).reshape(5)
    kernel = kernels.rms_norm_gradient.specialize(workgroup_size=size, items=items)
    kernel[pw.groups(parts)](grad, x, rms, weight, dx, partials[0])
    sums = [np.asarray(partials[0]).sum(0)]
    for actual, expected in zip(
        (dx, *sums), case(recorded, "5x257", "rms_dx rms_dweight"), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_equal_arrays_have_equal_gradients(put: Any, recorded: Recorded) -> None:
    arrays = case(recorded, "530x9", "grad x mean rstd weight")
    once, again = (ops.layer_norm_backward(*map(put, arrays)) for _ in range(2))
    for first, second in zip(once, again, strict=True):
        np.testing.assert_array_equal(first, second)

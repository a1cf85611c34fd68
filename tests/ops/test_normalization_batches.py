"""Batch normalization against PyTorch and finite differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops import normalization as kernels

Floats = np.ndarray[Any, Any]
Recorded = Mapping[str, Floats]

LARGE = ["7x257", "8x300x1", "2x1x32x33"]
SMALL = ["2x1", "300x5", "4x3x5", "1x3x4x1", "3x5x7x9", "3x2x2x3x2"]
FAR = [f"{shape}_far" for shape in SMALL]
CONSTANT = [f"{shape}_constant" for shape in SMALL]
ALL = [*LARGE, *SMALL, *FAR, *CONSTANT]


def case(recorded: Recorded, name: str, keys: str) -> list[Floats]:
    """Return recorded values; those of the layer are shared by the arrays of one shape."""
    shape = name.partition("_")[0]
    return [recorded.get(f"{name}_{key}", recorded.get(f"{shape}_{key}")) for key in keys.split()]


def error(name: str) -> float:
    # A mean of 1000 is rounded to a multiple of 6e-5, and x̂ is off by half of that times r.
    return 2e-4 if name in FAR else 3e-6


# ------------------------------------------------------------------------------------ PyTorch


@pytest.mark.parametrize("name", ALL)
def test_training(name: str, put: Any, near: Any, recorded: Recorded) -> None:
    x, weight, bias, mean, var = map(
        put, case(recorded, name, "x weight bias running_mean running_var")
    )
    results = ops.batch_norm(x, weight, bias, mean, var, momentum=0.2)
    near(results, case(recorded, name, "training_y mean invstd"), error(name))
    near((mean, var), case(recorded, name, "training_new_mean training_new_var"))


@pytest.mark.parametrize("name", ALL)
def test_training_backward(name: str, put: Any, near: Any, recorded: Recorded) -> None:
    grad, x, weight, mean, invstd = map(put, case(recorded, name, "grad x weight mean invstd"))
    results = ops.batch_norm_backward(grad, x, weight, None, None, mean, invstd)
    expected = case(recorded, name, "training_dx training_dweight training_dbias")
    near(results, expected, error(name))


@pytest.mark.parametrize("name", ALL)
def test_evaluation(name: str, put: Any, near: Any, recorded: Recorded) -> None:
    arrays = case(recorded, name, "x weight bias running_mean running_var")
    x, weight, bias, mean, var = map(put, arrays)
    y, *saved = ops.batch_norm(x, weight, bias, mean, var, training=False)
    near([y], case(recorded, name, "evaluation_y"))
    assert [a.shape for a in saved] == [(0,), (0,)]
    near((mean, var), arrays[3:], 0.0)


@pytest.mark.parametrize("name", ALL)
def test_evaluation_backward(name: str, put: Any, near: Any, recorded: Recorded) -> None:
    arrays = map(put, case(recorded, name, "grad x weight running_mean running_var"))
    results = ops.batch_norm_backward(*arrays, None, None, training=False)
    near(results, case(recorded, name, "evaluation_dx evaluation_dweight evaluation_dbias"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", ["7x257", "3x5x7x9"])
def test_halves_are_computed_in_f32(
    dtype: type, name: str, put: Any, near: Any, recorded: Recorded
) -> None:
    x, grad = (a.astype(np.float16) for a in case(recorded, name, "x grad"))
    keys = "weight bias running_mean running_var"
    weight, bias, *running = (a.astype(dtype) for a in case(recorded, name, keys))
    averages = [put(a) for a in running]
    y, mean, invstd = ops.batch_norm(put(x), put(weight), put(bias), *averages)
    assert (y.dtype, mean.dtype) == (np.float16, np.float32)
    single = [a.astype(np.float32) for a in (x, weight, bias, *running)]
    near([y, mean, invstd], ops.batch_norm(*single), 5e-4)
    near(averages, single[3:], 5e-4)
    back = ops.batch_norm_backward(put(grad), put(x), put(weight), *averages, mean, invstd)
    assert [a.dtype for a in back] == [np.float16, dtype, dtype]
    saved = [np.asarray(a) for a in (mean, invstd)]
    exact = ops.batch_norm_backward(grad.astype(np.float32), *single[:2], None, None, *saved)
    near(back, exact, 5e-4)


# ---------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize("training", [True, False])
def test_weight_and_bias_may_be_missing(
    training: bool, put: Any, near: Any, recorded: Recorded
) -> None:
    x, grad, mean, var = case(recorded, "4x3x5", "x grad running_mean running_var")
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    for given, weight, bias in (((None, None), ones, zeros), ((None, put(ones)), ones, ones)):
        results = ops.batch_norm(put(x), *given, put(mean), put(var), training)
        expected = ops.batch_norm(x, weight, bias, mean.copy(), var.copy(), training)
        near(results, expected)
    running, saved = (mean, var), expected[1:]
    results = ops.batch_norm_backward(
        put(grad), put(x), None, *map(put, running), *map(put, saved), training
    )
    near(results, ops.batch_norm_backward(grad, x, ones, *running, *saved, training))


def test_running_averages_may_be_missing(put: Any, near: Any, recorded: Recorded) -> None:
    arrays = map(put, case(recorded, "4x3x5", "x weight bias"))
    results = ops.batch_norm(*arrays, None, None)
    near(results, case(recorded, "4x3x5", "training_y mean invstd"))


@pytest.mark.parametrize("shape", [(0, 5), (2, 3, 0), (2, 0, 5)])
def test_nothing_changes_no_running_averages(shape: tuple[int, ...], put: Any) -> None:
    x, ones = put(np.zeros(shape, np.float32)), put(np.ones(shape[1], np.float32))
    mean, var = put(np.zeros(shape[1], np.float32)), put(np.ones(shape[1], np.float32))
    y, *saved = ops.batch_norm(x, ones, ones, mean, var)
    assert y.shape == shape
    np.testing.assert_array_equal(mean, np.zeros(shape[1]))
    np.testing.assert_array_equal(var, np.ones(shape[1]))
    dx, *sums = ops.batch_norm_backward(x, x, ones, mean, var, *saved)
    assert dx.shape == shape
    for gradient in sums:
        np.testing.assert_array_equal(gradient, np.zeros(shape[1]))


def test_arguments_have_to_fit() -> None:
    x, three = np.zeros((2, 3), np.float32), np.ones(3, np.float32)
    with pytest.raises(pw.LaunchError, match="evaluation takes `running_mean`"):
        ops.batch_norm(x, three, three, None, None, training=False)
    with pytest.raises(pw.LaunchError, match="go together"):
        ops.batch_norm(x, three, three, three, None)
    with pytest.raises(pw.LaunchError, match="one value per channel"):
        ops.batch_norm(x[:1], three, three, None, None)
    with pytest.raises(pw.LaunchError, match=r"`x` takes \[samples, channels, …\]"):
        ops.batch_norm(three, three, three, None, None)
    with pytest.raises(pw.LaunchError, match=r"`weight` should have the shape \(3,\)"):
        ops.batch_norm(x, three[:2], None, None, None)
    with pytest.raises(pw.LaunchError, match="training takes `save_mean`"):
        ops.batch_norm_backward(x, x, three, three, three, None, None)
    with pytest.raises(pw.LaunchError, match="`running_mean` is written"):
        ops.batch_norm(x, three, three, np.ones(6, np.float32)[::2], three)


# ------------------------------------------------------------------------- finite differences


@pytest.mark.parametrize("training", [True, False])
def test_gradients_are_slopes(training: bool) -> None:
    rng = np.random.default_rng(6)
    x, grad, step = (rng.standard_normal((4, 3, 5)).astype(np.float32) for _ in range(3))
    weight, bias, along = (rng.standard_normal(3).astype(np.float32) for _ in range(3))
    running = (np.float32([0.1, -0.2, 0.3]), np.float32([1.0, 0.5, 2.0]))

    def loss(x: Floats, weight: Floats, bias: Floats) -> float:
        copies = (a.copy() for a in running)
        y, *_ = ops.batch_norm(x, weight, bias, *copies, training)
        return float(np.sum(y.astype(float) * grad))

    _, *saved = ops.batch_norm(x, weight, bias, *(a.copy() for a in running), training)
    gradients = ops.batch_norm_backward(grad, x, weight, *running, *saved, training)
    steps = np.float32(1e-2) * step, np.float32(1e-2) * along
    for gradient, high, low in (
        (gradients[0] * step, (x + steps[0], weight, bias), (x - steps[0], weight, bias)),
        (gradients[1] * along, (x, weight + steps[1], bias), (x, weight - steps[1], bias)),
        (gradients[2] * along, (x, weight, bias + steps[1]), (x, weight, bias - steps[1])),
    ):
        slope = (loss(*high) - loss(*low)) / 2e-2
        assert np.sum(gradient) == pytest.approx(slope, rel=2e-3, abs=2e-3)


# ------------------------------------------------------------------------------------ kernels


def planes(array: Floats) -> Floats:
    return array.reshape(*array.shape[:2], -1)


@pytest.mark.parametrize("size", [(1, 1), (32, 2), (16, 16), (3, 5), (256, 1), (1, 256)])
@pytest.mark.parametrize("name", ["300x5", "3x5x7x9"])
def test_any_size_of_a_workgroup_will_do(
    size: tuple[int, int], name: str, put: Any, near: Any, recorded: Recorded
) -> None:
    x, grad = (put(planes(a)) for a in case(recorded, name, "x grad"))
    weight, mean, invstd = map(put, case(recorded, name, "weight mean invstd"))
    dx = put(np.zeros(x.shape, np.float32))
    sums = [put(np.zeros(5, np.float32)) for _ in range(2)]
    kernel = kernels.batch_norm_backward_kernel.specialize(workgroup_size=size)
    kernel[pw.groups(5)](grad, x, weight, mean, invstd, dx, *sums)
    expected = case(recorded, name, "training_dx training_dweight training_dbias")
    near((dx, *sums), (planes(expected[0]), *expected[1:]), 3e-6)
    for parts, chunks in ((1, 1), (2, 1), (3, 2), (1, 3)):
        moments = put(np.zeros((3, parts * chunks, 5), np.float32))
        partials = [put(np.zeros((parts * chunks, 5), np.float32)) for _ in range(2)]
        kernel = kernels.batch_norm_moments.specialize(workgroup_size=size, items=parts)
        kernel[pw.groups(5, parts, chunks)](x, moments)
        count, part_mean, _ = np.asarray(moments).astype(float)
        np.testing.assert_array_equal(count.sum(0), x.size / 5)
        exact = recorded[f"{name}_mean"]
        np.testing.assert_allclose((count * part_mean).sum(0) / count.sum(0), exact, atol=1e-6)
        kernel = kernels.plane_sums.specialize(workgroup_size=size, items=parts)
        statistics = (mean.reshape(1, 5), invstd.reshape(1, 5))
        kernel[pw.groups(5, parts, chunks)](grad, x, *statistics, *partials)
        for partial, gradient in zip(partials, expected[1:], strict=True):
            np.testing.assert_allclose(np.asarray(partial).sum(0), gradient, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("size", [(1, 1), (4, 3), (16, 16), (2, 128)])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_channels_of_one_value(
    size: tuple[int, int], parts: int, put: Any, recorded: Recorded
) -> None:
    x, grad, mean, invstd = map(put, case(recorded, "300x5", "x grad mean invstd"))
    moments = put(np.zeros((3, parts, 5), np.float32))
    groups = pw.groups(-(-5 // size[0]), parts)
    kernels.batch_norm_column_moments.specialize(workgroup_size=size)[groups](x, moments)
    count, part_mean, _ = np.asarray(moments).astype(float)
    np.testing.assert_array_equal(count.sum(0), 300)
    exact = recorded["300x5_mean"]
    np.testing.assert_allclose((count * part_mean).sum(0) / 300, exact, atol=1e-6)
    partials = [put(np.zeros((parts, 5), np.float32)) for _ in range(2)]
    kernel = kernels.batch_norm_column_gradient_sums.specialize(workgroup_size=size)
    kernel[groups](grad, x, mean, invstd, *partials)
    expected = case(recorded, "300x5", "training_dweight training_dbias")
    for partial, gradient in zip(partials, expected, strict=True):
        np.testing.assert_allclose(np.asarray(partial).sum(0), gradient, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("size", [8192, 9001])
def test_long_planes_are_added_up_in_parts(size: int, put: Any, near: Any) -> None:
    rng = np.random.default_rng(8)
    x, grad = (rng.standard_normal((2, size)).astype(np.float32) for _ in range(2))
    x += 3
    expected, mean, rstd = ops.layer_norm(x)
    y, *saved = ops.batch_norm(put(x[None]), None, None, None, None)
    near([y, *saved], [expected[None], mean[:, 0], rstd[:, 0]])
    dx, dweight, dbias = ops.batch_norm_backward(
        put(grad[None]), put(x[None]), None, None, None, *saved
    )
    near([dx], [ops.layer_norm_backward(grad, x, mean, rstd)[0][None]])
    near([dweight, dbias], [(grad * expected).sum(1), grad.sum(1)], 1e-5)


def test_many_values_in_an_invocation(put: Any, near: Any, recorded: Recorded) -> None:
    x, weight, bias, mean, invstd = case(recorded, "2x1x32x33", "x weight bias mean invstd")
    output = put(np.zeros((2, 1, 1056), np.float32))
    arrays = (planes(x), mean, invstd, weight, bias)
    for items in (1, 3, 32):
        kernels.batch_norm_forward[1056 // items, 1, 2](*map(put, arrays), output, items=items)
        near([output], [planes(recorded["2x1x32x33_training_y"])])

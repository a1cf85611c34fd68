"""Group and instance normalization against PyTorch and finite differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops.normalization import group_norm_forward

Floats = np.ndarray[Any, Any]
Recorded = Mapping[str, Floats]

SMALL = {"3x6": 2, "1x4x5": 1, "2x6x7": 3, "2x6x7x1": 6, "5x4x3x3": 2, "3x1x65": 1}
PLAIN = {**SMALL, "1x4x32x33": 2}
FAR = {f"{shape}_far": groups for shape, groups in SMALL.items()}
CONSTANT = {f"{shape}_constant": groups for shape, groups in SMALL.items()}
ALL = {**PLAIN, **FAR, **CONSTANT}


def case(recorded: Recorded, name: str, keys: str) -> list[Floats]:
    return [recorded[f"{name}_{key}"] for key in keys.split()]


# ------------------------------------------------------------------------------------ PyTorch


@pytest.mark.parametrize(("name", "groups"), ALL.items())
def test_group_norm(name: str, groups: int, put: Any, near: Any, recorded: Recorded) -> None:
    x, weight, bias = map(put, case(recorded, name, "x weight bias"))
    results = ops.group_norm(x, groups, weight, bias)
    near(results, case(recorded, name, "y mean rstd"))


@pytest.mark.parametrize(("name", "groups"), ALL.items())
def test_group_norm_backward(
    name: str, groups: int, put: Any, near: Any, recorded: Recorded
) -> None:
    arrays = map(put, case(recorded, name, "grad x mean rstd weight"))
    results = ops.group_norm_backward(*arrays, groups)
    # A mean of 1000 is saved to the next multiple of 6e-5, and x̂ is off by half of that times r.
    error = 2e-4 if name in FAR else 3e-6
    near(results, case(recorded, name, "dx dweight dbias"), error)


@pytest.mark.parametrize("name", ["2x6x7x1", "3x1x65"])
def test_instance_norm_has_a_group_for_each_channel(
    name: str, put: Any, near: Any, recorded: Recorded
) -> None:
    results = ops.instance_norm(*map(put, case(recorded, name, "x weight bias")))
    near(results, case(recorded, name, "y mean rstd"))
    arrays = map(put, case(recorded, name, "grad x mean rstd weight"))
    near(ops.instance_norm_backward(*arrays), case(recorded, name, "dx dweight dbias"), 3e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(("name", "groups"), [("2x6x7", 3), ("1x4x32x33", 2)])
def test_halves_are_computed_in_f32(
    dtype: type, name: str, groups: int, put: Any, near: Any, recorded: Recorded
) -> None:
    x, grad = (a.astype(np.float16) for a in case(recorded, name, "x grad"))
    weight, bias = (a.astype(dtype) for a in case(recorded, name, "weight bias"))
    y, mean, rstd = ops.group_norm(put(x), groups, put(weight), put(bias))
    assert (y.dtype, mean.dtype) == (np.float16, np.float32)
    single = [a.astype(np.float32) for a in (grad, x, weight, bias)]
    near([y, mean, rstd], ops.group_norm(single[1], groups, *single[2:]), 5e-4)
    back = ops.group_norm_backward(put(grad), put(x), mean, rstd, put(weight), groups)
    assert [a.dtype for a in back] == [np.float16, dtype, dtype]
    saved = [np.asarray(a) for a in (mean, rstd)]
    near(back, ops.group_norm_backward(*single[:2], *saved, single[2], groups), 5e-4)


# ---------------------------------------------------------------------------------- arguments


def test_weight_and_bias_may_be_missing(put: Any, near: Any, recorded: Recorded) -> None:
    x, grad, mean, rstd = case(recorded, "2x6x7", "x grad mean rstd")
    ones, zeros = np.ones(6, np.float32), np.zeros(6, np.float32)
    near(ops.group_norm(put(x), 3), ops.group_norm(x, 3, ones, zeros))
    near(ops.group_norm(put(x), 3, bias=put(ones)), ops.group_norm(x, 3, ones, ones))
    saved = (grad, x, mean, rstd)
    results = ops.group_norm_backward(*map(put, saved), None, 3)
    near(results, ops.group_norm_backward(*saved, ones, 3))


@pytest.mark.parametrize("shape", [(0, 4, 5), (2, 4, 0), (2, 0, 5)])
def test_nothing_is_normalized_to_nothing(shape: tuple[int, ...], put: Any) -> None:
    x, ones = put(np.zeros(shape, np.float32)), put(np.ones(shape[1], np.float32))
    y, mean, rstd = ops.group_norm(x, 2, ones, ones)
    assert y.shape == shape
    assert mean.shape == rstd.shape == (shape[0], 2)
    dx, dweight, dbias = ops.group_norm_backward(x, x, mean, rstd, ones, 2)
    assert dx.shape == shape
    np.testing.assert_array_equal(dweight, np.zeros(shape[1]))
    np.testing.assert_array_equal(dbias, np.zeros(shape[1]))


def test_arguments_have_to_fit() -> None:
    x, row = np.zeros((1, 4, 1), np.float32), np.ones((1, 2), np.float32)
    with pytest.raises(pw.LaunchError, match="4 channels do not make 3 groups"):
        ops.group_norm(x, 3)
    with pytest.raises(pw.LaunchError, match="4 channels do not make 0 groups"):
        ops.group_norm_backward(x, x, row, row, None, 0)
    with pytest.raises(pw.LaunchError, match="groups of one value"):
        ops.group_norm(x, 4)
    with pytest.raises(pw.LaunchError, match="channels of one value"):
        ops.instance_norm(x)
    with pytest.raises(pw.LaunchError, match=r"`mean` should have the shape \(1, 4\)"):
        ops.group_norm_backward(x, x, row, row, None, 4)


# ------------------------------------------------------------------------- finite differences


def test_gradients_are_slopes() -> None:
    rng = np.random.default_rng(7)
    x, grad, step = (rng.standard_normal((2, 6, 5)).astype(np.float32) for _ in range(3))
    weight, bias, along = (rng.standard_normal(6).astype(np.float32) for _ in range(3))

    def loss(x: Floats, weight: Floats, bias: Floats) -> float:
        return float(np.sum(ops.group_norm(x, 3, weight, bias)[0].astype(float) * grad))

    _, *saved = ops.group_norm(x, 3, weight, bias)
    gradients = ops.group_norm_backward(grad, x, *saved, weight, 3)
    steps = np.float32(1e-2) * step, np.float32(1e-2) * along
    for gradient, high, low in (
        (gradients[0] * step, (x + steps[0], weight, bias), (x - steps[0], weight, bias)),
        (gradients[1] * along, (x, weight + steps[1], bias), (x, weight - steps[1], bias)),
        (gradients[2] * along, (x, weight, bias + steps[1]), (x, weight, bias - steps[1])),
    ):
        slope = (loss(*high) - loss(*low)) / 2e-2
        assert np.sum(gradient) == pytest.approx(slope, rel=2e-3, abs=2e-3)


# ------------------------------------------------------------------------------------ kernels


@pytest.mark.parametrize("size", [4500, 8192])
def test_few_large_groups_are_shared_by_workgroups(size: int, put: Any, near: Any) -> None:
    rng = np.random.default_rng(9)
    x, grad = (rng.standard_normal((2, 4, size)).astype(np.float32) for _ in range(2))
    x += 3
    weight, bias = (rng.standard_normal(4).astype(np.float32) for _ in range(2))
    rows = (4, 2 * size)
    normal, mean, rstd = ops.layer_norm(x.reshape(rows))
    normal = normal.reshape(x.shape)
    y, *saved = ops.group_norm(put(x), 2, put(weight), put(bias))
    expected = normal * weight[:, None] + bias[:, None]
    near([y, *saved], [expected, mean.reshape(2, 2), rstd.reshape(2, 2)])
    dx, *sums = ops.group_norm_backward(put(grad), put(x), *saved, put(weight), 2)
    slopes = (grad * weight[:, None]).reshape(rows)
    by_x, *_ = ops.layer_norm_backward(slopes, x.reshape(rows), mean, rstd)
    near([dx], [by_x.reshape(x.shape)], 5e-6)
    near(sums, [(grad * normal).sum((0, 2)), grad.sum((0, 2))], 1e-5)


@pytest.mark.parametrize("size", [(1, 1), (8, 2), (3, 5), (256, 1), (1, 64)])
def test_any_size_of_a_workgroup_will_do(
    size: tuple[int, int], put: Any, near: Any, recorded: Recorded
) -> None:
    x, weight, bias, *expected = case(recorded, "2x6x7", "x weight bias y mean rstd")
    output = put(np.zeros((6, 2, 7), np.float32))
    mean, rstd = (put(np.zeros((2, 3), np.float32)) for _ in range(2))
    kernel = group_norm_forward.specialize(workgroup_size=size)
    kernel[pw.groups(6)](*map(put, (x.reshape(6, 2, 7), weight, bias)), output, mean, rstd, 1e-5)
    near((output.reshape(2, 6, 7), mean, rstd), expected)

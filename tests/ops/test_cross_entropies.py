"""The cross entropy of logits against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops import cross_entropies as kernels

Recorded = Mapping[str, np.ndarray[Any, Any]]
REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["index", "dense"])
@pytest.mark.parametrize("number", range(6))
def test_cross_entropies_are_torchs(
    number: int,
    kind: str,
    smoothing: float,
    reduction: Any,
    put: Any,
    close: Any,
    recorded: Recorded,
) -> None:
    logits, target = put(recorded[f"{number}_logits"]), put(recorded[f"{number}_{kind}"])
    options = {"label_smoothing": smoothing, "reduction": reduction}
    key = f"{number}_{kind}_{smoothing}_{reduction}"
    close(ops.cross_entropy(logits, target, **options), recorded[key], rtol=1e-5, atol=1e-5)
    grad = put(recorded[f"{key}_grad"])
    slope = ops.cross_entropy_backward(grad, logits, target, **options)
    close(slope, recorded[f"{key}_slope"], rtol=2e-5)


def test_another_index_can_be_ignored(put: Any, close: Any) -> None:
    logits, target = put(np.float32([[1.0, 2.0], [0.0, 0.0]])), put(np.int32([1, 0]))
    loss = ops.cross_entropy(logits, target, ignore_index=0)
    close(loss, np.float32(np.log1p(np.exp(-1.0))))
    slope = ops.cross_entropy_backward(put(np.float32(1.0)), logits, target, ignore_index=0)
    np.testing.assert_array_equal(np.asarray(slope)[1], [0.0, 0.0])


def test_all_ignored_has_no_mean_and_no_gradient(put: Any, close: Any) -> None:
    logits, target = put(np.ones((2, 3), np.float32)), put(np.int32([-100, -100]))
    close(ops.cross_entropy(logits, target), np.float32(np.nan))
    close(ops.cross_entropy(logits, target, reduction="sum"), np.float32(0.0))
    slope = ops.cross_entropy_backward(put(np.float32(1.0)), logits, target)
    close(slope, np.zeros((2, 3), np.float32))


def test_a_class_that_there_is_not_gives_nan(put: Any, close: Any) -> None:
    logits, target = put(np.zeros((3, 2), np.float32)), put(np.int32([0, 2, -1]))
    losses = ops.cross_entropy(logits, target, reduction="none")
    close(losses, np.float32([np.log(2.0), np.nan, np.nan]))


def test_large_and_masked_logits(put: Any, close: Any) -> None:
    logits = put(np.float32([[1e4, -1e4], [3e38, 0.0], [-np.inf, 1.0]]))
    losses = ops.cross_entropy(logits, put(np.int32([1, 0, 1])), reduction="none")
    close(losses, np.float32([2e4, 0.0, 0.0]))


@pytest.mark.parametrize("kind", ["index", "dense"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_many_classes_and_many_positions(dtype: Any, kind: str, put: Any, close: Any) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=3.0, size=(2, 1030, 3)).astype(dtype)
    chance = rng.uniform(size=logits.shape).astype(dtype)
    classes = rng.integers(0, 1030, (2, 3)).astype(np.int32)
    z = logits.astype(np.float64)
    log_p = z - np.log(np.exp(z).sum(1, keepdims=True))
    one_hot = np.arange(1030)[:, None] == classes[:, None]
    weight = 0.9 * (one_hot if kind == "index" else chance.astype(np.float64)) + 0.1 / 1030
    options = {"label_smoothing": 0.1, "reduction": "sum"}
    target = put(classes if kind == "index" else chance)
    loss = ops.cross_entropy(put(logits), target, **options)
    slope = ops.cross_entropy_backward(put(np.ones((), dtype)), put(logits), target, **options)
    assert loss.dtype == slope.dtype == dtype
    rtol = 2e-3 if dtype == np.float16 else 1e-5
    close(loss, -np.sum(weight * log_p), rtol=rtol)
    close(slope, weight.sum(1, keepdims=True) * np.exp(log_p) - weight, rtol=rtol, atol=rtol / 10)


def test_the_mean_of_many_positions_counts_those_that_count(put: Any, close: Any) -> None:
    target = np.zeros(9000, np.int32)
    target[::3] = -100
    logits = put(np.zeros((9000, 2), np.float32))
    close(ops.cross_entropy(logits, put(target)), np.float32(np.log(2.0)))
    slope = ops.cross_entropy_backward(put(np.float32(1.0)), logits, put(target))
    close(slope, np.where(target[:, None] < 0, 0.0, np.float32([[-0.5, 0.5]]) / 6000), atol=0.0)


@pytest.mark.parametrize("size", [1, 32, 128, 256])
def test_results_do_not_depend_on_the_size_of_workgroups(
    size: int, put: Any, close: Any, recorded: Recorded
) -> None:
    logits, target = recorded["1_logits"], recorded["1_index"]
    rows, classes = logits.shape
    view, loss = logits.reshape(rows, classes, 1), put(np.zeros(rows, np.float32))
    kernel = kernels.cross_entropy_forward.specialize(workgroup_size=size)
    kernel[pw.groups(rows)](put(view), put(target), loss, -100, 0.1)
    close(loss, recorded["1_index_0.1_none"])
    slope, grad = put(np.zeros_like(view)), put(recorded["1_index_0.1_none_grad"])
    kernel = kernels.cross_entropy_gradient.specialize(workgroup_size=size)
    kernel[pw.groups(rows)](grad, put(view), put(target), slope, False, -100, 0.1)
    close(slope, recorded["1_index_0.1_none_slope"][:, :, None])


def test_no_rows(put: Any, close: Any) -> None:
    logits, target = put(np.zeros((0, 3), np.float32)), put(np.zeros(0, np.int32))
    close(ops.cross_entropy(logits, target), np.float32(np.nan))
    close(ops.cross_entropy(logits, target, reduction="sum"), np.float32(0.0))


@pytest.mark.parametrize("kind", ["index", "dense"])
def test_gradients_are_slopes_of_the_loss(kind: str, recorded: Recorded) -> None:
    logits, target = recorded["1_logits"], recorded[f"1_{kind}"]
    slope = ops.cross_entropy_backward(np.ones(3, np.float32), logits, target, -100, 0.1, "none")
    h = np.float32(2.0**-6)
    for c in range(10):
        step = np.zeros_like(logits)
        step[:, c] = h
        above, below = (
            ops.cross_entropy(logits + s, target, -100, 0.1, "none") for s in (step, -step)
        )
        np.testing.assert_allclose(slope[:, c], (above - below) / (2 * h), rtol=1e-2, atol=2e-4)


def test_out_takes_the_results(put: Any, close: Any) -> None:
    logits, target = put(np.zeros((1, 2), np.float32)), put(np.int32([1]))
    scalar, slope = put(np.float32(0.0)), put(np.zeros((1, 2), np.float32))
    assert ops.cross_entropy(logits, target, out=scalar) is scalar
    close(scalar, np.float32(np.log(2.0)))
    assert ops.cross_entropy_backward(scalar, logits, target, out=slope) is slope


Z, T = np.zeros((2, 3), np.float32), np.zeros(2, np.int32)

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.cross_entropy(Z, T.astype(np.int64)), "`target` takes an array of int32"),
    (lambda: ops.cross_entropy(Z, Z[:, 0]), "`target` should have the shape (2, 3), but has (2,)"),
    (lambda: ops.cross_entropy(Z, T[:1]), "`target` should have the shape (2,), but has (1,)"),
    (lambda: ops.cross_entropy(Z[0, 0, ...], T), "`logits` takes at least one axis"),
    (lambda: ops.cross_entropy(Z, T, label_smoothing=1.5), "`label_smoothing` is 0…1, not 1.5"),
    (lambda: ops.cross_entropy_backward(T.astype(np.float32), Z, T), "`grad` should have"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_reported(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert message in str(caught.value)

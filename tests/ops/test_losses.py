"""Losses of single elements against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops

Recorded = Mapping[str, np.ndarray[Any, Any]]
LOSSES = {
    "mse_loss": (ops.mse_loss, ops.mse_loss_backward, "x", "target"),
    "binary_cross_entropy": (
        ops.binary_cross_entropy,
        ops.binary_cross_entropy_backward,
        "chance",
        "goal",
    ),
}
REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("size", [1, 257, 3000])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_torchs(
    name: str, size: int, reduction: Any, put: Any, close: Any, recorded: Recorded
) -> None:
    forward, backward, *inputs = LOSSES[name]
    x, target = (put(recorded[f"{size}_{n}"]) for n in inputs)
    key = f"{size}_{name}_{reduction}"
    close(forward(x, target, reduction), recorded[key], rtol=1e-5, atol=3e-6)
    slope = backward(put(recorded[f"{key}_grad"]), x, target, reduction)
    close(slope, recorded[f"{key}_slope"], rtol=2e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_slopes_of_the_losses(name: str) -> None:
    forward, backward, *_ = LOSSES[name]
    x, target = np.linspace(0.1, 0.9, 9, dtype=np.float32), np.zeros(9, np.float32)
    h = np.float32(2.0**-8)
    slope = backward(np.ones_like(x), x, target, "none")
    difference = forward(x + h, target, "none") - forward(x - h, target, "none")
    np.testing.assert_allclose(slope, difference / (2.0 * h), rtol=1e-2)


@pytest.mark.parametrize("name", LOSSES)
def test_nothing_has_no_mean(name: str, put: Any, close: Any) -> None:
    forward, backward, *_ = LOSSES[name]
    x = put(np.zeros((0, 3), np.float32))
    close(forward(x, x), np.float32(np.nan))
    close(forward(x, x, "sum"), np.float32(0.0))
    close(forward(x, x, "none"), np.zeros((0, 3), np.float32))
    close(backward(put(np.float32(1.0)), x, x), np.zeros((0, 3), np.float32))


def test_certain_and_wrong_costs_one_hundred(put: Any, close: Any) -> None:
    chance, goal = put(np.float32([0.0, 1.0, 0.0, 1.0])), put(np.float32([1.0, 0.0, 0.0, 1.0]))
    losses = ops.binary_cross_entropy(chance, goal, "none")
    close(losses, np.float32([100.0, 100.0, 0.0, 0.0]))


def test_sums_are_the_same_on_every_run(put: Any) -> None:
    x = put(np.random.default_rng(5).standard_normal(100_003).astype(np.float32))
    target = put(np.zeros(100_003, np.float32))
    sums = {float(ops.mse_loss(x, target, "sum")) for _ in range(3)}
    assert len(sums) == 1


def test_the_gradient_of_a_mean_is_any_one_number(put: Any, close: Any) -> None:
    x, target = put(np.float32([1.0, 3.0])), put(np.float32([0.0, 0.0]))
    close(ops.mse_loss_backward(put(np.float32([2.0])), x, target), np.float32([2.0, 6.0]))
    host = np.float32([1.0, 3.0])
    slope = ops.mse_loss_backward(host[:1].sum(), host, np.zeros_like(host))
    np.testing.assert_array_equal(slope, host)


@pytest.mark.gpu
def test_rounding_errors_do_not_grow_with_the_number() -> None:
    ones = pw.device("gpu").full(20_000_000, 1.0)
    assert float(ops.mse_loss(ones, ops.neg(ones))) == pytest.approx(4.0, rel=3e-7)


def test_out_takes_the_results(put: Any, close: Any) -> None:
    x, target = put(np.float32([[1.0, 2.0]])), put(np.float32([[0.0, 0.0]]))
    scalar, same = put(np.float32(0.0)), put(np.zeros((1, 2), np.float32))
    assert ops.mse_loss(x, target, out=scalar) is scalar
    close(scalar, np.float32(2.5))
    assert ops.mse_loss(x, target, "none", out=same) is same
    assert ops.mse_loss_backward(scalar, x, target, out=same) is same
    close(same, np.float32([[2.5, 5.0]]))


X = np.zeros(3, np.float32)

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.mse_loss(X, X[:2]), "`input` has the shape (3,) and `target` the shape (2,)"),
    (lambda: ops.mse_loss(X, X, "max"), "`reduction` is 'mean', 'sum' or 'none', not 'max'"),
    (lambda: ops.mse_loss(X, X, out=X[:1]), "`out` should have the shape (), but has (1,)"),
    (
        lambda: ops.mse_loss(X, X, out=np.float32(0.0)),
        "mse_loss: `out` takes an array of float32, but got",
    ),
    (lambda: ops.mse_loss_backward(X, X, X), "`grad` should have the shape (), but has (3,)"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_reported(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert message in str(caught.value)

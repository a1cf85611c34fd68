"""What is done to gradients in place, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from pywgsl import ops
from pywgsl.ops.gradients import gradient_clipping, l2_regularization

Recorded = Mapping[str, np.ndarray[Any, Any]]


def grads(put: Any, recorded: Recorded) -> list[Any]:
    return [put(recorded[f"grad_{k}"]) for k in range(3)]


def test_values_are_clipped(put: Any, close: Any, recorded: Recorded) -> None:
    arrays = grads(put, recorded)
    ops.clip_grad_value_(arrays, 0.5)
    for k, array in enumerate(arrays):
        close(array, recorded[f"value_{k}"])


@pytest.mark.parametrize("max_norm", [2.0, 1000.0])
def test_the_common_norm_is_clipped(
    max_norm: float, put: Any, close: Any, recorded: Recorded
) -> None:
    arrays = grads(put, recorded)
    close(ops.clip_grad_norm_(arrays, max_norm), recorded[f"norm_{max_norm}"])
    for k, array in enumerate(arrays):
        close(array, recorded[f"norm_{max_norm}_{k}"])


def test_the_norm_of_one_array_and_of_nothing(put: Any, close: Any) -> None:
    grad, out = put(np.float32([3.0, 4.0])), put(np.float32(0.0))
    assert ops.clip_grad_norm_(grad, 1.0, out=out) is out
    close(out, np.float32(5.0))
    close(grad, np.float32([0.6, 0.8]))
    close(ops.clip_grad_norm_(put(np.zeros((0, 2), np.float32)), 1.0), np.float32(0.0))


def test_a_norm_that_is_nan_spreads(put: Any, close: Any) -> None:
    grad = put(np.float32([np.nan, 1.0]))
    ops.clip_grad_norm_(grad, 1.0)
    close(grad, np.float32([np.nan, np.nan]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_not_finite_are_skipped(bad: float, put: Any, close: Any) -> None:
    grads = [put(np.float32([1.0, bad, 2.0])), put(np.float32([[3.0], [4.0]]))]
    norm = ops.clip_grad_norm_(grads, 1.0, skip_nonfinite=True)
    close(norm, np.float32(np.abs(bad)))
    close(grads[0], np.zeros(3))
    close(grads[1], np.zeros((2, 1)))
    grads = [put(np.float32([3.0, 4.0]))]
    ops.clip_grad_norm_(grads, 1.0, skip_nonfinite=True)
    close(grads[0], np.float32([0.6, 0.8]))


def test_elements_that_are_not_finite_are_dropped(put: Any, close: Any) -> None:
    grad = put(np.float32([1.0, np.nan, -np.inf, 3e38]))
    ops.drop_nonfinite_(grad)
    close(grad, np.float32([1.0, 0.0, 0.0, 3e38]))


def test_the_rest_of_the_arithmetic(put: Any, close: Any) -> None:
    grad, param = put(np.float32([[1.0, -2.0]])), put(np.float32([[10.0, 20.0]]))
    ops.add_weight_decay_(grad, param, 0.1)
    close(grad, np.float32([[2.0, 0.0]]))
    ops.accumulate_([grad], [param], 0.5)
    close(grad, np.float32([[7.0, 10.0]]))
    ops.scale_(grad, 2.0)
    close(grad, np.float32([[14.0, 20.0]]))
    ops.fill_([grad, param], 0.0)
    close(grad, np.zeros((1, 2)))
    close(param, np.zeros((1, 2)))


def test_kernels_keep_the_names_of_the_shaders(put: Any, close: Any) -> None:
    grad, weight = put(np.float32([-3.0, 0.5, 3.0])), put(np.float32([1.0, 2.0, 3.0]))
    gradient_clipping[3](grad, 1.0)
    close(grad, np.float32([-1.0, 0.5, 1.0]))
    l2_regularization[3](grad, weight, 0.5)
    close(grad, np.float32([-0.5, 1.5, 2.5]))


G = np.ones(3, np.float32)

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.clip_grad_value_(G, -1.0), "`clip_value` is negative: -1.0"),
    (lambda: ops.clip_grad_norm_([], 1.0), "`grads` takes at least one array"),
    (lambda: ops.accumulate_([G, G], [G]), "2 `accumulated`, but 1 `grads`"),
    (lambda: ops.accumulate_(G, G[:2]), "`accumulated` has the shape (3,) and `grads`"),
    (lambda: ops.scale_(G[::2], 2.0), "`grads` is written, so it has to be contiguous"),
    (lambda: ops.scale_(G[0], 2.0), "`grads` is written, so it has to be an array"),
    (lambda: ops.scale_([G, G.astype(np.float64)], 2.0), "takes an array of float32"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_reported_before_anything_runs(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert message in str(caught.value)
    np.testing.assert_array_equal(G, 1.0)

"""Sums, means, extremes and norms over axes, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops import reductions as kernels

Floats = np.ndarray[Any, Any]
Recorded = Mapping[str, Floats]

#: The axes of every recorded array.
DIMS: list[Any] = [
    *(None, 0, 0, 1, 1, 0, -1, None, 0, 1, None, 1, 0, 0),
    *(1, (0, 2), (1, 2), (1, -1), (-2, 0), (0, 2), 1),
]
NAMES = ["sum", "mean", "max", "min", "norm"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", range(len(DIMS)))
def test_reductions_are_torchs(
    number: int, name: str, put: Any, close: Any, recorded: Recorded
) -> None:
    x, expected, dim = recorded[f"{number}_x"], recorded[f"{number}_{name}"], DIMS[number]
    function = getattr(ops, name)
    close(function(put(x), dim), expected, atol=1e-5)
    kept = np.max(x, dim, keepdims=True, initial=0.0).shape
    close(function(put(x), dim, keepdim=True), expected.reshape(kept), atol=1e-5)


@pytest.mark.parametrize("number", [n for n, dim in enumerate(DIMS) if not isinstance(dim, tuple)])
def test_the_first_of_equals_is_the_largest(
    number: int, put: Any, close: Any, recorded: Recorded
) -> None:
    x, expected, dim = recorded[f"{number}_x"], recorded[f"{number}_argmax"], DIMS[number]
    index = ops.argmax(put(np.round(x)), dim)
    assert index.dtype == np.int32
    close(index, expected)
    kept = np.max(x, dim, keepdims=True, initial=0.0).shape
    close(ops.argmax(put(np.round(x)), dim, True), expected.reshape(kept))


@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan_are_torchs(name: str, put: Any, close: Any, recorded: Recorded) -> None:
    special = put(recorded["special"])
    close(getattr(ops, name)(special, 1, keepdim=True), recorded[f"special_{name}"])


def test_nan_is_the_largest_of_all(put: Any, close: Any, recorded: Recorded) -> None:
    close(ops.argmax(put(recorded["special"]), 1), recorded["special_argmax"])
    x = np.zeros(20000, np.float32)
    x[[17000, 9000, 300]] = np.nan, np.nan, np.inf
    close(ops.argmax(put(x)), np.int32(9000))
    close(ops.max(put(x)), np.float32(np.nan))
    close(ops.min(put(x)), np.float32(np.nan))


@pytest.mark.parametrize("name", NAMES)
def test_halves_are_summed_in_f32(name: str, put: Any, close: Any, recorded: Recorded) -> None:
    for number in (10, 15):
        x, dim = np.float16(recorded[f"{number}_x"]), DIMS[number]
        result = getattr(ops, name)(put(x), dim)
        assert result.dtype == np.float16
        close(result, getattr(ops, name)(np.float32(x), dim), rtol=1e-3)


def test_sums_of_many_halves_do_not_stop_growing(put: Any, close: Any) -> None:
    close(ops.sum(put(np.ones(30000, np.float16))), np.float16(30000.0))


def test_sums_are_exact_to_the_last_digits(put: Any) -> None:
    x = np.random.default_rng(0).uniform(size=300_001).astype(np.float32)
    exact = np.sum(x, dtype=np.float64)
    assert abs(float(np.asarray(ops.sum(put(x)))) - exact) <= 2e-7 * exact


def test_nothing_sums_to_nothing(put: Any, close: Any) -> None:
    x = put(np.zeros((0, 2), np.float32))
    close(ops.sum(x, 0), np.zeros(2))
    close(ops.norm(x), np.float32(0.0))
    close(ops.mean(x, 0), np.full(2, np.nan))
    close(ops.max(x, 1), np.zeros(0))


@pytest.mark.parametrize("size", [1, 32, 128, 256])
def test_results_do_not_depend_on_the_size_of_workgroups(size: int, put: Any, close: Any) -> None:
    x = np.random.default_rng(1).normal(size=(2, 257, 3)).astype(np.float32)
    cases = [
        (kernels.sum_forward, np.sum(x, 1, np.float64)),
        (kernels.max_forward, x.max(1)),
        (kernels.min_forward, x.min(1)),
    ]
    for kernel, expected in cases:
        for parts in (1, 4):
            y = put(np.zeros((2, parts, 3), np.float32))
            sized = kernel.specialize(workgroup_size=size)
            sized[pw.groups(6, parts)](put(x), y)
            last = put(np.zeros((2, 1, 3), np.float32))
            sized[pw.groups(6)](y, last)
            close(last, expected[:, None], atol=1e-5)


def test_out_takes_the_results(put: Any, close: Any) -> None:
    x = put(np.float32([[1.0, 3.0], [2.0, 2.0]]))
    out, index = put(np.zeros(2, np.float32)), put(np.zeros(2, np.int32))
    assert ops.mean(x, 1, out=out) is out
    close(out, np.float32([2.0, 2.0]))
    assert ops.argmax(x, 0, out=index) is index
    close(index, np.int32([1, 0]))


X = np.zeros((2, 3), np.float32)

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.sum(X, 2), "sum: `dim` is -2…1 here, not 2"),
    (lambda: ops.mean(X, (0, -2)), "mean: `dim` names an axis twice: (0, -2)"),
    (lambda: ops.max(X[:0], 0), "max: `x` of shape (0, 3) has no element along `dim`"),
    (lambda: ops.argmax(X[:0]), "argmax: `x` of shape (0, 3) has no element along `dim`"),
    (lambda: ops.norm(X.astype(np.int32)), "`x` takes an array of float32"),
    (lambda: ops.sum(X, 0, out=X), "`out` should have the shape (3,)"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_reported(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(pw.LaunchError) as caught:
        call()
    assert message in str(caught.value)

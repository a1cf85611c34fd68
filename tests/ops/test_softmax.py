"""Softmax, its logarithm and their gradients against PyTorch, slopes and each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops import softmax as kernels

Floats = np.ndarray[Any, Any]
Recorded = Mapping[str, Floats]

#: The axis of every recorded array.
DIMS = [*([1] * 5), *([-1] * 4), 0, 0, 1, -3, 1, 1, 1, -1]
NAMES = ["softmax", "log_softmax"]
BOTH = {
    "softmax": (ops.softmax, ops.softmax_backward),
    "log_softmax": (ops.log_softmax, ops.log_softmax_backward),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", range(len(DIMS)))
def test_functions_and_gradients_are_torchs(
    number: int, name: str, put: Any, close: Any, recorded: Recorded
) -> None:
    forward, backward = BOTH[name]
    x, grad = (put(recorded[f"{number}_{key}"]) for key in ("x", "grad"))
    y = forward(x, DIMS[number])
    close(y, recorded[f"{number}_{name}"], rtol=2e-6)
    close(backward(grad, y, DIMS[number]), recorded[f"{number}_{name}_slope"])


@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan_are_torchs(name: str, put: Any, close: Any, recorded: Recorded) -> None:
    forward, _ = BOTH[name]
    special, expected = recorded["special"], recorded[f"special_{name}"]
    close(forward(put(special)), expected, rtol=2e-6)
    close(forward(put(special.T), 0), expected.T, rtol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_long_row_may_be_masked_anywhere(name: str, put: Any, close: Any) -> None:
    x = np.full((2, 1500), -np.inf, np.float32)
    x[0, 1400], x[1, :3] = 5.0, [-1e4, -1e4, -np.inf]
    forward, _ = BOTH[name]
    y = np.zeros(x.shape)
    y[0, 1400], y[1, :2] = 1.0, 0.5
    with np.errstate(divide="ignore"):
        close(forward(put(x)), y if name == "softmax" else np.log(y), rtol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_halves_are_summed_in_f32(name: str, put: Any, close: Any, recorded: Recorded) -> None:
    forward, backward = BOTH[name]
    x, grad = (np.float16(recorded[f"8_{key}"]) for key in ("x", "grad"))
    y = forward(put(x))
    assert y.dtype == np.float16
    close(y, forward(np.float32(x)), rtol=1e-3, atol=1e-7)
    slope = backward(put(grad), y)
    close(slope, backward(np.float32(grad), np.float32(np.asarray(y))), rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_slopes(name: str, recorded: Recorded) -> None:
    forward, backward = BOTH[name]
    x, grad, h = recorded["11_x"], recorded["11_grad"], np.float32(2.0**-7)
    slope = backward(grad, forward(x, 1), 1)
    for c in range(x.shape[1]):
        step = np.zeros_like(x)
        step[:, c] = h
        above, below = (np.sum(grad * forward(x + s, 1), 1) for s in (step, -step))
        np.testing.assert_allclose(slope[:, c], (above - below) / (2 * h), rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("size", [1, 32, 64, 128, 256])
@pytest.mark.parametrize("columns", [1, 63, 257])
def test_results_do_not_depend_on_the_size_of_workgroups(
    size: int, columns: int, put: Any, close: Any
) -> None:
    x = np.random.default_rng(columns).normal(size=(3, columns, 2)).astype(np.float32)
    grad = x[::-1].copy()
    y = put(np.zeros_like(x))
    for name in NAMES:
        forward, backward = BOTH[name]
        kernel: pw.Kernel = getattr(kernels, f"{name}_forward").specialize(workgroup_size=size)
        kernel[pw.groups(6)](put(x), y)
        close(y, forward(x, 1))
        kernel = getattr(kernels, f"{name}_gradient").specialize(workgroup_size=size)
        slope = put(np.zeros_like(x))
        kernel[pw.groups(6)](put(grad), y, slope)
        close(slope, backward(grad, forward(x, 1), 1), rtol=1e-4)


@pytest.mark.parametrize(("size", "items"), [(1, 63), (32, 2), (64, 1), (256, 3)])
def test_short_rows_are_kept_in_registers(size: int, items: int, put: Any, close: Any) -> None:
    grad, y = np.random.default_rng(0).normal(size=(2, 3, 63, 2)).astype(np.float32)
    slope = put(np.zeros_like(y))
    kernel = kernels.short_softmax_gradient.specialize(workgroup_size=size)
    kernel[pw.groups(6)](put(grad), put(y), slope, items)
    close(slope, y * (grad - np.sum(grad * y, 1, keepdims=True)), rtol=1e-4, atol=1e-5)


def test_out_takes_the_results(put: Any, close: Any) -> None:
    x, out = put(np.zeros((2, 2), np.float32)), put(np.ones((2, 2), np.float32))
    assert ops.softmax(x, out=out) is out
    close(out, np.full((2, 2), 0.5))
    assert ops.log_softmax_backward(x, x, out=out) is out
    close(out, np.zeros((2, 2)))


X = np.zeros((2, 3), np.float32)

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.softmax(X, 2), "softmax: `dim` is -2…1 here, not 2"),
    (lambda: ops.log_softmax(np.float32(1.0), -2), "`dim` is -1…0 here, not -2"),
    (lambda: ops.softmax(X.astype(np.float64)), "`x` takes an array of float32"),
    (lambda: ops.softmax_backward(X, X[:1]), "`grad` has the shape (2, 3) and `output`"),
    (lambda: ops.softmax_backward(X, X.astype(np.float16)), "`output` takes an array of float32"),
    (lambda: ops.softmax(X, out=X[0]), "`out` should have the shape (2, 3)"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_reported(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(pw.LaunchError) as caught:
        call()
    assert message in str(caught.value)

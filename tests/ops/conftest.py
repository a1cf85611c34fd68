"""What the tests of the kernel library share: recorded values, and places for arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pywgsl as pw

# It needs PyTorch, and collecting doctests imports every module.
collect_ignore = ["record.py", "record_normalization.py"]

# What NumPy has, as a GPU's features say it.
F16 = frozenset({"shader-f16"})

Put = Callable[[Any], Any]
Close = Callable[..., None]


@pytest.fixture(scope="module")
def recorded(request: pytest.FixtureRequest) -> Mapping[str, np.ndarray[Any, Any]]:
    """What PyTorch computed for the subject of a test module; see `record.py`."""
    subject = request.path.stem.removeprefix("test_")
    with np.load(Path(__file__).parent / "data" / f"{subject}.npz") as file:
        return dict(file)


@pytest.fixture(params=["ndarray", "numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def put(request: pytest.FixtureRequest) -> Put:
    """Return a function that puts a copy of values where a test runs: NumPy twice, and a GPU."""
    if request.param == "ndarray":
        return np.array
    device = pw.device(request.param)

    def take(values: Any) -> Any:
        values = np.array(values)
        if values.dtype == np.float16 and "shader-f16" not in getattr(device, "features", F16):
            pytest.skip(f"{device.name} has no f16")
        return device.array(values)

    return take


@pytest.fixture
def close(put: Put) -> Close:
    """Assert that a result is close to what is expected, and lies where its inputs do."""
    kind = type(put(np.zeros(1, np.float32)))

    def check(actual: Any, expected: Any, rtol: float = 1e-5, atol: float = 2e-6) -> None:
        assert type(actual) is kind
        assert actual.shape == np.shape(expected)
        np.testing.assert_allclose(np.asarray(actual), expected, rtol, atol)

    return check


@pytest.fixture
def near(close: Close) -> Close:
    """Assert that each of several results is close, beside the largest number in it."""

    def check(actual: Sequence[Any], expected: Sequence[Any], error: float = 2e-6) -> None:
        for result, values in zip(actual, expected, strict=True):
            largest = float(np.abs(values).max(initial=0.0))
            close(result, values, rtol=0, atol=error * max(1.0, largest))

    return check

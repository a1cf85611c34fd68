"""Normalization against PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pywgsl.ops.normalization import batch_norm_gradient

Recorded = Mapping[str, np.ndarray[Any, Any]]


@pytest.mark.parametrize("rows", [2, 7, 33])
def test_the_gradient_of_a_batch_norm(rows: int, put: Any, close: Any, recorded: Recorded) -> None:
    names = ("grad", "x", "weight", "mean", "invstd")
    arrays = [put(recorded[f"{rows}_{name}"]) for name in names]
    expected = recorded[f"{rows}_slope"]
    grad_input = put(np.zeros_like(expected))
    batch_norm_gradient[expected.shape[1]](*arrays, grad_input)
    close(grad_input, expected, atol=1e-5)

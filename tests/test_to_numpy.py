"""The NumPy back end against the scalar reference, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import programs
import scalar_reference
from pywgsl import ir
from pywgsl.codegen.to_numpy import to_numpy
from pywgsl.runtime.numpy_program import NumpyProgram


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays are equal, where all nans are one and zeros have their sign."""
    if a.dtype.kind != "f":
        return bool((a == b).all())
    bits = a.view(np.uint32) == b.view(np.uint32)
    return bool((bits | (np.isnan(a) & np.isnan(b))).all())


@given(programs.kernels(), st.sampled_from([(5, 3), (1, 1), (8, 1), (1, 6)]))
def test_random_kernels_agree_with_the_scalar_reference(
    kernel: programs.Kernel, shape: tuple[int, int]
) -> None:
    module = kernel.module
    expected, found = programs.arguments(shape), programs.arguments(shape)
    scalar_reference.run(module, (*shape, 1), expected)
    program = NumpyProgram(module)
    program.run((*shape, 1), found)
    for name in ("out_ints", "out_floats"):
        assert same_bits(expected[name], found[name])

"""Workgroup memory, barriers, collectives and atomics on NumPy, against the scalar reference."""

from __future__ import annotations

from random import Random

import pytest
import random_kernels
import random_workgroups
import scalar_reference
from hypothesis import given
from hypothesis import strategies as st

from pywgsl.runtime import numpy_program
from pywgsl.runtime.numpy_program import NumpyProgram


@given(random_workgroups.kernels(), st.integers(0, 99), st.booleans())
def test_random_kernels_agree_with_the_scalar_reference(
    kernel: random_kernels.Kernel, seed: int, blocked: bool
) -> None:
    module = kernel.module
    shape = random_workgroups.launch(module)
    plane = (shape[0], shape[1])
    expected, found = random_kernels.arguments(plane), random_kernels.arguments(plane)
    scalar_reference.run(module, shape, expected, Random(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numpy_program, "BLOCK", 5 if blocked else 1 << 16)
        NumpyProgram(module).run(shape, found)
    for name in ("out_ints", "out_floats"):
        assert random_workgroups.differing(expected[name], found[name]) == 0

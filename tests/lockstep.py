"""Run a kernel in lockstep on NumPy and invocation by invocation, and compare."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import scalar_reference

from pywgsl import ir
from pywgsl.runtime.numpy_program import NumpyProgram

Shape = tuple[int, int, int]


def agree(
    made: Any, shape: Shape, arguments: dict[str, Any], *, in_order: bool = False
) -> dict[str, Any]:
    """Run a kernel or module both ways, assert that buffers end up equal, and return them."""
    if not isinstance(made, ir.Module):
        made = module_of(made)
    expected, found = (
        {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in arguments.items()}
        for _ in range(2)
    )
    scalar_reference.run(made, shape, expected, None if in_order else Random(3))
    NumpyProgram(made).run(shape, found)
    for parameter in made.buffers:
        np.testing.assert_array_equal(found[parameter.name], expected[parameter.name])
    return found


def module_of(kernel: Any) -> ir.Module:
    found: ir.Module = kernel.complete({}).module
    return found


def floats(*shape: int) -> Any:
    return np.random.default_rng(1).normal(0, 3, shape).astype(np.float32)

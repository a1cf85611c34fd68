"""Random kernels compute what the same text computes as plain Python."""

from typing import Any

import interpret
import kernels
import numpy as np
import programs
import pytest

import pywgsl as pw


def plain(text: str, array: list[int], n: int) -> None:
    space: dict[str, Any] = {"Array": pw.Array, "i32": pw.i32, "static_range": range}
    exec(text.replace("@pw.function\n", ""), space)
    space["k"](array, n)


@pytest.mark.parametrize("seed", range(150))
def test_a_random_kernel_computes_what_python_computes(seed: int) -> None:
    text = programs.Program(seed).text()
    module = kernels.module(text)
    for trial in range(3):
        random = np.random.default_rng(10 * seed + trial)
        start, n = random.integers(-20, 60, 8), int(random.integers(-3, 9))
        expected = [int(v) for v in start]
        plain(text, expected, n)
        found = start.astype(np.int32)
        interpret.run(module, {"a": found, "n": np.int32(n)})
        assert list(found) == expected, text

"""What holds of every kernel and function of the library."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops

MODULES = [
    importlib.import_module(f"pywgsl.ops.{module.name}")
    for module in pkgutil.iter_modules(ops.__path__)
]
KERNELS = {
    f"{module.__name__.removeprefix('pywgsl.ops.')}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, pw.Kernel) and value.__module__ == module.__name__
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernels_are_portable_and_documented(
    kernel: pw.Kernel, accepted: Callable[[str], None]
) -> None:
    accepted(kernel.wgsl())
    requires = kernel.reflection()["requires"]
    assert not any(requires.values()), requires
    assert kernel.__doc__


@pytest.mark.parametrize("name", ops.__all__)
def test_functions_are_documented(name: str) -> None:
    value: Any = getattr(ops, name)
    assert inspect.getdoc(value)
    if inspect.isfunction(value):
        assert value.__name__ == name


def test_a_module_named_like_its_function_is_both() -> None:
    module = importlib.import_module("pywgsl.ops.linear")
    assert module is ops.linear
    x, weight = np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)
    np.testing.assert_array_equal(ops.linear(x, weight), np.full((2, 4), 3, np.float32))
    assert module.weight_gradient.name == "weight_gradient"

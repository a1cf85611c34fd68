"""`pywgsl run`: a kernel on arrays from files or made up on the spot."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pywgsl.commands.load import load_kernel, read_constants, read_number
from pywgsl.commands.main import UsageError
from pywgsl.frontend.definition import MISSING, KernelParameter, Kind
from pywgsl.kernel import Kernel
from pywgsl.runtime.arrays import DeviceArray
from pywgsl.runtime.devices import Device, device
from pywgsl.runtime.elements import dtype_name, element
from pywgsl.types import BOOL, Matrix, RuntimeArray, Scalar, Vector

_MAKERS: dict[str, Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray[Any, Any]]] = {
    "zeros": np.zeros,
    "ones": np.ones,
    "arange": lambda shape, dtype: np.arange(np.prod(shape)).astype(dtype).reshape(shape),
    # Always the same numbers, so that two runs can be compared.
    "random": lambda shape, dtype: _random(shape, dtype),
}


def run(options: argparse.Namespace) -> int:
    """Run a kernel and show what it wrote."""
    kernel = load_kernel(options.kernel)
    first = {t.name: t.choices[0] for t in kernel.type_parameters}
    kernel = kernel.specialize(**first | read_constants([kernel], options.const))
    values = _arguments(kernel, options.arguments)
    constants = {p.name for p in kernel.parameters if p.kind is Kind.CONST} & values.keys()
    kernel = kernel.specialize(**{name: values.pop(name) for name in constants})
    where = device(options.device)
    arrays = {
        name: _on_device(where, name, value)
        for name, value in values.items()
        if isinstance(value, np.ndarray)
    }
    saves = _pairs(options.save, "--save NAME=FILE.npy")
    for name in saves:
        if name not in arrays:
            known = ", ".join(f"`{n}`" for n in arrays) or "none"
            raise UsageError(f"there is no array `{name}` to save; there are: {known}")
    kernel[_shape("--shape", options.shape)](**(values | arrays))
    bindings = kernel.reflection()["bindings"]
    written = {b["name"] for b in bindings if b.get("access") == "read_write"}
    for name, array in arrays.items():
        result = array.numpy()
        if name in saves:
            _save(saves[name], result)
        if name in written:
            print(f"{name}: {dtype_name(result.dtype)}{list(result.shape)} on {where.name}")
            print(np.array2string(result, threshold=20))
    return 0


def _on_device(where: Device, name: str, value: np.ndarray[Any, Any]) -> DeviceArray:
    try:
        return where.array(value)
    except TypeError as error:
        raise UsageError(f"`{name}`: {error}") from error


def _shape(what: str, text: str) -> tuple[int, ...]:
    """Return lengths given as `64x64` or `64,64`."""
    try:
        lengths = tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        lengths = (-1,)
    if min(lengths) < 0:
        raise UsageError(f"{what} takes integers from 0, such as `64` or `8x8`, but got `{text}`")
    return lengths


def _pairs(items: Sequence[str], form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"expected {form}, but got `{item}`")
        if name in pairs:
            raise UsageError(f"`{name}` is given twice: `{pairs[name]}` and `{value}`")
        pairs[name] = value
    return pairs


def _arguments(kernel: Kernel, given: Sequence[str]) -> dict[str, Any]:
    parameters = {p.name: p for p in kernel.parameters}
    texts = _pairs(given, "NAME=VALUE")
    for name in texts:
        if name not in parameters:
            known = ", ".join(f"`{n}`" for n in parameters)
            raise UsageError(f"{kernel.name} has no parameter `{name}`; it has {known}")
    for name, parameter in parameters.items():
        if name not in texts and parameter.default is MISSING:
            raise UsageError(f"{kernel.name}: `{name}` is missing: {_example(parameter)}")
    return {name: _value(parameters[name], text) for name, text in texts.items()}


def _example(parameter: KernelParameter) -> str:
    if isinstance(parameter.type, RuntimeArray):
        shape = "x".join(["64"] * parameter.type.ndim)
        return f"`{parameter.name}=FILE.npy` or `{parameter.name}=zeros:{shape}`"
    option = "--const " * (parameter.kind is Kind.CONST)
    return f"`{option}{parameter.name}=1`"


def _value(parameter: KernelParameter, text: str) -> Any:
    type_ = parameter.type
    if isinstance(type_, RuntimeArray):
        return _array(parameter.name, type_, text)
    if isinstance(type_, Vector | Matrix):
        numbers = [read_number(parameter.name, part, float) for part in text.split(",")]
        return np.asarray(numbers, type_.scalar.dtype)
    if parameter.kind is Kind.CONST:
        return read_number(parameter.name, text, type_)
    if isinstance(type_, Scalar) and type_.is_integer:
        return read_number(parameter.name, text, int)
    return read_number(parameter.name, text, bool if type_ is BOOL else float)


def _array(name: str, type_: RuntimeArray, text: str) -> np.ndarray[Any, Any]:
    maker, colon, shape_text = text.partition(":")
    if not colon or maker not in _MAKERS:
        return _load(name, text)
    found = element(type_.element)
    if found.dtype.names is not None and maker != "zeros":
        raise UsageError(f"`{name}` holds structs, which come from a file or zeros:N, not {maker}")
    shape = (*_shape(f"`{name}={maker}:…`", shape_text), *found.axes)
    try:
        return _MAKERS[maker](shape, found.dtype)
    except (MemoryError, ValueError) as error:
        raise UsageError(f"`{name}={text}` does not fit in memory: {error}") from error


def _load(name: str, text: str) -> np.ndarray[Any, Any]:
    if not Path(text).is_file():
        makers = ", ".join(f"{m}:N" for m in _MAKERS)
        raise UsageError(f"`{name}` takes a file or one of {makers}; there is no file `{text}`")
    try:
        loaded = np.load(text, allow_pickle=False)
    except ValueError as error:
        raise UsageError(f"{text} is not an array saved by NumPy: {error}") from error
    if not isinstance(loaded, np.ndarray):
        raise UsageError(f"{text} holds several arrays; save one with `np.save`")
    return loaded


def _save(path: str, array: np.ndarray[Any, Any]) -> None:
    try:
        np.save(path, array)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _random(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(0)
    if dtype.kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    high = 2 if dtype.kind == "b" else 100
    return generator.integers(0, high, shape).astype(dtype)

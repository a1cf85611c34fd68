"""Finding kernels by name in modules and files, and reading values given as text."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from pywgsl.commands.main import UsageError
from pywgsl.errors import PywgslError
from pywgsl.frontend.definition import MISSING, Kind, TypeParameter
from pywgsl.kernel import Kernel
from pywgsl.types import Scalar


def load_kernel(name: str) -> Kernel:
    """Return the kernel that `MODULE:KERNEL` or `FILE.py:KERNEL` names.

    Raises:
        UsageError: the name has another form, or there is no such module or kernel.
        PywgslError: the module cannot be imported.
    """
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise UsageError(f"expected MODULE:KERNEL or FILE.py:KERNEL, but got `{name}`")
    module = load_module(where)
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Kernel):
        return found
    kernels = kernels_of(module)
    what = "is not a kernel" if found is not None else "does not exist"
    known = ", ".join(f"`{n}`" for n in kernels) or "none"
    close = difflib.get_close_matches(attribute, kernels, 1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    raise UsageError(f"`{attribute}` {what} in {where}, whose kernels are: {known}{hint}")


def load_module(where: str) -> ModuleType:
    """Import a module by its name, or a file by its path.

    Raises:
        UsageError: there is none.
        PywgslError: its own code failed; the message shows where.
    """
    path = Path(where)
    is_file = path.suffix == ".py" or os.sep in where
    if is_file and not path.is_file():
        raise UsageError(f"there is no file {where}")
    folder = str(path.resolve().parent if is_file else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _import_file(path) if is_file else importlib.import_module(where)
    except PywgslError:
        raise
    except ModuleNotFoundError as error:
        if not is_file and error.name and where.startswith(error.name):
            raise UsageError(f"there is no module {where}") from error
        raise _failed(where, error) from error
    except Exception as error:
        raise _failed(where, error) from error


def _import_file(path: Path) -> ModuleType:
    name = path.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path.resolve()):
        return loaded
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def _failed(where: str, error: Exception) -> PywgslError:
    """Return what went wrong in a module's own code, without pywgsl's and the importer's frames."""
    summary = "".join(traceback.format_exception_only(error)).rstrip()
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and frame.filename != __file__
    ]
    places = [f'  File "{f.filename}", line {f.lineno}, in {f.name}\n    {f.line}' for f in frames]
    return PywgslError("\n".join([f"{where} cannot be imported:", *places, summary]))


def kernels_of(module: ModuleType) -> dict[str, Kernel]:
    """Return the kernels that a module defines, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, Kernel) and value.__module__ == module.__name__
    }


def read_constants(kernels: Iterable[Kernel], given: Sequence[str]) -> dict[str, Any]:
    """Return the values of `--const NAME=VALUE`, each of the type that a kernel's parameter has.

    Raises:
        UsageError: a value has another form, or no kernel has such a parameter.
    """
    types: dict[str, Any] = {}
    for kernel in kernels:
        types |= {p.name: p.type for p in kernel.parameters if p.kind is Kind.CONST}
        types |= {t.name: t for t in kernel.type_parameters}
    values: dict[str, Any] = {}
    for item in given:
        name, equals, text = item.partition("=")
        if not equals:
            raise UsageError(f"expected --const NAME=VALUE, but got `{item}`")
        if name not in types:
            known = ", ".join(f"`{n}`" for n in types) or "none"
            raise UsageError(f"there is no compile-time parameter `{name}`; there are: {known}")
        type_ = types[name]
        is_type = isinstance(type_, TypeParameter)
        values[name] = _read_type(type_, text) if is_type else read_number(name, text, type_)
    return values


def missing_constants(kernel: Kernel, values: Mapping[str, Any]) -> str:
    """Return the options that set the compile-time parameters still without a value."""
    constants = (p for p in kernel.parameters if p.kind is Kind.CONST)
    missing = (p.name for p in constants if p.name not in values and p.default is MISSING)
    return " ".join(f"--const {name}=…" for name in missing)


def _read_type(parameter: TypeParameter, text: str) -> Scalar:
    choices = {str(choice): choice for choice in parameter.choices}
    if text not in choices:
        raise UsageError(f"`{parameter.name}` takes {' or '.join(choices)}, but got `{text}`")
    return choices[text]


def read_number(name: str, text: str, type_: Any) -> Any:
    """Return a number or truth value given as text.

    Raises:
        UsageError: it is not one of that type.
    """
    try:
        if type_ is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return int(text, 0) if type_ is int else float(text)
    except (KeyError, ValueError):
        kind = {bool: "true or false", int: "an integer"}.get(type_, "a number")
        raise UsageError(f"`{name}` takes {kind}, but got `{text}`") from None

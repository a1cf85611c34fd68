"""Short kernels as text: compile one, look at its statements, run it by the book."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping
from typing import Any

import interpret
import numpy as np
import valid

import pywgsl as pw
from pywgsl import ir
from pywgsl.codegen.to_wgsl import to_wgsl
from pywgsl.from_source import execute
from pywgsl.frontend.check import Checked, check_kernel, define_kernel


def namespace() -> dict[str, Any]:
    names = {name: getattr(pw, name) for name in dir(pw) if not name.startswith("_")}
    for name in ("abs", "min", "max", "round", "pow", "all", "any"):
        del names[name]
    return {**names, "pw": pw, "np": np, "math": math, "enum": enum, "dataclasses": dataclasses}


def check(text: str, constants: Mapping[str, Any] | None = None, **names: Any) -> Checked:
    """Compile the function `k` of a text, and assert that the result is valid."""
    space = {**namespace(), **names}
    execute(text, space)
    kernel = space["k"]
    function = kernel.__wrapped__ if isinstance(kernel, pw.Kernel) else kernel
    checked = check_kernel(define_kernel(function), constants or {})
    valid.check(checked.module)
    return checked


def module(text: str, constants: Mapping[str, Any] | None = None, **names: Any) -> ir.Module:
    return check(text, constants, **names).module


def wgsl(text: str, constants: Mapping[str, Any] | None = None, **names: Any) -> str:
    """Return the body of the entry point, without its first line's indentation."""
    lines = to_wgsl(module(text, constants, **names)).text.split("\n")
    return "\n".join(lines)


def run(
    text: str,
    *,
    shape: tuple[int, ...] = (1,),
    constants: Mapping[str, Any] | None = None,
    names: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> list[str]:
    """Compile `k` and run it on `arguments`; return what it printed."""
    return interpret.run(module(text, constants, **(names or {})), arguments, shape)

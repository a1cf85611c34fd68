"""Which type to write in an annotation."""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMPY = {np.float32: "f32", np.float16: "f16", np.int32: "i32", np.uint32: "u32", np.bool_: "bool"}


def as_parameter(text: str, value: object) -> str | None:
    """Return how to hand a kernel an array of the surrounding program; None for anything else."""
    if not isinstance(value, np.ndarray | list | tuple):
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return None
    kinds = {"i": "i32", "u": "u32", "b": "bool"}
    element = "f16" if array.dtype == np.float16 else kinds.get(array.dtype.kind, "f32")
    form = "Array" if array.ndim <= 1 else f"Array{array.ndim}D"
    return f"pass it as a parameter: `{text.rpartition('.')[2]}: {form}[{element}]`"


def type_help(annotation: Any) -> str:
    """Return which type to write instead."""
    if annotation is np.ndarray:
        return "say what is in it: `Array[f32]`"
    if isinstance(annotation, type) and issubclass(annotation, np.generic):
        spelled = _NUMPY.get(annotation)
        if spelled is None:
            spelled = "f32" if issubclass(annotation, np.floating) else "i32"
        return f"write `{spelled}`"
    return "types are `f32`, `i32`, `u32`, `bool`, `vec4f`, …, and buffers `Array[f32]`"

"""What to say about an annotation that is no type of the language."""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMPY = {np.float32: "f32", np.float16: "f16", np.int32: "i32", np.uint32: "u32", np.bool_: "bool"}


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

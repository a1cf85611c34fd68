"""WGSL's arithmetic on NumPy arrays, where NumPy does not have it already.

Functions work element by element on scalars or arrays of int32, uint32, float32, float16 or bool and
keep that dtype. They are the reference's meaning of an operator or builtin; the WGSL of
`pywgsl.codegen.prelude` computes the same, bit for bit where semantics allow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LIMITS = {
    np.dtype(np.int32): (-2147483648.0, 2147483520.0),
    np.dtype(np.uint32): (0.0, 4294967040.0),
}


def convert(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return `value` converted to `dtype`: floats to integers truncate, saturate, and nan gives 0."""
    array = np.asarray(value)
    if array.dtype.kind in "f" and dtype in _LIMITS:
        low, high = _LIMITS[dtype]
        clipped = np.clip(array.astype(np.float64), low, high)
        with np.errstate(invalid="ignore"):
            return np.where(np.isnan(array), 0.0, clipped).astype(dtype)[()]
    with np.errstate(all="ignore"):
        return array.astype(dtype)[()]

"""One text, three readings: plain Python over 32-bit scalars, NumPy, and a device.

Random kernels come from `strategies`; those that once came out differently are kept by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scalar_python
from hypothesis import given
from strategies import Program, programs

import pywgsl as pw


def scalar(program: Program) -> dict[str, Any]:
    """What the arrays hold after each invocation has run as plain Python."""
    arguments = program.copies()
    scalar_python.run(
        program.text,
        program.name,
        arguments | program.constants,
        program.launch,
        group=program.group,
        vectors=program.vectors,
        merged=program.merged,
    )
    return arguments


def on(device: str, program: Program) -> dict[str, Any]:
    """What the arrays hold after the kernel has run on a device."""
    arguments = program.copies()
    kernel = pw.kernel_from_source(program.text, program.name)
    kernel.on(device)[program.launch](**arguments, **program.constants)
    return arguments


def wgsl(program: Program) -> str:
    return pw.kernel_from_source(program.text, program.name).wgsl(**program.constants)


def assert_same(
    expected: dict[str, Any], found: dict[str, Any], *, signed_zeros: bool = True
) -> None:
    """Compare arrays bit for bit, but for what a nan is made of."""
    for name, array in expected.items():
        if not isinstance(array, np.ndarray):
            continue
        other = found[name]
        if array.dtype == np.float32:
            same = (array.view(np.uint32) == other.view(np.uint32)) | (
                np.isnan(array) & np.isnan(other)
            )
            # A device may add and multiply without regard for the sign of a zero.
            same |= (array == other) & (not signed_zeros)
        else:
            same = array == other
        assert same.all(), f"{name} at {np.argwhere(~same)[0]}: {array[~same]} {other[~same]}"


@given(programs(exact=False, checked=False))
def test_numpy_computes_what_plain_python_does(
    accepted: Callable[[str], None], program: Program
) -> None:
    accepted(wgsl(program))
    assert_same(scalar(program), on("numpy", program))


@pytest.mark.gpu
@given(programs(exact=True, checked=False) | programs(exact=True, checked=True))
def test_a_device_computes_what_plain_python_does(
    accepted: Callable[[str], None], program: Program
) -> None:
    accepted(wgsl(program))
    expected = scalar(program)
    assert_same(expected, on("numpy", program))
    assert_same(expected, on("gpu", program), signed_zeros=False)


# ------------------------------------------------------------------------- found, and kept

_FOUND: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a call whose result is stored runs before the index is read": (
        """
        @pw.function
        def put(where):
            where[0] = 2
            return 7

        @pw.kernel{options}
        def kernel(a: Array[i32], b: Array[i32]):
            a[b[0]] = put(b)
        """,
        {"a": [0, 0, 0, 0], "b": [0, 0, 0, 0]},
        {"a": [0, 0, 7, 0], "b": [2, 0, 0, 0]},
    ),
    "a call runs also if its result is stored outside": (
        """
        @pw.function
        def put(where):
            where[0] = 2
            return 7

        @pw.kernel(checked=True)
        def kernel(a: Array[i32], b: Array[i32]):
            a[b[1]] = put(b)
        """,
        {"a": [0, 0], "b": [0, 100]},
        {"a": [0, 0], "b": [2, 100]},
    ),
    "a loop variable may have any name": (
        """
        @pw.kernel{options}
        def kernel(a: Array[i32]):
            for _ in range(a[0], a[1], a[2]):
                a[3] += 1
            for __y in range(-2147483646, -2147483648, -1):
                a[3] += __y // 2147483646
        """,
        {"a": [0, 10, 3, 0]},
        {"a": [0, 10, 3, 1]},
    ),
    "a conditional expression is converted as a whole": (
        """
        @pw.kernel{options}
        def kernel(a: Array[i32], x: Array[f32]):
            a[0] = i32(x[0] if a[0] > 0 else x[1])
            a[1] = i32(bool(x[0] if a[1] > 0 else x[1]))
            a[2] = i32(2.5 if a[2] > 0 else x[1] if a[2] > -2 else x[0])
        """,
        {"a": [1, 1, -1], "x": [3.75, -7.5]},
        {"a": [3, 1, -7], "x": [3.75, -7.5]},
    ),
    "a vector takes a number in place": (
        """
        @pw.kernel{options}
        def kernel(v: Array2D[i32], a: Array[i32]):
            u = vec3i(v[0, 0], v[0, 1], v[0, 2])
            u &= a[0]
            u |= a[1]
            u ^= a[2]
            u += a[3]
            v[0, 0], v[0, 1], v[0, 2] = u.x, u.y, u.z
        """,
        {"v": [[1, 2, 3]], "a": [6, 8, 1, 100]},
        {"v": [[109, 111, 111]], "a": [6, 8, 1, 100]},
    ),
    "an index beyond the end may be any constant": (
        """
        @pw.kernel(checked=True)
        def kernel(a: Array[i32], b: Array2D[i32]):
            a[0] = a[u32(4294967295)] + b[u32(2147483678), 0] + b[0, 2147483647]
            b[u32(4294967295), 0] = 1
        """,
        {"a": [5], "b": [[5, 6], [7, 8]]},
        {"a": [0], "b": [[5, 6], [7, 8]]},
    ),
    "values are checked like buffers": (
        """
        @pw.kernel(checked=True)
        def kernel(a: Array[i32], v: Array2D[i32]):
            own = pw.array[i32, 3](5, 6, 7)
            u = vec3i(1, 2, 3)
            own[a[0]] = u[a[0]] = 9
            own[a[1]] = u[a[1]] = 8
            own[a[2]] += 1
            for k in range(3):
                v[0, k], v[1, k] = own[k], u[k]
            nested = pw.local_array(i32, 2, 2)
            nested[1][a[0]] = 4
            nested[a[0]][1] = 5
            nested[a[2]][a[2]] = 6
            a[3] = own[a[0]] + u[a[1]] + nested[1][a[0]] + nested[a[1]][0]
            a[4] = nested[0][0] + nested[0][1] * 2 + nested[1][0] * 3 + nested[1][1] * 7
            a[0] = own[a[2]]
        """,
        {"a": [3, -1, 1, 99, 99], "v": [[0, 0, 0], [0, 0, 0]]},
        {"a": [7, -1, 1, 0, 42], "v": [[5, 7, 7], [1, 2, 3]]},
    ),
    "a conversion says nothing about the variable that it is of": (
        """
        @pw.kernel{options}
        def kernel(a: Array[i32], x: Array[f32], y: Array[u32]):
            m = 3
            m = m - 5
            y[0] = u32(m) >> 31
            x[0] = m
            n = 1
            if a[0] == 0:
                n = -n
            y[1] = u32(n) >> 30
            x[1] = n // 2
            k = 7
            x[2] = f32(k) / 2 + k // 2
        """,
        {"a": [0], "x": [0.0, 0.0, 0.0], "y": [0, 0]},
        {"a": [0], "x": [-2.0, -1.0, 6.5], "y": [1, 3]},
    ),
    "an id meets a vector": (
        """
        @pw.kernel{options}
        def kernel(a: Array[i32]):
            i = pw.global_id.x
            v = i + vec2i(a[0], 3)
            w = vec2i(a[0]) - (i + 1)
            a[1], a[2], a[3], a[4] = v.x, v.y, w.x, w.y
        """,
        {"a": [5, 0, 0, 0, 0]},
        {"a": [5, 5, 3, 4, 4]},
    ),
}


def test_an_unchecked_index_that_is_no_i32_is_accepted(accepted: Callable[[str], None]) -> None:
    text = """
    def kernel(a: Array2D[i32], b: Array[i32]):
        a[0, 0] = a[u32(4294967295), 0] + a[0, u32(1 << 31)]
        b[u32(4294967295)] = b[u32(4294967295)] + b[u32(4294967294)]
    """
    accepted(pw.kernel_from_source(text).wgsl())


@pytest.mark.gpu
@pytest.mark.parametrize("name", _FOUND)
@pytest.mark.parametrize("options", ["", "(checked=True)"], ids=["plain", "checked"])
def test_what_was_wrong_once(accepted: Callable[[str], None], name: str, options: str) -> None:
    text, arrays, results = _FOUND[name]
    kernel = pw.kernel_from_source(text.format(options=options), "kernel")
    accepted(kernel.wgsl())
    for device in ("numpy", "gpu"):
        found = {key: _array(key, value) for key, value in arrays.items()}
        kernel.on(device)[1](**found)
        assert {key: value.tolist() for key, value in found.items()} == results, device


def _array(name: str, values: list[Any]) -> np.ndarray[Any, Any]:
    dtypes: dict[str, Any] = {"x": np.float32, "y": np.uint32}
    return np.array(values, dtypes.get(name, np.int32))

"""Half precision end to end: NumPy and a device compute the same bits, and literals stay f16."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pywgsl as pw
from pywgsl import Array, Array2D, f16, f32, vec2h, vec3h, vec4h
from pywgsl.builtins import BUILTINS
from pywgsl.lang import mat2x2h, mat3x3h
from pywgsl.types import F16

HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
DTYPES = {"f16": np.float16, "f32": np.float32, "i32": np.int32, "u32": np.uint32, "bool": np.bool_}


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> pw.Device:
    return pw.device(request.param)


def kernel_of(text: str, result: str = "f16") -> pw.Kernel:
    """A kernel that stores an expression of `a`, `b` (two halves) and `i`."""
    return pw.kernel_from_source(
        f"def compute(x: Array[f16], z: Array[f16], y: Array[{result}]):\n"
        "    i = pw.global_id.x\n"
        "    a, b = x[i], z[i]\n"
        f"    y[i] = {text}\n"
    )


def both(kernel: pw.Kernel, dtype: Any, *columns: np.ndarray[Any, Any]) -> list[Any]:
    """What NumPy and the GPU store."""
    results = []
    for name in ("numpy", "gpu"):
        out = np.zeros(len(columns[0]), dtype)
        kernel.on(name)[len(out)](*columns, out)
        results.append(out)
    return results


def same_bits(actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    """Equal to the bit, but that any nan is like another."""
    np.testing.assert_array_equal(actual, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual[number]), np.signbit(expected[number]))


# ------------------------------------------------------------------ the same bits everywhere


@pytest.mark.gpu
@pytest.mark.parametrize(
    "text",
    ["a + b", "a - b", "a * b", "a / b", "-a", "a // b", "a % b", "a * 0.5 + b", "1 / a", "a ** 2"],
)
def test_arithmetic_agrees_for_every_half(text: str) -> None:
    kernel = kernel_of(text)
    other = np.random.default_rng(0).permutation(HALVES)
    host, gpu = both(kernel, np.float16, HALVES, other)
    same_bits(gpu, host)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("f32(a)", "f32"),
        ("i32(a)", "i32"),
        ("u32(a)", "u32"),
        ("bool(a)", "bool"),
        ("f16(i - 32768)", "f16"),
        ("f16(u32(i) * u32(3))", "f16"),
        ("f16(f32(a) * 3.3)", "f16"),
        ("f16(a > b)", "f16"),
        ("pw.isnan(a)", "bool"),
        ("pw.isinf(a)", "bool"),
        ("pw.isfinite(a)", "bool"),
        ("a == b", "bool"),
        ("a < b", "bool"),
        ("a != a", "bool"),
    ],
)
def test_conversions_and_tests_agree_for_every_half(text: str, result: str) -> None:
    host, gpu = both(kernel_of(text, result), DTYPES[result], HALVES, HALVES[::-1].copy())
    np.testing.assert_array_equal(gpu, host)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "text", ["min(a, b)", "max(a, b)", "pw.clamp(a, -1.0, b)", "abs(a)", "round(a)", "pw.floor(a)"]
)
def test_choosing_and_rounding_agree_for_every_half(text: str) -> None:
    other = np.random.default_rng(1).permutation(HALVES)
    host, gpu = both(kernel_of(text), np.float16, HALVES, other)
    np.testing.assert_array_equal(gpu, host)


@given(st.floats(width=32, allow_nan=False))
def test_a_conversion_rounds_as_numpy_does(value: float) -> None:
    @pw.kernel
    def narrow(x: Array[f32], y: Array[f16]):
        y[0] = f16(x[0])

    y = np.zeros(1, np.float16)
    narrow[1](np.array([value], np.float32), y)
    with np.errstate(over="ignore"):
        assert y[0] == np.float32(value).astype(np.float16)


def test_numpy_rounds_every_step() -> None:
    @pw.kernel
    def sum_twice(x: Array[f16], y: Array[f16]):
        y[0] = (x[0] + x[1]) - x[0]

    y = np.zeros(1, np.float16)
    sum_twice[1](np.array([2048, 1], np.float16), y)
    assert y[0] == 0  # 2049 is no half


FLOAT_ROWS = [
    row.name
    for row in BUILTINS.values()
    if not row.effect and row.rules[0] == "(T) -> T where T: float"
]


@pytest.mark.gpu
@pytest.mark.parametrize("name", FLOAT_ROWS)
def test_functions_of_halves_agree(name: str, accepted: Callable[[str], None]) -> None:
    row = BUILTINS[name]
    low, high = {"acosh": (1.0, 8.0)}.get(name, (-0.9, 0.9))
    if name.startswith(("log", "sqrt", "inverse")):
        low, high = 0.1, 8.0
    x = np.linspace(low, high, 101).astype(np.float16)
    kernel = kernel_of(f"pw.{name}(a)")
    accepted(kernel.wgsl())
    host, gpu = both(kernel, np.float16, x, x)
    assert np.asarray(row(x)).dtype == np.float16
    tolerance = row.tolerance.of(F16)
    np.testing.assert_allclose(
        gpu.astype(float), host.astype(float), tolerance.relative, tolerance.absolute
    )


# ---------------------------------------------------------------------------------- literals


@pw.kernel
def literals(x: Array[f16], y: Array[f16], total: Array[f32]):
    i = pw.global_id.x
    half = 0.5
    count = 0
    wide = 0.0
    for k in range(x.size):
        wide += f32(x[k])
        count += 1
    value = 1.5 if x[i] > 0 else 2
    y[i] = x[i] * half + value - 0 * x[i]
    y[i] += max(x[i], 0.25) + count
    total[i] = wide


def test_literals_take_the_type_of_their_context(device: pw.Device) -> None:
    x = np.array([-1, 0.1, 1000], np.float16)
    moved, y, total = device.array(x), device.zeros(3, f16), device.zeros(3, f32)
    literals[3](moved, y, total)
    value = np.where(x > 0, np.float16(1.5), np.float16(2))
    expected = x * np.float16(0.5) + value
    expected = expected + (np.maximum(x, np.float16(0.25)) + np.float16(3))
    np.testing.assert_array_equal(y.numpy(), expected)
    np.testing.assert_allclose(total.numpy(), x.astype(np.float32).sum())


def test_the_text_has_no_f32_where_all_is_f16() -> None:
    text = kernel_of("a * 0.5 + abs(b) * 2 - math.pi").wgsl()
    assert "enable f16;" in text
    assert "f32" not in text.replace("bitcast<f32>", "")
    assert "0.5h" in text
    assert "3.14h" in text


@pytest.mark.gpu
@pytest.mark.parametrize("value", [65504.0, 6e-8, 6.104e-05, 0.1, -0.1, math.inf, -math.inf])
def test_constants_keep_their_bits(value: float) -> None:
    @pw.kernel
    def store(y: Array[f16]):
        y[pw.global_id.x] = value

    y = np.zeros(1, np.float16)
    store.on("gpu")[1](y)
    same_bits(y, np.array([value], np.float16))


# ------------------------------------------------------------------------ buffers and uniforms


@pw.kernel
def double(x: Array[f16], y: Array[f16]):
    i = pw.global_id.x
    y[i] = x[i] + x[x.shape[0] - 1]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 255, 257])
def test_odd_lengths_are_their_own(device: pw.Device, size: int) -> None:
    x = np.arange(1, size + 1).astype(np.float16)
    moved, y = device.array(x), device.full(size, 7.0, f16)
    double[size](moved, y)
    np.testing.assert_array_equal(y.numpy(), x + np.float16(size))
    y.fill(0.0)
    np.testing.assert_array_equal(y.numpy(), np.zeros(size))
    np.testing.assert_array_equal(moved.copy().numpy(), x)


def test_a_checked_kernel_knows_the_odd_length(device: pw.Device) -> None:
    @pw.kernel(checked=True)
    def shift(x: Array[f16], y: Array[f16]):
        i = pw.global_id.x
        y[i] = x[i + 1] + 1.0
        y[i + 3] = 5.0

    y = device.zeros(3, f16)
    shift[3](device.full(3, 2.0, f16), y)
    np.testing.assert_array_equal(y.numpy(), [3, 3, 1])


@pw.kernel
def everything(
    x: Array[vec3h],
    v: Array2D[vec2h],
    y: Array[vec3h],
    z: Array[vec4h],
    a: f16,
    b: vec3h,
    c: f16,
    d: f32,
    e: vec2h,
    m: mat3x3h,
    flag: bool,
    n: mat2x2h,
    g: vec4h,
):
    i = pw.global_id.x
    scaled = x[i] * a + b
    y[i] = m @ scaled + vec3h(v[i, 0], 1) * c
    moved = n @ v[i, 1] + e
    z[i] = vec4h(moved, f16(d), 1.0 if flag else 0.0) + g * 2


def test_vectors_matrices_and_uniforms(device: pw.Device, accepted: Callable[[str], None]) -> None:
    rng = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray[Any, Any]:
        return rng.normal(size=shape).astype(np.float16)

    x, v, m, n, g = random(5, 3), random(5, 2, 2), random(3, 3), random(2, 2), random(4)
    y, z = device.zeros((5, 3), f16), device.zeros((5, 4), f16)
    values = {"a": 0.3, "b": (1, 2, 3.5), "c": np.float16(0.7), "d": 0.1, "e": [1.5, 2]}
    everything[5](device.array(x), device.array(v), y, z, m=m, flag=True, n=n, g=g, **values)
    scaled = x * np.float16(0.3) + np.array(values["b"], np.float16)
    wide = scaled.astype(float) @ m.astype(float)
    wide += np.concatenate([v[:, 0], np.ones((5, 1))], axis=1) * 0.7
    np.testing.assert_allclose(y.numpy(), wide, rtol=4e-3, atol=1e-2)
    moved = v[:, 1].astype(float) @ n.astype(float) + np.array(values["e"])
    wide = np.concatenate([moved, np.tile([0.1, 1.0], (5, 1))], axis=1) + 2 * g.astype(float)
    np.testing.assert_allclose(z.numpy(), wide, rtol=4e-3, atol=1e-2)
    accepted(everything.wgsl())


def test_the_uniform_struct_has_wgsls_layout() -> None:
    fields = everything.reflection()["uniform"]["fields"]
    offsets = {f["name"]: f["offset"] for f in fields}
    wanted = {"a": 0, "b": 8, "c": 14, "d": 16, "e": 20, "m": 24, "flag": 48, "n": 52, "g": 64}
    assert offsets == wanted | {"v_shape_1": 72, "launch_x": 76}


# ---------------------------------------------------------------------------------- refusals


def test_a_half_that_is_too_large_is_refused() -> None:
    @pw.kernel
    def k(x: Array[f16], factor: f16):
        x[pw.global_id.x] *= factor

    with pytest.raises(pw.LaunchError, match="`factor` is f16, which has no number as large as"):
        k[1](np.zeros(1, np.float16), 65520.0)


def test_the_feature_is_required() -> None:
    assert double.reflection()["requires"]["features"] == ["shader-f16"]


@pytest.mark.gpu
def test_a_device_without_halves_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = pw.device("gpu")
    monkeypatch.setattr(gpu, "features", gpu.features - {"shader-f16"})

    @pw.kernel
    def k(x: Array[f16]):
        x[pw.global_id.x] = 1.0

    with pytest.raises(pw.DeviceError, match=r"^k: needs the feature `shader-f16`, which .* lacks"):
        k[1](gpu.zeros(1, f16))

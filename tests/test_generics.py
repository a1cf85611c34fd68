"""Kernels and helpers generic over dtype: what `T` is, where it is decided, and what is refused."""

import pickle
from typing import Any, TypeVar

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import Array, Array2D, f16, f32, i32, u32

T = TypeVar("T", f32, f16)
N = TypeVar("N", i32, f32)

FLOATS = [np.float32, np.float16]


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> pw.Device:
    return pw.device(request.param)


@pw.kernel
def scale(x: Array[T], y: Array[T], factor: T = 2.0):
    i = pw.global_id.x
    y[i] = x[i] * factor + 0.25


@pw.function
def blend(a: T, b: T, t: T = 0.5):
    return a + (b - a) * t


@pw.kernel
def smooth(x: Array2D[T], y: Array2D[T]):
    row, column = pw.global_id.y, pw.global_id.x
    window = pw.local_array(T, 2)
    window[0] = x[row, column]
    window[1] = x[row, (column + 1) % x.shape[1]]
    total: T = 0
    total += blend(window[0], window[1])
    y[row, column] = T(f32(total) * 2.0)


@pw.kernel(workgroup_size=4)
def reverse(x: Array[T], y: Array[T]):
    shared = pw.workgroup_array(T, 4)
    lane = pw.local_id.x
    shared[lane] = x[pw.global_id.x]
    pw.workgroup_barrier()
    y[pw.global_id.x] = shared[3 - lane]


@pw.kernel
def count(x: Array[N], y: Array[N]):
    i = pw.global_id.x
    y[i] = x[i] + N(i) + 1


@pw.kernel
def sum_rows(x: Array2D[T], y: Array[f32]):
    row = pw.global_id.x
    total = 0.0
    for k in range(x.shape[1]):
        total += f32(x[row, k])
    y[row] = total


@pw.kernel
def fill(y: Array[f32], value: T):
    y[pw.global_id.x] = f32(value)


def on(device: pw.Device, kernel: Any, shape: Any, *values: Any) -> list[np.ndarray[Any, Any]]:
    """Launch with ndarrays taken to a device; return the arrays afterwards."""
    moved = [device.array(v) if isinstance(v, np.ndarray) else v for v in values]
    kernel[shape](*moved)
    return [m.numpy() for m in moved if isinstance(m, type(device.empty(1)))]


# ------------------------------------------------------------------------------ what T is


@pytest.mark.parametrize("dtype", FLOATS)
def test_arrays_choose_the_type(device: pw.Device, dtype: type) -> None:
    x = np.arange(5, dtype=dtype) / dtype(3)
    _, y = on(device, scale, 5, x, np.zeros(5, dtype), 2.0)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, x * dtype(2) + dtype(0.25))


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_body_uses_the_type(device: pw.Device, dtype: type) -> None:
    x = np.arange(12, dtype=dtype).reshape(3, 4)
    _, y = on(device, smooth, (4, 3), x, np.zeros_like(x))
    np.testing.assert_array_equal(y, x + np.roll(x, -1, axis=1))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", FLOATS)
def test_workgroup_memory_has_the_type(dtype: type) -> None:
    x = np.arange(8, dtype=dtype)
    _, y = on(pw.device("gpu"), reverse, 8, x, np.zeros_like(x))
    np.testing.assert_array_equal(y, x.reshape(2, 4)[:, ::-1].reshape(-1))


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_a_variable_may_stand_for_integers(device: pw.Device, dtype: type) -> None:
    x = np.arange(4, dtype=dtype)
    _, y = on(device, count, 4, x, np.zeros_like(x))
    np.testing.assert_array_equal(y, 2 * x + 1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_sum_of_converted_values_is_f32(device: pw.Device, dtype: type) -> None:
    x = np.full((2, 4096), 0.5, dtype)
    _, y = on(device, sum_rows, 2, x, np.zeros(2, np.float32))
    np.testing.assert_array_equal(y, [2048.0, 2048.0])


def test_what_the_arrays_choose_is_what_naming_it_gives() -> None:
    assert "x: array<f16>" in scale.wgsl(T=f16)
    assert "x: array<f32>" in scale.wgsl(T=np.float32)
    assert scale.wgsl() == scale.wgsl(T=f32)
    assert "factor + 0.25" in scale.specialize(T=f16).numpy_source()
    assert scale.reflection(T=f16)["bindings"][0]["type"] == "f16"
    assert scale.reflection(T=f16)["constants"] == {"T": "f16"}
    assert "(T = f16)" in scale.wgsl(T=f16)


def test_python_types_are_choices_too() -> None:
    variable = TypeVar("variable", float, int)

    @pw.kernel
    def double(x: Array[variable]):
        x[pw.global_id.x] += x[pw.global_id.x]

    x = np.arange(3, dtype=np.int32)
    double[3](x)
    np.testing.assert_array_equal(x, [0, 2, 4])
    assert "array<f32>" in double.wgsl(variable=float)


def test_both_compilers_take_each_specialization(accepted: Any) -> None:
    for kernel in (scale, smooth, reverse, sum_rows, fill):
        for type_ in (f32, f16):
            accepted(kernel.wgsl(T=type_))


def test_a_prepared_launch_is_not_taken_for_another_type(device: pw.Device) -> None:
    launch = scale[3]
    for dtype in (*FLOATS, *FLOATS):
        x, y = device.array(np.ones(3, dtype)), device.zeros(3, dtype)
        launch(x, y, 3.0)
        launch(x, y, 4.0)
        np.testing.assert_array_equal(y.numpy(), np.full(3, 4.25, dtype))


# --------------------------------------------------------------------------------- helpers


@pw.function
def twice(v: T):
    return v * T(2)


@pw.function
def of_the_caller(v):
    return v * T(2)


@pw.function
def first(a: Array[T]):
    return a[0]


@pw.function
def total_of(values: pw.array[T, 2]):
    return values[0] + values[1]


def test_each_call_of_a_helper_has_its_own_type() -> None:
    @pw.kernel
    def both(x: Array[f32], h: Array[f16]):
        i = pw.global_id.x
        x[i] = twice(x[i]) + f32(first(h))
        h[i] = twice(h[i])

    x, h = np.ones(2, np.float32), np.array([1, 2], np.float16)
    both[2](x, h)
    np.testing.assert_array_equal(x, [3, 3])
    np.testing.assert_array_equal(h, [2, 4])


def test_a_variable_that_no_parameter_mentions_is_the_callers() -> None:
    @pw.kernel
    def k(x: Array[T]):
        x[0] = of_the_caller(x[0])

    x = np.ones(1, np.float16)
    k[1](x)
    assert x[0] == 2
    assert "v * 2.0h" in k.wgsl(T=f16)


def test_literals_take_the_callers_type() -> None:
    @pw.kernel
    def k(x: Array[T]):
        x[0] = twice(1.5) + total_of(pw.array[T, 2](1, 2))

    for dtype in FLOATS:
        x = np.zeros(1, dtype)
        k[1](x)
        assert x[0] == 6


def test_numbers_become_what_the_arguments_have_in_common() -> None:
    @pw.kernel
    def k(x: Array[f32], n: i32):
        x[0] = blend(n, 2.5)
        x[1] = twice(n)

    x = np.zeros(2, np.float32)
    k[1](x, 1)
    np.testing.assert_array_equal(x, [1.75, 2])


# ------------------------------------------------------------------------------ mistakes


def message(launch: Any, *values: Any) -> str:
    with pytest.raises(pw.LaunchError) as caught:
        launch(*values)
    return str(caught.value)


def test_arrays_of_one_variable_have_one_dtype() -> None:
    assert message(scale[2], np.zeros(2, np.float16), np.zeros(2, np.float32)) == (
        "scale: parameters `x` and `y` are both arrays of `T`, but `x` is float16 and `y` "
        "float32; convert one with `.astype(np.float16)`"
    )


def test_a_dtype_is_one_that_the_variable_stands_for() -> None:
    assert message(scale[2], np.zeros(2), np.zeros(2)) == (
        "scale: parameter `x` takes a 1-D array of float32 or float16, but got a 1-D float64 "
        "array; convert it with `.astype(np.float32)`"
    )
    assert message(lambda: scale.wgsl(T=i32)) == "scale: `T` is f32 or f16, but got i32"
    assert message(lambda: scale.wgsl(T="quarter")) == "scale: `T` is f32 or f16, but got 'quarter'"


def test_what_is_no_array_is_named() -> None:
    assert "`x` takes a 1-D float16 array" in message(scale[2], [1, 2], np.zeros(2, np.float16))


def test_a_specialized_kernel_takes_only_its_type() -> None:
    narrow = scale.specialize(T=f16)
    assert repr(narrow).endswith("scale, T=f16>")
    wide = np.zeros(2, np.float32)
    assert "`x` takes a 1-D float16 array" in message(narrow[2], wide, wide.copy())
    assert message(lambda: narrow.wgsl(T=f32)) == (
        "scale: there is no compile-time parameter `T`; there are: none"
    )


def test_a_variable_of_scalars_alone_must_be_named() -> None:
    y = np.zeros(2, np.float32)
    assert message(fill[2], y, 1.5) == (
        "fill: no array says what `T` is; it is f32 or f16: `fill.specialize(T=f32)[…](…)`"
    )
    fill.specialize(T=f16)[2](y, 1 / 3)
    assert y[0] == np.float16(1 / 3)


def test_two_variables_of_one_name_are_refused() -> None:
    other = TypeVar("T", i32, u32)  # type: ignore[misc]

    @pw.kernel
    def k(x: Array[T], y: Array[other]):
        x[0] = 1.0

    with pytest.raises(pw.CompileError, match="two type variables of this kernel are called `T`"):
        k.wgsl()


def test_a_parameter_is_not_called_as_a_variable() -> None:
    variable = TypeVar("n", f32, f16)  # type: ignore[misc]

    @pw.kernel
    def k(x: Array[variable], n: pw.Const[int]):
        x[0] = 1.0

    with pytest.raises(pw.CompileError, match="`n` is both a parameter and a type"):
        k.wgsl(n=1)


# -------------------------------------------------------------------------- around them


def test_generic_kernels_pickle() -> None:
    assert pickle.loads(pickle.dumps(scale)) is scale
    narrow = pickle.loads(pickle.dumps(scale.specialize(T=f16)))
    assert narrow.constants == {"T": f16}


def test_generic_kernels_of_no_module_pickle_by_source() -> None:
    kernel = pw.kernel_from_source(
        "from typing import TypeVar\n"
        'T = TypeVar("T", f32, f16)\n'
        "def double(x: Array[T]):\n"
        "    x[pw.global_id.x] *= T(2)\n"
    )
    double = pickle.loads(pickle.dumps(kernel))
    assert double is not kernel
    x = np.ones(2, np.float16)
    double[2](x)
    np.testing.assert_array_equal(x, [2, 2])

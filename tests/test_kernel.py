"""What can be asked of a kernel: text, specializations, reflection; and kernels from text."""

import inspect
import json

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import Array, Array2D, Const, f32, u32, vec3f
from pywgsl.reflection import reflect

FACTOR = 2.0


@pw.kernel(workgroup_size=(8, 4))
def scale_rows(x: Array2D[f32], by: Array[f32], shift: vec3f, n: Const[int] = 3):
    """Multiply each row."""
    i, j = pw.global_id.x, pw.global_id.y
    x[j, i] = x[j, i] * by[j] + shift.y * float(n)


@pw.kernel(workgroup_size=1)
def first(x: Array[u32]):
    x[0] = u32(7)


@pw.kernel
def repeated(x: Array[f32], times: Const[int]):
    i = pw.global_id.x
    for _ in range(times):
        x[i] = x[i] * FACTOR


@pw.function
def doubled(value: f32) -> f32:
    return value * 2.0


def test_a_kernel_keeps_what_a_function_has():
    assert scale_rows.name == scale_rows.__name__ == "scale_rows"
    assert scale_rows.__doc__ == "Multiply each row."
    assert scale_rows.__module__ == __name__
    assert inspect.isfunction(inspect.unwrap(scale_rows))
    assert repr(scale_rows) == f"<kernel {__name__}.scale_rows>"
    assert repr(repeated.specialize(times=2)) == f"<kernel {__name__}.repeated, times=2>"


def test_a_function_is_plain_python_on_the_host():
    assert doubled(3.0) == 6.0
    assert doubled.__name__ == "doubled"
    assert "doubled" in repr(doubled)


@pytest.mark.parametrize("decorator", [pw.kernel, pw.function, pw.kernel(workgroup_size=4)])
@pytest.mark.parametrize("thing", [3, int, len, "scale"])
def test_only_functions_can_be_decorated(decorator, thing):
    with pytest.raises(pw.CompileError, match="E0102"):
        decorator(thing)


def test_wgsl_and_numpy_source_are_text():
    assert "@workgroup_size(8, 4)" in scale_rows.wgsl()
    assert "fn scale_rows" in scale_rows.wgsl(target="web")
    assert "scale_rows" in scale_rows.numpy_source()
    with pytest.raises(pw.LaunchError, match=r"parameter `times` needs a value: `times=…`"):
        repeated.wgsl()
    with pytest.raises(pw.LaunchError, match="no compile-time parameter `x`; there are: `times`"):
        repeated.wgsl(x=1)
    with pytest.raises(pw.LaunchError, match=r"`times` is a compile-time int, but got 1.5"):
        repeated.wgsl(times=1.5)
    assert repeated.wgsl(times=3) != repeated.wgsl(times=4)


def test_specialize_sets_constants_and_the_workgroup_size():
    kernel = repeated.specialize(workgroup_size=32, times=2)
    assert [p.name for p in kernel.parameters] == ["x"]
    assert kernel.wgsl() == repeated.specialize(workgroup_size=(32,)).wgsl(times=2)
    assert "@workgroup_size(32)" in kernel.wgsl()
    again = kernel.specialize(workgroup_size=(4, 2))
    assert "@workgroup_size(4, 2)" in again.wgsl()
    assert again.constants == {"times": 2}
    with pytest.raises(pw.LaunchError, match="no compile-time parameter `times`; there are: none"):
        kernel.specialize(times=3)


@pytest.mark.parametrize("size", [0, -1, (1, 2, 3, 4), (), 2.0, True])
def test_a_workgroup_size_is_one_to_three_positive_integers(size):
    with pytest.raises((TypeError, ValueError), match="workgroup_size"):
        first.specialize(workgroup_size=size).wgsl()


@pytest.mark.parametrize("size", [64, (8, 8)])
def test_a_workgroup_size_is_given_by_name(size):
    with pytest.raises(pw.CompileError) as caught:
        pw.kernel(size)
    assert f"= help: name what it sets: `@pw.kernel(workgroup_size={size})`" in str(caught.value)


def test_a_source_is_a_text():
    with pytest.raises(pw.LaunchError, match="a kernel's source is a text, not 3"):
        pw.kernel_from_source(3)


def test_reflection_says_what_a_host_needs():
    found = scale_rows.reflection()
    assert json.loads(json.dumps(found)) == found
    assert found["entry_point"] == "scale_rows"
    assert found["workgroup_size"] == [8, 4, 1]
    assert found["constants"] == {"n": 3}
    x, by, uniforms = found["bindings"]
    assert x == {
        "name": "x",
        "group": 0,
        "binding": 0,
        "kind": "storage",
        "access": "read_write",
        "type": "f32",
        "ndim": 2,
        "stride": 4,
    }
    assert (by["binding"], by["access"], by["ndim"]) == (1, "read", 1)
    assert (uniforms["binding"], uniforms["kind"]) == (2, "uniform")
    fields = {f["name"]: f for f in found["uniform"]["fields"]}
    assert fields["shift"]["type"] == "vec3f"
    assert fields["shift"]["carries"] == {"parameter": "shift"}
    assert {"length_of": "x", "axis": 1} in [f["carries"] for f in fields.values()]
    assert found["launch"]["workgroups"] == ["ceil(x / 8)", "ceil(y / 4)", "ceil(z / 1)"]
    for axis, number in (("x", 0), ("y", 1)):
        name = found["launch"]["uniform_fields"][axis]
        assert fields[name]["carries"] == {"launch_axis": number}
    assert found["requires"] == {"features": [], "limits": {}}
    for field in fields.values():
        assert field["offset"] + field["size"] <= found["uniform"]["size"]


def test_a_kernel_without_uniforms_has_no_struct():
    found = first.reflection()
    assert found["uniform"] is None
    assert [b["name"] for b in found["bindings"]] == ["x"]


def test_requirements_list_what_goes_beyond_the_defaults():
    parameters = ", ".join(f"a{i}: Array[f32]" for i in range(9))
    text = f"@kernel(workgroup_size=512)\ndef many({parameters}):\n    a0[0] = a8[0]\n"
    requires = pw.kernel_from_source(text).reflection()["requires"]
    assert requires["limits"] == {
        "maxStorageBuffersPerShaderStage": 9,
        "maxComputeInvocationsPerWorkgroup": 512,
        "maxComputeWorkgroupSizeX": 512,
    }


def test_requirements_list_features():
    from pywgsl import ir
    from pywgsl.types import F16, RuntimeArray

    halves = ir.Buffer("x", RuntimeArray(F16), ir.Access.READ)
    module = ir.Module("k", (halves,), (), (1, 1, 1))
    assert reflect(module)["requires"]["features"] == ["shader-f16"]


# ------------------------------------------------------------------------- kernels from text


def test_a_kernel_can_be_text():
    kernel = pw.kernel_from_source(
        """
        @pw.kernel(workgroup_size=64)
        def root(x: Array[f32], y: Array[f32]):
            i = global_id.x
            y[i] = math.sqrt(x[i])
        """
    )
    assert kernel.name == "root"
    y = np.zeros(3, np.float32)
    kernel[3](np.array([1, 4, 9], np.float32), y)
    assert y.tolist() == [1, 2, 3]


def test_a_plain_function_can_be_the_kernel():
    kernel = pw.kernel_from_source("def put(x: Array[i32]):\n    x[global_id.x] = 5\n")
    x = np.zeros(2, np.int32)
    kernel[2](x)
    assert x.tolist() == [5, 5]


TWO = """
@function
def half(x: f32) -> f32:
    return x * 0.5

@kernel
def halve(x: Array[f32]):
    x[pw.global_id.x] = half(x[pw.global_id.x])

@kernel
def zero(x: Array[f32]):
    x[pw.global_id.x] = 0.0
"""


def test_one_of_several_kernels_is_named():
    assert pw.kernel_from_source(TWO, "halve").name == "halve"
    assert pw.kernel_from_source(TWO, name="zero").name == "zero"
    with pytest.raises(pw.LaunchError, match="defines 2 kernels; say which of `halve`, `zero`"):
        pw.kernel_from_source(TWO)
    with pytest.raises(pw.LaunchError, match="no kernel `other`; it defines `halve`, `zero`"):
        pw.kernel_from_source(TWO, "other")
    with pytest.raises(pw.LaunchError, match="defines 0 kernels; write one with `def`"):
        pw.kernel_from_source("x = 1")


def test_text_that_is_not_python_is_a_syntax_error():
    with pytest.raises(SyntaxError) as caught:
        pw.kernel_from_source("def f(:\n    pass\n")
    assert caught.value.lineno == 1


def test_mistakes_in_text_are_shown_with_their_line():
    kernel = pw.kernel_from_source("def f(x: Array[f32]):\n    x[0] = nothing\n")
    with pytest.raises(pw.CompileError) as caught:
        kernel.wgsl()
    assert "x[0] = nothing" in str(caught.value)
    assert "<pywgsl source" in str(caught.value)


def test_the_types_of_parameters_are_those_of_the_language():
    types = [str(p.type) for p in scale_rows.parameters[:3]]
    assert types == ["Array2D[f32]", "Array[f32]", "vec3f"]
    assert scale_rows.parameters[3].default == 3

"""The NumPy back end against the scalar reference, bit for bit."""

from __future__ import annotations

import re
import traceback
from typing import Any

import numpy as np
import pytest
import random_kernels
import scalar_reference
from build import add, at, binary, buffer, function, id_, literal, local, module, uniform
from hypothesis import given
from hypothesis import strategies as st

import pywgsl as pw
from pywgsl import Array, Array2D, Array3D, f32, i32, ir, numerics
from pywgsl.codegen.to_numpy import to_numpy
from pywgsl.runtime import lanes, numpy_program
from pywgsl.runtime.numpy_program import NumpyProgram
from pywgsl.types import BOOL, F32, I32, Field, FixedArray, Struct, Vector


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays are equal, where all nans are one and zeros have their sign."""
    if a.dtype.kind != "f":
        return bool((a == b).all())
    bits = a.view(np.uint32) == b.view(np.uint32)
    return bool((bits | (np.isnan(a) & np.isnan(b))).all())


@given(random_kernels.kernels(), st.sampled_from([(5, 3), (1, 1), (8, 1), (1, 6)]), st.booleans())
def test_random_kernels_agree_with_the_scalar_reference(
    kernel: random_kernels.Kernel, shape: tuple[int, int], blocked: bool
) -> None:
    module = kernel.module
    expected, found = random_kernels.arguments(shape), random_kernels.arguments(shape)
    scalar_reference.run(module, (*shape, 1), expected)
    program = NumpyProgram(module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numpy_program, "BLOCK", 6 if blocked else 1 << 16)
        # The ways that are quick for large arrays, for small ones.
        patch.setattr(numerics, "_FEW", 4)
        patch.setattr(lanes, "_MANY", 2)
        program.run((*shape, 1), found)
    for name in ("out_ints", "out_floats"):
        assert same_bits(expected[name], found[name])


def agree(
    module: ir.Module, shape: tuple[int, int, int], arguments: dict[str, Any]
) -> dict[str, Any]:
    """Run a module both ways, assert that all buffers end up equal, and return them."""
    expected, found = (
        {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in arguments.items()}
        for _ in range(2)
    )
    scalar_reference.run(module, shape, expected)
    NumpyProgram(module).run(shape, found)
    for parameter in module.buffers:
        name = parameter.name
        np.testing.assert_array_equal(expected[name], found[name])
    return found


def module_of(kernel: Any) -> ir.Module:
    found: ir.Module = kernel.complete({}).module
    return found


@pw.kernel
def shifted(a: Array[f32], out: Array[f32], by: i32) -> None:
    i = pw.global_id.x
    out[i] = a[i + by]


@pw.kernel
def reversed_every_second(a: Array[f32], out: Array[f32]) -> None:
    i = pw.global_id.x
    out[i] = a[len(a) - 1 - 2 * i]


class TestIndices:
    @pytest.mark.parametrize("by", [-30, -3, 0, 2, 30, 2**31 - 1, -(2**31)])
    def test_a_load_out_of_range_gives_zero(self, by: int) -> None:
        a = np.arange(1, 21, dtype=np.float32)
        agree(module_of(shifted), (20, 1, 1), {"a": a, "out": np.ones_like(a), "by": by})

    def test_a_store_out_of_range_is_dropped(self) -> None:
        a = np.arange(1, 21, dtype=np.float32)
        out = np.zeros(7, np.float32)
        found = agree(module_of(shifted), (20, 1, 1), {"a": a, "out": out, "by": 0})
        np.testing.assert_array_equal(found["out"], a[:7])

    def test_empty_buffers_are_out_of_range_everywhere(self) -> None:
        empty = np.zeros(0, np.float32)
        agree(module_of(shifted), (5, 1, 1), {"a": empty, "out": np.ones(5, np.float32), "by": 0})
        agree(module_of(shifted), (5, 1, 1), {"a": np.ones(5, np.float32), "out": empty, "by": 0})

    def test_steps_and_negative_steps_are_slices(self) -> None:
        a = np.arange(1, 21, dtype=np.float32)
        out = np.zeros(15, np.float32)
        agree(module_of(reversed_every_second), (15, 1, 1), {"a": a, "out": out})

    def test_rows_and_columns_of_a_flat_buffer(self) -> None:
        @pw.kernel(workgroup_size=(8, 8))
        def transposed(a: Array[f32], out: Array[f32], rows: i32, columns: i32) -> None:
            x, y = pw.global_id.x, pw.global_id.y
            out[x * rows + y] = a[y * columns + x] + a[y * columns + x + 1]

        a = np.arange(1, 13, dtype=np.float32)
        arguments = {"a": a, "out": np.zeros(12, np.float32), "rows": 3, "columns": 4}
        agree(module_of(transposed), (4, 3, 1), arguments)

    def test_three_axes_and_shapes_beyond_the_buffers(self) -> None:
        @pw.kernel(workgroup_size=(4, 4, 4))
        def averaged(a: Array3D[f32], out: Array3D[f32]) -> None:
            x, y, z = pw.global_id.x, pw.global_id.y, pw.global_id.z
            out[z, y, x] = a[z, y, x] + a[z - 1, y, x + 1] * a[z, y - 1, x]

        a = np.random.default_rng(0).random((3, 4, 5)).astype(np.float32)
        arguments = {"a": a, "out": np.zeros_like(a)}
        agree(module_of(averaged), (7, 5, 4), arguments)

    def test_indices_from_memory(self) -> None:
        @pw.kernel
        def permuted(index: Array[i32], a: Array2D[f32], out: Array2D[f32]) -> None:
            i = pw.global_id.x
            for k in range(a.shape[1]):
                out[index[i], k] = a[i, index[k]]

        index = np.array([2, 0, 5, -1, 1], np.int32)
        a = np.random.default_rng(0).random((5, 3)).astype(np.float32)
        arguments = {"index": index, "a": a, "out": np.zeros_like(a)}
        agree(module_of(permuted), (5, 1, 1), arguments)

    def test_the_last_lane_wins_where_many_store(self) -> None:
        @pw.kernel
        def last(out: Array[i32]) -> None:
            out[0] = pw.global_id.x

        agree(module_of(last), (9, 1, 1), {"out": np.zeros(1, np.int32)})

    def test_one_row_of_lanes_may_store_for_all(self) -> None:
        @pw.kernel(workgroup_size=(4, 4))
        def first_row(a: Array2D[f32], out: Array[f32]) -> None:
            x, y = pw.global_id.x, pw.global_id.y
            if y == 1:
                out[x] = a[y, x]

        a = np.random.default_rng(0).random((3, 5)).astype(np.float32)
        agree(module_of(first_row), (5, 3, 1), {"a": a, "out": np.zeros(5, np.float32)})

    def test_ids_of_workgroups(self) -> None:
        @pw.kernel(workgroup_size=(4, 2))
        def ids(out: Array2D[i32]) -> None:
            x, y = pw.global_id.x, pw.global_id.y
            groups = pw.workgroup_id.x + 10 * pw.workgroup_id.y + 100 * pw.num_workgroups.x
            out[y, x] = groups * 1000 + pw.local_id.x + 10 * pw.local_id.y + 100 * pw.local_index

        agree(module_of(ids), (7, 5, 1), {"out": np.zeros((5, 7), np.int32)})


class TestMemory:
    def test_a_value_loaded_before_a_store_stays(self) -> None:
        @pw.kernel
        def swapped(a: Array[f32], b: Array[f32]) -> None:
            i = pw.global_id.x
            t = a[i]
            a[i] = b[i]
            b[i] = t

        a, b = np.random.default_rng(0).random((2, 9)).astype(np.float32)
        agree(module_of(swapped), (9, 1, 1), {"a": a, "b": b})

    def test_read_only_arguments_are_read(self) -> None:
        a = np.arange(5, dtype=np.float32)
        a.flags.writeable = False
        out = np.zeros(5, np.float32)
        NumpyProgram(module_of(shifted)).run((5, 1, 1), {"a": a, "out": out, "by": 1})
        np.testing.assert_array_equal(out, [1, 2, 3, 4, 0])

    def test_composites_are_values(self) -> None:
        @pw.kernel
        def copied(out: Array2D[i32]) -> None:
            i = pw.global_id.x
            a = pw.local_array(i32, 4)
            a[i % 4] = 7
            b = a
            a[1] = i
            v = pw.vec3i(i, 2, 3)
            w = v
            v.y = 9
            for k in range(4):
                out[i, k] = a[k] + 10 * b[k] + 100 * v.y + 1000 * w.y

        agree(module_of(copied), (6, 1, 1), {"out": np.zeros((6, 4), np.int32)})

    def test_a_vector_of_one_loaded_number_stays(self) -> None:
        @pw.kernel
        def spread(a: Array[f32]) -> None:
            i = pw.global_id.x
            v = pw.vec2f(a[i])
            a[i] = 5.0
            a[i] = a[i] + v.y

        agree(module_of(spread), (4, 1, 1), {"a": np.arange(4, dtype=np.float32)})

    def test_an_array_of_structs_with_an_index_for_each_lane(self) -> None:
        pair = Struct("Pair", (Field("a", I32), Field("b", Vector(2, F32))))
        pairs, out = local("pairs", FixedArray(pair, 3)), buffer("out", F32)
        chosen = local("chosen", pair)

        def element(index: ir.Expr) -> ir.Index:
            return ir.Index(pairs, (index,), pair)

        y = ir.Swizzle(ir.Member(element(id_()), "b", Vector(2, F32)), "y", F32)
        kernel = module(
            ir.Var("pairs", pairs.type),
            ir.Assign(ir.Member(element(literal(1)), "a", I32), literal(7)),
            ir.Assign(y, literal(2.5)),
            ir.Let("chosen", element(id_())),
            ir.Assign(ir.Member(element(id_()), "a", I32), literal(100)),
            ir.Assign(at(out, id_()), add(y, ir.Convert(ir.Member(chosen, "a", I32), F32))),
            writes=[out],
            structs=[pair],
        )
        agree(kernel, (5, 1, 1), {"out": np.zeros(5, np.float32)})

    def test_structs_in_buffers_and_parameters(self) -> None:
        vec3f = Vector(3, F32)
        particle = Struct("Particle", (Field("position", vec3f), Field("alive", BOOL)))
        particles, out = buffer("particles", particle), buffer("out", particle)
        wind = uniform("wind", particle)
        i, p, copy = local("i"), local("p", particle), local("copy", particle)

        def position(base: ir.Expr) -> ir.Expr:
            return ir.Member(base, "position", vec3f)

        def x(base: ir.Expr) -> ir.Swizzle:
            return ir.Swizzle(position(base), "x", F32)

        kernel = module(
            ir.Let("i", id_()),
            ir.Var("p", particle, at(particles, i)),
            ir.Let("copy", p),
            ir.Assign(position(p), add(position(p), position(wind))),
            ir.If(
                binary(x(p), ">", literal(1.0)),
                (
                    ir.Assign(ir.Member(p, "alive", BOOL), literal(True)),
                    ir.Assign(at(out, i), p),
                ),
            ),
            ir.Assign(x(at(out, i)), x(copy)),
            reads=[particles],
            writes=[out],
            uniforms=[wind],
            structs=[particle],
        )
        dtype = np.dtype([("position", "f4", (3,)), ("alive", np.bool_)])
        values = np.zeros(6, dtype)
        values["position"] = np.random.default_rng(0).random((6, 3))
        arguments = {"particles": values, "out": np.zeros(6, dtype), "wind": values[3].copy()}
        found = agree(kernel, (6, 1, 1), arguments)
        assert 0 < found["out"]["alive"].sum() < 6

    def test_private_variables_are_each_invocations_own(self) -> None:
        counter = ir.Global("counter", I32, ir.Space.PRIVATE)
        out = buffer("out", I32)
        count = function(
            "count",
            {"by": I32},
            None,
            ir.If(
                binary(local("by"), ">", literal(2)),
                (ir.Assign(counter, add(counter, local("by"))),),
            ),
        )
        calls = tuple(
            ir.Effect(ir.Invoke("count", (add(id_(), literal(k)),), None)) for k in range(3)
        )
        kernel = module(
            *calls,
            ir.Assign(at(out, id_()), counter),
            writes=[out],
            variables=[counter],
            functions=[count],
        )
        agree(kernel, (6, 1, 1), {"out": np.zeros(6, np.int32)})


class TestFlow:
    def test_lanes_leave_loops_and_functions_each_in_its_time(self) -> None:
        @pw.function
        def first_divisor(n: i32, limit: i32) -> i32:
            for d in range(2, limit):
                if n % d == 0:
                    return d
            return n

        @pw.kernel
        def divisors(out: Array[i32]) -> None:
            i = pw.global_id.x
            if i < 2:
                return
            total = 0
            for n in range(i, 40, 7):
                if n == 30:
                    continue
                d = first_divisor(n, n)
                if d > 20:
                    break
                total += d
            else:
                total += 1000
            out[i] = total

        agree(module_of(divisors), (50, 1, 1), {"out": np.zeros(50, np.int32)})

    def test_conditions_at_the_border(self) -> None:
        @pw.kernel(workgroup_size=(8, 8))
        def neighbours(a: Array2D[f32], out: Array2D[f32]) -> None:
            x, y = pw.global_id.x, pw.global_id.y
            total = a[y, x]
            if x > 0:
                total -= a[y, x - 1]
            if y < a.shape[0] - 1:
                total += 2.0 * a[y + 1, x]
            if x != 3:
                total = f32(y)
            out[y, x] = total

        a = np.random.default_rng(0).random((70, 66)).astype(np.float32)
        agree(module_of(neighbours), (66, 70, 1), {"a": a, "out": np.zeros_like(a)})

    def test_lanes_that_broke_do_not_come_back_after_a_continue(self) -> None:
        @pw.kernel
        def left(out: Array[i32]) -> None:
            i = pw.global_id.x
            total = 0
            for k in range(4):
                if i > 2:
                    if k == i - 3:
                        break
                    total += 1
                if i % 2 == 0:
                    if k == 1:
                        continue
                    total += 10
                total += 100
            out[i] = total

        agree(module_of(left), (8, 1, 1), {"out": np.zeros(8, np.int32)})

    def test_a_function_called_by_some_lanes_narrows_them_by_another_axis(self) -> None:
        @pw.function
        def counted(x: i32) -> i32:
            found = pw.local_array(i32, 4)
            total = 0
            if x % 3 == 1:
                found[x % 4] = x
                total = 50
            if x > 5:
                return 7
            return found[1] + total

        @pw.kernel(workgroup_size=(8, 8))
        def some(out: Array2D[i32]) -> None:
            x, y = pw.global_id.x, pw.global_id.y
            if (x + y) % 2 == 0:
                out[y, x] = counted(x)

        agree(module_of(some), (8, 3, 1), {"out": np.zeros((3, 8), np.int32)})

    def test_a_switch_on_lanes_and_one_on_a_parameter(self) -> None:
        @pw.kernel
        def chosen(out: Array[i32], mode: i32) -> None:
            i = pw.global_id.x
            value = i
            match mode:
                case 0:
                    value = 5
                case 1 | 2:
                    value *= 2
                case _:
                    return
            match i % 4:
                case 1:
                    value += 100
                case 2 | 3:
                    if i > 5:
                        return
                    value += 200
            out[i] = value

        for mode in range(4):
            agree(module_of(chosen), (9, 1, 1), {"out": np.zeros(9, np.int32), "mode": mode})

    def test_uniform_flow_is_pythons(self) -> None:
        @pw.kernel
        def halved(out: Array[f32], n: i32) -> None:
            steps = 0
            while n > 1:
                n = n // 2
                steps += 1
                if steps == 5:
                    break
            out[pw.global_id.x] = f32(steps)

        source = to_numpy(module_of(halved))
        assert "narrowed" not in source
        assert "break" in source
        agree(module_of(halved), (3, 1, 1), {"out": np.zeros(3, np.float32), "n": 100})


class TestAnswers:
    def test_a_failed_assert_names_the_place_and_the_first_invocation(self) -> None:
        @pw.kernel
        def checked(a: Array[f32]) -> None:
            i = pw.global_id.x
            if i > 1:
                assert a[i] > 0.0, "must be positive"

        program = NumpyProgram(module_of(checked))
        program.run((2, 1, 1), {"a": np.array([-1.0, -1.0], np.float32)})
        with pytest.raises(AssertionError, match=r"test_to_numpy.py:\d+: must be positive") as e:
            program.run((5, 1, 1), {"a": np.array([-1, 1, 1, 0, 0], np.float32)})
        assert "(3, 0, 0)" in str(e.value)

    def test_print_speaks_for_each_active_invocation(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        @pw.kernel(workgroup_size=(2, 2))
        def shown(a: Array[f32]) -> None:
            x, y = pw.global_id.x, pw.global_id.y
            if x != 1:
                print("at", x, y, a[x])

        module = module_of(shown)
        arguments = {"a": np.array([0.5, 1, 2], np.float32)}
        NumpyProgram(module).run((3, 2, 1), arguments)
        printed = capsys.readouterr().out
        assert printed == "".join(scalar_reference.run(module, (3, 2, 1), arguments))
        assert printed.startswith("at 0 0 0.5\nat 2 0 2.0\n")

    def test_no_warning_escapes(self) -> None:
        @pw.kernel
        def careless(a: Array[f32], n: Array[i32]) -> None:
            i = pw.global_id.x
            a[i] = pw.log(a[i]) / 0.0 * pw.exp(a[i] * 1e30)
            n[i] = n[i] // (n[i] - n[i]) + i32(a[i]) + 2147483647 * n[i]

        arguments = {"a": np.array([-1, 0, 5], np.float32), "n": np.array([5, -1, 0], np.int32)}
        NumpyProgram(module_of(careless)).run((3, 1, 1), arguments)

    def test_a_traceback_shows_the_generated_line(self) -> None:
        program = NumpyProgram(module_of(shifted))
        with pytest.raises(AttributeError) as error:
            program.run((5, 1, 1), {"a": None, "out": np.zeros(5, np.float32), "by": 0})
        assert "load(a, i + by)" in "".join(traceback.format_tb(error.value.__traceback__))

    def test_launches_larger_than_a_block(self) -> None:
        n = 3 * numpy_program.BLOCK + 5
        a = np.arange(n, dtype=np.float32)
        out = np.zeros_like(a)
        NumpyProgram(module_of(shifted)).run((n, 1, 1), {"a": a, "out": out, "by": 1})
        np.testing.assert_array_equal(out, np.append(a[1:], np.float32(0)))

    @pytest.mark.parametrize("name", ["weight_gradient", "bounded_sum", "first_above"])
    def test_the_source_is_golden(self, name: str, golden: Any) -> None:
        kernel = pw.kernel_from_source(SOURCE, name=name)
        text = re.sub("<pywgsl source .*>", "<source>", to_numpy(module_of(kernel)))
        golden(f"{name}.py", text)


SOURCE = """
import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32

@pw.kernel(workgroup_size=(16, 16))
def weight_gradient(x: Array2D[f32], grad_output: Array2D[f32], grad_weight: Array2D[f32]):
    \"\"\"Sum over the batch.\"\"\"
    i, o = pw.global_id.x, pw.global_id.y
    total = 0.0
    for b in range(x.shape[0]):
        total += x[b, i] * grad_output[b, o]
    grad_weight[o, i] = total

@pw.kernel
def bounded_sum(a: Array[f32], out: Array[f32], limit: f32):
    i = pw.global_id.x
    if i >= len(out):
        return
    total = a[i]
    if i > 0:
        total += a[i - 1]
    out[i] = min(total, limit)

@pw.kernel
def first_above(a: Array2D[f32], out: Array[i32], limit: f32):
    row = pw.global_id.x
    column = 0
    while column < a.shape[1] and a[row, column] <= limit:
        column += 1
    out[row] = column
"""

"""Workgroup memory, barriers and ids on NumPy, against the scalar reference and a device."""

from __future__ import annotations

import math
import re
from random import Random
from typing import Any

import numpy as np
import pytest
import random_kernels
import random_workgroups
import scalar_reference
from build import at, buffer, call, id_, literal, local, module, shared
from hypothesis import given
from hypothesis import strategies as st
from lockstep import agree, floats, module_of

import pywgsl as pw
from benchmarks import numpy_workgroups as cases
from pywgsl import Array, Array2D, f32, i32, ir, vec2f
from pywgsl.codegen.to_numpy import to_numpy
from pywgsl.runtime import numpy_program
from pywgsl.runtime.affine import Affine, boxes
from pywgsl.runtime.numpy_program import NumpyProgram
from pywgsl.types import BOOL, F32, I32, Field, FixedArray, Struct, Vector

Shape = tuple[int, int, int]


@given(random_workgroups.kernels(), st.integers(0, 99), st.booleans())
def test_random_kernels_agree_with_the_scalar_reference(
    kernel: random_kernels.Kernel, seed: int, blocked: bool
) -> None:
    made = kernel.module
    shape = random_workgroups.launch(made)
    plane = (shape[0], shape[1])
    expected, found = random_kernels.arguments(plane), random_kernels.arguments(plane)
    scalar_reference.run(made, shape, expected, Random(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numpy_program, "BLOCK", 5 if blocked else 1 << 16)
        NumpyProgram(made).run(shape, found)
    for name in ("out_ints", "out_floats"):
        assert random_workgroups.differing(expected[name], found[name]) == 0


@pw.kernel(workgroup_size=(4, 4))
def transposed(a: Array2D[f32], out: Array2D[f32]) -> None:
    tile = pw.workgroup_array(f32, 4, 5)
    x, y = pw.local_id.x, pw.local_id.y
    tile[y, x] = a[pw.global_id.y, pw.global_id.x]
    pw.workgroup_barrier()
    out[pw.workgroup_id.x * 4 + y, pw.workgroup_id.y * 4 + x] = tile[x, y]


@pw.function
def reversed_in_group(x: f32) -> Any:
    memory = pw.workgroup_array(f32, 8)
    memory[pw.local_id.x] = x
    pw.workgroup_barrier()
    result = memory[7 - pw.local_id.x]
    pw.workgroup_barrier()
    return result


@pw.kernel(workgroup_size=8)
def reversed_twice(a: Array[f32], out: Array[f32]) -> None:
    i = pw.global_id.x
    once = reversed_in_group(a[i])
    out[i] = once - reversed_in_group(once * 0.5)


@pw.kernel(workgroup_size=8)
def left_over(a: Array[i32], out: Array[i32]) -> None:
    memory = pw.workgroup_array(i32, 8)
    lane = pw.local_id.x
    out[pw.global_id.x] = memory[lane] + memory[lane + 5]
    pw.workgroup_barrier()
    memory[lane - 2] = a[pw.global_id.x]
    pw.workgroup_barrier()
    out[pw.global_id.x] += 10 * memory[lane]


@pw.kernel(workgroup_size=4)
def pairs(a: Array[vec2f], out: Array[vec2f]) -> None:
    memory = pw.workgroup_array(vec2f, 4)
    lane = pw.local_id.x
    memory[lane] = a[pw.global_id.x]
    pw.workgroup_barrier()
    if lane < 2:
        memory[lane].y += memory[lane + 2].x
        memory[lane] *= 2.0
    pw.workgroup_barrier()
    out[pw.global_id.x] = memory[lane ^ 1] + vec2f(memory[0].y, 1.0)


class TestMemory:
    def test_a_tile_is_transposed(self) -> None:
        found = agree(transposed, (12, 8, 1), {"a": floats(8, 12), "out": floats(12, 8)})
        np.testing.assert_array_equal(found["out"], found["a"].T)

    def test_a_tile_has_no_axis_of_workgroups_that_it_does_not_depend_on(self) -> None:
        text = to_numpy(module_of(cases.matmul))
        assert 'a_tile = ids.memory("Y", (16, 16), np.float32)' in text
        assert 'b_tile = ids.memory("X", (16, 16), np.float32)' in text

    def test_a_helper_has_memory_of_its_own(self) -> None:
        agree(reversed_twice, (24, 1, 1), {"a": floats(24), "out": floats(24)})

    @pytest.mark.parametrize("block", [1, 1 << 16])
    def test_it_starts_as_zero_in_every_workgroup(
        self, block: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(numpy_program, "BLOCK", block)
        a = np.arange(1, 25, dtype=np.int32)
        agree(left_over, (24, 1, 1), {"a": a, "out": np.zeros(24, np.int32)})

    def test_elements_may_be_vectors(self) -> None:
        agree(pairs, (12, 1, 1), {"a": floats(12, 2), "out": floats(12, 2)})

    def test_variables_may_be_numbers_structs_and_whole_arrays(self) -> None:
        point = Struct("Point", (Field("at", Vector(2, F32)), Field("n", I32)))
        number, one, row = shared("number", F32), shared("one", point), shared("row", _ROW)
        a, out = buffer("a"), buffer("out")
        first = ir.Binary(ir.BinaryOp.EQ, id_(0, ir.Id.LOCAL), literal(0), BOOL)
        value = at(a, local("i"))
        place = ir.Swizzle(ir.Member(one, "at", Vector(2, F32)), "y", F32)
        body = [
            ir.Assign(number, value),
            ir.Assign(place, value),
            ir.Assign(ir.Member(one, "n", I32), literal(3)),
            ir.Assign(row, ir.Construct(_ROW, (value, literal(2.0)))),
        ]
        made = module(
            ir.Let("i", id_()),
            ir.If(first, tuple(body)),
            ir.Effect(call("workgroup_barrier", type_=None)),
            ir.Let("copy", row),
            ir.Let("other", one),
            ir.Assign(at(out, local("i")), _sum_of(number, point, local("copy", _ROW))),
            reads=[a],
            writes=[out],
            size=(4, 1, 1),
            variables=[number, one, row],
            structs=[point],
        )
        found = agree(made, (12, 1, 1), {"a": floats(12), "out": floats(12)})
        first_of_each = found["a"][::4].repeat(4)
        np.testing.assert_allclose(found["out"], 3 * first_of_each + 3 + 2, rtol=1e-6)


_ROW = FixedArray(F32, 2)


def _sum_of(number: ir.Expr, point: Struct, copy: ir.Expr) -> ir.Expr:
    other = local("other", point)
    parts: list[ir.Expr] = [
        number,
        ir.Swizzle(ir.Member(other, "at", Vector(2, F32)), "y", F32),
        ir.Convert(ir.Member(other, "n", I32), F32),
        ir.Index(copy, (literal(0),), F32),
        ir.Index(copy, (literal(1),), F32),
    ]
    total = parts[0]
    for part in parts[1:]:
        total = ir.Binary(ir.BinaryOp.ADD, total, part, F32)
    return total


# ------------------------------------------------------------------------------------- ids


@pw.kernel(workgroup_size=(4, 2, 3))
def all_ids(out: Array[i32], rows: i32, columns: i32) -> None:
    x, y, z = pw.global_id.x, pw.global_id.y, pw.global_id.z
    places = pw.local_id.x + 10 * pw.local_id.y + 100 * pw.local_id.z + 1000 * pw.local_index
    groups = pw.workgroup_id.x + 10 * pw.workgroup_id.y + 100 * pw.workgroup_id.z
    counts = pw.num_workgroups.x + pw.num_workgroups.y + pw.num_workgroups.z
    subgroup = pw.subgroup_invocation_id + pw.subgroup_size
    out[(z * rows + y) * columns + x] = places * 1000 + groups * 7 + counts + 100000 * subgroup


class TestIds:
    @pytest.mark.parametrize("shape", [(8, 4, 6), (5, 3, 4), (1, 1, 1), (4, 1, 2), (3, 5, 3)])
    @pytest.mark.parametrize("block", [1, 50, 1 << 16])
    def test_workgroups_may_be_cut_off_where_nothing_joins_them(
        self, shape: Shape, block: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(numpy_program, "BLOCK", block)
        out = np.zeros(math.prod(shape), np.int32)
        agree(all_ids, shape, {"out": out, "rows": shape[1], "columns": shape[0]})

    def test_a_workgroup_of_one_has_the_local_id_zero(self) -> None:
        @pw.kernel(workgroup_size=1)
        def alone(out: Array[i32]) -> None:
            total = pw.workgroup_inclusive_scan(pw.workgroup_id.x) + pw.subgroup_add(1)
            for k in range(pw.local_id.x, 3, pw.workgroup_size.x):
                total += k + pw.local_index
            out[pw.global_id.x] = total

        agree(alone, (5, 1, 1), {"out": np.zeros(5, np.int32)})


# ------------------------------------------------------------------------------ parts of lanes


@pw.kernel(workgroup_size=8)
def boxed(a: Array[i32], out: Array[i32], limit: i32, far: i32) -> None:
    i, lane = pw.global_id.x, pw.local_id.x
    value = a[i]
    pair = pw.local_array(i32, 2)
    pair[lane % 2] = i
    if lane < 3:
        out[i] = value + pair[0]
        if lane == limit:
            out[i] += value * 2 + pair[1]
        for k in range(lane, value, 2):
            out[i] += k
        while out[i] > 30:
            out[i] -= 7 * (lane + 1)
    if lane >= limit and value > 2 and lane != 6:
        out[i] -= a[i + 1]
    if value > 0:
        if lane + far > 0:
            out[i] += 100
        if lane * limit <= 4 and pw.workgroup_id.x > 2:
            out[i] += 1000


@pw.kernel(workgroup_size=4)
def columns(a: Array2D[f32], out: Array2D[f32], first: i32, last: i32, step: i32) -> None:
    row, lane = pw.workgroup_id.x, pw.local_id.x
    total, trips, start = 0.5, 0, float(lane)
    for c in range(first + lane, last, step):
        total += a[row, c]
        start = total * 0.5 if a[row, c] > 0.0 else start - 1.0
        trips += 1
        for inner in range(lane, 6, 3):
            total -= float(inner)
        out[row + 9, c] = total
    out[row, lane] = total
    out[row, lane + 4] = start + float(trips)
    if row % 2 == 1:
        for c in range(lane, 7, 2):
            total *= squared(a[row, c])
        out[row, lane + 8] = total


@pw.function
def squared(x: f32) -> Any:
    return x * x if x < 1.0 else x


class TestParts:
    @pytest.mark.parametrize("limit", [-1, 0, 2, 9])
    @pytest.mark.parametrize("far", [0, 2**31 - 5, -(2**31)])
    def test_branches_on_boxes_of_lanes(self, limit: int, far: int) -> None:
        a = np.random.default_rng(4).integers(-3, 9, 40, dtype=np.int32)
        arguments = {"a": a, "out": np.zeros(40, np.int32), "limit": limit, "far": far}
        agree(boxed, (40, 1, 1), arguments)
        assert "in ids.parts(lane < 3)" in to_numpy(module_of(boxed))

    @pytest.mark.parametrize(
        ("first", "last", "step"),
        [(0, 10, 4), (0, 12, 4), (0, 3, 4), (2, 2, 1), (9, -1, -4), (0, 5, 0), (-4, 13, 1)],
    )
    def test_strided_loops(self, first: int, last: int, step: int) -> None:
        arguments = {"a": floats(5, 12), "out": floats(14, 12), "first": first, "last": last}
        if step != 1:
            agree(columns, (20, 1, 1), arguments | {"step": step})
        else:
            # Lanes meet in columns: the order in which they store there is their own.
            arguments["out"] = floats(5, 12)
            agree(columns, (20, 1, 1), arguments | {"step": step})

    def test_a_range_at_the_end_of_the_integers(self) -> None:
        @pw.kernel(workgroup_size=4)
        def far(out: Array[i32], start: i32) -> None:
            trips = 0
            for k in range(start + pw.local_id.x, 2147483647, 3):
                trips += k % 2 + 10
            out[pw.global_id.x] = trips

        for start in (2**31 - 10, 2**31 - 4):
            agree(far, (8, 1, 1), {"out": np.zeros(8, np.int32), "start": start})

    @given(
        st.integers(-40, 40) | st.sampled_from([2**31 - 4, -(2**31)]),
        st.integers(-3, 3),
        st.integers(1, 9),
        st.integers(-50, 50),
        st.sampled_from(["__lt__", "__le__", "__gt__", "__ge__", "__eq__"]),
    )
    def test_comparisons_make_boxes(
        self, start: int, step: int, count: int, bound: int, name: str
    ) -> None:
        grows = Affine(start, (0, step), (2, count))
        found = np.zeros((2, count), bool)
        for box in boxes(grows.counts, [getattr(grows, name)(bound)]):
            found[tuple(slice(f, f + n) for f, n in zip(*box, strict=True))] = True
        expected = getattr(grows.lanes, name)(bound)
        np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))


# ------------------------------------------------------------------------- text and devices


_SHOWN = [
    *(cases.softmax_rows, cases.row_statistics, cases.tree_sum),
    *(cases.matmul, cases.count_by_groups),
]


class TestText:
    @pytest.mark.parametrize("kernel", _SHOWN, ids=lambda kernel: kernel.name)
    def test_the_source_is_golden(self, kernel: Any, golden: Any) -> None:
        text = re.sub("# .*/(benchmarks/.*):.*", r"# \1", to_numpy(module_of(kernel)))
        golden(f"{kernel.name}.py", text)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("kernel", "groups", "arguments", "exact"),
    [
        (cases.softmax_rows, (5, 1), lambda: [floats(5, 300), floats(5, 300)], False),
        (cases.row_statistics, (5, 1), lambda: [floats(5, 300), floats(5), floats(5), 1e-5], False),
        (cases.tree_sum, (4, 1), lambda: [floats(1024), floats(4)], True),
        (cases.matmul, (3, 2), lambda: [floats(32, 48), floats(48, 40), floats(30, 40)], False),
        (transposed, (3, 2), lambda: [floats(8, 12), floats(12, 8)], True),
        (reversed_twice, (3, 1), lambda: [floats(24), floats(24)], True),
        (pairs, (3, 1), lambda: [floats(12, 2), floats(12, 2)], True),
        (cases.count_by_groups, (4, 1), lambda: [_numbers(1024), np.zeros(256, np.int32)], True),
        (cases.count_each, (16, 1), lambda: [_numbers(1024), np.zeros(256, np.int32)], True),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_device_agrees(kernel: Any, groups: tuple[int, int], arguments: Any, exact: bool) -> None:
    expected, found = arguments(), arguments()
    kernel.on("numpy")[pw.groups(*groups)](*expected)
    kernel.on("gpu")[pw.groups(*groups)](*found)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=0 if exact else 1e-4, atol=0 if exact else 1e-5)


def _numbers(count: int) -> Any:
    return np.random.default_rng(1).integers(0, 256, count, dtype=np.int32)

"""Collectives and atomics on NumPy, against the scalar reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from build import at, buffer, call, id_, literal, local, module
from lockstep import Shape, agree, floats

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, ir, u32
from pywgsl.runtime import numpy_program
from pywgsl.runtime.numpy_program import NumpyProgram
from pywgsl.types import F16, F32, I32, U32, Field, Scalar, Struct, Type, Vector

SIZES = [(1, 1, 1), (3, 1, 1), (64, 1, 1), (100, 1, 1), (4, 4, 1), (1, 6, 1), (2, 3, 4)]
TYPES: list[Type] = [F32, I32, U32, F16, Vector(2, F32), Vector(3, I32), Vector(4, F16)]
_OPERATIONS = ("sum", "max", "min", "inclusive_scan", "exclusive_scan", "broadcast")


def on_all_lanes(calls: list[ir.Expr], type_: Type, size: Shape) -> ir.Module:
    """A module that stores the result of each call in a row of `out`; `v` is the lane's value."""
    x, out = buffer("x", type_), buffer("out", type_, ndim=2)
    lanes = literal(math.prod(size))
    first = ir.Binary(ir.BinaryOp.MUL, id_(0, ir.Id.WORKGROUP), lanes, I32)
    number = ir.Binary(ir.BinaryOp.ADD, first, id_(0, ir.Id.LOCAL_INDEX), I32)
    body: list[ir.Stmt] = [ir.Let("i", number), ir.Let("v", at(x, local("i")))]
    for row, result in enumerate(calls):
        body.append(ir.Let(f"r{row}", result))
        stored: ir.Expr = local(f"r{row}", ir.type_of(result))
        stored = stored if stored.type == type_ else ir.Convert(stored, type_)
        body.append(ir.Assign(at(out, literal(row), local("i")), stored))
    return module(*body, reads=[x], writes=[out], size=size)


def values_of(type_: Type, count: int) -> Any:
    scalar = type_.scalar if isinstance(type_, Vector) else type_
    assert isinstance(scalar, Scalar)
    shape = (count, type_.width) if isinstance(type_, Vector) else (count,)
    return np.random.default_rng(2).normal(20, 9, shape).astype(scalar.dtype)


class TestCollectives:
    @pytest.mark.parametrize("size", SIZES, ids=str)
    @pytest.mark.parametrize("type_", TYPES, ids=str)
    def test_operations_of_workgroups(self, type_: Type, size: Shape) -> None:
        value = local("v", type_)
        source = [literal(math.prod(size) // 2)]
        calls: list[ir.Expr] = [
            call(f"workgroup_{n}", value, *source * (n == "broadcast"), type_=type_)
            for n in _OPERATIONS
        ]
        made = on_all_lanes(calls, type_, size)
        values = values_of(type_, 3 * math.prod(size))
        arguments = {"x": values, "out": np.zeros((len(calls), *values.shape), values.dtype)}
        agree(made, (3 * size[0], size[1], size[2]), arguments)

    @pytest.mark.parametrize("size", [(1, 1, 1), (6, 1, 1), (48, 1, 1), (8, 5, 1)], ids=str)
    @pytest.mark.parametrize("type_", [I32, F32, Vector(2, I32), F16], ids=str)
    def test_operations_of_subgroups(self, type_: Type, size: Shape) -> None:
        value = local("v", type_)
        names = ["add", "max", "min", "broadcast_first", "inclusive_add", "exclusive_add"]
        names += ["and", "or", "xor"] * (type_ not in (F32, F16))
        calls: list[ir.Expr] = [call(f"subgroup_{n}", value, type_=type_) for n in names]
        moves = ("broadcast", "shuffle", "shuffle_xor", "shuffle_up", "shuffle_down")
        calls += [call(f"subgroup_{n}", value, literal(1), type_=type_) for n in moves]
        made = on_all_lanes(calls, type_, size)
        values = values_of(type_, 2 * math.prod(size))
        arguments = {"x": values, "out": np.zeros((len(calls), *values.shape), values.dtype)}
        agree(made, (2 * size[0], size[1], size[2]), arguments)

    def test_one_nan_makes_the_extremes_nan(self) -> None:
        made = on_all_lanes(
            [call(f"workgroup_{n}", local("v", F32), type_=F32) for n in ("max", "min", "sum")],
            F32,
            (8, 1, 1),
        )
        x = np.arange(16, dtype=np.float32)
        x[11] = np.nan
        out = agree(made, (16, 1, 1), {"x": x, "out": floats(3, 16)})["out"]
        assert np.isnan(out[:, 8:]).all()
        assert not np.isnan(out[:, :8]).any()

    def test_a_subgroup_joins_the_lanes_that_take_a_branch(self) -> None:
        @pw.kernel(workgroup_size=40)
        def by_branch(a: Array[i32], out: Array2D[i32]) -> None:
            i = pw.global_id.x
            v = a[i]
            if v % 3 == 0:
                out[0, i] = pw.subgroup_add(v)
                out[1, i] = i32(pw.subgroup_elect())
                out[2, i] = pw.subgroup_broadcast_first(v)
            else:
                out[0, i] = pw.subgroup_inclusive_add(v)
                out[1, i] = i32(pw.subgroup_any(v > 7))
                out[2, i] = i32(pw.subgroup_all(v > 7))
            out[3, i] = pw.subgroup_mul(v % 2 * 2 - 1)

        a = np.random.default_rng(1).integers(0, 10, 80, dtype=np.int32)
        agree(by_branch, (80, 1, 1), {"a": a, "out": np.zeros((4, 80), np.int32)})

    def test_a_branch_of_whole_workgroups_may_join_them(self) -> None:
        @pw.kernel(workgroup_size=(4, 2))
        def some_groups(a: Array2D[f32], out: Array2D[f32], limit: i32) -> None:
            x, y = pw.global_id.x, pw.global_id.y
            if pw.workgroup_id.x < limit:
                out[y, x] = pw.workgroup_sum(a[y, x])
                if pw.workgroup_id.y == 1:
                    out[y, x] += pw.workgroup_max(a[y, x])
            if pw.workgroup_id.x + pw.workgroup_id.y == 2:
                out[y, x] = pw.workgroup_exclusive_scan(a[y, x])

        agree(some_groups, (16, 6, 1), {"a": floats(6, 16), "out": floats(6, 16), "limit": 2})

    def test_a_source_may_differ_between_workgroups_or_be_none(self) -> None:
        @pw.kernel(workgroup_size=4)
        def chosen(a: Array[f32], out: Array[f32]) -> None:
            i = pw.global_id.x
            out[i] = pw.workgroup_broadcast(a[i], pw.workgroup_id.x)

        agree(chosen, (24, 1, 1), {"a": floats(24), "out": floats(24)})


# --------------------------------------------------------------------------------- atomics


@pw.kernel(workgroup_size=8)
def found_before(a: Array[i32], counts: Array[i32], out: Array2D[i32]) -> None:
    i = pw.global_id.x
    out[0, i] = pw.atomic_add(counts, a[i], i)
    pw.storage_barrier()
    out[1, i] = pw.atomic_exchange(counts, 9, i + 1)
    pw.storage_barrier()
    out[2, i] = pw.atomic_sub(counts, a[i] // 2, 3)
    pw.storage_barrier()
    if a[i] % 2 == 0:
        out[3, i] = pw.atomic_max(counts, a[i], 5 * i)
    pw.storage_barrier()
    if a[i] % 3 != 0:
        out[4, i] = pw.atomic_min(counts, a[i] - 1, -i)
    pw.storage_barrier()
    out[5, i] = pw.atomic_compare_exchange(counts, 8, i, i + 1)
    pw.storage_barrier()
    out[6, i] = pw.atomic_compare_exchange(counts, a[i], 4, i)
    pw.storage_barrier()
    out[7, i] = pw.atomic_or(counts, a[i], 1 << a[i])
    pw.storage_barrier()
    out[8, i] = pw.atomic_load(counts, i % 12)
    pw.storage_barrier()
    pw.atomic_store(counts, 7, i)


@pw.kernel(workgroup_size=8)
def all_updates(a: Array[u32], out: Array2D[u32]) -> None:
    v = a[pw.global_id.x]
    to = i32(v % 5)
    pw.atomic_add(out, (0, to), v)
    pw.atomic_sub(out, (1, to), v)
    pw.atomic_max(out, (2, to), v)
    pw.atomic_min(out, (3, to), v)
    pw.atomic_and(out, (4, to), v)
    pw.atomic_or(out, (5, to), v)
    pw.atomic_xor(out, (6, to), v)
    if v > 40:
        pw.atomic_add(out, (7, pw.local_id.x), v)
    pw.atomic_add(out, (8, pw.local_id.x), v)
    pw.atomic_sub(out, (9, 0), 1)


class TestAtomics:
    @pytest.mark.parametrize("elements", [11, 3])
    def test_each_finds_what_the_lane_before_it_left(
        self, elements: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # One workgroup after the other, as the reference has them.
        monkeypatch.setattr(numpy_program, "BLOCK", 1)
        a = np.random.default_rng(5).integers(-1, 12, 48, dtype=np.int32)
        counts = np.arange(elements, dtype=np.int32)
        out = np.zeros((9, 48), np.int32)
        agree(found_before, (48, 1, 1), {"a": a, "counts": counts, "out": out}, in_order=True)

    def test_many_lanes_may_take_places_in_a_list(self) -> None:
        @pw.kernel
        def selected(a: Array[f32], count: Array[u32], out: Array[i32]) -> None:
            i = pw.global_id.x
            if a[i] > 0.0:
                out[i32(pw.atomic_add(count, 0, 1))] = i

        a, count, out = floats(3000), np.zeros(1, np.uint32), np.zeros(3000, np.int32)
        selected[3000](a, count, out)
        np.testing.assert_array_equal(out[: count[0]], np.flatnonzero(a > 0))

    def test_updates_wrap_and_drop_what_is_out_of_range(self) -> None:
        a = np.random.default_rng(5).integers(0, 2**32, 40, dtype=np.uint32)
        out = np.random.default_rng(6).integers(0, 2**32, (10, 4), dtype=np.uint32)
        agree(all_updates, (40, 1, 1), {"a": a, "out": out})

    def test_floats(self) -> None:
        @pw.kernel(workgroup_size=16)
        def of_floats(a: Array[f32], out: Array[f32]) -> None:
            peak = pw.workgroup_array(f32, 2)
            v = a[pw.global_id.x]
            pw.atomic_max(peak, pw.local_id.x % 2, v)
            pw.workgroup_barrier()
            pw.atomic_add(out, 0, v)
            pw.atomic_add(out, 1, peak[0])
            pw.atomic_min(out, 2, v)
            pw.atomic_exchange(out, 3, 7.0)

        arguments = {"a": floats(64), "out": np.zeros(4, np.float32)}
        agree(of_floats, (64, 1, 1), arguments, in_order=True)

    def test_a_nan_stays_and_exchange_compares_bits(self) -> None:
        @pw.kernel(workgroup_size=8)
        def of_nans(cells: Array[f32], a: Array[f32]) -> None:
            pw.atomic_max(cells, 0, a[pw.global_id.x])
            pw.atomic_compare_exchange(cells, 1, 0.0, 1.0)
            pw.atomic_compare_exchange(cells, 2, -0.0, 1.0)

        a = np.arange(8, dtype=np.float32)
        a[3] = np.nan
        cells = np.array([0, -0.0, -0.0], np.float32)
        found = agree(of_nans, (8, 1, 1), {"cells": cells, "a": a}, in_order=True)["cells"]
        assert np.isnan(found[0])
        np.testing.assert_array_equal(np.signbit(found[1:]), [True, False])

    def test_a_lock_by_comparison(self) -> None:
        @pw.kernel(workgroup_size=8)
        def largest(a: Array[i32], out: Array[i32]) -> None:
            v = a[pw.global_id.x]
            old = pw.atomic_load(out, 0)
            while v > old:
                seen = pw.atomic_compare_exchange(out, 0, old, v)
                if seen == old:
                    break
                old = seen

        a = np.random.default_rng(5).integers(0, 1000, 64, dtype=np.int32)
        found = agree(largest, (64, 1, 1), {"a": a, "out": np.zeros(1, np.int32)})
        assert found["out"] == a.max()

    def test_a_structs_member(self) -> None:
        entry = Struct("Entry", (Field("n", I32), Field("sum", U32)))
        table = buffer("table", entry)
        place = ir.Member(at(table, id_(0, ir.Id.LOCAL)), "sum", U32)
        made = module(
            ir.Effect(call("atomic_add", place, literal(2, U32), type_=U32)),
            writes=[table],
            size=(4, 1, 1),
        )
        found = np.zeros(3, np.dtype([("n", np.int32), ("sum", np.uint32)]))
        NumpyProgram(made).run((12, 1, 1), {"table": found})
        assert found.tolist() == [(0, 6)] * 3

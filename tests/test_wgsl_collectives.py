"""What invocations do together, as WGSL: that both compilers take it, and what it computes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from build import (
    add,
    at,
    binary,
    buffer,
    call,
    function,
    id_,
    literal,
    local,
    module,
    shared,
)
from execute import device, run
from validators import Validator

from pywgsl import ir
from pywgsl.codegen.layout import Grid
from pywgsl.codegen.to_wgsl import to_wgsl
from pywgsl.ir import Id
from pywgsl.reflection import reflect
from pywgsl.types import BOOL, F16, F32, I32, U32, FixedArray, Scalar, Type, Vector, scalar_of

SIZES = [(1, 1, 1), (3, 1, 1), (64, 1, 1), (100, 1, 1), (256, 1, 1), (8, 8, 1), (4, 4, 4)]
TYPES = [F32, I32, U32, F16, Vector(2, F32), Vector(4, I32), Vector(2, F16), Vector(3, U32)]
GROUPS = 3

BARRIER = ir.Effect(call("workgroup_barrier", type_=None))
I = local("i")  # noqa: E741  # the kernels' own name


def named(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def lane_number(size: tuple[int, int, int]) -> ir.Stmt:
    """Declare `i`: the number of the invocation in a launch along x."""
    first = binary(id_(0, Id.WORKGROUP), "*", literal(math.prod(size)))
    return ir.Let("i", add(first, id_(0, Id.LOCAL_INDEX)))


def numbers(type_: Type, count: int, seed: int = 7) -> np.ndarray[Any, Any]:
    """Small whole numbers, whose sums are exact in any order; vectors have a last axis."""
    scalar = scalar_of(type_)
    assert scalar is not None
    low = 0 if scalar is U32 else -3
    shape = (count, type_.width) if isinstance(type_, Vector) else (count,)
    return np.random.default_rng(seed).integers(low, 4, shape).astype(scalar.dtype)


def stored(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values as a buffer has them: a vector of three takes the room of four."""
    if values.ndim == 2 and values.shape[1] == 3:
        return np.concatenate([values, np.zeros_like(values[:, :1])], axis=1)
    return values


def needs(type_: Type) -> None:
    if scalar_of(type_) is F16 and "shader-f16" not in device().features:
        pytest.skip("this adapter has no f16")


@pytest.fixture(params=[False, True], ids=["scratch", "subgroups"])
def subgroups(request: pytest.FixtureRequest) -> bool:
    """Whether operations of a workgroup may use those of its subgroups."""
    if request.param and "subgroup" not in device().features:
        pytest.skip("this adapter has no subgroups")
    return request.param


OPERATIONS: dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {
    "workgroup_sum": lambda x: np.broadcast_to(x.sum(1, keepdims=True, dtype=x.dtype), x.shape),
    "workgroup_max": lambda x: np.broadcast_to(x.max(1, keepdims=True), x.shape),
    "workgroup_min": lambda x: np.broadcast_to(x.min(1, keepdims=True), x.shape),
    "workgroup_inclusive_scan": lambda x: np.cumsum(x, 1, dtype=x.dtype),
    "workgroup_exclusive_scan": lambda x: np.cumsum(x, 1, dtype=x.dtype) - x,
    "workgroup_broadcast": lambda x: np.broadcast_to(x[:, -1:], x.shape),
}


def all_operations(type_: Type, size: tuple[int, int, int]) -> ir.Module:
    """Each operation on `x[i]`, one right after the other, with no barrier of the author's."""
    x, lanes = buffer("x", type_), math.prod(size)
    body: list[ir.Stmt] = [lane_number(size)]
    outs = [buffer(name.removeprefix("workgroup_"), type_) for name in OPERATIONS]
    for name in OPERATIONS:
        args = [at(x, I)] + [literal(lanes - 1)] * (name == "workgroup_broadcast")
        body.append(ir.Let(f"{name}_", call(name, *args, type_=type_)))
    for out, name in zip(outs, OPERATIONS, strict=True):
        body.append(ir.Assign(at(out, I), local(f"{name}_", type_)))
    return module(*body, reads=[x], writes=outs, size=size)


@pytest.mark.gpu
@pytest.mark.parametrize("size", SIZES, ids=named)
@pytest.mark.parametrize("type_", TYPES, ids=named)
def test_operations_of_a_workgroup(
    type_: Type, size: tuple[int, int, int], subgroups: bool, accepted: Callable[[str], None]
) -> None:
    made = all_operations(type_, size)
    needs(type_)
    accepted(to_wgsl(made).text)
    values = numbers(type_, GROUPS * math.prod(size))
    arrays = {b.name: stored(np.zeros_like(values)) for b in made.buffers}
    arrays["x"] = stored(values)
    got = run(made, arrays, (1, 1, 1), groups=(GROUPS, 1, 1), subgroups=subgroups)
    grouped = values.reshape(GROUPS, -1, *values.shape[1:])
    for name, function_ in OPERATIONS.items():
        expected = stored(function_(grouped).reshape(values.shape))
        actual = got[name.removeprefix("workgroup_")]
        if isinstance(type_, Vector) and type_.width == 3:
            expected, actual = expected[:, :3], actual[:, :3]
        np.testing.assert_array_equal(actual, expected, name)


@pytest.mark.gpu
@pytest.mark.parametrize("size", SIZES, ids=named)
def test_conditions_of_a_workgroup(
    size: tuple[int, int, int], subgroups: bool, accepted: Callable[[str], None]
) -> None:
    x, out = buffer("x", I32), buffer("out", I32)
    lanes = math.prod(size)
    flag = binary(at(x, I), ">", literal(0))
    both = Vector(2, BOOL)
    pair = ir.Construct(both, (flag, binary(at(x, I), "==", literal(0))))
    values = [
        call("workgroup_any", flag, type_=BOOL),
        call("workgroup_all", flag, type_=BOOL),
        call("workgroup_broadcast", flag, literal(lanes // 2), type_=BOOL),
        ir.Swizzle(local("pair", both), "y", BOOL),
    ]
    body: list[ir.Stmt] = [
        lane_number(size),
        ir.Let("pair", call("workgroup_broadcast", pair, literal(lanes // 2), type_=both)),
    ]
    for position, value in enumerate(values):
        body.append(ir.Let(f"flag_{position}", value))
        index = add(binary(I, "*", literal(4)), literal(position))
        body.append(ir.Assign(at(out, index), ir.Convert(local(f"flag_{position}", BOOL), I32)))
    made = module(*body, reads=[x], writes=[out], size=size)
    accepted(to_wgsl(made).text)
    source = np.zeros((5, lanes), np.int32)
    source[1], source[2, -1], source[3] = 1, 1, 1
    source[3, lanes // 2] = 0
    arrays = {"x": source.ravel(), "out": np.full(4 * source.size, 9, np.int32)}
    got = run(made, arrays, (1, 1, 1), groups=(5, 1, 1), subgroups=subgroups)["out"]
    holds = source > 0
    middle = source[:, lanes // 2]
    expected = np.stack([holds.any(1), holds.all(1), middle > 0, middle == 0], axis=1)
    np.testing.assert_array_equal(got.reshape(5, lanes, 4), expected[:, None].repeat(lanes, 1))


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(64, 1, 1), (100, 1, 1), (8, 8, 1)], ids=named)
@pytest.mark.parametrize("type_", [F32, Vector(2, F32)], ids=named)
def test_one_nan_makes_the_extremes_nan(
    type_: Type, size: tuple[int, int, int], subgroups: bool
) -> None:
    made = all_operations(type_, size)
    values = numbers(type_, GROUPS * math.prod(size)).reshape(GROUPS, math.prod(size), -1)
    values[1, 37, 0] = np.nan
    values[2, 0, 0] = -np.nan
    flat = values.reshape(-1, 2) if isinstance(type_, Vector) else values.ravel()
    arrays = {b.name: np.zeros_like(flat) for b in made.buffers} | {"x": flat}
    got = run(made, arrays, (1, 1, 1), groups=(GROUPS, 1, 1), subgroups=subgroups)
    np.testing.assert_array_equal(got["max"].reshape(values.shape)[:, 0], values.max(1))
    np.testing.assert_array_equal(got["min"].reshape(values.shape)[:, 0], values.min(1))


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(100, 1, 1), (256, 1, 1), (8, 8, 1)], ids=named)
def test_memory_is_free_again_at_once(
    size: tuple[int, int, int], subgroups: bool, accepted: Callable[[str], None]
) -> None:
    """Sums in a loop whose length and branches depend on sums, also inside a helper."""
    x, out = buffer("x", I32), buffer("out", I32)
    total, trips = local("total"), local("trips")
    of_helper = function(
        "twice",
        {"y": I32},
        I32,
        ir.Let("s", call("workgroup_sum", local("y"), type_=I32)),
        ir.Let("m", call("workgroup_max", add(local("s"), local("y")), type_=I32)),
        ir.Return(local("m")),
    )
    loop = ir.ForRange(
        "k",
        literal(0),
        trips,
        literal(1),
        (
            ir.Let("part", ir.Invoke("twice", (add(at(x, I), local("k")),), I32)),
            ir.If(
                binary(local("part"), ">", literal(0)),
                (
                    BARRIER,
                    ir.Let("more", call("workgroup_sum", local("part"), type_=I32)),
                    ir.Assign(total, add(total, local("more"))),
                ),
            ),
        ),
    )
    made = module(
        lane_number(size),
        ir.Let("trips", call("workgroup_max", at(x, I), type_=I32)),
        ir.Var("total", I32, literal(0)),
        loop,
        ir.Assign(at(out, I), total),
        reads=[x],
        writes=[out],
        functions=[of_helper],
        size=size,
    )
    accepted(to_wgsl(made).text)
    lanes = math.prod(size)
    values = numbers(U32, GROUPS * lanes).astype(np.int32).reshape(GROUPS, lanes) * 3
    arrays = {"x": values.ravel(), "out": np.zeros(values.size, np.int32)}
    got = run(made, arrays, (1, 1, 1), groups=(GROUPS, 1, 1), subgroups=subgroups)["out"]
    expected = np.zeros(GROUPS, np.int64)
    for k in range(int(values.max())):
        part = (values + k).sum(1) + values.max(1) + k
        expected += np.where((part > 0) & (k < values.max(1)), part * lanes, 0)
    expected = np.broadcast_to(expected.astype(np.int32)[:, None], values.shape)
    np.testing.assert_array_equal(got.reshape(values.shape), expected)


@pytest.mark.gpu
def test_a_folded_launch_leaves_whole_workgroups_out(accepted: Callable[[str], None]) -> None:
    x, out = buffer("x"), buffer("out")
    made = module(
        ir.Let("i", id_()),
        ir.Let("s", call("workgroup_sum", at(x, I))),
        ir.Assign(at(out, I), local("s", F32)),
        reads=[x],
        writes=[out],
        size=(8, 1, 1),
    )
    accepted(to_wgsl(made, grid=Grid.FOLDED).text)
    values = np.arange(120, dtype=np.float32)
    arrays = {"x": values, "out": np.full(120, -1, np.float32)}
    got = run(made, arrays, (88, 1, 1), grid=Grid.FOLDED, groups=(5, 3, 1))["out"]
    expected = values.reshape(-1, 8).sum(1).repeat(8)
    expected[88:] = -1
    np.testing.assert_array_equal(got, expected)


# ---------------------------------------------------------------------------------- atomics

HISTOGRAM, SLOTS = buffer("bins", I32), buffer("slots", F32)
SHARED_F32 = shared("peak", F32)
SHARED_ROWS = shared("rows", FixedArray(FixedArray(F32, 3), 2))


def element(base: ir.Expr, index: ir.Expr, type_: Type = F32) -> ir.Index:
    return ir.Index(base, (index,), type_)


@pytest.mark.gpu
@pytest.mark.parametrize("type_", [I32, U32, F32], ids=named)
@pytest.mark.parametrize("checked", [False, True], ids=["", "checked"])
def test_atomic_updates(type_: Scalar, checked: bool, accepted: Callable[[str], None]) -> None:
    cells, x = buffer("cells", type_, ndim=2), buffer("x", type_)
    updates = ["add", "sub", "max", "min"]
    updates += ["and", "or", "xor"] if type_ is not F32 else []
    body: list[ir.Stmt] = [ir.Let("i", id_())]
    for row, name in enumerate(updates):
        place = at(cells, literal(row), binary(I, "&", literal(1)))
        body.append(ir.Effect(call(f"atomic_{name}", place, at(x, I), type_=type_)))
    made = module(*body, reads=[x], writes=[cells], size=(64, 1, 1), checked=checked)
    accepted(to_wgsl(made).text)
    values = numbers(type_, 640)
    start = np.array([[5, 7]] * len(updates)).astype(type_.dtype)
    got = run(made, {"x": values, "cells": start}, (640, 1, 1))["cells"]
    ufuncs = {
        "add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    for row, name in enumerate(updates):
        for parity in range(2):
            expected = start[row, parity]
            for value in values[parity::2]:
                expected = ufuncs[name](expected, value)
            assert got[row, parity] == expected, name


@pytest.mark.gpu
@pytest.mark.parametrize("type_", [I32, U32, F32], ids=named)
@pytest.mark.parametrize("checked", [False, True], ids=["", "checked"])
def test_results_of_atomics_are_what_was_there(
    type_: Scalar, checked: bool, accepted: Callable[[str], None]
) -> None:
    """Each invocation takes a number of its own, and one of them wins an exchange."""
    ticket, old, out = buffer("ticket", type_), buffer("old", type_), buffer("out", type_)
    one, zero = literal(1, type_), literal(0, type_)
    mine = ir.Convert(I, type_)
    taken = local("taken", type_)
    made = module(
        ir.Let("i", id_()),
        ir.Let("taken", call("atomic_add", at(ticket, literal(0)), one, type_=type_)),
        ir.Assign(at(out, I), taken),
        ir.Assign(
            at(old, I),
            call(
                "atomic_compare_exchange",
                at(ticket, literal(1)),
                zero,
                binary(mine, "+", one),
                type_=type_,
            ),
        ),
        ir.Var("last", type_, call("atomic_exchange", at(ticket, literal(2)), mine, type_=type_)),
        ir.Effect(call("atomic_exchange", at(ticket, literal(3)), one, type_=type_)),
        ir.Effect(call("atomic_load", at(ticket, literal(3)), type_=type_)),
        ir.Effect(call("atomic_store", at(ticket, literal(4)), literal(6, type_), type_=None)),
        ir.Let("seen", call("atomic_load", at(ticket, literal(4)), type_=type_)),
        ir.Assign(at(ticket, literal(5)), local("seen", type_)),
        ir.If(
            binary(I, "==", literal(0)),
            (ir.Assign(at(ticket, literal(6)), add(at(ticket, literal(6)), one)),),
        ),
        writes=[ticket, old, out],
        size=(64, 1, 1),
        checked=checked,
    )
    accepted(to_wgsl(made).text)
    count = 256
    arrays = {
        "ticket": np.arange(8).astype(type_.dtype) * 0,
        "old": np.full(count, 9, type_.dtype),
        "out": np.full(count, 9, type_.dtype),
    }
    got = run(made, arrays, (count, 1, 1))
    np.testing.assert_array_equal(np.sort(got["out"]), np.arange(count))
    winner = got["ticket"][1]
    assert 1 <= winner <= count
    assert got["old"][int(winner) - 1] == 0
    assert (np.delete(got["old"], int(winner) - 1) == winner).all()
    assert got["ticket"][0] == count
    assert 0 <= got["ticket"][2] < count
    np.testing.assert_array_equal(got["ticket"][3:], np.array([1, 6, 6, 1, 0], type_.dtype))


@pytest.mark.gpu
def test_an_atomic_out_of_range_does_nothing_if_checked() -> None:
    out, old = buffer("out", I32, ndim=2), buffer("old", F32)
    rows = SHARED_ROWS
    row = ir.Index(rows, (binary(I, "-", literal(1)),), FixedArray(F32, 3))
    made = module(
        ir.Let("i", id_()),
        ir.Effect(
            call("atomic_add", at(out, binary(I, "-", literal(1)), I), literal(1), type_=I32)
        ),
        ir.Let("was", call("atomic_add", element(row, I), literal(2.0), type_=F32)),
        BARRIER,
        ir.Let("now", call("atomic_load", element(row, I), type_=F32)),
        ir.Effect(
            call("atomic_store", at(old, binary(I, "*", literal(3))), local("was", F32), type_=None)
        ),
        ir.Effect(
            call(
                "atomic_store",
                at(old, add(binary(I, "*", literal(3)), literal(1))),
                local("now", F32),
                type_=None,
            )
        ),
        writes=[out, old],
        variables=[rows],
        size=(5, 1, 1),
        checked=True,
    )
    arrays = {"out": np.zeros((2, 3), np.int32), "old": np.full(16, 9, np.float32)}
    got = run(made, arrays, (5, 1, 1))
    expected = np.zeros((2, 3), np.int32)
    expected[0, 1] = expected[1, 2] = 1
    np.testing.assert_array_equal(got["out"], expected)
    pairs = [[0, 0], [0, 2], [0, 2], [0, 0], [0, 0]]
    np.testing.assert_array_equal(got["old"][:15].reshape(5, 3)[:, :2], pairs)


@pytest.mark.gpu
def test_float_exchange_compares_bits() -> None:
    cells = buffer("cells")
    swap = [
        call("atomic_compare_exchange", at(cells, literal(k)), old, literal(1.0))
        for k, old in enumerate([literal(math.nan), literal(0.0), literal(-0.0)])
    ]
    made = module(*map(ir.Effect, swap), writes=[cells], size=(1, 1, 1))
    start = np.array([np.nan, -0.0, -0.0], np.float32)
    got = run(made, {"cells": start}, (1, 1, 1))["cells"]
    np.testing.assert_array_equal(
        got.view(np.uint32), np.array([1, -0.0, 1], np.float32).view("u4")
    )


@pytest.mark.gpu
def test_workgroup_memory_starts_as_zero_and_takes_atomics(
    accepted: Callable[[str], None],
) -> None:
    x, out = buffer("x"), buffer("out")
    peak, rows = SHARED_F32, SHARED_ROWS
    index = binary(I, "&", literal(1))
    third = literal(2, U32)
    cell = element(element(rows, index, FixedArray(F32, 3)), third)
    made = module(
        ir.Let("i", id_()),
        ir.Effect(call("atomic_add", cell, at(x, I))),
        ir.Effect(call("atomic_max", peak, at(x, I))),
        BARRIER,
        ir.Assign(at(out, I), add(cell, peak)),
        reads=[x],
        writes=[out],
        variables=[peak, rows],
        size=(32, 1, 1),
    )
    accepted(to_wgsl(made).text)
    values = np.arange(128, dtype=np.float32).reshape(4, 32)
    arrays = {"x": values.ravel(), "out": np.zeros(128, np.float32)}
    got = run(made, arrays, (128, 1, 1))["out"].reshape(4, 16, 2)
    sums = values.reshape(4, 16, 2).sum(1) + values.max(1)[:, None]
    np.testing.assert_array_equal(got, sums[:, None].repeat(16, 1))


# -------------------------------------------------------------------------------- subgroups


def of_subgroups() -> ir.Module:
    """Every operation of a subgroup, each result stored in a row of its own."""
    x, out = buffer("x", I32), buffer("out", I32, ndim=2)
    value = at(x, I)
    flag = binary(value, ">", literal(0))
    calls: list[ir.Expr] = [
        call(f"subgroup_{name}", value, type_=I32)
        for name in ("add", "mul", "max", "min", "and", "or", "xor", "broadcast_first",
                     "inclusive_add", "exclusive_add")
    ]  # fmt: skip
    calls += [
        call(f"subgroup_{name}", value, literal(1), type_=I32)
        for name in ("broadcast", "shuffle", "shuffle_xor", "shuffle_up", "shuffle_down")
    ]
    calls += [call(f"subgroup_{name}", flag, type_=BOOL) for name in ("any", "all")]
    calls += [call("subgroup_elect", type_=BOOL)]
    calls += [call("subgroup_shuffle", flag, literal(2), type_=BOOL)]
    calls += [id_(0, Id.SUBGROUP_SIZE), id_(0, Id.SUBGROUP_INVOCATION)]
    calls += [id_(0, Id.SUBGROUP), id_(0, Id.NUM_SUBGROUPS)]
    body: list[ir.Stmt] = [ir.Let("i", id_()), ir.Effect(call("subgroup_add", value, type_=I32))]
    for row, result in enumerate(calls):
        body.append(ir.Let(f"r_{row}", result))
        result = local(f"r_{row}", ir.type_of(result))
        result = ir.Convert(result, I32) if result.type is BOOL else result
        body.append(ir.Assign(at(out, literal(row), I), result))
    return module(*body, reads=[x], writes=[out], size=(64, 1, 1))


def test_subgroups_are_enabled_for_tint_only(compilers: list[Validator]) -> None:
    for compiler in compilers:
        target = "wgpu" if compiler.name == "naga" else "web"
        wgsl = to_wgsl(of_subgroups(), target=target)
        assert not compiler.errors(wgsl.text)
        assert wgsl.features == ("subgroups",)


@pytest.mark.gpu
def test_operations_of_a_subgroup() -> None:
    if "subgroup" not in device().features:
        pytest.skip("this adapter has no subgroups")
    values = numbers(I32, 64)
    got = run(of_subgroups(), {"x": values, "out": np.zeros((24, 64), np.int32)}, (64, 1, 1))["out"]
    width = int(got[19, 0])
    rows = values.reshape(-1, width)
    lane = np.arange(width)
    reductions: list[Any] = [
        np.add, np.multiply, np.maximum, np.minimum,
        np.bitwise_and, np.bitwise_or, np.bitwise_xor,
    ]  # fmt: skip
    expected = [np.broadcast_to(f.reduce(rows, 1)[:, None], rows.shape) for f in reductions]
    expected.append(np.broadcast_to(rows[:, :1], rows.shape))
    expected += [np.cumsum(rows, 1), np.cumsum(rows, 1) - rows]
    expected += [np.broadcast_to(rows[:, 1:2], rows.shape)] * 2
    expected.append(rows[:, lane ^ 1])
    for row, moved in enumerate(expected):
        np.testing.assert_array_equal(got[row].reshape(rows.shape), moved, str(row))
    # What comes in from outside the subgroup is open.
    np.testing.assert_array_equal(got[13].reshape(rows.shape)[:, 1:], rows[:, :-1])
    np.testing.assert_array_equal(got[14].reshape(rows.shape)[:, :-1], rows[:, 1:])
    holds = rows > 0
    flags = [holds.any(1), holds.all(1), lane == 0, holds[:, 2]]
    for row, flag in enumerate(flags, start=15):
        flag = flag if row == 17 else flag[:, None]
        np.testing.assert_array_equal(
            got[row].reshape(rows.shape), np.broadcast_to(flag, rows.shape)
        )
    np.testing.assert_array_equal(got[20], np.arange(64) % width)
    np.testing.assert_array_equal(got[21], np.arange(64) // width)
    np.testing.assert_array_equal(got[22], 64 // width)


# ------------------------------------------------------------------------------------- text


def reductions() -> ir.Module:
    """What a softmax does, and a count of the rows whose sum is large."""
    x, out, count, total = buffer("x"), buffer("out"), buffer("count", I32), buffer("total")
    largest, norm = local("largest", F32), local("norm", F32)
    large = binary(norm, ">", literal(10.0))
    add_one = call("atomic_add", at(count, literal(0)), literal(1), type_=I32)
    return module(
        ir.Let("i", id_()),
        ir.Let("largest", call("workgroup_max", at(x, I))),
        ir.Let("part", call("exp", binary(at(x, I), "-", largest))),
        ir.Let("norm", call("workgroup_sum", local("part", F32))),
        ir.Assign(at(out, I), binary(local("part", F32), "/", norm)),
        ir.If(
            binary(id_(0, Id.LOCAL_INDEX), "==", literal(0)),
            (
                ir.If(large, (ir.Effect(add_one),)),
                ir.Effect(call("atomic_add", at(total, literal(0)), norm)),
            ),
        ),
        reads=[x],
        writes=[out, count, total],
        size=(256, 1, 1),
        name="softmax",
    )


def scans() -> ir.Module:
    x, out = buffer("x", I32), buffer("out", I32)
    flag = binary(at(x, I), ">", literal(0))
    return module(
        ir.Let("i", id_()),
        ir.Let("before", call("workgroup_exclusive_scan", at(x, I), type_=I32)),
        ir.Let("any", call("workgroup_any", flag, type_=BOOL)),
        ir.Let("first", call("workgroup_broadcast", at(x, I), literal(0), type_=I32)),
        ir.If(local("any", BOOL), (ir.Assign(at(out, I), add(local("before"), local("first"))),)),
        reads=[x],
        writes=[out],
        size=(96, 1, 1),
        name="scans",
    )


def checked_atomics() -> ir.Module:
    out = buffer("out", I32, ndim=2)
    swap = call("atomic_compare_exchange", at(out, I, literal(0)), literal(0), I, type_=I32)
    return module(
        ir.Let("i", id_()),
        ir.Let("was", swap),
        ir.Assign(at(out, I, literal(1)), local("was")),
        writes=[out],
        checked=True,
        name="checked_atomics",
    )


@pytest.mark.parametrize("made", [reductions, scans, checked_atomics], ids=lambda f: f.__name__)
def test_texts(
    made: Callable[[], ir.Module],
    golden: Callable[[str, str], None],
    accepted: Callable[[str], None],
) -> None:
    portable = to_wgsl(made()).text
    accepted(portable)
    golden(f"{made.__name__}.wgsl", portable)
    by_subgroups = to_wgsl(made(), target="wgpu", subgroups=True).text
    if by_subgroups != portable:
        golden(f"{made.__name__}_subgroups.wgsl", by_subgroups)


def test_the_authors_names_stay(accepted: Callable[[str], None]) -> None:
    words = ["scratch_f32", "workgroup_sum_f32", "lane", "reach", "value", "old", "result", "x"]
    buffers = [buffer(word) for word in words]
    body: list[ir.Stmt] = [ir.Let("i", id_()), ir.Var("total", F32)]
    for b in buffers:
        body += [
            ir.Let(f"s_{b.name}", call("workgroup_sum", at(b, I))),
            ir.Effect(call("atomic_max", at(b, I), local(f"s_{b.name}", F32))),
        ]
    wgsl = to_wgsl(module(*body, writes=buffers))
    accepted(wgsl.text)
    for word in words:
        assert f"> {word}: array<atomic<u32>>;" in wgsl.text


def test_workgroup_memory_counts_what_functions_use() -> None:
    x, rows = buffer("x", Vector(3, F32)), SHARED_ROWS
    element_ = element(element(rows, literal(0), FixedArray(F32, 3)), literal(0))
    made = module(
        ir.Let("s", call("workgroup_sum", at(x, id_()), type_=Vector(3, F32))),
        ir.Assign(element_, ir.Swizzle(local("s", Vector(3, F32)), "x", F32)),
        reads=[x],
        variables=[rows, SHARED_F32],
        size=(1024, 1, 1),
    )
    assert to_wgsl(made).workgroup_bytes == 16 * 1024 + 32
    requires = reflect(made)["requires"]
    assert requires["limits"] == {
        "maxComputeInvocationsPerWorkgroup": 1024,
        "maxComputeWorkgroupSizeX": 1024,
        "maxComputeWorkgroupStorageSize": 16 * 1024 + 32,
    }
    assert requires["features"] == []

"""Atomic operations as WGSL: that both compilers take them, and what they compute."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from build import add, at, binary, buffer, call, id_, literal, local, module, shared
from execute import numbers, run

from pywgsl import ir
from pywgsl.codegen.to_wgsl import to_wgsl
from pywgsl.types import F32, I32, U32, FixedArray, Scalar, Type

BARRIER = ir.Effect(call("workgroup_barrier", type_=None))
I = local("i")  # noqa: E741  # the kernels' own name
SHARED_F32 = shared("peak", F32)
SHARED_ROWS = shared("rows", FixedArray(FixedArray(F32, 3), 2))


def element(base: ir.Expr, index: ir.Expr, type_: Type = F32) -> ir.Index:
    return ir.Index(base, (index,), type_)


@pytest.mark.gpu
@pytest.mark.parametrize("type_", [I32, U32, F32], ids=str)
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
@pytest.mark.parametrize("type_", [I32, U32, F32], ids=str)
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
def test_a_nan_stays_among_atomics() -> None:
    cells, x = buffer("cells"), buffer("x")
    body: list[ir.Stmt] = [ir.Let("i", id_())]
    for row, name in enumerate(["max", "min"] * 2):
        body.append(ir.Effect(call(f"atomic_{name}", at(cells, literal(row)), at(x, I))))
    made = module(*body, reads=[x], writes=[cells])
    values = np.arange(64, dtype=np.float32)
    values[17] = np.nan
    start = np.array([0, 0, np.nan, np.nan], np.float32)
    got = run(made, {"cells": start, "x": values}, (64, 1, 1))["cells"]
    assert np.isnan(got).all()


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


# ------------------------------------------------------------------------------------- text


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


def test_a_checked_exchange(
    golden: Callable[[str, str], None], accepted: Callable[[str], None]
) -> None:
    text = to_wgsl(checked_atomics()).text
    accepted(text)
    golden("checked_atomics.wgsl", text)

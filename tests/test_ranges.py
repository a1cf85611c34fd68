"""Intervals of integer expressions: what is known, and that no value lies outside."""

import numpy as np
import pytest
from build import add, binary, buffer, call, function, id_, length, literal, local, module, uniform
from hypothesis import given
from hypothesis import strategies as st

from pywgsl import ir, numerics
from pywgsl.analysis.ranges import Interval, Ranges, everything
from pywgsl.ir import BinaryOp, Id
from pywgsl.types import F32, I32, U32

MAX, MIN = 2**31 - 1, -(2**31)
A, N = buffer("a"), uniform("n", I32)


def interval(expr: ir.Expr, *body: ir.Stmt, size: int = 64) -> Interval:
    made = module(*body, reads=[A], uniforms=[N], size=(size, 1, 1))
    return Ranges(made).interval(expr)


def test_ids_and_lengths_are_not_negative() -> None:
    assert interval(id_()) == (0, MAX - 1)
    assert interval(id_(0, Id.LOCAL)) == (0, 63)
    assert interval(id_(0, Id.LOCAL_INDEX)) == (0, 63)
    assert interval(length(A)) == (0, 2**30)
    assert interval(N) == (MIN, MAX)


@pytest.mark.parametrize("size", [1, 64, 256])
def test_a_lanes_place_in_its_launch_does_not_wrap(size: int) -> None:
    group = binary(id_(0, Id.WORKGROUP), "*", literal(size))
    assert interval(add(group, id_(0, Id.LOCAL)), size=size).low == 0


def test_a_sum_that_may_wrap_has_every_value() -> None:
    assert interval(add(id_(), literal(1))) == (1, MAX)
    assert interval(add(id_(), literal(2))) == everything(I32)
    assert interval(binary(literal(0, U32), "-", literal(1, U32))) == everything(U32)


def test_locals_have_the_values_that_they_are_assigned() -> None:
    v, w = local("v"), local("w")
    body = (
        ir.Var("v", I32, literal(3)),
        ir.If(binary(v, "<", N), (ir.Assign(v, id_(0, Id.LOCAL)),)),
        ir.Var("w", I32, literal(0)),
        ir.Assign(w, add(w, literal(1))),
    )
    assert interval(v, *body) == (0, 63)
    assert interval(w, *body) == everything(I32)


@pytest.mark.parametrize(
    ("start", "stop", "step", "expected"),
    [(0, 10, 3, (0, 9)), (10, 0, -1, (1, 10)), (5, 0, 1, (5, 5)), (0, 0, 0, (0, 0))],
)
def test_the_index_of_a_range(start: int, stop: int, step: int, expected: tuple[int, int]) -> None:
    loop = ir.ForRange("k", literal(start), literal(stop), literal(step), ())
    assert interval(local("k"), loop) == expected


def test_a_parameter_has_the_values_of_its_arguments() -> None:
    row = function("row", {"k": I32}, I32, ir.Return(binary(local("k"), "floor /", literal(4))))
    calls = [ir.Invoke("row", (arg,), I32) for arg in (literal(9), id_(0, Id.LOCAL))]
    made = module(*(ir.Let(f"x{n}", c) for n, c in enumerate(calls)), functions=[row])
    assert Ranges(made).interval(local("k"), "row") == (0, 63)
    assert Ranges(made).interval(local("x0")) == everything(I32)


def test_a_deep_expression_costs_no_recursion() -> None:
    deep: ir.Expr = id_(0, Id.LOCAL)
    for _ in range(5000):
        deep = add(deep, literal(0))
    assert interval(deep) == everything(I32)


# ------------------------------------------------------------------------------- soundness

#: Operators and builtins of integers, with what they compute.
OPS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "floor /": numerics.floor_div,
    "floor %": numerics.floor_mod,
    "trunc /": numerics.trunc_div,
    "trunc %": numerics.trunc_rem,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "min": numerics.minimum,
    "max": numerics.maximum,
}
LEAVES = [0, 1, -1, 2, 3, 7, 64, -5, 2**15, MAX, MIN]


def expressions() -> st.SearchStrategy[tuple[ir.Expr, int]]:
    """Expressions of a lane's id and constants, each with its value in lane 5 of 64."""
    leaf = st.one_of(
        st.just((id_(0, Id.LOCAL), 5)), st.sampled_from([(literal(v), v) for v in LEAVES])
    )

    def grow(
        inner: st.SearchStrategy[tuple[ir.Expr, int]],
    ) -> st.SearchStrategy[tuple[ir.Expr, int]]:
        return st.builds(combine, st.sampled_from(sorted(OPS)), inner, inner)

    return st.recursive(leaf, grow, max_leaves=12)


def combine(op: str, a: tuple[ir.Expr, int], b: tuple[ir.Expr, int]) -> tuple[ir.Expr, int]:
    with np.errstate(all="ignore"):
        value = int(OPS[op](np.array([a[1]], np.int32), np.array([b[1]], np.int32))[0])
    if op in ("min", "max"):
        return call(op, a[0], b[0], type_=I32), value
    return ir.Binary(BinaryOp(op), a[0], b[0], I32), value


@given(expressions())
def test_no_value_is_outside_its_interval(case: tuple[ir.Expr, int]) -> None:
    expr, value = case
    low, high = interval(expr)
    assert low <= value <= high


def test_other_types_have_every_value() -> None:
    assert interval(ir.Convert(local("x", F32), I32)) == everything(I32)

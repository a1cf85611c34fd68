"""Random kernels whose invocations work together, free of races by the way they are made.

Between two barriers a workgroup array is either read, or each invocation stores to an element of
its own, or all add to it atomically. Flow that not all invocations share has no barrier in it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from build import at, binary, call, id_, literal, local, module, shared
from hypothesis import strategies as st
from random_kernels import (
    COUNT,
    FLOATS,
    INTS,
    OUT_FLOATS,
    OUT_INTS,
    SCALE,
    TABLE,
    Kernel,
    Maker,
    Scope,
)

from pywgsl import ir
from pywgsl.types import BOOL, F32, I32, FixedArray, Scalar

SIZES = [(8, 1, 1), (4, 2, 1), (6, 1, 1), (3, 2, 1), (1, 1, 1), (1, 4, 1)]
GROUPS = (3, 2, 1)

_BARRIER = ir.Effect(call("workgroup_barrier", type_=None))
_INDEX = local("li")


class _Maker(Maker):
    def __init__(self, draw: Any, size: tuple[int, int, int]) -> None:
        super().__init__(draw)
        self.lanes = math.prod(size)
        self.ints = shared("some_ints", FixedArray(I32, self.lanes))
        self.floats = shared("some_floats", FixedArray(F32, self.lanes))
        self.sums = shared("sums", FixedArray(I32, 4))

    def exit_if(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        # Who returns from the kernel would be missed at the next barrier.
        if scope.loops or scope.in_helper:
            made = super().exit_if(scope, depth)
            (branch,) = made
            assert isinstance(branch, ir.If)
            if scope.in_helper or not isinstance(branch.body[-1], ir.Return):
                return made
        return self.let(scope, 0)

    # -------------------------------------------------------------- what takes all invocations

    def together(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        """Statements for flow that all invocations of a workgroup share."""
        makers = [self.exchange, self.exchange, self.tree, self.joined, self.joined, self.counted]
        makers += [self.strided, self.subgroup, self.first_lanes, self.apart, self.apart]
        if depth:
            makers += [self.uniform_if, self.uniform_for]
        made: list[ir.Stmt] = self.one_of(*makers)(scope, depth - 1)
        return made

    def all_together(self, scope: Scope, depth: int, most: int = 3) -> ir.Block:
        inner, made = scope.inner(), []
        for _ in range(self.draw(st.integers(1, most))):
            made += self.together(inner, depth)
        return tuple(made)

    def apart(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        return self.statement(scope, min(max(depth, 0), 1))

    def exchange(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        """Each stores to its own element, and reads any."""
        memory, type_ = self.one_of((self.ints, I32), (self.floats, F32))
        own: ir.Expr = self.one_of(
            _INDEX,
            binary(literal(self.lanes - 1), "-", _INDEX),
            binary(binary(_INDEX, "+", literal(1)), "floor %", literal(self.lanes)),
        )
        store: ir.Stmt = ir.Assign(ir.Index(memory, (own,), type_), self.expression(scope, type_))
        if self.chance(30):
            store = ir.If(self.expression(scope, BOOL, 2), (store,))
        name, index = self.name("t"), self.index(scope, 1)
        load = ir.Let(name, ir.Index(memory, (index,), type_))
        scope.readable.append(local(name, type_))
        return [store, _BARRIER, load, _BARRIER]

    def tree(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        """The first lanes take in what lies beyond them."""
        del scope, depth
        reach = literal(self.one_of(1, 2, 4))
        own = ir.Index(self.floats, (_INDEX,), F32)
        other = ir.Index(self.floats, (binary(_INDEX, "+", reach),), F32)
        step = ir.Assign(own, binary(own, self.one_of("+", "*"), other))
        return [ir.If(binary(_INDEX, "<", reach), (step,)), _BARRIER]

    def first_lanes(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        """A branch on a box of lanes that stores to their own elements."""
        op, bound = self.one_of("<", "<=", ">", ">=", "=="), self.one_of(0, 1, 3, 7)
        grows = self.one_of(_INDEX, local("lx"), local("wx"), local("i"))
        condition: ir.Expr = binary(grows, op, literal(bound))
        if self.chance(30):
            condition = binary(literal(bound), op, grows)
        if self.chance(40):
            condition = binary(condition, "&&", self.expression(scope, BOOL, 1))
        body = self.block(Scope([*scope.readable]), 1, 2)
        return [ir.If(condition, (*body, *self.store(scope.inner(), 0)))]

    def joined(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        name = self.one_of("sum", "sum", "max", "min", "any", "all", "broadcast", "scan")
        type_: Scalar = BOOL if name in ("any", "all") else self.one_of(I32, F32)
        if name in ("max", "min"):
            type_ = I32
        args = [self.expression(scope, type_)]
        if name == "broadcast":
            args.append(binary(COUNT, "&", literal(7)))
        if name == "scan":
            name = self.one_of("inclusive_scan", "exclusive_scan")
        result = self.name("t")
        scope.readable.append(local(result, type_))
        return [ir.Let(result, call(f"workgroup_{name}", *args, type_=type_))]

    def subgroup(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        name = self.one_of("add", "max", "xor", "inclusive_add", "exclusive_add", "shuffle_xor")
        args = [self.expression(scope, I32)]
        args += [literal(self.one_of(1, 2))] if name == "shuffle_xor" else []
        result = self.name("t")
        scope.readable.append(local(result))
        return [ir.Let(result, call(f"subgroup_{name}", *args, type_=I32))]

    def counted(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        """All change elements by one kind of atomic operation, and read them after a barrier."""
        place = ir.Index(self.sums, (self.element(scope),), I32)
        kind = self.one_of("add", "sub", "max", "min", "and", "or", "xor")
        change: ir.Stmt = ir.Effect(call(f"atomic_{kind}", place, self.expression(scope, I32, 2)))
        if self.chance(40):
            change = ir.If(self.expression(scope, BOOL, 1), (change,))
        name = self.name("t")
        load = call("atomic_load", ir.Index(self.sums, (self.element(scope),), I32), type_=I32)
        scope.readable.append(local(name))
        return [change, _BARRIER, ir.Let(name, load), _BARRIER]

    def strided(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        """A loop whose trips differ by one."""
        total, index = local(self.name("v"), F32), self.name("k")
        stop, step = literal(self.one_of(5, 16, 19)), literal(self.lanes)
        inner = scope.inner()
        inner.readable.append(local(index))
        value = binary(total, "+", self.expression(inner, F32, 2))
        loop = ir.ForRange(index, _INDEX, stop, step, (ir.Assign(total, value),))
        scope.readable.append(total)
        return [ir.Var(total.name, F32, literal(1.0)), loop]

    def uniform_if(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        """A branch that a workgroup takes as a whole."""
        group = self.one_of(local("wx"), local("wy"))
        condition = binary(group, self.one_of("<", "==", "!="), literal(self.one_of(0, 1, 2)))
        orelse = self.all_together(scope, depth, 2) if self.chance(40) else ()
        return [ir.If(condition, self.all_together(scope, depth), orelse)]

    def uniform_for(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        name = self.name("k")
        stop: ir.Expr = self.one_of(literal(2), binary(local("wx"), "&", literal(1)))
        inner = scope.inner()
        inner.readable.append(local(name))
        body = self.all_together(inner, depth)
        return [ir.ForRange(name, literal(0), stop, literal(1), body)]


@st.composite
def kernels(draw: Any) -> Kernel:
    """Kernels over (x, y) that store to their own elements of two outputs."""
    size = draw(st.sampled_from(SIZES))
    maker = _Maker(draw, size)
    names = {
        "i": id_(0),
        "j": id_(1),
        "li": id_(0, ir.Id.LOCAL_INDEX),
        "lx": id_(0, ir.Id.LOCAL),
        "wx": id_(0, ir.Id.WORKGROUP),
        "wy": id_(1, ir.Id.WORKGROUP),
    }
    known: list[ir.Expr] = [*map(local, names), COUNT, SCALE, at(FLOATS, local("i"))]
    scope = Scope(known)
    body: list[ir.Stmt] = []
    for _ in range(draw(st.integers(2, 7))):
        body += maker.together(scope, 2)
    made = module(
        *(ir.Let(name, value) for name, value in names.items()),
        *body,
        *maker.store(scope, 0),
        *maker.store(scope, 0),
        reads=[INTS, FLOATS, TABLE],
        writes=[OUT_INTS, OUT_FLOATS],
        uniforms=[COUNT, SCALE],
        size=size,
        functions=maker.helpers,
        variables=[maker.ints, maker.floats, maker.sums],
    )
    return Kernel(made)


def launch(module: ir.Module) -> tuple[int, int, int]:
    """The shape of a launch of whole workgroups."""
    x, y, z = (n * size for n, size in zip(GROUPS, module.workgroup_size, strict=True))
    return x, y, z


def differing(expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> int:
    """In how many elements two arrays differ, where all nans are one."""
    if expected.dtype.kind != "f":
        return int(np.count_nonzero(expected != found))
    same = expected.view(np.uint32) == found.view(np.uint32)
    return int(np.count_nonzero(~(same | (np.isnan(expected) & np.isnan(found)))))

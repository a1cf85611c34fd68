"""Random kernels in the intermediate representation: well typed, free of races, and sure to end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from build import at, binary, buffer, function, id_, length, literal, local, module, uniform
from hypothesis import strategies as st

from pywgsl import ir
from pywgsl.codegen.to_numpy import to_numpy
from pywgsl.types import BOOL, F16, F32, I32, U32, FixedArray, Scalar, Type, Vector

SCALARS = (I32, U32, F32, F16, BOOL)
_NUMBERS: dict[Scalar, tuple[Any, ...]] = {
    I32: (0, 1, 2, 3, -1, 7, 31, -5, 2**31 - 1, -(2**31)),
    U32: (0, 1, 2, 5, 31, 33, 2**31, 2**32 - 1),
    F32: (0.0, -0.0, 1.0, 0.5, -2.0, 3.25, 1e30, 1e-30, np.inf, np.nan),
    F16: (0.0, 1.0, -0.5, 3.25, 60000.0, np.inf),
    BOOL: (True, False),
}
_INTEGER_OPS = ("+", "-", "*", "floor /", "floor %", "trunc /", "trunc %", "&", "|", "^")
_FLOAT_OPS = ("+", "-", "*", "/", "floor /", "floor %", "trunc %")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_UNARY: dict[Scalar, tuple[str, ...]] = {
    I32: ("-", "~"),
    U32: ("-", "~"),
    F32: ("-",),
    F16: ("-",),
    BOOL: ("!",),
}
_FUNCTIONS: dict[Scalar, tuple[tuple[str, int], ...]] = {
    I32: (("min", 2), ("max", 2), ("clamp", 3), ("sign", 1), ("count_leading_zeros", 1)),
    U32: (("min", 2), ("max", 2), ("reverse_bits", 1), ("count_one_bits", 1)),
    F32: (("min", 2), ("max", 2), ("floor", 1), ("fract", 1), ("sqrt", 1), ("mix", 3)),
    F16: (("min", 2), ("sign", 1), ("round", 1), ("saturate", 1)),
    BOOL: (),
}

INTS, FLOATS = buffer("ints", I32), buffer("floats", F32)
TABLE = buffer("table", F32, 2)
OUT_INTS, OUT_FLOATS = buffer("out_ints", I32, 2), buffer("out_floats", F32, 2)
COUNT, SCALE = uniform("count", I32), uniform("scale", F32)


@dataclass
class Scope:
    """What the code that is being made may use."""

    readable: list[ir.Expr]
    assignable: list[ir.Local] = field(default_factory=list)
    loops: int = 0
    in_helper: bool = False

    def inner(self, loops: int = 0) -> Scope:
        return Scope([*self.readable], [*self.assignable], self.loops + loops, self.in_helper)


class Maker:
    """Makes expressions and statements from what hypothesis draws."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.names = 0
        self.helpers: list[ir.Function] = []
        self.result: Type | None = None

    def name(self, base: str) -> str:
        self.names += 1
        return f"{base}{self.names}"

    def one_of(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) < percent)

    # ------------------------------------------------------------------------ expressions

    def expression(self, scope: Scope, type_: Scalar, depth: int = 3) -> ir.Expr:
        if depth == 0 or self.chance(25):
            return self.leaf(scope, type_)
        below = depth - 1
        makers = [self.operator, self.operator, self.select, self.conversion, self.load]
        if type_ is BOOL:
            makers = [self.comparison, self.comparison, self.logical, self.operator]
        if _FUNCTIONS[type_]:
            makers.append(self.call)
        made: ir.Expr = self.one_of(*makers)(scope, type_, below)
        return made

    def leaf(self, scope: Scope, type_: Scalar) -> ir.Expr:
        known = [e for e in scope.readable if ir.type_of(e) is type_]
        if known and self.chance(70):
            chosen: ir.Expr = self.one_of(*known)
            return chosen
        return literal(self.one_of(*_NUMBERS[type_]), type_)

    def operator(self, scope: Scope, type_: Scalar, depth: int) -> ir.Expr:
        if self.chance(15):
            op = ir.UnaryOp(self.one_of(*_UNARY[type_]))
            return ir.Unary(op, self.expression(scope, type_, depth), type_)
        left = self.expression(scope, type_, depth)
        if type_.is_integer and self.chance(15):
            count = self.expression(scope, U32, depth)
            return binary(left, self.one_of("<<", ">>"), count, type_)
        if type_ is not BOOL and self.chance(8):
            exponent = literal(self.one_of(2, 3, 4), type_)
            return binary(left, "**", exponent, type_)
        ops = ("&", "|", "^") if type_ is BOOL else _FLOAT_OPS if type_.is_float else _INTEGER_OPS
        return binary(left, self.one_of(*ops), self.expression(scope, type_, depth), type_)

    def comparison(self, scope: Scope, type_: Scalar, depth: int) -> ir.Expr:
        operand = self.one_of(I32, U32, F32, F16)
        left, right = (self.expression(scope, operand, depth) for _ in range(2))
        return binary(left, self.one_of(*_COMPARISONS), right, type_)

    def logical(self, scope: Scope, type_: Scalar, depth: int) -> ir.Expr:
        left, right = (self.expression(scope, type_, depth) for _ in range(2))
        return binary(left, self.one_of("&&", "||"), right, type_)

    def select(self, scope: Scope, type_: Scalar, depth: int) -> ir.Expr:
        condition = self.expression(scope, BOOL, depth)
        accept, reject = (self.expression(scope, type_, depth) for _ in range(2))
        return ir.Select(condition, accept, reject, type_)

    def conversion(self, scope: Scope, type_: Scalar, depth: int) -> ir.Expr:
        source = self.one_of(*(s for s in SCALARS if s is not type_))
        operand = self.expression(scope, source, depth)
        # The bits of a nan are nobody's promise.
        if source in (I32, U32) and type_ in (I32, U32, F32) and self.chance(20):
            return ir.Bitcast(operand, type_)
        return ir.Convert(operand, type_)

    def load(self, scope: Scope, type_: Scalar, depth: int) -> ir.Expr:
        if type_ is I32:
            return at(INTS, self.index(scope, depth))
        if type_ is F32 and self.chance(50):
            return at(TABLE, self.index(scope, depth), self.index(scope, depth))
        if type_ is F32:
            return at(FLOATS, self.index(scope, depth))
        return self.leaf(scope, type_)

    def index(self, scope: Scope, depth: int) -> ir.Expr:
        if self.chance(50):
            base = self.one_of(id_(0), id_(1), local("i"), local("j"))
            base = base if not scope.in_helper else id_(0)
            return binary(base, self.one_of("+", "-", "*"), literal(self.one_of(0, 1, 2, 3)))
        return self.expression(scope, I32, depth)

    def call(self, scope: Scope, type_: Scalar, depth: int) -> ir.Expr:
        name, count = self.one_of(*_FUNCTIONS[type_])
        args = tuple(self.expression(scope, type_, depth) for _ in range(count))
        return ir.Call(name, args, type_)

    # ------------------------------------------------------------------------- statements

    def block(self, scope: Scope, depth: int, statements: int = 4) -> ir.Block:
        scope = scope.inner()
        made: list[ir.Stmt] = []
        for _ in range(self.draw(st.integers(1, statements))):
            made += self.statement(scope, depth)
        return tuple(made)

    def statement(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        simple = [self.let, self.var, self.assign, self.assign, self.store, self.vector]
        nested = [self.if_, self.if_, self.for_, self.while_, self.switch, self.fixed_array]
        exits = [self.exit_if]
        if not scope.in_helper and depth > 1:
            exits.append(self.invoke)
        options = simple + exits + (nested * 2 if depth else [])
        made: list[ir.Stmt] = self.one_of(*options)(scope, depth - 1)
        return made

    def let(self, scope: Scope, _: int) -> list[ir.Stmt]:
        type_, name = self.one_of(*SCALARS), self.name("t")
        value = self.expression(scope, type_)
        scope.readable.append(local(name, type_))
        return [ir.Let(name, value)]

    def var(self, scope: Scope, _: int) -> list[ir.Stmt]:
        type_, name = self.one_of(*SCALARS), self.name("v")
        value = self.expression(scope, type_) if self.chance(80) else None
        scope.readable.append(local(name, type_))
        scope.assignable.append(local(name, type_))
        return [ir.Var(name, type_, value)]

    def assign(self, scope: Scope, _: int) -> list[ir.Stmt]:
        if not scope.assignable:
            return self.var(scope, 0)
        target = self.one_of(*scope.assignable)
        type_ = target.type
        if isinstance(type_, Scalar):
            return [ir.Assign(target, self.expression(scope, type_))]
        if isinstance(type_, Vector):
            component = ir.Swizzle(target, self.one_of(*"xyz"), type_.scalar)
            return [ir.Assign(component, self.expression(scope, type_.scalar))]
        assert isinstance(type_, FixedArray)
        element = type_.element
        assert isinstance(element, Scalar)
        place = ir.Index(target, (self.element(scope),), element)
        return [ir.Assign(place, self.expression(scope, element))]

    def element(self, scope: Scope) -> ir.Expr:
        if self.chance(30):
            return literal(self.one_of(0, 1, 2, 3))
        return binary(self.expression(scope, I32, 1), "&", literal(self.one_of(3, 7)))

    def vector(self, scope: Scope, _: int) -> list[ir.Stmt]:
        scalar, name = self.one_of(I32, F32), self.name("w")
        type_ = Vector(3, scalar)
        parts = tuple(self.expression(scope, scalar, 2) for _ in range(3))
        known: list[ir.Expr] = [local(name, type_)]
        known += [e for e in scope.readable if ir.type_of(e) == type_]
        value: ir.Expr = ir.Construct(type_, parts)
        if len(known) > 1 and self.chance(60):
            value = binary(value, self.one_of("+", "-", "*"), self.one_of(*known[1:]), type_)
        variable = local(name, type_)
        scope.readable += [
            variable,
            *(ir.Swizzle(variable, component, scalar) for component in "xyz"),
            ir.Index(variable, (self.element(scope),), scalar),
        ]
        scope.assignable.append(variable)
        return [ir.Var(name, type_, value)]

    def fixed_array(self, scope: Scope, _: int) -> list[ir.Stmt]:
        scalar, name = self.one_of(I32, F32), self.name("array")
        variable = local(name, FixedArray(scalar, 4))
        index = self.element(scope)
        scope.assignable.append(variable)
        scope.readable.append(ir.Index(variable, (index,), scalar))
        return [ir.Var(name, variable.type), *self.assign(replace(scope, assignable=[variable]), 0)]

    def store(self, scope: Scope, _: int) -> list[ir.Stmt]:
        if scope.in_helper:
            return self.let(scope, 0)
        out, type_ = self.one_of((OUT_INTS, I32), (OUT_FLOATS, F32))
        value = self.expression(scope, type_)
        target = at(out, local("j"), local("i"))
        return [ir.Assign(target, binary(target, "+", value) if self.chance(30) else value)]

    def if_(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        orelse = self.block(scope, depth, 2) if self.chance(50) else ()
        condition = self.expression(scope, BOOL)
        return [ir.If(condition, self.block(scope, depth, 3), orelse)]

    def switch(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        selector = binary(self.expression(scope, I32), "&", literal(3))
        cases = [ir.Case(v, self.block(scope, depth, 2)) for v in ((0, 3), (1,))]
        return [ir.Switch(selector, tuple(cases), self.block(scope, depth, 2))]

    def for_(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        name = self.name("k")
        start = literal(self.one_of(0, 1, 5))
        stop: ir.Expr = self.one_of(
            literal(4), binary(self.expression(scope, I32, 2), "&", literal(7))
        )
        step: ir.Expr = literal(self.one_of(1, 1, 2, -1))
        if self.chance(15):
            step = binary(self.expression(scope, I32, 1), "&", literal(3))
        inner = scope.inner(loops=1)
        inner.readable += [local(name)] * 2
        body = self.block(inner, depth, 3)
        return [ir.ForRange(name, start, stop, step, body)]

    def while_(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        fuel = self.name("fuel")
        count = local(fuel)
        inner = scope.inner(loops=1)
        inner.readable.append(count)
        condition: ir.Expr = binary(count, "<", literal(4))
        if self.chance(60):
            condition = binary(condition, "&&", self.expression(scope, BOOL, 2))
        burn = ir.Assign(count, binary(count, "+", literal(1)))
        body = self.block(inner, depth, 3)
        if self.chance(50):
            loop = ir.While(condition, (burn, *body))
        else:
            break_if = self.expression(scope, BOOL, 2) if self.chance(50) else None
            loop = ir.While(condition, body, (burn,), break_if)
        return [ir.Var(fuel, I32, literal(0)), loop]

    def exit_if(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        value = None if self.result is None else self.expression(scope, F32)
        exits: list[ir.Stmt] = [ir.Return(value)]
        if scope.loops:
            exits = [ir.Break(), ir.Break(), ir.Continue(), ir.Continue(), *exits]
        before = self.assign(scope.inner(), 0) if self.chance(50) else []
        return [ir.If(self.expression(scope, BOOL, 2), (*before, self.one_of(*exits)))]

    def invoke(self, scope: Scope, depth: int) -> list[ir.Stmt]:
        helper, name = self.name("helper"), self.name("t")
        params = {self.name("p"): self.one_of(I32, F32) for _ in range(2)}
        inner = Scope([local(n, t) for n, t in params.items()], in_helper=True)
        outer, self.result = self.result, F32
        body = self.block(inner, depth, 3)
        last = ir.Return(self.expression(inner, F32))
        self.result = outer
        self.helpers.append(function(helper, params, F32, *body, last))
        value: ir.Expr = ir.Invoke(
            helper, tuple(self.expression(scope, t, 2) for t in params.values()), F32
        )
        if self.chance(30):
            test = binary(binary(value, "<", literal(1.0)), "||", self.expression(scope, BOOL, 1))
            guarded = binary(self.expression(scope, BOOL, 1), "&&", test)
            value = ir.Select(guarded, literal(1.0), literal(2.0), F32)
        scope.readable.append(local(name, F32))
        return [ir.Let(name, value)]


class Kernel:
    """A module, shown in failures as the NumPy program that it becomes."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module

    def __repr__(self) -> str:
        lines = to_numpy(self.module).splitlines()
        return "\n".join(["", *lines[:200]])


@st.composite
def kernels(draw: Any, depth: int = 3) -> Kernel:
    """Kernels over (x, y) that store to their own element of two outputs."""
    maker = Maker(draw)
    i, j = local("i"), local("j")
    known: list[ir.Expr] = [i, j, COUNT, SCALE, length(INTS), at(FLOATS, i)]
    scope = Scope(known)
    body = maker.block(scope, depth, 6)
    made = module(
        ir.Let("i", id_(0)),
        ir.Let("j", id_(1)),
        *body,
        *maker.store(scope, 0),
        reads=[INTS, FLOATS, TABLE],
        writes=[OUT_INTS, OUT_FLOATS],
        uniforms=[COUNT, SCALE],
        size=(4, 2, 1),
        functions=maker.helpers,
    )
    return Kernel(made)


def arguments(shape: tuple[int, int]) -> dict[str, Any]:
    """Arguments for such kernels, launched over `shape` (x, y)."""
    rng = np.random.default_rng(1)
    x, y = shape
    return {
        "ints": rng.integers(-20, 20, 7, dtype=np.int32),
        "floats": rng.normal(0, 3, 6).astype(np.float32),
        "table": rng.normal(0, 3, (3, 5)).astype(np.float32),
        "out_ints": np.zeros((y, x), np.int32),
        "out_floats": np.zeros((y, x), np.float32),
        "count": np.int32(5),
        "scale": np.float32(0.75),
    }

"""Corners of WGSL where one compiler or the other is strict: both must take each text."""

from collections.abc import Callable, Sequence

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
    uniform,
)

from pywgsl import ir
from pywgsl.codegen.layout import Grid
from pywgsl.codegen.to_wgsl import to_wgsl
from pywgsl.ir import Space, UnaryOp
from pywgsl.types import (
    BOOL,
    F16,
    F32,
    I32,
    U32,
    Field,
    FixedArray,
    Matrix,
    Struct,
    Type,
    Vector,
)

MAX, MIN = 2**31 - 1, -(2**31)
I = local("i")  # noqa: E741  # the kernels' own name
OUT, INTS = buffer("out"), buffer("ints", I32)
FLOATS = FixedArray(F32, 4)
V2B, V3, V3I, V3B = Vector(2, BOOL), Vector(3, F32), Vector(3, I32), Vector(3, BOOL)
V3U = Vector(3, U32)
MATRIX = Matrix(2, 3, F32)

CASES: dict[str, ir.Module] = {}


def case(name: str, *body: ir.Stmt, **declared: Sequence[object]) -> None:
    writes = declared.pop("writes", [OUT, INTS])
    CASES[name] = module(ir.Let("i", id_()), *body, writes=writes, **declared)  # type: ignore[arg-type]


def values(name: str, *exprs: ir.Expr, first: Sequence[ir.Stmt] = ()) -> None:
    """A case that computes values and drops them."""
    lets = [ir.Let(f"value_{n}", expr) for n, expr in enumerate(exprs)]
    case(name, *first, *lets)


def element(name: str, index: ir.Expr, type_: Type = F32, of: Type = FLOATS) -> ir.Index:
    return ir.Index(local(name, of), (index,), type_)


def some_array() -> ir.Expr:
    return ir.Construct(FLOATS, (literal(1.0), literal(2.0), at(OUT, I), literal(4.0)))


def some_vector() -> ir.Expr:
    return ir.Construct(V3I, (I, literal(1), at(INTS, I)))


LOW = binary(I, "&", literal(3))

# ------------------------------------------------------------------------------ composites
values("an array that is no variable", element("a", LOW), first=[ir.Let("a", some_array())])
values("an element of a value", ir.Index(some_array(), (LOW,), F32))
values(
    "a column of a value",
    ir.Swizzle(element("m", LOW, V3, MATRIX), "x", F32),
    first=[ir.Let("m", ir.Construct(MATRIX, ()))],
)
case(
    "arrays as parameters and results",
    ir.Var("a", FLOATS),
    ir.Let("r", ir.Invoke("f", (local("a", FLOATS), I), FLOATS)),
    ir.Assign(at(OUT, I), element("r", literal(1))),
    functions=[
        function(
            "f",
            {"a": FLOATS, "k": I32},
            FLOATS,
            ir.Var("copy", FLOATS, local("a", FLOATS)),
            ir.Assign(element("copy", local("k")), element("a", local("k"))),
            ir.Return(local("copy", FLOATS)),
        )
    ],
)
MARKS = FixedArray(BOOL, 3)
RECORD = Struct("Record", (Field("marks", MARKS), Field("ok", BOOL), Field("mask", V3B)))
RECORDS, MASKS = buffer("records", RECORD), buffer("masks", V3B)
marks = ir.Member(local("r", RECORD), "marks", MARKS)
mask = ir.Member(local("r", RECORD), "mask", V3B)
ok = ir.Member(local("r", RECORD), "ok", BOOL)
case(
    "bools in structs, arrays and buffers",
    ir.Var("r", RECORD),
    ir.Var("b", MARKS),
    ir.Assign(marks, local("b", MARKS)),
    ir.Assign(ir.Index(marks, (LOW,), BOOL), ok),
    ir.Assign(mask, ir.Construct(V3B, (literal(True), ok, binary(I, "<", LOW)))),
    ir.Assign(ir.Swizzle(mask, "y", BOOL), ir.Index(mask, (LOW,), BOOL)),
    ir.Assign(at(RECORDS, I), local("r", RECORD)),
    ir.If(call("any", ir.Member(at(RECORDS, I), "mask", V3B), type_=BOOL), (ir.Return(),)),
    ir.Assign(at(MASKS, I), binary(at(MASKS, I), "&", mask)),
    ir.Assign(at(MASKS, I), binary(at(MASKS, I), "^", mask)),
    writes=[RECORDS, MASKS],
    structs=[RECORD],
)
FLAGS = shared("flags", FixedArray(BOOL, 8))
case(
    "bools in workgroup memory",
    ir.Assign(ir.Index(FLAGS, (LOW,), BOOL), literal(True)),
    ir.Assign(shared("flag", BOOL), ir.Index(FLAGS, (LOW,), BOOL)),
    variables=[FLAGS, shared("flag", BOOL)],
)
MINE = ir.Global("mine", FLOATS, Space.PRIVATE)
case(
    "private variables",
    ir.Assign(ir.Index(MINE, (LOW,), F32), literal(1.0)),
    ir.Assign(at(OUT, I), ir.Index(MINE, (literal(0),), F32)),
    variables=[MINE],
)
WIDE, NARROW = (
    Struct("Wide", (Field("a", F32), Field("b", V3))),
    Struct("Narrow", (Field("a", F32),)),
)
case(
    "structs and matrices in the uniform struct",
    ir.Assign(at(OUT, I), add(ir.Member(uniform("w", WIDE), "a", F32), uniform("s"))),
    ir.Assign(at(OUT, I), add(ir.Member(uniform("n", NARROW), "a", F32), uniform("t"))),
    ir.Assign(at(OUT, I), ir.Swizzle(ir.Index(uniform("m", MATRIX), (literal(1),), V3), "z", F32)),
    ir.If(call("all", uniform("b", V3B), type_=BOOL), (ir.Return(),)),
    uniforms=[
        *(uniform("s"), uniform("w", WIDE), uniform("n", NARROW), uniform("t")),
        *(uniform("m", MATRIX), uniform("b", V3B)),
    ],
    structs=[WIDE, NARROW],
)
matrix = local("m", MATRIX)
turned = call("transpose", matrix, type_=Matrix(3, 2, F32))
case(
    "matrices",
    ir.Var("m", MATRIX),
    ir.Assign(matrix, binary(matrix, "*", literal(2.0))),
    ir.Assign(matrix, add(matrix, matrix)),
    ir.Assign(ir.Swizzle(element("m", LOW, V3, MATRIX), "z", F32), literal(1.0)),
    ir.Let("v", binary(matrix, "*", ir.Construct(Vector(2, F32), (literal(1.0),)), V3)),
    ir.Let("square", binary(turned, "*", matrix, Matrix(2, 2, F32))),
)

# ------------------------------------------- constants, which compilers evaluate themselves
for constant in (9, -1):
    k, again, array = (
        ir.Let("k", literal(constant)),
        ir.Let("again", local("k")),
        ir.Var("a", FLOATS),
    )
    values(f"index {constant} by a name", element("a", local("k")), first=[k, array])
    values(f"index {constant} by two", element("a", local("again")), first=[k, again, array])
    values(f"index {constant} of a buffer", at(OUT, local("again")), first=[k, again])
    values(f"index {constant} itself", element("a", literal(constant)), first=[array])
z, u, big, x = local("z"), local("u", U32), local("big"), local("x", F32)
values(
    "constants with names",
    binary(at(INTS, I), "trunc /", z),
    binary(at(INTS, I), "trunc %", z),
    binary(local("five"), "trunc /", z),
    binary(literal(7), "floor /", z),
    binary(literal(7, U32), "floor /", local("zero", U32)),
    binary(I, "<<", u),
    binary(literal(1), "<<", u),
    binary(literal(3), "<<", literal(31, U32)),
    add(big, big),
    binary(big, "*", literal(100000)),
    binary(x, "*", x),
    binary(x, "/", literal(0.0)),
    call("log", ir.Unary(UnaryOp.NEG, x, F32)),
    call("sqrt", local("minus", F32)),
    first=[
        ir.Let("z", literal(0)),
        ir.Let("five", literal(5)),
        ir.Let("zero", literal(0, U32)),
        ir.Let("u", literal(33, U32)),
        ir.Let("big", literal(MAX)),
        ir.Let("x", literal(1e30)),
        ir.Let("minus", literal(-1.0)),
    ],
)
values(
    "constants alone",
    ir.Unary(UnaryOp.NEG, literal(MIN), I32),
    ir.Unary(UnaryOp.BIT_NOT, literal(5), I32),
    ir.Unary(UnaryOp.NOT, literal(True), BOOL),
    ir.Bitcast(literal(float("inf")), I32),
    ir.Bitcast(literal(0x7FC00000), F32),
    ir.Convert(literal(-1), U32),
    ir.Convert(literal(float("nan")), I32),
    ir.Convert(literal(1e9), F16),
    ir.Convert(literal(3), F32),
    binary(literal(1), "<", literal(2)),
    binary(literal(True), "&&", literal(False)),
    binary(literal(MAX), "+", literal(1)),
    binary(literal(1e30), "*", literal(1e30)),
    binary(literal(2.0), "**", literal(3.0)),
    binary(literal(7.0), "floor %", literal(0.0)),
    binary(literal(5, U32), "-", literal(6, U32)),
    ir.Select(literal(True), literal(1), literal(2), I32),
    ir.Swizzle(ir.Construct(V3, (literal(1.0),)), "xyx", V3),
    *(literal(v, F16) for v in (-0.0, float("-inf"), 65504.0, 6e-8)),
    *(literal(v) for v in (-0.0, MIN, float("nan"), 3.4028234663852886e38, 1e-45)),
)

# ------------------------------------------------------------------------------- operators
v, w = some_vector(), ir.Convert(some_vector(), V3)
values(
    "operators on vectors",
    *(binary(v, op, literal(3)) for op in ("floor /", "floor %", "&", "<", "**", "trunc /")),
    *(binary(v, op, v) for op in ("floor /", "floor %", "trunc %", "|", "^", "==", "!=")),
    *(binary(w, op, literal(2.0)) for op in ("floor /", "floor %", "**", "*", "!=", ">=")),
    binary(v, "<<", literal(3, U32)),
    binary(v, ">>", ir.Convert(v, V3U)),
    binary(literal(1), "-", v, V3I),
    ir.Unary(UnaryOp.NEG, ir.Convert(v, V3U), V3U),
    ir.Unary(UnaryOp.BIT_NOT, v, V3I),
    ir.Unary(UnaryOp.NOT, binary(v, "<", v), V3B),
    *(ir.Convert(v, t) for t in (V3, V3U, V3B, Vector(3, F16))),
    *(ir.Convert(w, t) for t in (V3I, V3U, V3B, Vector(3, F16))),
    *(ir.Convert(ir.Convert(v, V3B), t) for t in (V3I, V3, V3U)),
    ir.Select(binary(v, "<", v), v, v, V3I),
)
j = at(INTS, I)
values(
    "what looks like a template list",
    call("select", I, j, binary(binary(I, "<", I), "&&", binary(I, ">", j)), type_=I32),
    call("min", binary(I, "<<", literal(2, U32)), binary(I, ">>", literal(1, U32)), type_=I32),
    binary(binary(I, "<", j), "==", binary(I, ">", literal(3)), BOOL),
    ir.Construct(V2B, (binary(I, "<", j), binary(j, ">", I))),
    binary(I, "<", binary(j, ">>", literal(1, U32))),
    at(INTS, ir.Select(binary(I, "<", j), at(INTS, binary(I, ">>", literal(2, U32))), I, I32)),
)

# ------------------------------------------------------------------------------------ flow
store = ir.Assign(at(INTS, I), literal(1))
case("an endless loop", ir.While(literal(True), (store,)))
case("an endless loop with an update", ir.While(literal(True), (store,), (store,)))
case("an endless loop with two", ir.While(literal(True), (store,), (store, store)))
case(
    "constant conditions",
    ir.If(binary(literal(1), ">", literal(2)), (store,)),
    ir.While(literal(False), (store,)),
)
case(
    "unsigned loops and switches",
    ir.ForRange("k", literal(0, U32), ir.Convert(I, U32), literal(1, U32), (store,)),
    ir.ForRange("m", literal(5, U32), uniform("q", U32), literal(3, U32), (store,)),
    ir.ForRange("s", literal(5), literal(-1), literal(MIN), (store,)),
    ir.Switch(ir.Convert(I, U32), (ir.Case((1, 2**32 - 1), (store,)),)),
    uniforms=[uniform("q", U32)],
)
case(
    "a parameter that is called as a buffer is",
    ir.Assign(at(OUT, I), ir.Invoke("f", (at(OUT, I),), F32)),
    ir.Assign(at(OUT, I), ir.Invoke("g", (at(OUT, I),), F32)),
    functions=[
        function("f", {"out": F32}, F32, ir.Return(local("out", F32))),
        function("g", {"out": F32}, F32, ir.Return(add(local("out", F32), at(OUT, literal(0))))),
    ],
)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("grid", Grid, ids=lambda grid: grid.value)
def test_both_compilers_take(name: str, grid: Grid, accepted: Callable[[str], None]) -> None:
    accepted(to_wgsl(CASES[name], grid=grid).text)

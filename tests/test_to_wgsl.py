"""WGSL text: what it looks like (golden files), that both compilers take it, what it computes."""

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
    each,
    function,
    id_,
    length,
    literal,
    local,
    module,
    shared,
    uniform,
)
from execute import run
from pywgsl import ir
from pywgsl.codegen.layout import Grid
from pywgsl.codegen.names import FORBIDDEN
from pywgsl.codegen.to_wgsl import to_wgsl
from pywgsl.ir import Id
from pywgsl.source import Source
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
    Vector,
)

A, B, OUT = buffer("a"), buffer("b"), buffer("out")
I, J, N = local("i"), local("j"), uniform("n", I32)  # noqa: E741  # the kernels' own names
FLAGS = buffer("flags", BOOL)
PARTICLE = Struct(
    "Particle",
    (Field("position", Vector(3, F32)), Field("alive", BOOL), Field("type", I32)),
)
TILE = shared("tile", FixedArray(FixedArray(F32, 17), 16))
SUMS = shared("sums", FixedArray(I32, 4))


def sigmoid_gradient() -> ir.Module:
    y = local("y", F32)
    source = Source("/home/someone/activations.py", "def sigmoid_gradient():\n    …\n", 12)
    slope = binary(binary(y, "*", binary(literal(1.0), "-", y)), "*", uniform("steepness"))
    body = (
        ir.Let("i", id_()),
        ir.Let("y", at(B, I), span=source.span(24, 28)),
        ir.Assign(at(OUT, I), binary(at(A, I), "*", slope)),
    )
    made = module(
        *body, reads=[A, B], writes=[OUT], uniforms=[uniform("steepness")], name="sigmoid_gradient"
    )
    return ir.Module(
        made.name, made.parameters, made.body, (256, 1, 1), span=source.span(4, 20)
    )


def weight_gradient() -> ir.Module:
    x, grad, out = buffer("x", ndim=2), buffer("grad_output", ndim=2), buffer("grad_weight", ndim=2)
    o, b, total = local("o"), local("b"), local("total", F32)
    loop = ir.ForRange(
        "b",
        literal(0),
        length(x),
        literal(1),
        (ir.Assign(total, add(total, binary(at(x, b, I), "*", at(grad, b, o)))),),
    )
    return module(
        ir.Let("i", id_(0)),
        ir.Let("o", id_(1)),
        ir.Var("total", F32, literal(0.0)),
        loop,
        ir.Assign(at(out, o, I), total),
        reads=[x, grad],
        writes=[out],
        size=(16, 16, 1),
        name="weight_gradient",
    )


def ids_of_every_kind() -> ir.Module:
    out = buffer("out", I32)
    scale = function("row_of", {"width": I32}, I32, ir.Return(add(local("width"), id_(1))))
    kinds = [id_(0, k) for k in Id if k not in (Id.SUBGROUP_SIZE, Id.SUBGROUP_INVOCATION)]
    total: ir.Expr = ir.Invoke("row_of", (literal(3),), I32)
    for kind in kinds:
        total = add(total, kind)
    return module(
        ir.Assign(at(out, id_(0)), total),
        writes=[out],
        functions=[scale, function("unused", {}, None, ir.Return())],
        size=(4, 2, 1),
    )


def statements() -> ir.Module:
    x = local("x", F32)
    body: ir.Block = (
        ir.Let("i", id_()),
        ir.Var("x", F32, at(A, I)),
        ir.If(
            binary(x, "<", literal(0.0)),
            (ir.Assign(x, ir.Unary(ir.UnaryOp.NEG, x, F32)),),
            (
                ir.If(
                    binary(x, ">", literal(9.0)),
                    (ir.Return(),),
                    (ir.Assign(x, binary(x, "*", literal(2.0))),),
                ),
            ),
        ),
        ir.If(binary(I, "==", literal(0)), (ir.Print(("x is", x)),)),
        ir.If(
            binary(I, "==", literal(1)),
            (ir.Assert(binary(x, ">", literal(0.0)), "positive"),),
            (ir.Assign(x, add(x, literal(1.0))),),
        ),
        ir.While(
            binary(x, "<", literal(100.0)),
            (
                ir.Assign(x, binary(x, "*", literal(3.0))),
                ir.If(binary(x, ">", literal(50.0)), (ir.Break(),)),
            ),
        ),
        ir.Switch(
            I,
            (
                ir.Case((0, 1), (ir.Assign(x, literal(0.5)),)),
                ir.Case((-(2**31),), (ir.Assign(x, literal(1.5)),)),
            ),
        ),
        ir.Assign(at(OUT, I), x),
        ir.Return(),
    )
    return module(*body, reads=[A], writes=[OUT])


def loops() -> ir.Module:
    total, k = local("total"), local("k")
    out = buffer("out", I32)

    def over(index: str, start: ir.Expr, stop: ir.Expr, step: ir.Expr) -> ir.Stmt:
        return ir.ForRange(
            index, start, stop, step, (ir.Assign(total, add(total, local(index))),)
        )

    stop_in_switch = ir.ForRange(
        "k",
        literal(0),
        literal(9),
        literal(1),
        (
            ir.Switch(
                k,
                (ir.Case((3, 5), (ir.Break(),)), ir.Case((1,), (ir.Continue(),))),
                (ir.Assign(total, add(total, k)),),
            ),
        ),
    )
    general = ir.While(
        binary(total, "<", literal(50)),
        (ir.If(binary(total, "==", literal(7)), (ir.Continue(),)),),
        (ir.Assign(total, add(total, literal(2))), ir.Assign(at(out, I), total)),
        binary(total, ">", literal(40)),
    )
    update = ir.While(
        binary(total, "<", literal(60)),
        (ir.Assign(at(out, I), total),),
        (ir.Assign(total, add(total, literal(1))),),
    )
    return module(
        ir.Let("i", id_()),
        ir.Var("total", I32, literal(0)),
        over("up", literal(0), N, literal(1)),
        over("down", binary(N, "-", literal(1)), literal(-1), literal(-1)),
        over("by_three", literal(0), length(out), literal(3)),
        over("far", literal(0), N, literal(4)),
        over("back", N, total, literal(-4)),
        over("any_step", I, total, N),
        over("changing", literal(0), total, literal(1)),
        stop_in_switch,
        general,
        update,
        ir.Assign(at(out, I), total),
        writes=[out],
        uniforms=[N],
    )


def operators() -> ir.Module:
    out, u = buffer("out", I32), local("u", U32)
    x, y, z = local("x", F32), local("y", F32), local("z", F32)
    flag, other = local("flag", BOOL), local("other", BOOL)
    neg = ir.Unary(ir.UnaryOp.NEG, I, I32)
    integers = [
        binary(binary(I, "+", J), "*", binary(I, "-", binary(J, "-", I))),
        binary(I, "-", literal(-5)),
        ir.Unary(ir.UnaryOp.NEG, neg, I32),
        binary(binary(I, "&", J), "|", binary(I, "^", literal(7))),
        binary(binary(I, "<<", literal(3, U32)), ">>", u),
        binary(literal(1), "<<", u),
        binary(I, "floor /", literal(8)),
        binary(binary(I, "-", J), "floor /", literal(8)),
        binary(binary(I, "-", J), "floor %", literal(8)),
        binary(binary(I, "-", J), "floor %", literal(3)),
        binary(binary(I, "-", J), "floor /", J),
        binary(literal(6), "+", literal(7)),
        binary(I, "floor /", literal(0)),
        binary(I, "**", literal(3)),
        binary(I, "**", J),
        literal(-(2**31)),
        ir.Convert(ir.Select(binary(I, "<", J), u, literal(1, U32), U32), I32),
        ir.Convert(x, I32),
        ir.Convert(flag, I32),
        ir.Convert(binary(flag, "^", other), I32),
        ir.Convert(binary(binary(flag, "&&", other), "||", binary(x, "!=", y)), I32),
        ir.Convert(ir.Unary(ir.UnaryOp.NEG, u, U32), I32),
        call("min", binary(I, "<<", u), J, type_=I32),
    ]
    floats = [
        binary(x, "floor /", y),
        binary(x, "floor %", y),
        binary(add(x, y), "floor %", y),
        binary(x, "**", literal(2.0)),
        binary(add(x, y), "**", literal(4.0)),
        binary(x, "**", y),
        call("max", x, literal(0.0)),
        call("exp", literal(100.0)),
        literal(float("inf")),
        literal(float("-inf")),
        literal(float("nan")),
        literal(-0.0),
        literal(0.1),
        literal(3.4028234663852886e38),
        ir.Convert(I, F32),
        ir.Convert(u, F32),
        binary(x, "/", literal(0.0)),
        ir.Select(binary(binary(x, "<", y), "&&", binary(z, ">", y)), x, y, F32),
    ]
    body: list[ir.Stmt] = [
        ir.Let("i", id_()),
        ir.Let("j", id_(1)),
        ir.Let("u", ir.Convert(at(out, I), U32)),
        ir.Let("x", at(A, I)),
        ir.Let("y", at(A, J)),
        ir.Var("z", F32),
        ir.Let("flag", binary(x, "<", y)),
        ir.Let("other", binary(x, "==", y)),
    ]
    body += [ir.Assign(at(out, I), value) for value in integers]
    body += [ir.Assign(at(A, I), value) for value in floats]
    return module(*body, writes=[A, out], size=(8, 8, 1))


def memory() -> ir.Module:
    particles, halves = buffer("particles", PARTICLE), buffer("halves", F16)
    vectors, wide = buffer("vectors", Vector(3, F32)), buffer("wide", ndim=3)
    p, m = local("p", PARTICLE), local("m", Matrix(2, 2, F32))
    marks = local("marks", FixedArray(BOOL, 4))
    alive = ir.Member(at(particles, I), "alive", BOOL)
    position = ir.Member(at(particles, I), "position", Vector(3, F32))
    column = ir.Index(m, (literal(1),), Vector(2, F32))
    return module(
        ir.Let("i", id_()),
        ir.If(at(FLAGS, I), (ir.Assign(at(FLAGS, I), binary(I, "<", literal(3))),)),
        ir.Assign(alive, ir.Unary(ir.UnaryOp.NOT, alive, BOOL)),
        ir.Assign(ir.Swizzle(position, "y", F32), ir.Swizzle(at(vectors, I), "x", F32)),
        ir.Var(
            "p",
            PARTICLE,
            ir.Construct(
                PARTICLE,
                (
                    ir.Construct(Vector(3, F32), (literal(1.0), literal(2.0), literal(3.0))),
                    at(FLAGS, I),
                    literal(4),
                ),
            ),
        ),
        ir.Assign(ir.Member(p, "type", I32), literal(5)),
        ir.Assign(at(particles, add(I, literal(1))), p),
        ir.Var("marks", FixedArray(BOOL, 4)),
        ir.Assign(ir.Index(marks, (binary(I, "&", literal(3)),), BOOL), at(FLAGS, I)),
        ir.Assign(at(FLAGS, literal(0)), ir.Index(marks, (literal(2),), BOOL)),
        ir.Var("m", Matrix(2, 2, F32)),
        ir.Assign(ir.Index(column, (literal(0),), F32), at(wide, I, literal(2), add(I, literal(1)))),
        ir.Assign(at(wide, I, literal(0), literal(0, U32)), ir.Swizzle(column, "x", F32)),
        ir.Assign(at(halves, I), binary(at(halves, I), "+", literal(0.1, F16))),
        ir.Assign(at(vectors, I), binary(at(vectors, I), "*", literal(2.0))),
        ir.If(
            binary(uniform("on", BOOL), "&&", binary(uniform("where", Vector(2, I32)), "==", uniform("where", Vector(2, I32)), BOOL))
            if False
            else uniform("on", BOOL),
            (ir.Assign(at(vectors, I), uniform("offset", Vector(3, F32))),),
        ),
        writes=[FLAGS, particles, halves, vectors, wide],
        uniforms=[uniform("on", BOOL), uniform("offset", Vector(3, F32)), uniform("unused")],
        structs=[PARTICLE],
    )


def workgroup() -> ir.Module:
    local_x = id_(0, Id.LOCAL)
    cell = ir.Index(ir.Index(TILE, (local_x,), TILE.type.element), (literal(0),), F32)  # type: ignore[union-attr]
    slot = ir.Index(SUMS, (binary(local_x, "&", literal(3)),), I32)
    barrier = ir.Effect(call("workgroup_barrier", type_=None))
    return module(
        ir.Let("i", id_()),
        ir.Assign(cell, at(A, I)),
        barrier,
        ir.Effect(call("atomic_add", slot, literal(2), type_=I32)),
        ir.Let("before", call("atomic_max", slot, literal(1), type_=I32)),
        barrier,
        ir.Assign(slot, local("before")),
        ir.Assign(at(A, I), binary(cell, "*", ir.Convert(slot, F32))),
        writes=[A],
        variables=[TILE, SUMS],
        size=(16, 1, 1),
    )


def checked() -> ir.Module:
    image = buffer("image", ndim=2)
    return module(
        ir.Let("i", id_()),
        ir.Assign(at(image, I, add(I, literal(1))), at(image, binary(I, "-", literal(1)), I)),
        ir.Assign(at(A, at(buffer("index", I32), I)), add(at(A, at(buffer("index", I32), I)), at(B, literal(3)))),
        ir.Assign(at(FLAGS, I), at(FLAGS, add(I, literal(1)))),
        reads=[B, buffer("index", I32)],
        writes=[A, image, FLAGS],
        checked=True,
    )


CASES: dict[str, Callable[[], ir.Module]] = {
    made.__name__: made
    for made in (
        sigmoid_gradient,
        weight_gradient,
        ids_of_every_kind,
        statements,
        loops,
        operators,
        memory,
        workgroup,
        checked,
    )
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("grid", Grid, ids=lambda grid: grid.value)
def test_the_text_is_as_recorded_and_both_compilers_take_it(
    case: str,
    grid: Grid,
    golden: Callable[[str, str], None],
    accepted: Callable[[str], None],
) -> None:
    if case == "workgroup" and "workgroup_barrier" not in ir_builtins():
        pytest.skip("the effects have no rows yet")
    wgsl = to_wgsl(CASES[case](), grid=grid)
    accepted(wgsl.text)
    assert len(wgsl.lines) == wgsl.text.count("\n")
    suffix = "" if grid is Grid.PLAIN else "_folded"
    golden(f"{case}{suffix}.wgsl", wgsl.text)


def ir_builtins() -> Any:
    from pywgsl.builtins import BUILTINS

    return BUILTINS

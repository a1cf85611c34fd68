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
from validators import Validator

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
    return ir.Module(made.name, made.parameters, made.body, (256, 1, 1), span=source.span(4, 20))


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
    kinds = [id_(0, k) for k in Id if "subgroup" not in k.value]
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
        return ir.ForRange(index, start, stop, step, (ir.Assign(total, add(total, local(index))),))

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
    integers: list[ir.Expr] = [
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
    floats: list[ir.Expr] = [
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
        ir.Assign(
            ir.Index(column, (literal(0),), F32), at(wide, I, literal(2), add(I, literal(1)))
        ),
        ir.Assign(at(wide, I, literal(0), literal(0, U32)), ir.Swizzle(column, "x", F32)),
        ir.Assign(at(halves, I), binary(at(halves, I), "+", literal(0.1, F16))),
        ir.Assign(at(vectors, I), binary(at(vectors, I), "*", literal(2.0))),
        ir.If(
            uniform("on", BOOL),
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
        ir.Assign(
            at(A, at(buffer("index", I32), I)),
            add(at(A, at(buffer("index", I32), I)), at(B, literal(3))),
        ),
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
    wgsl = to_wgsl(CASES[case](), grid=grid)
    accepted(wgsl.text)
    assert len(wgsl.lines) == wgsl.text.count("\n")
    suffix = "" if grid is Grid.PLAIN else "_folded"
    golden(f"{case}{suffix}.wgsl", wgsl.text)


# ---------------------------------------------------------------------------------- text


def test_a_line_leads_back_to_the_authors_line() -> None:
    wgsl = to_wgsl(sigmoid_gradient())
    line = wgsl.text.splitlines().index("    let y = b[i];") + 1
    span = wgsl.span_of(line)
    assert span is not None
    assert (span.source.name, span.line) == ("/home/someone/activations.py", 13)


def test_bindings_follow_the_authors_order_used_or_not() -> None:
    wgsl = to_wgsl(module(reads=[A, B], writes=[OUT], uniforms=[N], size=(1, 1, 1)))
    assert [(b.name, b.binding, b.access.value) for b in wgsl.bindings] == [
        ("a", 0, "read"),
        ("b", 1, "read"),
        ("out", 2, "read_write"),
    ]
    assert wgsl.uniform_binding is None
    assert "Uniforms" not in wgsl.text


def test_what_is_left_out_is_told() -> None:
    span = Source("k.py", "print(1)").span(0, 8)
    wgsl = to_wgsl(module(ir.Print(("1",), span=span)))
    assert wgsl.prints == (span,)


_NAMES = [
    *sorted(FORBIDDEN - {"if", "for", "while", "return", "break", "continue", "else", "from"}),
    *("_", "__", "__x", "v__x", "f32", "vec3f", "array", "min", "max", "select", "length", "exp"),
    *("target", "target_", "target__", "storage", "read_write", "uniforms", "Uniforms", "launch_x"),
    *("constant", "global_id", "global_x", "i32", "isnan_f32", "floor_div_i32", "π", "变量", "é"),
    *("inf", "nan", "bool", "u32", "kernel", "main0", "half", "texture", "sin", "log", "step"),
]
NAMES = list(dict.fromkeys(_NAMES))


@pytest.mark.parametrize("role", ["locals", "buffers", "uniforms", "functions", "fields", "entry"])
def test_every_python_name_works_in_every_role(role: str, accepted: Callable[[str], None]) -> None:
    for chunk in (NAMES[k : k + 100] for k in range(0, len(NAMES), 100)):
        if role == "entry":
            for name in chunk:
                accepted(to_wgsl(_busy([], name=name)).text)
        else:
            accepted(to_wgsl(_named(role, chunk)).text)


def _busy(body: list[ir.Stmt], **kwargs: Any) -> ir.Module:
    """A module that uses much of WGSL's vocabulary beside the statements given."""
    x = ir.Local("x_value", F32)
    rest: list[ir.Stmt] = [
        ir.Let("x_value", call("exp", ir.Convert(id_(0), F32))),
        ir.Assign(at(buffer("out_"), id_(0)), call("min", call("log", x), call("length", x))),
        ir.Assign(
            at(buffer("out_"), id_(0)),
            ir.Convert(binary(ir.Convert(x, I32), "floor /", uniform("n_", I32)), F32),
        ),
        ir.Assign(at(buffer("out_"), id_(1)), literal(float("inf"))),
        ir.Assign(at(buffer("out_"), id_(1)), call("exp", literal(2.0))),
    ]
    writes = [*kwargs.pop("writes", []), buffer("out_")]
    uniforms = [*kwargs.pop("uniforms", []), uniform("n_", I32)]
    return module(*body, *rest, writes=writes, uniforms=uniforms, **kwargs)


def _named(role: str, names: list[str]) -> ir.Module:
    out, total = buffer("out_"), local("total_value", F32)
    first: list[ir.Stmt] = [ir.Var("total_value", F32)]
    if role == "locals":
        lets = [ir.Let(n, ir.Convert(id_(1), F32)) for n in names]
        sums = [ir.Assign(total, add(total, local(n, F32))) for n in names]
        return _busy([*first, *lets, *sums])
    if role == "buffers":
        sums = [ir.Assign(at(buffer(n), id_(0)), literal(1.0)) for n in names]
        return _busy([*first, *sums[:6]], writes=[buffer(n) for n in names[:6]])
    if role == "uniforms":
        sums = [ir.Assign(total, add(total, uniform(n))) for n in names]
        return _busy([*first, *sums], uniforms=[uniform(n) for n in names])
    if role == "functions":
        helpers = [
            function(n, {n: F32}, F32, ir.Return(add(local(n, F32), literal(1.0)))) for n in names
        ]
        sums = [ir.Assign(total, ir.Invoke(n, (total,), F32)) for n in names]
        return _busy([*first, *sums], functions=helpers)
    struct = Struct("out", tuple(Field(n, F32) for n in names))
    value = local("s_value", struct)
    sums = [ir.Assign(ir.Member(value, n, F32), total) for n in names]
    return _busy(
        [*first, ir.Var("s_value", struct), *sums, ir.Assign(at(out, id_(0)), total)],
        structs=[struct],
    )


def test_a_name_changes_only_where_it_must() -> None:
    wgsl = to_wgsl(_named("locals", ["target", "target_", "_", "__x", "length", "sin", "exp", "x"]))
    for line in (
        "let target__ = f32(global_y);",
        "let target_ = f32(global_y);",
        "let v_ = f32(global_y);",
        "let v__x = f32(global_y);",
        "let length_ = f32(global_y);",
        "let sin = f32(global_y);",
        "let exp_ = f32(global_y);",
        "let x = f32(global_y);",
    ):
        assert f"    {line}\n" in wgsl.text


def test_subgroups_are_enabled_where_that_is_wanted(
    compilers: list[Validator],
) -> None:
    lane = ir.Convert(id_(0, Id.SUBGROUP_INVOCATION), F32)
    texts = {target: to_wgsl(each(lane, OUT), target=target).text for target in ("wgpu", "web")}
    assert texts["web"] == f"enable subgroups;\n\n{texts['wgpu']}"
    for compiler in compilers:
        assert not compiler.errors(texts["wgpu" if compiler.name == "naga" else "web"])


# --------------------------------------------------------------------------- deep and wide


def test_a_sum_of_thousands_of_terms(accepted: Callable[[str], None]) -> None:
    left: ir.Expr = at(A, I)
    right: ir.Expr = at(A, I)
    for n in range(3000):
        left = add(left, at(A, literal(n)))
        right = binary(literal(1.0), "-", right)
    accepted(to_wgsl(each(add(left, right), OUT, reads=[A])).text)


def test_deep_indices_calls_and_conditions(accepted: Callable[[str], None]) -> None:
    index: ir.Expr = I
    value: ir.Expr = at(A, I)
    condition: ir.Expr = binary(value, ">", literal(0.0))
    for _ in range(300):
        index = at(buffer("out", I32), index)
        value = call("sin", value)
        condition = binary(condition, "&&", binary(value, "<", literal(1.0)))
    out = buffer("out", I32)
    body = (
        ir.Let("i", id_()),
        ir.Assign(at(out, index), literal(1)),
        ir.While(condition, (ir.Assign(at(out, I), literal(2)),)),
        ir.If(ir.Unary(ir.UnaryOp.NOT, condition, BOOL), (), (ir.Return(),)),
        ir.If(binary(I, ">", literal(1)), (ir.Return(),), (ir.If(condition, (ir.Return(),)),)),
        ir.Assign(at(out, I), ir.Convert(value, I32)),
    )
    accepted(to_wgsl(module(*body, reads=[A], writes=[out])).text)


@pytest.mark.gpu
def test_many_branches(accepted: Callable[[str], None]) -> None:
    out = buffer("out", I32)
    chain: ir.Block = (ir.Assign(at(out, I), literal(-1)),)
    for n in reversed(range(300)):
        store = ir.Assign(at(out, I), add(at(out, I), literal(n)))
        chain = (ir.If(binary(I, "==", literal(n)), (store,), chain),)
    made = module(ir.Let("i", id_()), *chain, writes=[out])
    accepted(to_wgsl(made).text)
    got = run(made, {"out": np.zeros(310, np.int32)}, (310, 1, 1))["out"]
    np.testing.assert_array_equal(got, [*range(300), *[-1] * 10])


def test_a_long_chain_that_always_returns(accepted: Callable[[str], None]) -> None:
    chain: ir.Block = (ir.Return(literal(0.0)),)
    for n in range(120):
        chain = (ir.If(binary(local("k"), "==", literal(n)), (ir.Return(literal(1.0)),), chain),)
    pick = function("pick", {"k": I32}, F32, *chain)
    accepted(to_wgsl(each(ir.Invoke("pick", (I,), F32), OUT, functions=[pick])).text)


def test_nested_blocks(accepted: Callable[[str], None]) -> None:
    block: ir.Block = (ir.Assign(at(OUT, I), literal(1.0)),)
    for n in range(55):
        block = (ir.If(binary(I, ">", literal(n)), block),)
    accepted(to_wgsl(module(ir.Let("i", id_()), *block, writes=[OUT])).text)


def test_a_function_that_ends_in_a_loop_returns_for_the_compilers(
    accepted: Callable[[str], None],
) -> None:
    pair = Struct("Pair", (Field("first", F32), Field("second", Vector(2, F32))))
    forever = ir.While(literal(True), (ir.Return(ir.Construct(pair, ())),))
    helper = function("endless", {}, pair, forever)
    value = ir.Member(ir.Invoke("endless", (), pair), "first", F32)
    wgsl = to_wgsl(each(value, OUT, structs=[pair], functions=[helper]))
    accepted(wgsl.text)
    assert "    return Pair();\n}" in wgsl.text


# ---------------------------------------------------------------------------- on a device

MAX, MIN = 2**31 - 1, -(2**31)


@pytest.mark.gpu
@pytest.mark.parametrize("known", ["", "step", "start stop step"])
def test_ranges_are_pythons(known: str) -> None:
    cases = [
        (0, 5, 1), (5, 0, -1), (0, 10, 3), (10, 0, -3), (5, 5, 1), (5, 0, 1), (0, 5, -1),
        (MAX - 5, MAX, 2), (MAX - 5, MAX, 3), (MIN + 5, MIN, -2), (MIN, MAX, 2**30),
        (MAX, MIN, -(2**30)), (MAX, MIN, MIN), (MIN, MAX, MAX), (3, 7, 0), (7, 3, 0),
        (-3, 3, 2), (MAX - 1, MAX, 1), (MIN + 1, MIN, -1),
    ]  # fmt: skip
    out = buffer("out", I32)
    for start, stop, step in cases:
        bounds = {"start": start, "stop": stop, "step": step}
        if step == 0 and "step" in known:
            continue
        first, last, by = (literal(v) if n in known else uniform(n, I32) for n, v in bounds.items())
        count, k = local("count"), local("k")
        body = (
            ir.Var("count", I32),
            ir.ForRange(
                "k",
                first,
                last,
                by,
                (ir.Assign(at(out, count), k), ir.Assign(count, add(count, literal(1)))),
            ),
            ir.Assign(at(out, literal(15)), count),
        )
        uniforms = [uniform(n, I32) for n in bounds if n not in known]
        made = module(*body, writes=[out], uniforms=uniforms, size=(1, 1, 1))
        values = {n: np.int32(v) for n, v in bounds.items()}
        got = run(made, {"out": np.zeros(16, np.int32)}, (1, 1, 1), uniforms=values)["out"]
        expected = list(range(start, stop, step)) if step else []
        assert got[: got[15]].tolist() == expected, (start, stop, step)


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [1, 3])
def test_a_folded_launch_numbers_on(rows: int) -> None:
    out = buffer("out", I32)
    value = binary(id_(), "+", binary(id_(0, Id.WORKGROUP), "*", literal(1000)))
    value = add(value, binary(id_(0, Id.NUM_WORKGROUPS), "*", literal(1000000)))
    body = (ir.Let("i", id_()), ir.Assign(at(out, local("i")), value))
    made = module(*body, writes=[out], size=(8, 1, 1))
    n, start = 100, -7
    got = run(
        made,
        {"out": np.full(n + 20, start, np.int32)},
        (n, 1, 1),
        grid=Grid.FOLDED,
        groups=(5, rows, 1),
    )["out"]
    ran = min(n, 5 * rows * 8)
    lanes = np.arange(n + 20)
    expected = np.where(lanes < ran, lanes + lanes // 8 * 1000 + 13000000, start)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.gpu
def test_checked_accesses_are_numpys() -> None:
    source, index, out = buffer("source", F32), buffer("index", I32), buffer("out", F32)
    i = local("i")
    made = module(
        ir.Let("i", id_()),
        ir.Assign(at(out, at(index, i)), add(at(source, at(index, i)), literal(1.0))),
        reads=[source, index],
        writes=[out],
        checked=True,
    )
    wanted = np.array([0, 3, -1, 4, 100, 2**30, MIN, MAX, 1], np.int32)
    arrays = {
        "source": np.arange(4, dtype=np.float32),
        "index": wanted,
        "out": np.zeros(6, np.float32),
    }
    got = run(made, arrays, (len(wanted), 1, 1))["out"]
    np.testing.assert_array_equal(got, [1.0, 2.0, 0.0, 4.0, 1.0, 0.0])


@pytest.mark.gpu
def test_loops_leave_and_go_on_as_written() -> None:
    out = np.zeros(1, np.int32)
    got = run(loops(), {"out": out}, (1, 1, 1), uniforms={"n": np.int32(9)})["out"]
    total = sum(range(9)) + sum(range(8, -1, -1)) + 0 + sum(range(0, 9, 4))
    total += sum(range(9, total, -4))
    total += sum(range(0, total, 9))
    total += sum(range(total))
    total += 0 + 2
    while total < 50:
        total += 2
        if total > 40:
            break
    while total < 60:
        total += 1
    assert got[0] == total


@pytest.mark.gpu
def test_uniforms_lie_where_the_layout_says() -> None:
    wide = Struct("Wide", (Field("a", F32), Field("b", Vector(3, F32))))
    matrix = Matrix(2, 3, F32)
    uniforms = [uniform("s"), uniform("w", wide), uniform("t"), uniform("m", matrix)]
    uniforms += [uniform("on", BOOL), uniform("v", Vector(3, F32)), uniform("last")]
    s, w, t, m, on, v, last = uniforms
    parts: list[ir.Expr] = [
        s,
        ir.Member(w, "a", F32),
        ir.Swizzle(ir.Member(w, "b", Vector(3, F32)), "z", F32),
        t,
        ir.Swizzle(ir.Index(m, (literal(1),), Vector(3, F32)), "y", F32),
        ir.Convert(on, F32),
        ir.Swizzle(v, "z", F32),
        last,
    ]
    body = [ir.Assign(at(OUT, literal(n)), part) for n, part in enumerate(parts)]
    made = module(*body, writes=[OUT], uniforms=uniforms, structs=[wide], size=(1, 1, 1))
    values = {
        "s": np.float32(1),
        "w": np.array([2, 0, 0, 0, 0, 0, 3], np.float32),
        "t": np.float32(4),
        "m": np.array([0, 0, 0, 0, 0, 5, 0, 0], np.float32),
        "on": np.bool_(True),
        "v": np.array([0, 0, 6], np.float32),
        "last": np.float32(7),
    }
    got = run(made, {"out": np.zeros(8, np.float32)}, (1, 1, 1), uniforms=values)["out"]
    np.testing.assert_array_equal(got, [1, 2, 3, 4, 5, 1, 6, 7])

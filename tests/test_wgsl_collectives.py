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
from execute import device, numbers, run
from validators import Validator

import pywgsl as pw
from pywgsl import Array, Const, f32, ir
from pywgsl.codegen.layout import Grid
from pywgsl.codegen.to_wgsl import to_wgsl
from pywgsl.errors import DeviceError
from pywgsl.ir import Id
from pywgsl.reflection import reflect
from pywgsl.types import BOOL, F16, F32, I32, U32, FixedArray, Type, Vector, scalar_of

SIZES = [(1, 1, 1), (3, 1, 1), (64, 1, 1), (100, 1, 1), (256, 1, 1), (8, 8, 1), (4, 4, 4)]
TYPES = [F32, I32, U32, F16, Vector(2, F32), Vector(4, I32), Vector(2, F16), Vector(3, U32)]
GROUPS = 3

BARRIER = ir.Effect(call("workgroup_barrier", type_=None))
I = local("i")  # noqa: E741  # the kernels' own name


def lane_number(size: tuple[int, int, int]) -> ir.Stmt:
    """Declare `i`: the number of the invocation in a launch along x."""
    first = binary(id_(0, Id.WORKGROUP), "*", literal(math.prod(size)))
    return ir.Let("i", add(first, id_(0, Id.LOCAL_INDEX)))


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
    return bool(request.param)


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
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("type_", TYPES, ids=str)
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
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_conditions_of_a_workgroup(
    size: tuple[int, int, int], subgroups: bool, accepted: Callable[[str], None]
) -> None:
    x, out = buffer("x", I32), buffer("out", I32)
    lanes = math.prod(size)
    flag = binary(at(x, I), ">", literal(0))
    both = Vector(2, BOOL)
    pair = ir.Construct(both, (flag, binary(at(x, I), "==", literal(0))))
    values: list[ir.Expr] = [
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
@pytest.mark.parametrize("size", [(64, 1, 1), (100, 1, 1), (8, 8, 1)], ids=str)
@pytest.mark.parametrize("type_", [F32, Vector(2, F32)], ids=str)
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
def test_a_broadcast_from_nowhere_is_zero(subgroups: bool) -> None:
    x, out = buffer("x", I32), buffer("out", I32, ndim=2)
    body: list[ir.Stmt] = [ir.Let("i", id_())]
    for row, source in enumerate([0, 63, 64, -1, 2**31 - 1]):
        value = call("workgroup_broadcast", at(x, I), literal(source), type_=I32)
        body += [ir.Let(f"v_{row}", value), ir.Assign(at(out, literal(row), I), local(f"v_{row}"))]
    made = module(*body, reads=[x], writes=[out])
    values = np.arange(64, dtype=np.int32) + 5
    arrays = {"x": values, "out": np.full((5, 64), 9, np.int32)}
    got = run(made, arrays, (64, 1, 1), subgroups=subgroups)["out"]
    np.testing.assert_array_equal(got, np.array([5, 68, 0, 0, 0])[:, None].repeat(64, 1))


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(100, 1, 1), (256, 1, 1), (8, 8, 1)], ids=str)
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


@pytest.mark.parametrize("made", [reductions, scans], ids=lambda f: f.__name__)
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
    x, row = buffer("x", Vector(3, F32)), shared("row", FixedArray(F32, 5))
    first = ir.Index(row, (literal(0),), F32)
    made = module(
        ir.Let("s", call("workgroup_sum", at(x, id_()), type_=Vector(3, F32))),
        ir.Assign(first, ir.Swizzle(local("s", Vector(3, F32)), "x", F32)),
        reads=[x],
        variables=[row, shared("unused", F32)],
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


@pw.kernel(workgroup_size=1)
def wide(x: Array[f32], n: Const[int]) -> None:
    tile = pw.workgroup_array(f32, n)
    tile[0] = x[0]
    pw.workgroup_barrier()
    x[0] = tile[0]


@pytest.mark.gpu
def test_too_much_workgroup_memory_is_refused_before_it_runs() -> None:
    gpu = pw.device("gpu")
    most = device().limits["max-compute-workgroup-storage-size"]
    wide[1](gpu.zeros(1, np.float32), most // 4)
    with pytest.raises(DeviceError, match=f"{most + 16} bytes of workgroup memory"):
        wide[1](gpu.zeros(1, np.float32), most // 4 + 1)

"""Structs: their layout, values on the host, and kernels that read, build and store them."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pywgsl as pw
from pywgsl import Array, Array2D, f16, f32, i32, mat2x2f, mat3x3f, u32, vec2f, vec3f, vec3h, vec4f
from pywgsl.runtime.layouts import layout_of
from pywgsl.types import BOOL, F16, F32, I32, U32, Field, FixedArray, Matrix, Struct, Vector


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> pw.Device:
    return pw.device(request.param)


@pw.struct
class Particle:
    position: vec3f
    mass: f32
    velocity: vec3f


@pw.struct
class Box:
    low: vec2f
    high: vec2f


@pw.struct
class Cell:
    """Everything that lies otherwise on a GPU, or is not at a multiple of 16."""

    alive: bool
    weights: pw.array[f32, 3]
    rows: pw.array[vec3f, 2]
    turn: mat3x3f
    box: Box
    corners: pw.array[Box, 2]
    tag: u32


@pw.struct
class Half:
    scale: f16
    offset: vec3h
    count: u32


def particles(n: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    values = np.zeros(n, Particle.dtype)
    for name in ("position", "velocity"):
        values[name] = rng.normal(size=(n, 3))
    values["mass"] = np.arange(1, n + 1)
    return values


def cells(n: int) -> np.ndarray[Any, Any]:
    values = np.zeros(n, Cell.dtype)
    values["alive"] = np.arange(n) % 2 == 0
    values["weights"] = np.arange(3 * n).reshape(n, 3)
    values["rows"] = np.arange(6 * n).reshape(n, 2, 3)
    values["turn"] = np.arange(9 * n).reshape(n, 3, 3)
    values["box"]["high"] = np.arange(2 * n).reshape(n, 2)
    values["corners"]["low"] = np.arange(4 * n).reshape(n, 2, 2)
    values["tag"] = np.arange(n) + 7
    return values


# ------------------------------------------------------------------------- types and layout


def test_offsets_are_wgsls() -> None:
    """As measured: {f32, vec3f, f32, vec2f, vec3u, mat3x3f, mat2x2f, array<vec3f, 2>, f32}."""

    @pw.struct
    class Measured:
        a: f32
        b: vec3f
        c: f32
        d: vec2f
        e: pw.vec3u
        f: mat3x3f
        g: mat2x2f
        h: pw.array[vec3f, 2]
        i: f32

    dtype = Measured.dtype
    offsets = [dtype.fields[name][1] for name in dtype.names]
    assert offsets == [0, 16, 28, 32, 48, 64, 112, 128, 160]
    assert dtype.itemsize == Measured.size == 176
    assert [dtype[name].shape for name in "bdfgh"] == [(3,), (2,), (3, 3), (2, 2), (2, 3)]


def test_halves_have_wgsls_offsets() -> None:
    assert [Half.dtype.fields[n][1] for n in Half.dtype.names] == [0, 8, 16]
    assert Half.dtype.itemsize == 24


def test_nested_structs_and_bools() -> None:
    assert Cell.dtype["box"] == Box.dtype
    assert Cell.dtype["corners"].shape == (2,)
    assert Cell.dtype["alive"] == np.bool_
    assert Cell.dtype.fields["weights"][1] == 4


def test_a_struct_is_what_it_holds() -> None:
    def make() -> Any:
        @pw.struct
        class Box:
            low: vec2f
            high: vec2f

        return Box

    assert make() == Box
    assert hash(make()) == hash(Box)
    assert pickle.loads(pickle.dumps(Box)) == Box
    assert pickle.loads(pickle.dumps(Cell)) == Cell
    assert repr(Box) == "Box"


def test_annotations_may_be_text() -> None:
    inner = Box

    @pw.struct
    class Quoted:
        box: "inner"
        size: "pw.array[f32, 2]"

    assert Quoted.dtype["box"] == Box.dtype
    assert inner is Box


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "struct `S` has no members; annotate them: `mass: f32`"),
        (
            {"__annotations__": {"a": f32}, "a": 1.0},
            "member `a` of struct `S` has a value, but members have no defaults",
        ),
        (
            {"__annotations__": {"a": f32}, "double": lambda self: self.a * 2},
            "struct `S` has the method `double`; write a function with `@pw.function` that takes "
            "the struct",
        ),
        (
            {"__annotations__": {"a": f32}, "b": 1.0},
            "`b` of struct `S` has no type; annotate it: `b: f32`",
        ),
        (
            {"__annotations__": {"a": Array[f32]}},
            "member `a` of struct `S` takes a type of fixed size, such as f32, vec3f or "
            "array[f32, 4], not Array[f32]",
        ),
        (
            {"__annotations__": {"a": np.float32}},
            "member `a` of struct `S` takes a type such as f32, i32 or vec4f, not "
            "<class 'numpy.float32'>",
        ),
    ],
)
def test_only_members_make_a_struct(body: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        pw.struct(type("S", (), body))
    assert str(caught.value) == message


def test_a_struct_has_no_base() -> None:
    base = type("Base", (), {"__annotations__": {"a": f32}})
    with pytest.raises(TypeError, match="struct `S` has base classes"):
        pw.struct(type("S", (base,), {"__annotations__": {"b": f32}}))
    with pytest.raises(TypeError, match="`struct` takes a class"):
        pw.struct(lambda: None)


# --------------------------------------------------------------------------- host values


def test_values_on_the_host_are_records() -> None:
    value = Particle(position=(1, 2, 3), mass=0.5, velocity=np.zeros(3))
    assert value.dtype == Particle.dtype
    assert value.mass == value["mass"] == np.float32(0.5)
    np.testing.assert_array_equal(value.position, [1, 2, 3])
    value.mass = 2.0
    assert value["mass"] == 2.0
    assert Particle((0, 0, 0), 1, (0, 0, 0)).mass == 1.0
    assert Particle().mass == 0.0


def test_nested_values_are_dicts_or_records() -> None:
    corner = {"low": (0, 1), "high": (2, 3)}
    value = Cell(True, [1, 2, 3], np.eye(3)[:2], np.eye(3), corner, [corner, Box()], 3)
    np.testing.assert_array_equal(value["box"]["high"], [2, 3])
    np.testing.assert_array_equal(value["corners"]["low"], [[0, 1], [0, 0]])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"mass": 1}, "takes all of its members or none; here it misses `position`, `velocity`"),
        ({"masses": 1}, "`Particle` has no member `masses`; it has `position`, `mass`, `velocity`"),
        ({"position": 1, "mass": 1, "velocity": (0, 0, 0)}, "`position` of `Particle` takes"),
        ({"position": (0, 0, 0), "mass": "1", "velocity": (0, 0, 0)}, "takes a number of type"),
        ({"position": (0, 0, 0), "mass": 1e39, "velocity": (0, 0, 0)}, "1e+39 is too large"),
    ],
)
def test_a_value_has_what_its_struct_says(members: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        Particle(**members)
    assert message in str(caught.value)


def test_integers_are_checked() -> None:
    @pw.struct
    class Counts:
        n: u32
        flag: bool

    assert Counts(2**32 - 1, True).n == 2**32 - 1
    for bad in ((-1, True), (2**32, True), (1.5, True), (1, 1)):
        with pytest.raises(TypeError, match="of `Counts` takes"):
            Counts(*bad)


# ------------------------------------------------------------------------------- kernels


@pw.function
def moved(p: Particle, dt):
    p_new = p
    p_new.position += p.velocity * dt
    return p_new


@pw.kernel
def step(p: Array[Particle], out: Array[Particle], dt: f32):
    i = pw.global_id.x
    here = moved(p[i], dt)
    here.position.x += 1.0
    out[i] = here
    out[i].velocity.y = p[i].mass
    out[i].mass *= 2.0


def test_kernels_load_and_store_structs(device: pw.Device, accepted: Callable[[str], None]) -> None:
    values = particles(5)
    before, after = device.array(values), device.zeros(5, Particle)
    step[5](before, after, 0.5)
    result = after.numpy()
    expected = values["position"] + values["velocity"] * np.float32(0.5)
    expected[:, 0] += 1
    np.testing.assert_allclose(result["position"], expected, rtol=1e-6)
    np.testing.assert_array_equal(result["velocity"][:, 1], values["mass"])
    np.testing.assert_array_equal(result["mass"], values["mass"] * 2)
    np.testing.assert_array_equal(before.numpy(), values)
    accepted(step.wgsl())


def test_ndarrays_are_used_in_place() -> None:
    values = particles(3)
    step[3](values.copy(), values, 0.0)
    assert list(values["mass"]) == [2, 4, 6]


@pw.kernel
def change(cells: Array[Cell], out: Array[f32]):
    i = pw.global_id.x
    cell = cells[i]
    cell.alive = not cell.alive
    cell.weights[i % 3] = 100.0
    cell.rows[1] = cell.rows[0] * 2.0
    cell.turn[1][2] = -1.0
    cell.box = Box(low=cell.corners[1].low, high=vec2f(i, 1))
    cell.corners[i % 2].high.y = 5.0
    cell.tag += 1
    cells[i] = cell
    if cells[i].alive:
        cells[i].weights[0] += 0.5
    total = 0.0
    for k in range(3):
        total += cells[i].weights[k] + cells[i].rows[k % 2].z
    out[i] = total


def test_members_that_lie_otherwise_on_a_gpu(
    device: pw.Device, accepted: Callable[[str], None]
) -> None:
    values = cells(5)
    moved, out = device.array(values), device.zeros(5)
    change[5](moved, out)
    rows = np.arange(5)
    expected = values.copy()
    expected["alive"] = ~values["alive"]
    expected["weights"][rows, rows % 3] = 100
    expected["rows"][:, 1] = values["rows"][:, 0] * 2
    expected["turn"][:, 1, 2] = -1
    expected["box"]["low"] = values["corners"]["low"][:, 1]
    expected["box"]["high"] = np.stack([rows, np.ones(5)], axis=1)
    expected["corners"]["high"][rows, rows % 2, 1] = 5
    expected["tag"] += 1
    expected["weights"][:, 0] += 0.5 * expected["alive"]
    result = moved.numpy()
    for name in Cell.dtype.names:
        np.testing.assert_array_equal(result[name], expected[name], err_msg=name)
    wanted = expected["weights"].sum(1) + expected["rows"][:, [0, 1, 0], 2].sum(1)
    np.testing.assert_allclose(out.numpy(), wanted)
    moved.copy_from(values)
    np.testing.assert_array_equal(moved.numpy(), values)
    accepted(change.wgsl())


def test_copies_and_fills_keep_structs(device: pw.Device) -> None:
    array = device.array(particles(3))
    np.testing.assert_array_equal(array.copy().numpy(), particles(3))
    array.fill(Particle((1, 2, 3), 4, (5, 6, 7)))
    assert list(array.numpy()["mass"]) == [4, 4, 4]
    array.fill(np.zeros((), Particle.dtype))
    assert not array.numpy()["mass"].any()
    assert "structured (position, mass, velocity) array of shape (3,)" in repr(array)


@pw.kernel
def halves(values: Array[Half], n: Half):
    i = pw.global_id.x
    values[i] = Half(values[i].scale * n.scale, values[i].offset + n.offset, n.count)


def test_structs_of_halves(device: pw.Device, accepted: Callable[[str], None]) -> None:
    values = np.zeros(3, Half.dtype)
    values["scale"], values["offset"] = 1.5, 0.25
    array = device.array(values)
    halves[3](array, {"scale": 2.0, "offset": (1, 2, 3), "count": 9})
    result = array.numpy()
    np.testing.assert_array_equal(result["scale"], [3, 3, 3])
    np.testing.assert_array_equal(result["offset"], [[1.25, 2.25, 3.25]] * 3)
    np.testing.assert_array_equal(result["count"], [9, 9, 9])
    accepted(halves.wgsl())


def test_small_structs_of_halves_are_padded_to_words(device: pw.Device) -> None:
    @pw.struct
    class Three:
        a: f16
        b: f16
        c: f16

    @pw.kernel
    def double(x: Array[Three]):
        i = pw.global_id.x
        x[i].b = x[i].a + x[i].c

    values = np.ones(3, Three.dtype)
    array = device.array(values)
    double[3](array)
    np.testing.assert_array_equal(array.numpy()["b"], [2, 2, 2])
    np.testing.assert_array_equal(array.numpy()["c"], [1, 1, 1])


def test_values_are_copied(device: pw.Device) -> None:
    @pw.kernel
    def k(x: Array[Box], y: Array[f32]):
        a = x[0]
        b = a
        b.low.x = 5.0
        x[0].low.x = 7.0
        y[0], y[1], y[2] = a.low.x, b.low.x, x[0].low.x

    x, y = device.zeros(1, Box), device.zeros(3)
    k[1](x, y)
    np.testing.assert_array_equal(y.numpy(), [0, 5, 7])


def test_locals_workgroups_and_choices(device: pw.Device, accepted: Callable[[str], None]) -> None:
    @pw.kernel(workgroup_size=4)
    def k(x: Array2D[Box], y: Array[f32]):
        lane = pw.local_id.x
        shared = pw.workgroup_array(Box, 4)
        shared[lane] = x[0, lane]
        pw.workgroup_barrier()
        mine = pw.local_array(Box, 2)
        mine[1] = shared[3 - lane] if lane > 0 else Box(low=vec2f(9.0), high=vec2f(0.0))
        y[lane] = mine[1].low.x + mine[0].high.y

    values = np.zeros((1, 4), Box.dtype)
    values["low"][0, :, 0] = np.arange(4)
    x, y = device.array(values), device.zeros(4)
    k[4](x, y)
    np.testing.assert_array_equal(y.numpy(), [9, 2, 1, 0])
    accepted(k.wgsl())


def test_lanes_that_take_different_branches(device: pw.Device) -> None:
    @pw.function
    def start(i, p: Particle):
        if i == 2:
            return p
        if i == 3:
            return Particle()
        return Particle(mass=f32(i), position=vec3f(f32(i)), velocity=p.velocity)

    @pw.kernel
    def k(p: Array[Particle], y: Array[Particle], n: i32):
        i = pw.global_id.x
        q = start(i, p[i])
        if i % 2 == 0:
            q.position = vec3f(0.5)
            q.velocity.y = -1.0
        else:
            q = p[i]
            for j in range(i):
                if j > n:
                    break
                q.mass += 1.0
        y[i] = q if i < 4 else p[0]

    values = particles(6)
    p, y = device.array(values), device.zeros(6, Particle)
    k[6](p, y, 1)
    expected = values.copy()
    expected["mass"][:4] = [0, 3, 3, 6]
    expected["position"][[0, 2]] = 0.5
    expected["velocity"][[0, 2], 1] = -1
    expected[4:] = values[0]
    np.testing.assert_array_equal(y.numpy(), expected)


def test_several_structs_are_results_of_a_helper(device: pw.Device) -> None:
    @pw.function
    def split(box: Box):
        middle = (box.low + box.high) * 0.5
        return Box(box.low, middle), Box(middle, box.high)

    @pw.kernel
    def k(x: Array[Box]):
        first, second = split(x[0])
        x[1] = first
        x[2] = second

    values = np.zeros(3, Box.dtype)
    values["high"][0] = [2, 4]
    x = device.array(values)
    k[1](x)
    np.testing.assert_array_equal(x.numpy()["high"], [[2, 4], [1, 2], [2, 4]])


def test_arrays_of_fixed_arrays(device: pw.Device) -> None:
    @pw.kernel
    def k(x: Array[pw.array[vec3f, 2]], y: Array[pw.array[f32, 3]]):
        i = pw.global_id.x
        y[i][i] = x[i][1].z
        x[i][0] = vec3f(1.0)

    x, y = device.array(np.arange(18, dtype=np.float32).reshape(3, 2, 3)), device.zeros((3, 3))
    k[3](x, y)
    np.testing.assert_array_equal(y.numpy(), np.diag([5.0, 11.0, 17.0]))
    np.testing.assert_array_equal(x.numpy()[:, 0], np.ones((3, 3)))
    np.testing.assert_array_equal(x.numpy()[2, 1], [15, 16, 17])


def test_a_checked_kernel_loads_zeros_outside(device: pw.Device) -> None:
    @pw.kernel(checked=True)
    def k(x: Array[Box], y: Array[f32]):
        y[0] = x[pw.global_id.x + 5].high.y
        x[pw.global_id.x + 5] = Box()

    x, y = device.array(np.ones(2, Box.dtype)), device.full(1, 3.0)
    k[1](x, y)
    assert y.numpy()[0] == 0
    assert "fn load_x(i: u32) -> Box" in k.wgsl()


# ------------------------------------------------------------------------------ uniforms


@pw.kernel
def with_uniforms(y: Array[f32], p: Particle, scale: f32, cell: Cell):
    i = pw.global_id.x
    copy = cell
    y[0] = p.position.y * scale
    y[1] = cell.weights[1] + cell.rows[1].z + cell.turn[2][0]
    y[2] = cell.corners[1].low.x + (1.0 if cell.alive else 0.0)
    y[3 + i] = cell.weights[i] + cell.box.high[i % 2]
    y[6] = copy.corners[i % 2].high.y + f32(copy.tag)


def uniform_values() -> tuple[Any, Any]:
    corner = {"low": (0.5, 1), "high": (2, 3)}
    cell = Cell(
        True, [1, 2, 4], np.arange(6.0).reshape(2, 3), np.eye(3) * 8, corner, [corner] * 2, 7
    )
    return Particle((1, 2, 3), 4.0, (0, 0, 0)), cell


@pytest.mark.parametrize("form", ["record", "array", "dict", "packed"])
def test_structs_are_uniforms(
    device: pw.Device, form: str, accepted: Callable[[str], None]
) -> None:
    p, cell = uniform_values()
    given: Any = p
    if form == "array":
        given = np.array(p)
    elif form == "dict":
        given = {"position": [1, 2, 3], "mass": 4, "velocity": np.zeros(3)}
    elif form == "packed":
        packed = [("position", "f8", 3), ("mass", "f8"), ("velocity", "f8", 3)]
        given = np.array(((1, 2, 3), 4, (0, 0, 0)), packed)[()]
    y = device.zeros(7)
    with_uniforms[3](y, given, 3.0, cell)
    np.testing.assert_array_equal(y.numpy(), [6, 2 + 5, 1.5, 3, 5, 6, 10])
    accepted(with_uniforms.wgsl())


def test_changed_uniforms_are_seen(device: pw.Device) -> None:
    p, cell = uniform_values()
    y = device.zeros(7)
    launch = with_uniforms[1]
    for y_value in (2, 5):
        p.position[1] = y_value
        launch(y, p, 1.0, cell)
        assert y.numpy()[0] == y_value


def test_structs_that_uniform_buffers_refuse_travel_as_words() -> None:
    text = with_uniforms.wgsl()
    assert "@align(16) @size(32) p: Particle," in text
    assert f"cell: array<vec4u, {Cell.size // 16}>," in text
    fields = {f["name"]: f for f in with_uniforms.reflection()["uniform"]["fields"]}
    assert fields["cell"]["type"] == "Cell"
    assert fields["cell"]["offset"] % 16 == 0


def test_uniforms_that_do_not_fit_are_refused() -> None:
    p, cell = uniform_values()
    y = np.zeros(7, np.float32)
    for bad, message in [
        (3, "parameter `p` takes a `Particle`, or a dict of its members, not 3"),
        ({"mass": 1}, "parameter `p`: `Particle` takes all of its members or none"),
        (cell, "parameter `p`: `Particle` has no member `alive`"),
    ]:
        with pytest.raises(pw.LaunchError) as caught:
            with_uniforms[1](y, bad, 1.0, cell)
        assert message in str(caught.value)
    assert with_uniforms[1](y, p, 1.0, cell) is None


# ------------------------------------------------------------------------------ mistakes


def test_an_array_of_another_dtype_is_refused() -> None:
    packed = np.zeros(2, [("position", "f4", 3), ("mass", "f4"), ("velocity", "f4", 3)])
    good = np.zeros(2, Particle.dtype)
    for bad, message in [
        (
            packed,
            "step: parameter `p` takes a 1-D array of Particle, but got a 1-D structured "
            "(position, mass, velocity) array; convert it with `.astype(Particle.dtype)`",
        ),
        (
            np.zeros(2, np.float32),
            "step: parameter `p` takes a 1-D array of Particle, but got a 1-D float32 array; "
            "make one with `np.zeros(n, Particle.dtype)`",
        ),
    ]:
        with pytest.raises(pw.LaunchError) as caught:
            step[2](bad, good, 1.0)
        assert str(caught.value) == message
    step[2](packed.astype(Particle.dtype), good, 1.0)


def test_devices_store_structs_of_their_types_only() -> None:
    with pytest.raises(TypeError, match="cannot live on a device"):
        pw.device("numpy").array(np.zeros(2, [("a", "f8")]))


@pytest.mark.gpu
def test_one_array_is_not_of_two_types_at_once() -> None:
    @pw.kernel
    def k(x: Array[vec3f], y: Array[pw.array[vec3f, 2]], z: Array[f32]):
        z[0] = x[0].x + y[0][0].x

    gpu = pw.device("gpu")
    x = gpu.zeros((4, 3))
    with pytest.raises(pw.LaunchError, match="is also passed as elements of another type"):
        k[1](x, x.reshape(2, 2, 3), gpu.zeros(1))


# ---------------------------------------------------------------------------- around them


def test_reflection_describes_structs() -> None:
    reflection = step.reflection()
    assert reflection["bindings"][0]["type"] == "Particle"
    assert reflection["bindings"][0]["stride"] == 32
    assert reflection["structs"]["Particle"] == {
        "size": 32,
        "align": 16,
        "fields": [
            {"name": "position", "type": "vec3f", "offset": 0, "size": 12},
            {"name": "mass", "type": "f32", "offset": 12, "size": 4},
            {"name": "velocity", "type": "vec3f", "offset": 16, "size": 12},
        ],
    }
    assert change.reflection()["structs"]["Cell"]["fields"][0]["type"] == "u32"


def test_names_that_wgsl_reserves() -> None:
    @pw.struct
    class filter:  # noqa: A001, N801  # WGSL's word
        target: f32
        _: vec4f

    @pw.kernel
    def k(x: Array[filter]):
        x[0].target = x[0]._.w

    values = np.zeros(1, filter.dtype)
    values["_"] = 3.0
    for name in ("numpy", "gpu"):
        k.on(name)[1](values)
        assert values["target"][0] == 3.0


def test_a_kernel_of_structs_pickles_by_source() -> None:
    kernel = pw.kernel_from_source(
        "@pw.struct\nclass P:\n    a: f32\n    b: vec2f\n"
        "@pw.kernel\ndef k(x: Array[P]):\n    x[0] = P(1.0, x[0].b)\n"
    )
    again = pickle.loads(pickle.dumps(kernel))
    assert again is not kernel
    values = np.zeros(1, kernel.parameters[0].type.element.dtype)
    again[1](values)
    assert values["a"][0] == 1.0


def test_a_redefined_struct_compiles_again() -> None:
    namespace: dict[str, Any] = {"pw": pw, "Array": Array, "f32": f32, "i32": i32}
    lookup = pw.kernel_from_source(
        "@pw.struct\nclass Pair:\n    a: f32\n    b: f32\n"
        "@pw.kernel\ndef k(x: Array[f32]):\n    x[0] = Pair(1, 2).b\n"
    )
    assert "a: f32" in lookup.wgsl()
    assert namespace


SCALARS = st.sampled_from([F32, I32, U32, F16, BOOL])


def types(depth: int) -> st.SearchStrategy[Any]:
    """Types of members, nested up to a depth."""
    floats = st.sampled_from([F32, F16])
    flat = st.one_of(
        SCALARS,
        st.builds(Vector, st.integers(2, 4), st.sampled_from([F32, I32, U32, F16])),
        st.builds(Matrix, st.integers(2, 4), st.integers(2, 4), floats),
    )
    if not depth:
        return flat
    inner = types(depth - 1)
    return st.one_of(flat, st.builds(FixedArray, inner, st.integers(1, 3)), structs(depth - 1))


@st.composite
def structs(draw: Any, depth: int) -> Struct:
    members = draw(st.lists(types(depth), min_size=1, max_size=4))
    return Struct(f"S{depth}", tuple(Field(f"m{k}", t) for k, t in enumerate(members)))


@given(structs(2), st.integers(1, 3), st.randoms(use_true_random=False))
def test_every_layout_keeps_every_value(struct: Struct, count: int, random: Any) -> None:
    values = np.zeros(count, struct.dtype)
    for leaf in leaves(values):
        leaf[...] = np.array([random.randrange(2) for _ in range(leaf.size)]).reshape(leaf.shape)
    layout = layout_of(struct)
    if layout is None:
        return
    data = values.view(np.uint8)
    on_gpu = layout.moved(data, to_gpu=True)
    assert on_gpu.size == count * struct.size
    back = layout.moved(on_gpu, to_gpu=False).view(struct.dtype)
    for before, after in zip(leaves(values), leaves(back), strict=True):
        np.testing.assert_array_equal(after, before)


def leaves(values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    names = values.dtype.names
    return [values] if names is None else [a for n in names for a in leaves(values[n])]

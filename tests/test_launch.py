"""Launching kernels: which invocations run, what is refused before any does, and in which order."""

from dataclasses import replace

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import Array, Array2D, Array3D, f32, i32, u32, vec2f, vec3f, vec4f
from pywgsl.codegen.layout import Grid
from pywgsl.runtime.launch import Launcher
from pywgsl.runtime.workgroups import lay_out

OFFSET = 1.0


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    return pw.device(request.param)


@pytest.fixture
def gpu():
    return pw.device("gpu")


@pytest.fixture
def programs():
    pytest.importorskip("wgpu")
    from pywgsl.runtime import programs

    return programs


@pytest.fixture
def prepared():
    pytest.importorskip("wgpu")
    from pywgsl.runtime import prepared

    return prepared


@pw.kernel
def scale(x: Array[f32], y: Array[f32], factor: f32 = 2.0):
    i = pw.global_id.x
    y[i] = x[i] * factor


@pw.kernel
def count(visits: Array[i32]):
    i = pw.global_id.x
    visits[i] = visits[i] + 1


@pw.kernel(workgroup_size=(4, 4, 2))
def mark(cells: Array3D[i32]):
    x, y, z = pw.global_id.x, pw.global_id.y, pw.global_id.z
    cells[z, y, x] = cells[z, y, x] + 1


@pw.kernel(workgroup_size=1)
def single(visits: Array[i32]):
    i = pw.global_id.x
    visits[i] = visits[i] + i


@pw.kernel(workgroup_size=64)
def which_group(groups: Array[i32], total: Array[i32]):
    groups[pw.global_id.x] = pw.workgroup_id.x
    total[pw.global_id.x] = pw.num_workgroups.x


@pw.kernel
def add_offset(x: Array[f32]):
    x[pw.global_id.x] += OFFSET


@pw.kernel
def mixed(x: Array[f32], whole: i32, bits: u32, flag: bool, real: f32):
    value = real + f32(whole)
    if flag:
        value = value + f32(bits)
    x[pw.global_id.x] = value


@pw.kernel
def power(x: Array[f32], n: pw.Const[int], doubled: pw.Const[bool] = False):
    i = pw.global_id.x
    value = x[i] ** n
    x[i] = value * 2.0 if doubled else value


@pw.kernel
def flip(flags: Array[bool]):
    i = pw.global_id.x
    flags[i] = not flags[i]


@pw.kernel
def transpose(x: Array2D[f32], y: Array2D[f32]):
    i, j = pw.global_id.x, pw.global_id.y
    y[i, j] = x[j, i]


# ------------------------------------------------------------------------- which invocations


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
def test_exactly_the_invocations_asked_for_run(device, n):
    visits = device.zeros(1100, pw.i32)
    count[n](visits)
    assert visits.numpy().tolist() == [1] * n + [0] * (1100 - n)


@pytest.mark.parametrize("shape", [(5, 3, 2), (4, 4, 2), (9, 1, 3), (1, 1, 1), (0, 4, 2)])
def test_exactly_the_invocations_asked_for_run_along_three_axes(device, shape):
    x, y, z = shape
    cells = device.zeros((5, 9, 11), pw.i32)
    mark[shape](cells)
    expected = np.zeros((5, 9, 11), np.int32)
    expected[:z, :y, :x] = 1
    assert np.array_equal(cells.numpy(), expected)


def test_shapes_may_be_numpy_integers_and_lists(device):
    visits = device.zeros(8, pw.i32)
    count[np.int64(3)](visits)
    count[[np.uint8(2)]](visits)
    count[(1, 1)](visits)
    assert visits.numpy().tolist() == [3, 2, 1, 0, 0, 0, 0, 0]


def test_groups_count_workgroups(device):
    visits = device.zeros(600, pw.i32)
    count[pw.groups(2)](visits)
    assert visits.numpy().tolist() == [1] * 512 + [0] * 88


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (2.0, r"takes integers, but got 2.0 \(float\); write `2`"),
        (2.5, r"takes integers, but got 2.5 \(float\)"),
        (True, r"takes integers, but got True \(bool\)"),
        (-1, "takes counts from 0, but got -1"),
        ((4, -2), "takes counts from 0, but got -2"),
        ((1, 2, 3, 4), "takes one to three numbers of invocations, but got 4"),
        ((), "takes one to three numbers of invocations, but got 0"),
        ("8", r"takes integers, but got '8' \(str\)"),
        (None, r"takes integers, but got None"),
        (slice(4), "takes integers"),
        (np.zeros(2), "takes integers"),
        ((1.0, 1), "takes integers, but got 1.0"),
    ],
)
def test_other_shapes_are_refused(shape, message):
    visits = np.zeros(4, np.int32)
    count[1](visits)
    count[1, 1](visits)
    with pytest.raises(pw.LaunchError, match=message):
        count[shape](visits)


def test_groups_take_integers_too():
    with pytest.raises(pw.LaunchError, match="takes integers"):
        pw.groups(1.0)
    with pytest.raises(pw.LaunchError, match="from 0"):
        pw.groups(1, -1)


def test_more_than_an_i32_counts_is_refused(device):
    visits = device.zeros(1, pw.i32)
    with pytest.raises(pw.LaunchError, match="2147483648 invocations along an axis"):
        count[2**31](visits)
    with pytest.raises(pw.LaunchError, match="2147483648 invocations along an axis"):
        count[pw.groups(2**23)](visits)


def test_a_launch_of_many_workgroups_along_x_is_exact(device):
    n = 65535 * 3 + 17
    visits = device.zeros(n + 100, pw.i32)
    single[n](visits)
    expected = np.zeros(n + 100, np.int32)
    expected[:n] = np.arange(n)
    assert np.array_equal(visits.numpy(), expected)


def test_ids_of_many_workgroups_stay_linear(device):
    n = 66000
    groups, total = device.zeros(n * 64, pw.i32), device.zeros(n * 64, pw.i32)
    which_group[pw.groups(n)](groups, total)
    assert np.array_equal(groups.numpy(), np.arange(n * 64) // 64)
    assert (total.numpy() == n).all()


def test_folding_starts_few_workgroups_too_many():
    for n in (65535, 65536, 131070, 131071, 1_000_003, 2**31 - 1):
        grid, (x, y, z) = lay_out("k", (n, 1, 1), (1, 1, 1))
        assert grid is (Grid.PLAIN if n <= 65535 else Grid.FOLDED)
        assert max(x, y) <= 65535
        assert z == 1
        assert 0 <= x * y - n < y


@pytest.mark.gpu
def test_too_many_workgroups_along_two_axes_are_refused(gpu):
    cells = gpu.zeros((1, 1, 1), pw.i32)
    with pytest.raises(pw.LaunchError, match="65536 workgroups along an axis"):
        mark[4 * 65536, 8](cells)


def test_arrays_without_elements_are_fine(device):
    scale[0](device.zeros(0), device.zeros(0), 1.0)
    scale[4](device.zeros(4), device.zeros(0), 1.0)
    assert device.zeros(0).numpy().shape == (0,)


# --------------------------------------------------------------------------------- arguments


def test_arguments_by_position_by_name_and_by_default(device):
    x, y = device.array([1.0, 2.0]), device.zeros(2)
    scale[2](x, y)
    assert y.numpy().tolist() == [2, 4]
    scale[2](x, y, 3)
    assert y.numpy().tolist() == [3, 6]
    scale[2](y=y, x=x, factor=np.float64(4))
    assert y.numpy().tolist() == [4, 8]
    scale[2](x, factor=np.int32(5), y=y)
    assert y.numpy().tolist() == [5, 10]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (3, {}, None),
        (1, {}, "scale: 1 argument missing: `y`; it takes x, y, factor"),
        (0, {"factor": 1.0}, "scale: 2 arguments missing: `x`, `y`"),
        (4, {}, "scale: takes 3 arguments, but got 4"),
        (2, {"scale": 1.0}, "there is no parameter `scale`; there are `x`, `y`, `factor`"),
        (2, {"x": 1.0}, "parameter `x` is given by position and by name"),
    ],
)
def test_wrong_arguments_are_refused(device, args, kwargs, message):
    given = [device.zeros(1), device.zeros(1), 1.0, 1.0][:args]
    if message is None:
        scale[1](*given, **kwargs)
        return
    with pytest.raises(pw.LaunchError, match=message):
        scale[1](*given, **kwargs)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: np.zeros((2, 2)),
            r"scale: parameter `y` takes a 1-D float32 array, but got a 2-D float64 array; "
            r"convert it with `\.astype\(np\.float32\)`",
        ),
        (lambda: np.zeros(4), r"got a 1-D float64 array; convert it"),
        (lambda: np.zeros(4, np.int32), "got a 1-D int32 array"),
        (lambda: np.zeros((2, 2), np.float32), r"but got one of shape \(2, 2\)"),
        (lambda: np.zeros(8, np.float32)[::2], r"strides \(8,\); copy it with `np.asc"),
        (
            lambda: [0.0, 0.0],
            r"but got \[0.0, 0.0\] \(list\); make it one: `np.array\(…, np.float32\)`",
        ),
        (lambda: 1.0, r"but got 1.0 \(float\)"),
        (lambda: None, r"but got None"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(make, message):
    x = np.ones(4, np.float32)
    with pytest.raises(pw.LaunchError, match=message):
        scale[4](x, make(), 1.0)


@pytest.mark.gpu
def test_device_arrays_that_do_not_fit_are_refused(gpu):
    x = gpu.zeros(4)
    with pytest.raises(pw.LaunchError, match=r"`y` takes a 1-D float32 array, but got a 1-D int32"):
        scale[4](x, gpu.zeros(4, pw.i32), 1.0)
    with pytest.raises(pw.LaunchError, match=r"but got one of shape \(2, 2\)"):
        scale[4](x, gpu.zeros((2, 2)), 1.0)


def test_an_array_that_is_written_must_be_writable():
    x = np.ones(4, np.float32)
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    scale[4](frozen, x, 1.0)
    with pytest.raises(pw.LaunchError, match="`y` is written, but the array is read-only"):
        scale[4](x, frozen, 1.0)


def test_memory_that_is_written_is_bound_once(device):
    x = device.array(np.ones(8, np.float32))
    with pytest.raises(pw.LaunchError, match="`x` and `y` share memory, and `y` is written"):
        scale[8](x, x, 1.0)
    with pytest.raises(pw.LaunchError, match="share memory"):
        scale[8](x, x.reshape(2, 4).reshape(8), 1.0)
    assert x.numpy().tolist() == [1] * 8


def test_overlapping_ndarrays_are_refused_and_neighbours_are_not():
    x = np.ones(8, np.float32)
    with pytest.raises(pw.LaunchError, match="share memory"):
        scale[4](x[:5], x[4:], 1.0)
    scale[4](x[:4], x[4:], 3.0)
    assert x.tolist() == [1] * 4 + [3] * 4


def test_memory_that_is_only_read_may_be_bound_twice(device):
    total = device.zeros(3)
    x = device.array([1.0, 2.0, 3.0])
    add[3](x, x, total)
    assert total.numpy().tolist() == [2, 4, 6]


@pw.kernel
def add(a: Array[f32], b: Array[f32], total: Array[f32]):
    i = pw.global_id.x
    total[i] = a[i] + b[i]


@pytest.mark.gpu
def test_devices_do_not_mix(gpu):
    there, here = gpu.zeros(4), np.zeros(4, np.float32)
    with pytest.raises(pw.LaunchError, match=r"`x` is on .* and `y` is an ndarray; put all arrays"):
        scale[4](there, here, 1.0)
    with pytest.raises(pw.LaunchError, match=r"`x` is an ndarray and `y` is on "):
        scale[4](here, there, 1.0)
    with pytest.raises(pw.LaunchError, match=r"`x` is on numpy and `y` is on "):
        scale[4](pw.device("numpy").zeros(4), there, 1.0)


def test_ndarrays_and_numpy_device_arrays_mix():
    x, y = np.ones(4, np.float32), pw.device("numpy").zeros(4)
    scale[4](x, y, 3.0)
    assert y.numpy().tolist() == [3] * 4


def test_numbers_of_every_kind_arrive(device):
    x = device.zeros(1)
    mixed[1](x, -3, 2**32 - 1, False, 0.5)
    assert x.numpy()[0] == -2.5
    mixed[1](x, np.int64(3), np.uint32(4), np.True_, np.float32(0.5))
    assert x.numpy()[0] == 7.5
    mixed[1](x, 1, 1, True, 1)
    assert x.numpy()[0] == 3
    mixed[1](x, 0, 0, False, float("inf"))
    assert x.numpy()[0] == np.inf
    mixed[1](x, 0, 0, False, float("nan"))
    assert np.isnan(x.numpy()[0])
    mixed[1](x, 0, 0, False, 3.4028235e38)
    assert x.numpy()[0] == np.finfo(np.float32).max


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((1.5, 1, True, 1.0), r"`whole` is an integer \(i32\), but got 1.5 \(float\); write `int"),
        ((True, 1, True, 1.0), r"`whole` is an integer \(i32\), but got True \(bool\)"),
        ((2**31, 1, True, 1.0), "`whole` is i32, -2147483648 to 2147483647, but got 2147483648"),
        ((1, -1, True, 1.0), "`bits` is u32, 0 to 4294967295, but got -1"),
        ((1, 1, 1, 1.0), r"`flag` is a bool, but got 1 \(int\); write `bool"),
        ((1, 1, True, False), r"`real` is a number \(f32\), but got False \(bool\)"),
        ((1, 1, True, "1"), r"`real` is a number \(f32\), but got '1' \(str\)"),
        ((1, 1, True, None), r"`real` is a number \(f32\), but got None"),
        ((1, 1, True, 1e39), r"`real` is f32, which has no number as large as 1e\+39"),
        ((1, 1, True, 10**400), r"`real` is f32, which has no number as large"),
        ((1, 1, True, 1j), r"`real` is a number"),
        ((1, 1, True, np.zeros(1)), r"`real` is a number \(f32\), but got a 1-D float64 array"),
    ],
)
def test_numbers_of_another_kind_are_refused(device, values, message):
    x = device.zeros(1)
    mixed[1](x, 1, 1, True, 1.0)
    before = x.numpy().copy()
    with pytest.raises(pw.LaunchError, match=message):
        mixed[1](x, *values)
    assert np.array_equal(x.numpy(), before)


def test_an_error_is_a_type_error_and_a_value_error():
    with pytest.raises(TypeError):
        scale[1](1)
    with pytest.raises(ValueError, match="missing"):
        scale[1]()


def test_calling_a_kernel_says_how_to_launch_it():
    with pytest.raises(pw.LaunchError, match=r"write `scale\[n\]\(…\)`"):
        scale(np.zeros(1), np.zeros(1))


# ------------------------------------------------------------------------- element types


def test_bools_are_stored_and_come_back(device):
    flags = device.array(np.array([True, False, True]))
    flip[2](flags)
    assert flags.numpy().tolist() == [False, True, True]


@pw.kernel
def shift2(points: Array[vec2f], by: vec2f):
    i = pw.global_id.x
    points[i] = points[i] + by


@pw.kernel
def shift3(points: Array[vec3f], by: vec3f):
    i = pw.global_id.x
    points[i] = points[i] + by


@pw.kernel
def shift4(points: Array[vec4f], by: vec4f):
    i = pw.global_id.x
    points[i] = points[i] + by


@pw.kernel
def double(values: Array[f32]):
    i = pw.global_id.x
    values[i] = values[i] * 2.0


@pytest.mark.parametrize(("kernel", "width"), [(shift2, 2), (shift3, 3), (shift4, 4)])
def test_vectors_take_one_more_axis(device, kernel, width):
    points = np.arange(10 * width, dtype=np.float32).reshape(10, width)
    array = device.array(points)
    by = np.arange(1, width + 1, dtype=np.float32)
    kernel[8](array, by)
    kernel[2](array, tuple(by.tolist()))
    expected = points.copy()
    expected[:8] += by
    expected[:2] += by
    assert np.array_equal(array.numpy(), expected)


def test_vectors_of_another_width_are_refused(device):
    array = device.zeros((4, 3))
    with pytest.raises(pw.LaunchError, match=r"of vec2f, which is a float32 array of shape \(n,"):
        shift2[4](array, (1, 1))
    with pytest.raises(pw.LaunchError, match=r"`by` takes a vec3f, float32 values of shape \(3,\)"):
        shift3[4](array, (1, 1))
    with pytest.raises(pw.LaunchError, match="`by` is a number"):
        shift3[4](array, (1, 1, "a"))


def test_an_array_can_be_vectors_of_three_and_numbers_in_turns(device):
    values = np.arange(12, dtype=np.float32)
    flat = device.array(values)
    points = flat.reshape(4, 3)
    shift3[4](points, (1, 2, 3))
    double[12](flat)
    shift3[4](points, (1, 2, 3))
    by = np.tile(np.float32([1, 2, 3]), 4)
    assert np.array_equal(flat.numpy(), (values + by) * 2 + by)
    points.copy_from(np.ones((4, 3), np.float32))
    shift3[4](points, (1, 1, 1))
    assert (points.copy().numpy() == 2).all()
    points.fill(0)
    double[12](flat)
    assert not points.numpy().any()


@pw.kernel
def from_rows(points: Array[vec3f], values: Array[f32], out: Array[f32]):
    i = pw.global_id.x
    out[i] = points[i].x + values[i]


@pytest.mark.gpu
def test_one_array_cannot_be_laid_out_both_ways_at_once(gpu):
    flat = gpu.array(np.ones(12, np.float32))
    with pytest.raises(pw.LaunchError, match="lie differently in a GPU's memory; pass a copy"):
        from_rows[4](flat.reshape(4, 3), flat, gpu.zeros(4))
    from_rows[4](flat.reshape(4, 3), flat.copy(), out := gpu.zeros(4))
    assert out.numpy().tolist() == [2] * 4


def test_axes_are_row_major(device):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = device.zeros((3, 2))
    transpose[3, 2](device.array(x), y)
    assert np.array_equal(y.numpy(), x.T)


# ------------------------------------------------------------------------------- constants


def test_constants_make_specializations(device):
    x = device.array([3.0])
    power[1](x, 2)
    assert x.item() == pytest.approx(9)
    power[1](x, n=1, doubled=True)
    assert x.item() == pytest.approx(18)
    power[1](x, np.int64(1), True)
    assert x.item() == pytest.approx(36)
    power.specialize(n=2)[1](x, False)
    assert x.item() == pytest.approx(36 * 36)


@pytest.mark.parametrize("value", [2.0, True, "2", None])
def test_constants_of_another_type_are_refused(device, value):
    x = device.array([3.0])
    power[1](x, 2)
    with pytest.raises(pw.LaunchError, match="`n` is a compile-time int, but got"):
        power[1](x, value)


def test_a_changed_global_takes_effect_at_the_next_launch(device):
    global OFFSET
    x = device.zeros(1)
    try:
        add_offset[1](x)
        OFFSET = 10.0
        add_offset[1](x)
        add_offset[1](x)
        OFFSET = 1.0
        add_offset[1](x)
    finally:
        OFFSET = 1.0
    assert x.numpy()[0] == 22


def test_a_closure_is_compiled_in():
    def make(value):
        @pw.kernel
        def add_value(x: Array[f32]):
            x[pw.global_id.x] += value

        return add_value

    x = np.zeros(1, np.float32)
    make(1.0)[1](x)
    make(5.0)[1](x)
    assert x[0] == 6


# ------------------------------------------------------------------------ devices and order


def test_ndarrays_are_changed_in_place():
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    assert scale[4](x, y, 3.0) is None
    assert y.tolist() == [3] * 4


@pytest.mark.parametrize("where", ["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_a_kernel_can_be_run_on_a_device_with_ndarrays(where):
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    scale.on(where)[3](x, y, factor=3.0)
    assert y.tolist() == [0, 3, 6, 0]
    points = np.zeros((5, 3), np.float32)
    shift3.on(pw.device(where))[4](points, (1, 2, 3))
    assert points.tolist() == [[1, 2, 3]] * 4 + [[0, 0, 0]]


@pytest.mark.gpu
def test_on_takes_arrays_that_are_already_there(gpu):
    x, y = gpu.array([1.0, 2.0]), np.zeros(2, np.float32)
    scale.on(gpu)[2](x, y, 2.0)
    assert y.tolist() == [2, 4]


@pytest.mark.gpu
def test_on_checks_before_it_uploads(gpu):
    x = np.ones(4, np.float32)
    with pytest.raises(pw.LaunchError, match="share memory"):
        scale.on(gpu)[4](x, x, 2.0)
    with pytest.raises(pw.LaunchError, match="float64"):
        scale.on(gpu)[4](x, np.zeros(4), 2.0)


@pytest.mark.gpu
def test_launches_run_in_order(gpu):
    x, y = gpu.array(np.ones(300, np.float32)), gpu.zeros(300)
    for i in range(1, 700):
        scale[300](x, y, float(i))
        scale[300](y, x, 1.0 / i)
    assert np.allclose(x.numpy(), 1, rtol=1e-4)
    x.fill(2)
    scale[300](x, y, 3.0)
    x.copy_from(np.full(300, 5, np.float32))
    assert (y.numpy() == 6).all()
    assert (x.numpy() == 5).all()


@pytest.mark.gpu
def test_waiting_works_without_polling(gpu, monkeypatch):
    monkeypatch.setattr(gpu.queue, "_poll", None)
    x, y = gpu.array([1.0]), gpu.zeros(1)
    scale[1](x, y, 5.0)
    gpu.synchronize()
    assert y.item() == 5
    gpu.synchronize()


@pytest.mark.gpu
def test_transfers_and_launches_keep_their_order(gpu):
    x, y = gpu.zeros(64), gpu.zeros(64)
    for value in (1.0, 2.0, 3.0):
        x.copy_from(np.full(64, value, np.float32))
        scale[64](x, y, 2.0)
        x.copy_from(y)
        y.fill(0)
        scale[64](x, y, 2.0)
        assert (y.numpy() == value * 4).all()


@pytest.mark.gpu
def test_more_uniform_structs_than_the_arena_holds(gpu, monkeypatch):
    arena = gpu.queue._arena
    monkeypatch.setattr(arena, "size", 2048)
    gpu.synchronize()
    arena.start_over()
    x, y = gpu.array([1.0]), gpu.zeros(1)
    total = gpu.zeros(1)
    for i in range(100):
        scale[1](x, y, float(i))
        add[1](y, total.copy(), total)
    assert total.numpy()[0] == sum(range(100))


@pytest.mark.gpu
def test_zero_and_negative_zero_are_different_numbers(gpu):
    x, y = gpu.array([1.0]), gpu.zeros(1)
    scale[1](x, y, 0.0)
    assert not np.signbit(y.numpy()[0])
    scale[1](x, y, -0.0)
    assert np.signbit(y.numpy()[0])


@pytest.mark.gpu
def test_an_array_may_die_before_its_launch_has_run(gpu):
    y = gpu.zeros(1000)
    for i in range(50):
        scale[1000](gpu.full(1000, float(i)), y, 2.0)
    assert (y.numpy() == 98).all()


@pytest.mark.gpu
def test_a_refused_launch_is_named(gpu, prepared, monkeypatch):
    x, y = gpu.zeros(4), gpu.zeros(4)
    scale[4](x, y, 1.0)
    gpu.synchronize()
    monkeypatch.setattr(prepared, "lay_out", lambda *_: (Grid.PLAIN, (70000, 1, 1)))
    scale[3](x, y, 2.0)
    with pytest.raises(pw.DeviceError, match=r"scale\[3\]: .* refused it"):
        gpu.synchronize()
    gpu.synchronize()
    assert y.numpy().shape == (4,)


@pytest.mark.gpu
def test_refused_wgsl_is_shown_at_the_authors_line(gpu, programs, monkeypatch):
    wgsl = programs.to_wgsl

    def broken(module, **options):
        made = wgsl(module, **options)
        return replace(made, text=made.text.replace(" * ", " * broken_name * "))

    monkeypatch.setattr(programs, "to_wgsl", broken)
    kernel = scale.specialize(workgroup_size=32)
    with pytest.raises(pw.CompileError) as caught:
        kernel[1](gpu.zeros(1), gpu.zeros(1), 1.0)
    text = str(caught.value)
    assert "a mistake of pywgsl" in text
    assert "y[i] = x[i] * factor" in text


@pytest.mark.gpu
def test_a_missing_feature_is_named(gpu, programs, monkeypatch):
    wgsl = programs.to_wgsl

    def with_feature(module, **options):
        return replace(wgsl(module, **options), features=("shader-f16",))

    monkeypatch.setattr(gpu, "features", frozenset())
    monkeypatch.setattr(programs, "to_wgsl", with_feature)
    kernel = scale.specialize(workgroup_size=16)
    with pytest.raises(pw.DeviceError, match="scale: needs the feature `shader-f16`, which"):
        kernel[1](gpu.zeros(1), gpu.zeros(1), 1.0)


@pytest.mark.gpu
def test_a_launch_with_defaults_and_names_is_prepared_once(gpu, monkeypatch):
    x, y = gpu.array([2.0]), gpu.zeros(1)
    scale[1](x, y)
    monkeypatch.setattr(Launcher, "_launch", None)
    scale[1](x, y)
    scale[1](y=y, x=x, factor=3.0)
    assert y.item() == 6


@pytest.mark.gpu
def test_a_workgroup_beyond_the_devices_limit_is_refused(gpu):
    most = gpu.limits["max-compute-invocations-per-workgroup"]
    kernel = scale.specialize(workgroup_size=(2 * most,))
    with pytest.raises(pw.DeviceError, match=f"{2 * most} invocations a workgroup"):
        kernel[1](gpu.zeros(1), gpu.zeros(1), 1.0)


@pytest.mark.gpu
def test_print_is_left_out_on_a_gpu_with_a_warning(gpu):
    @pw.kernel
    def shout(x: Array[f32]):
        print(x[pw.global_id.x])
        x[pw.global_id.x] = 1.0

    with pytest.warns(pw.PywgslWarning, match="a GPU does not run `print`"):
        shout[1](x := gpu.zeros(1))
    assert x.item() == 1

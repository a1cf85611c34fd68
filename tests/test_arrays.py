"""Arrays on devices: making, reading, copying, reshaping, pickling."""

import array as python_array
import gc
import pickle

import numpy as np
import pytest

import pywgsl as pw


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    return pw.device(request.param)


@pytest.fixture
def gpu():
    return pw.device("gpu")


DTYPES = [np.float32, np.int32, np.uint32, np.bool_, np.float16]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (7, 5), (2, 3, 4), (0, 3)])
def test_values_come_back_as_they_were(device, dtype, shape):
    values = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    array = device.array(values)
    assert (array.shape, array.dtype) == (values.shape, values.dtype)
    assert (array.ndim, array.size, array.nbytes) == (values.ndim, values.size, values.nbytes)
    found = array.numpy()
    assert found.dtype == values.dtype
    assert found.shape == values.shape
    assert np.array_equal(found, values)


def test_bits_of_floats_are_kept(device):
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 1, 0x7F7FFFFF], np.uint32)
    found = device.array(bits.view(np.float32)).numpy()
    assert np.array_equal(found.view(np.uint32), bits)


def test_zeros_full_and_empty(device):
    assert not device.zeros((3, 5)).numpy().any()
    assert device.zeros(4).dtype == np.float32
    assert device.zeros(4, pw.i32).dtype == np.int32
    assert device.zeros(4, bool).dtype == np.bool_
    assert np.array_equal(device.full((2, 3), 7, np.uint32).numpy(), np.full((2, 3), 7, np.uint32))
    assert device.full(3, 1.5).numpy().tolist() == [1.5] * 3
    assert device.full(3, 2).dtype == np.int32
    assert device.full(3, True).numpy().all()
    assert device.empty((4, 0)).numpy().shape == (4, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int8, np.complex64])
def test_other_dtypes_are_refused_and_the_fix_is_said(device, dtype):
    with pytest.raises(
        TypeError, match=r"cannot live on a device.*convert it with `\.astype\(np\."
    ):
        device.array(np.zeros(3, dtype))
    with pytest.raises(TypeError, match="cannot live on a device"):
        device.zeros(3, dtype)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("abc", r"an array holds numbers, but got 'abc' \(str\)"),
        (None, r"an array holds numbers, but got None \(NoneType\)"),
        (["a", 1], r"an array holds numbers, but got \['a', 1\] \(list\)"),
    ],
)
def test_what_holds_no_numbers_is_shown(device, value, message):
    with pytest.raises(TypeError, match=message):
        device.array(value)


def test_a_foreign_byte_order_is_refused(device):
    with pytest.raises(TypeError, match=r"astype\(np\.float32\)"):
        device.array(np.zeros(3, ">f4"))


def test_an_explicit_dtype_converts(device):
    assert device.array(np.arange(3.0), np.float32).dtype == np.float32
    assert device.array([1, 2], pw.u32).dtype == np.uint32


def test_lists_take_the_types_of_the_language(device):
    assert device.array([1.5, 2]).dtype == np.float32
    assert device.array([[1, 2], [3, 4]]).dtype == np.int32
    assert device.array([True, False]).dtype == np.bool_
    assert device.array(3).shape == ()
    with pytest.raises(TypeError, match="beyond int32"):
        device.array([2**31])


def test_anything_with_a_buffer_is_taken(device):
    assert np.array_equal(device.array(python_array.array("f", [1, 2, 3])).numpy(), [1, 2, 3])
    assert np.array_equal(device.array(memoryview(np.arange(4, dtype=np.int32))).numpy(), range(4))


def test_dlpack_is_taken(device):
    class OnlyDlpack:
        values = np.arange(6, dtype=np.float32).reshape(2, 3)

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    assert np.array_equal(device.array(OnlyDlpack()).numpy(), OnlyDlpack.values)


def test_arrays_of_another_device_are_taken(device):
    there = pw.device("numpy").array(np.arange(4, dtype=np.int32))
    assert np.array_equal(device.array(there).numpy(), range(4))
    assert np.array_equal(pw.device("numpy").array(device.array(there)).numpy(), range(4))


def test_strided_values_are_packed(device):
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert np.array_equal(device.array(values.T).numpy(), values.T)
    assert np.array_equal(device.array(values[:, ::2]).numpy(), values[:, ::2])


def test_numpy_understands_arrays(device):
    array = device.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert np.asarray(array).sum() == 15
    assert np.asarray(array, np.int32).dtype == np.int32
    assert np.array(array).shape == (2, 3)
    assert len(array) == 2
    with pytest.raises(TypeError, match="no length"):
        len(device.array(1.0))


def test_a_single_value_is_a_number(device):
    array = device.array([2.5])
    assert (array.item(), float(array), int(array), bool(array)) == (2.5, 2.5, 2, True)
    assert not device.zeros(())


def test_copy_from_replaces_the_values(device):
    array = device.zeros((2, 3))
    array.copy_from(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert array.numpy().sum() == 15
    array.copy_from(device.full((2, 3), 2.0))
    assert array.numpy().sum() == 12
    array.copy_from(array)
    assert array.numpy().sum() == 12
    with pytest.raises(ValueError, match=r"shape \(3,\) into one of \(2, 3\)"):
        array.copy_from(np.zeros(3, np.float32))
    with pytest.raises(TypeError, match=r"int32 values into a float32 array"):
        array.copy_from(np.zeros((2, 3), np.int32))


def test_a_copy_is_independent(device):
    array = device.array([1, 2, 3])
    copy = array.copy()
    array.fill(9)
    assert copy.numpy().tolist() == [1, 2, 3]
    assert array.numpy().tolist() == [9, 9, 9]
    array.fill(0)
    assert not array.numpy().any()


def test_a_reshaped_array_is_the_same_memory(device):
    array = device.array(np.arange(6, dtype=np.float32))
    view = array.reshape(2, -1)
    assert view.shape == (2, 3)
    assert array.reshape((3, 2)).shape == (3, 2)
    view.copy_from(np.zeros((2, 3), np.float32))
    assert not array.numpy().any()
    with pytest.raises(ValueError, match="cannot reshape an array of 6 values"):
        array.reshape(4, 2)
    with pytest.raises(ValueError, match="cannot reshape"):
        array.reshape(4, -1)


@pytest.mark.parametrize("shape", [-1, (2, -3)])
def test_negative_lengths_are_refused(device, shape):
    with pytest.raises(ValueError, match="no negative lengths"):
        device.zeros(shape)


def test_lengths_are_integers(device):
    assert device.zeros(np.int64(3)).shape == (3,)
    with pytest.raises(TypeError, match="a shape is an int"):
        device.zeros(2.0)


def test_arrays_pickle_with_their_device(device):
    array = device.array(np.arange(5, dtype=np.int32))
    again = pickle.loads(pickle.dumps(array))
    assert again.device is device
    assert np.array_equal(again.numpy(), array.numpy())
    assert "int32 array of shape (5,)" in repr(again)
    assert str(again) == "[0 1 2 3 4]"


def test_values_are_copied_in_and_out(device):
    values = np.zeros(4, np.float32)
    array = device.array(values)
    values[:] = 1
    before = array.numpy()
    before[:] = 2
    assert not array.numpy().any()


def test_the_numpy_device_shares_memory_with_numpy():
    array = pw.device("numpy").zeros(4)
    np.asarray(array)[:] = 3
    assert array.numpy().tolist() == [3] * 4
    assert np.shares_memory(np.from_dlpack(array), np.asarray(array))
    assert not np.shares_memory(np.array(array), np.asarray(array))


@pytest.mark.gpu
def test_a_gpus_memory_is_not_shared(gpu):
    with pytest.raises(ValueError, match="makes a copy"):
        gpu.zeros(4).__array__(copy=False)


@pytest.mark.gpu
def test_large_arrays_are_read_in_pieces(gpu, monkeypatch):
    from pywgsl.runtime import queue

    monkeypatch.setattr(queue, "_MAX_STAGING", 4096)
    values = np.arange(5000, dtype=np.float32)
    assert np.array_equal(gpu.array(values).numpy(), values)


@pytest.mark.gpu
def test_more_than_a_device_can_bind_is_an_error_before_it_is_allocated(gpu):
    most = gpu.limits["max-storage-buffer-binding-size"]
    with pytest.raises(pw.DeviceError, match=r"binds at most .* MiB at once"):
        gpu.empty(most // 4 + 1)


@pytest.mark.gpu
def test_memory_is_used_again_and_zeros_are_zero(gpu):
    size = 12345
    buffer = gpu.full(size, 7.0).buffer
    gc.collect()
    again = gpu.zeros(size)
    assert again.buffer is buffer
    assert not again.numpy().any()


@pytest.mark.gpu
def test_an_array_in_a_cycle_gives_its_memory_back(gpu):
    size = 54321
    cycle = [gpu.full(size, 7.0)]
    buffer = cycle[0].buffer
    cycle.append(cycle)
    del cycle
    gc.collect()
    again = gpu.zeros(size)
    assert again.buffer is buffer
    assert not again.numpy().any()


@pytest.mark.gpu
def test_unused_memory_is_freed_beyond_a_bound(gpu):
    gpu.pool.trim()
    for shape in range(20):
        gpu.zeros((1 << 21) + 64 * shape)
    gc.collect()
    gpu.zeros(1)
    assert gpu.pool.waiting_bytes <= 1 << 27
    gpu.pool.trim()
    assert gpu.pool.waiting_bytes == 0

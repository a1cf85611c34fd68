"""Finding and opening devices."""

import pickle
import subprocess
import sys

import pytest

import pywgsl as pw
from pywgsl.runtime import devices


@pytest.fixture
def fresh(monkeypatch):
    """No device opened by name yet; those already open stay open."""
    monkeypatch.delenv("PYWGSL_DEVICE", raising=False)
    monkeypatch.setattr(devices, "_by_name", {"numpy": devices.NUMPY})


def gpus():
    return [found for found in pw.devices() if found.kind == "gpu"]


@pytest.fixture
def some_gpu():
    return gpus()[0]


def test_importing_the_package_leaves_wgpu_alone():
    code = "import sys, pywgsl; pywgsl.device('numpy'); sys.exit('wgpu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", [3, pw.device("numpy"), ["gpu"]])
def test_a_device_is_named_by_a_text(name):
    with pytest.raises(TypeError, match='named by a text, such as "gpu" or "numpy", not '):
        pw.device(name)


def test_numpy_is_always_there():
    device = pw.device("numpy")
    assert (device.name, device.kind) == ("numpy", "numpy")
    assert pw.device("NumPy") is device
    assert pw.devices()[-1].kind == "numpy"


@pytest.mark.usefixtures("fresh")
def test_the_default_is_a_hardware_gpu_or_numpy():
    hardware = [found for found in gpus() if not found.software]
    assert pw.device().kind == ("gpu" if hardware else "numpy")
    assert [found.default for found in pw.devices()].count(True) == 1


@pytest.mark.usefixtures("fresh")
def test_the_environment_names_the_default(monkeypatch):
    monkeypatch.setenv("PYWGSL_DEVICE", "numpy")
    assert pw.device() is pw.device("numpy")
    monkeypatch.setenv("PYWGSL_DEVICE", "no such adapter")
    with pytest.raises(pw.DeviceError, match="no adapter's name contains `no such adapter`"):
        pw.device()


@pytest.mark.usefixtures("fresh")
def test_without_adapters_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(devices, "_adapters", lambda: ())
    assert pw.device().kind == "numpy"
    with pytest.raises(pw.DeviceError, match="no GPU adapter here; install"):
        pw.device("gpu")


@pytest.mark.usefixtures("fresh")
def test_a_library_that_does_not_load_leaves_numpy(monkeypatch):
    def broken():
        raise OSError("libvulkan.so.1: cannot open shared object file")

    monkeypatch.setattr(devices, "_adapters", broken)
    assert pw.device().kind == "numpy"
    with pytest.raises(OSError, match="libvulkan"):
        pw.device("gpu")


@pytest.mark.usefixtures("fresh")
def test_without_wgpu_the_error_says_so(monkeypatch):
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(pw.DeviceError, match="pip install wgpu"):
        pw.device("gpu")


@pytest.mark.gpu
def test_a_part_of_the_name_finds_an_adapter_in_any_case(some_gpu):
    device = pw.device(some_gpu.name[:5].upper())
    assert device.name.lower().startswith(some_gpu.name[:5].lower())
    assert pw.device(device.name) is device


@pytest.mark.gpu
def test_the_same_adapter_is_opened_once(some_gpu):
    assert pw.device("gpu") is pw.device(some_gpu.name)


@pytest.mark.gpu
def test_a_device_asks_for_all_that_its_adapter_has(some_gpu):
    from pywgsl.runtime.gpu import adapters

    device = pw.device("gpu")
    limits = adapters()[0].handle.limits
    for limit in ("max-buffer-size", "max-storage-buffer-binding-size"):
        assert device.limits[limit] == limits[limit]
    features = adapters()[0].handle.features
    assert ("timestamp-query" in device.features) == ("timestamp-query" in features)


@pytest.mark.gpu
def test_names_of_adapters_are_unique(some_gpu):
    names = [found.name for found in pw.devices()]
    assert len(names) == len(set(names))


@pytest.mark.gpu
def test_devices_pickle_by_name(some_gpu):
    for device in (pw.device("gpu"), pw.device("numpy")):
        assert pickle.loads(pickle.dumps(device)) is device


@pytest.mark.gpu
def test_llvmpipe_says_that_it_cuts_loops_short():
    if not any("llvmpipe" in found.name for found in gpus()):
        pytest.skip("no llvmpipe here")
    assert "65535" in pw.device("llvmpipe").notes[0]


@pytest.mark.gpu
def test_a_lost_device_is_said_to_be_lost(some_gpu):
    from pywgsl.runtime.gpu import GpuDevice, adapters

    device = GpuDevice(adapters()[0])
    array = device.zeros(4)
    device.gpu.destroy()
    with pytest.raises(pw.DeviceError, match="was lost"):
        array.numpy()
    with pytest.raises(pw.DeviceError, match="was lost"):
        device.zeros(1 << 20)


@pytest.mark.gpu
def test_memory_that_waits_is_freed_before_giving_up(some_gpu, monkeypatch):
    import wgpu

    device = pw.device("gpu")
    device.zeros(12321)
    allocate, refused = device.pool._allocate, []

    def refuse_once(size):
        if not refused:
            refused.append(size)
            raise wgpu.GPUOutOfMemoryError("Not enough memory left.")
        return allocate(size)

    monkeypatch.setattr(device.pool, "_allocate", refuse_once)
    assert device.zeros(99_999).shape == (99_999,)
    assert device.pool.waiting_bytes == 0

    def refuse(size):
        raise wgpu.GPUOutOfMemoryError("Not enough memory left.")

    monkeypatch.setattr(device.pool, "_allocate", refuse)
    with pytest.raises(pw.DeviceError, match=r"allocating 1.0 MiB: .* ran out of memory"):
        device.zeros(1 << 18)

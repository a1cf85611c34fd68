"""Kernels in other processes and several threads."""

import concurrent.futures
import multiprocessing
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import Array, Const, f32, i32

SHIFT = 3.0


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    return pw.device(request.param)


@pw.function
def shifted(value: f32) -> f32:
    return value + SHIFT


@pw.kernel
def shift(x: Array[f32], times: Const[int] = 1):
    i = pw.global_id.x
    for _ in range(times):
        x[i] = shifted(x[i])


def nested(amount):
    @pw.function
    def moved(value: f32) -> f32:
        return value + amount

    @pw.kernel(workgroup_size=32)
    def move(x: Array[f32], times: Const[int] = 1):
        i = pw.global_id.x
        for _ in range(times):
            x[i] = moved(x[i])

    return move, moved


def run(kernel):
    x = np.zeros(4, np.float32)
    kernel[4](x)
    return x.tolist()


@pytest.fixture
def importable(monkeypatch):
    """Make this module one that another import finds, as an installed one is."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this_module())


def _this_module():
    import types

    module = types.ModuleType(__name__)
    vars(module).update(globals())
    return module


@pytest.mark.usefixtures("importable")
def test_a_module_level_kernel_pickles_by_name():
    data = pickle.dumps(shift)
    assert pickle.loads(data) is shift
    assert len(data) < 200
    assert pickle.loads(pickle.dumps(shifted)) is shifted


@pytest.mark.usefixtures("importable")
def test_a_specialized_kernel_pickles_as_one():
    kernel = pickle.loads(pickle.dumps(shift.specialize(workgroup_size=8, times=2)))
    assert kernel.constants == {"times": 2}
    assert "@workgroup_size(8)" in kernel.wgsl()
    assert run(kernel) == [6] * 4


def test_a_nested_kernel_pickles_by_source_with_what_it_captured():
    move, moved = nested(5.0)
    again = pickle.loads(pickle.dumps(move))
    assert again is not move
    assert run(again) == [5] * 4
    assert again.wgsl().splitlines()[1:] != []
    assert "@workgroup_size(32)" in again.wgsl()
    assert run(pickle.loads(pickle.dumps(again.specialize(times=2)))) == [10] * 4
    helper = pickle.loads(pickle.dumps(moved))
    assert helper(1.0) == 6.0


SCRIPT = """
import pickle, sys
import numpy as np
import pywgsl as pw

kernel = pickle.load(sys.stdin.buffer)
x = np.zeros(4, np.float32)
kernel[4](x)
print(x.tolist())
"""


def test_another_process_runs_a_pickled_kernel():
    data = pickle.dumps(nested(2.5)[0])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=data, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == "[2.5, 2.5, 2.5, 2.5]"


def test_a_pool_of_processes_runs_kernels():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        kernel = pw.kernel_from_source(
            "def put(x: Array[i32], value: i32):\n    x[global_id.x] = value\n"
        )
        future = pool.submit(pickle.dumps, kernel)
        again = pickle.loads(future.result(timeout=60))
    x = np.zeros(3, np.int32)
    again[3](x, 4)
    assert x.tolist() == [4, 4, 4]


# ---------------------------------------------------------------------------------- threads


@pw.kernel
def fill(x: Array[i32], value: i32):
    x[pw.global_id.x] = value


@pw.kernel
def add_one(x: Array[i32]):
    i = pw.global_id.x
    x[i] = x[i] + 1


def in_threads(work, count=4):
    """Run `work(number)` in threads that start together; return the results."""
    start = threading.Barrier(count)

    def wait_and_work(number):
        start.wait()
        return work(number)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(wait_and_work, range(count)))


def test_threads_share_a_device(device):
    def work(number):
        x = device.zeros(100, pw.i32)
        for step in range(50):
            fill[100](x, 1000 * number + step)
            add_one[100](x)
            if step % 10 == 0:
                assert (x.numpy() == 1000 * number + step + 1).all()
        return int(x.numpy()[99])

    assert in_threads(work) == [1000 * n + 50 for n in range(4)]


def test_a_kernel_is_compiled_once(device, monkeypatch):
    kernel = add_one.specialize(workgroup_size=16)
    x = device.zeros(10, pw.i32)
    in_threads(lambda _: kernel[10](x))
    made = [s for states in kernel._specializations.values() for s in states]
    assert len(made) == 1
    if device.kind == "gpu":
        assert x.numpy().tolist() == [4] * 10
        assert len(made[0]._gpu_programs) == 1


@pytest.mark.gpu
def test_threads_allocate_and_free():
    gpu = pw.device("gpu")

    def work(number):
        for step in range(100):
            x = gpu.full(1000 + number, number, pw.i32)
            add_one[x.size](x)
            if step % 20 == 0:
                assert (x.numpy() == number + 1).all()
        return True

    assert all(in_threads(work))

"""The shaders that seeds 001 and 002 hold, run beside the kernels that carry their names.

Seed 001 leaves the bindings of its buffers to its host, and seed 002 the type `scalar`; both are
added here, and nothing else.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import ops
from pywgsl.ops.normalization import (
    batch_norm_backward_kernel,
    layer_norm_grad_wb,
    layer_norm_grad_x,
)

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
EPS = 1e-5

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not SEEDS.exists(), reason="the seeds are not beside this checkout"),
]

Floats = np.ndarray[Any, np.dtype[np.float32]]
#: `shader(entry, groups, uniform, *buffers)` returns the last buffer, which it writes.
Shader = Callable[..., Floats]


def shader_of(seed: str, prepare: Callable[[str], str]) -> Shader:
    """Return a function that runs an entry point of a seed, through wgpu alone."""
    wgpu = pytest.importorskip("wgpu")
    (path,) = SEEDS.glob(f"{seed}_*")
    # Behind a description and line numbers.
    text = path.read_text(encoding="utf-8")
    text = prepare(text[text.index("\n//") :])
    device = wgpu.gpu.request_adapter_sync().request_device_sync()
    module = device.create_shader_module(code=text)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC

    def run(entry: str, groups: int, uniform: bytes, *buffers: Floats) -> Floats:
        kinds = ["read-only-storage"] * (len(buffers) - 1) + ["storage", "uniform"]
        layout = device.create_bind_group_layout(
            entries=[
                {"binding": i, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}}
                for i, kind in enumerate(kinds)
            ]
        )
        pipeline = device.create_compute_pipeline(
            layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": module, "entry_point": entry},
        )
        bound = [device.create_buffer_with_data(data=b, usage=usage) for b in buffers]
        values = device.create_buffer_with_data(data=uniform, usage=wgpu.BufferUsage.UNIFORM)
        entries = [
            {"binding": i, "resource": {"buffer": b}} for i, b in enumerate([*bound, values])
        ]
        group = device.create_bind_group(layout=layout, entries=entries)
        encoder = device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(pipeline)
        work.set_bind_group(0, group)
        work.dispatch_workgroups(groups)
        work.end()
        device.queue.submit([encoder.finish()])
        written = np.frombuffer(device.queue.read_buffer(bound[-1]), np.float32)
        return written.reshape(buffers[-1].shape)

    return run


@pytest.fixture(scope="module")
def layer_norm_shader() -> Shader:
    numbers = itertools.count()
    return shader_of(
        "001", lambda text: re.sub(r"(?m)^var<", lambda _: _bound(next(numbers)) + "var<", text)
    )


@pytest.fixture(scope="module")
def batch_norm_shader() -> Shader:
    return shader_of("002", lambda text: f"alias scalar = f32;\n{text}")


def _bound(number: int) -> str:
    return f"@group(0) @binding({number}) "


@pytest.fixture(params=["numpy", "gpu"])
def device(request: pytest.FixtureRequest) -> pw.Device:
    return pw.device(request.param)


def normal(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(5, 33), (3, 300), (70, 1)])
def test_the_gradient_of_a_layer_norm_by_x_is_the_same(
    shape: tuple[int, int], layer_norm_shader: Shader, device: pw.Device
) -> None:
    rows, columns = shape
    grad, x, weight = normal(1, *shape), normal(2, *shape) + 3.0, normal(3, columns)
    uniform = struct.pack("2IfI", rows, columns, EPS, 0)
    zeros = np.zeros_like(x)
    theirs = layer_norm_shader("layer_norm_grad_x", rows, uniform, grad, x, weight, zeros)
    _, mean, rstd = ops.layer_norm(device.array(x))
    ours = device.zeros(shape)
    arrays = (device.array(grad), device.array(x), mean.reshape(rows), rstd.reshape(rows))
    layer_norm_grad_x[pw.groups(rows)](*arrays, device.array(weight), ours)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 33), (3, 300), (70, 1)])
def test_the_gradient_of_a_layer_norm_by_bias_is_missing_there(
    shape: tuple[int, int], layer_norm_shader: Shader, device: pw.Device
) -> None:
    rows, columns = shape
    grad, x = normal(4, *shape), normal(5, *shape) + 3.0
    uniform = struct.pack("2IfI", rows, columns, EPS, 0)
    both = np.zeros((2, columns), np.float32)
    theirs = layer_norm_shader(
        "layer_norm_grad_wb", columns, uniform, grad, x, np.zeros(1, np.float32), both
    )
    _, mean, rstd = ops.layer_norm(device.array(x))
    arrays = (device.array(grad), device.array(x), mean.reshape(rows), rstd.reshape(rows))
    by_weight, by_bias = device.zeros(columns), device.zeros(columns)
    layer_norm_grad_wb[pw.groups(-(-columns // 16))](*arrays, by_weight, by_bias)
    np.testing.assert_allclose(by_weight, theirs[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(theirs[1], 0.0)
    np.testing.assert_allclose(by_bias, grad.sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 3, 5, 7), (2, 5, 1, 1), (3, 1, 20, 31)])
def test_the_gradient_of_a_batch_norm_by_x_is_the_same(
    shape: tuple[int, ...], batch_norm_shader: Shader, device: pw.Device
) -> None:
    channels = shape[1]
    grad, x, weight = normal(6, *shape), normal(7, *shape) - 2.0, normal(8, channels)
    _, mean, invstd = ops.batch_norm(x, weight, None, None, None)
    uniform = struct.pack("4I", *shape)
    saved, zeros = np.stack([mean, invstd], 1), np.zeros_like(x)
    entry = "batch_norm_backward_kernel"
    theirs = batch_norm_shader(entry, channels, uniform, grad, x, weight, saved, zeros)
    planes = (shape[0], channels, shape[2] * shape[3])
    ours, *sums = (device.zeros(s) for s in (planes, channels, channels))
    arrays = (grad.reshape(planes), x.reshape(planes), weight, mean, invstd)
    batch_norm_backward_kernel[pw.groups(channels)](*map(device.array, arrays), ours, *sums)
    # With two values, x̂ is ±1 and most of the gradient cancels.
    atol = 1e-3 if planes[2] == 1 else 1e-5
    np.testing.assert_allclose(ours.numpy().reshape(shape), theirs, rtol=1e-4, atol=atol)
    np.testing.assert_allclose(sums[1], grad.sum((0, 2, 3)), rtol=1e-5, atol=1e-5)

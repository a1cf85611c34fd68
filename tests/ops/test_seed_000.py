"""The shaders that seed 000 holds, run as they are beside the kernels that carry their names.

Where a shader is right, the kernel computes the same. Where it is not, a test says what
it does, and what the kernel does instead.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl.ops.activations import (
    leaky_relu_gradient,
    linear_gradient,
    relu_gradient,
    sigmoid_gradient,
    tanh_gradient,
)
from pywgsl.ops.gradients import gradient_clipping, l2_regularization
from pywgsl.ops.linear import input_gradient, weight_gradient
from pywgsl.ops.normalization import batch_norm_gradient
from pywgsl.ops.optimizers import adam_update, momentum_update

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
BUFFERS = ("gradients_output", "activations", "weights", "gradients_input", "weight_gradients")
WRITTEN = ("gradients_input", "weight_gradients")
UNIFORM = len(BUFFERS)

BATCH, INPUTS, OUTPUTS = 5, 33, 17
LEARNING_RATE, STEEPNESS, ALPHA = 0.1, 0.7, 0.25

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not SEEDS.exists(), reason="the seeds are not beside this checkout"),
]

Floats = np.ndarray[Any, np.dtype[np.float32]]
#: `shader(entry, groups, **buffers)` returns what the entry point leaves in the written buffers.
Shader = Callable[..., dict[str, Floats]]


@pytest.fixture(scope="module")
def shader() -> Shader:
    """Return a function that runs an entry point of the seed, through wgpu alone."""
    wgpu = pytest.importorskip("wgpu")
    (path,) = SEEDS.glob("000_*")
    device = wgpu.gpu.request_adapter_sync().request_device_sync()
    module = device.create_shader_module(code=path.read_text(encoding="utf-8"))
    kinds = {n: "storage" if n in WRITTEN else "read-only-storage" for n in BUFFERS}
    layout = device.create_bind_group_layout(
        entries=[
            {"binding": i, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}}
            for i, kind in enumerate([*kinds.values(), "uniform"])
        ]
    )
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC

    def run(entry: str, groups: tuple[int, ...], **buffers: Floats) -> dict[str, Floats]:
        pipeline = device.create_compute_pipeline(
            layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": module, "entry_point": entry},
        )
        values = [buffers.get(name, np.zeros(1, np.float32)) for name in BUFFERS]
        bound = [device.create_buffer_with_data(data=v, usage=usage) for v in values]
        sizes = (INPUTS, OUTPUTS, BATCH)
        data = struct.pack("3I3fI", *sizes, LEARNING_RATE, STEEPNESS, ALPHA, 0)
        bound.append(device.create_buffer_with_data(data=data, usage=wgpu.BufferUsage.UNIFORM))
        entries = [{"binding": i, "resource": {"buffer": b}} for i, b in enumerate(bound)]
        group = device.create_bind_group(layout=layout, entries=entries)
        encoder = device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(pipeline)
        work.set_bind_group(0, group)
        work.dispatch_workgroups(*groups)
        work.end()
        device.queue.submit([encoder.finish()])
        return {
            name: np.frombuffer(device.queue.read_buffer(bound[i]), np.float32).reshape(v.shape)
            for i, (name, v) in enumerate(zip(BUFFERS, values, strict=True))
            if name in WRITTEN
        }

    return run


@pytest.fixture(params=["numpy", "gpu"])
def device(request: pytest.FixtureRequest) -> pw.Device:
    return pw.device(request.param)


def normal(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def groups(size: int) -> tuple[int, ...]:
    return (-(-size // 256),)


@pytest.mark.parametrize(
    ("kernel", "numbers"),
    [
        (sigmoid_gradient, (STEEPNESS,)),
        (relu_gradient, ()),
        (leaky_relu_gradient, (ALPHA,)),
        (tanh_gradient, (STEEPNESS,)),
        (linear_gradient, (STEEPNESS,)),
    ],
)
def test_gradients_of_activations_are_the_same(
    kernel: pw.Kernel, numbers: tuple[float, ...], shader: Shader, device: pw.Device
) -> None:
    size = BATCH * OUTPUTS
    grad, saved, zeros = normal(1, size), normal(2, size), np.zeros(size, np.float32)
    entry = f"{kernel.name}_main"
    theirs = shader(
        entry, groups(size), gradients_output=grad, activations=saved, gradients_input=zeros
    )
    inputs = (grad,) if kernel is linear_gradient else (grad, saved)
    ours = device.zeros(size)
    kernel[size](*map(device.array, inputs), ours, *numbers)
    np.testing.assert_allclose(ours, theirs["gradients_input"], rtol=1e-6)


def test_the_gradient_by_the_input_is_the_same(shader: Shader, device: pw.Device) -> None:
    grad, weight = normal(3, BATCH, OUTPUTS), normal(4, OUTPUTS, INPUTS)
    theirs = shader(
        "input_gradient_main",
        groups(BATCH * INPUTS),
        gradients_output=grad,
        weights=weight,
        gradients_input=np.zeros((BATCH, INPUTS), np.float32),
    )
    ours = device.zeros((BATCH, INPUTS))
    input_gradient[INPUTS, BATCH](device.array(grad), device.array(weight), ours)
    np.testing.assert_allclose(ours, theirs["gradients_input"], rtol=1e-5, atol=1e-6)


def test_the_gradient_by_the_weight_is_a_step_there(shader: Shader, device: pw.Device) -> None:
    x, grad = normal(5, BATCH, INPUTS), normal(6, BATCH, OUTPUTS)
    theirs = shader(
        "weight_gradient_main",
        (-(-INPUTS // 16), -(-OUTPUTS // 16)),
        activations=x,
        gradients_output=grad,
        weight_gradients=np.zeros((OUTPUTS, INPUTS), np.float32),
    )
    ours = device.zeros((OUTPUTS, INPUTS))
    weight_gradient[INPUTS, OUTPUTS](device.array(x), device.array(grad), ours)
    np.testing.assert_allclose(ours, grad.T @ x, rtol=1e-5, atol=1e-5)
    step = theirs["weight_gradients"]
    np.testing.assert_allclose(ours.numpy() * LEARNING_RATE / BATCH, step, rtol=1e-5, atol=1e-6)


def test_clipping_ends_after_the_first_row_there(shader: Shader, device: pw.Device) -> None:
    grad = normal(7, OUTPUTS, INPUTS)
    theirs = shader("gradient_clipping_main", groups(INPUTS), gradients_input=grad)
    ours = device.array(grad.copy().reshape(-1))
    gradient_clipping[grad.size](ours, ALPHA)
    np.testing.assert_array_equal(ours, np.clip(grad, -ALPHA, ALPHA).reshape(-1))
    np.testing.assert_array_equal(ours.numpy()[:INPUTS], theirs["gradients_input"][0])
    np.testing.assert_array_equal(theirs["gradients_input"][1:], grad[1:])


def test_regularization_ends_after_the_first_row_there(shader: Shader, device: pw.Device) -> None:
    grad, weight = normal(8, OUTPUTS, INPUTS), normal(9, OUTPUTS, INPUTS)
    # Launched over all elements: it is the shader that stops.
    wide = groups(grad.size)
    theirs = shader("l2_regularization_main", wide, weight_gradients=grad, weights=weight)
    ours = device.array(grad.copy().reshape(-1))
    l2_regularization[grad.size](ours, device.array(weight.reshape(-1)), ALPHA)
    np.testing.assert_allclose(ours, (grad + ALPHA * weight).reshape(-1), rtol=1e-5, atol=1e-7)
    row = theirs["weight_gradients"][0]
    np.testing.assert_allclose(ours.numpy()[:INPUTS], row, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(theirs["weight_gradients"][1:], grad[1:])


def test_momentum_reaches_no_weight_there(shader: Shader, device: pw.Device) -> None:
    grad, buffer = normal(10, OUTPUTS, INPUTS), normal(11, OUTPUTS, INPUTS)
    weight = normal(12, OUTPUTS, INPUTS)
    theirs = shader(
        "momentum_update_main",
        groups(grad.size),
        weight_gradients=grad,
        gradients_input=buffer,
        weights=weight,
    )
    param, state = (device.array(a.copy().reshape(-1)) for a in (weight, buffer))
    numbers = {"lr": LEARNING_RATE, "momentum": ALPHA}
    momentum_update[grad.size](param, device.array(grad.reshape(-1)), state, **numbers)
    velocity = ALPHA * buffer + grad
    np.testing.assert_allclose(state, velocity.reshape(-1), rtol=1e-5, atol=1e-6)
    moved = (weight - LEARNING_RATE * velocity).reshape(-1)
    np.testing.assert_allclose(param, moved, rtol=1e-5, atol=1e-6)
    # There, the velocity replaces the gradient too, all in the first row only.
    for name, before in (("gradients_input", buffer), ("weight_gradients", grad)):
        np.testing.assert_allclose(theirs[name][0], velocity[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(theirs[name][1:], before[1:])


def test_adam_is_the_sign_of_the_gradient_there(shader: Shader, device: pw.Device) -> None:
    grad = normal(13, OUTPUTS, INPUTS)
    theirs = shader("adam_update_main", groups(grad.size), weight_gradients=grad)
    step = theirs["weight_gradients"]
    np.testing.assert_allclose(step[0], LEARNING_RATE * np.sign(grad[0]), rtol=1e-4)
    np.testing.assert_array_equal(step[1:], grad[1:])
    param, mean, square = (device.zeros(grad.size) for _ in range(3))
    rates = {"rate1": 0.1, "rate2": 0.001, "eps": 1e-8}
    # Adam's first step is the same, in all rows: the averages are those of one gradient.
    first = {"step_size": LEARNING_RATE / 0.1, "correction": 1.0 / np.sqrt(0.001)}
    adam_update[grad.size](param, device.array(grad.reshape(-1)), mean, square, **rates, **first)
    np.testing.assert_allclose(param.numpy()[:INPUTS], -step[0], rtol=1e-4)
    np.testing.assert_allclose(mean, 0.1 * grad.reshape(-1), rtol=1e-5)
    np.testing.assert_allclose(square, 0.001 * grad.reshape(-1) ** 2, rtol=1e-5)


def test_batch_norm_is_a_placeholder_there(shader: Shader, device: pw.Device) -> None:
    x, grad, weight = normal(14, BATCH, INPUTS), normal(15, BATCH, INPUTS), normal(16, INPUTS)
    zeros = np.zeros_like(x)
    theirs = shader(
        "batch_norm_gradient_main",
        groups(INPUTS),
        gradients_output=grad,
        activations=x,
        gradients_input=zeros,
    )
    mean, invstd = x.mean(0), 1.0 / np.sqrt(x.var(0) + np.float32(1e-5))
    placeholder = (grad * (x - mean)).mean(0)
    np.testing.assert_allclose(theirs["gradients_input"][0], placeholder, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(theirs["gradients_input"][1:], 0.0)
    ours = device.zeros(x.shape)
    arrays = map(device.array, (grad, x, weight, mean, invstd))
    batch_norm_gradient[INPUTS](*arrays, ours)
    normal_x = (x - mean) * invstd
    centred = grad - grad.mean(0) - normal_x * (grad * normal_x).mean(0)
    np.testing.assert_allclose(ours, weight * invstd * centred, rtol=1e-4, atol=1e-5)

"""Kernels as authors write them, and the WGSL that they become."""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Callable

import pytest

import pywgsl as pw
from pywgsl import Array, Array2D, Array3D, f32, i32
from pywgsl.kernel import Kernel


@pw.kernel(workgroup_size=256)
def sigmoid_gradient(
    grad_output: Array[f32], output: Array[f32], grad_input: Array[f32], steepness: f32
):
    i = pw.global_id.x
    y = output[i]
    grad_input[i] = grad_output[i] * (y * (1.0 - y) * steepness)


@pw.kernel(workgroup_size=(16, 16))
def weight_gradient(x: Array2D[f32], grad_output: Array2D[f32], grad_weight: Array2D[f32]):
    i, o = pw.global_id.x, pw.global_id.y
    total = 0.0
    for b in range(x.shape[0]):
        total += x[b, i] * grad_output[b, o]
    grad_weight[o, i] = total


@pw.function
def wrapped(index, length):
    return index % length


@pw.kernel(workgroup_size=64)
def blur(image: Array3D[f32], output: Array3D[f32], radius: i32):
    k = pw.global_id.x
    column = k % image.shape[1]
    row = k // image.shape[1]
    for channel in range(image.shape[2]):
        total = 0.0
        for offset in range(-radius, radius + 1):
            total += image[row, wrapped(column + offset, image.shape[1]), channel]
        output[row, column, channel] = total / (2 * radius + 1)


@pw.kernel(workgroup_size=64)
def collatz(numbers: Array[i32], steps: Array[i32]):
    i = pw.global_id.x
    n = numbers[i]
    count = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        elif n < 0:
            count = -1
            break
        else:
            n = 3 * n + 1
        count += 1
    steps[i] = count


KERNELS = [sigmoid_gradient, weight_gradient, blur, collatz]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_wgsl_of_a_kernel(
    kernel: Kernel, golden: Callable[[str, str], None], accepted: Callable[[str], None]
) -> None:
    text = kernel.wgsl()
    accepted(text)
    golden(f"{kernel.name}.wgsl", text)

"""`pywgsl demo`: one kernel from its source to its checked result."""

from __future__ import annotations

import inspect

import numpy as np

import pywgsl as pw
from pywgsl.errors import DeviceError
from pywgsl.lang import Array, f32, global_id
from pywgsl.runtime.devices import NUMPY, Device

_COUNT = 1_000_000


@pw.kernel
def gelu(x: Array[f32], y: Array[f32]) -> None:
    """The activation of GPT-2, in its tanh form."""
    i = global_id.x
    inner = 0.7978845608 * (x[i] + 0.044715 * x[i] ** 3)
    y[i] = 0.5 * x[i] * (1.0 + pw.tanh(inner))


def demo(name: str | None) -> int:
    """Show a kernel, its WGSL, and its result; return 1 if a device and NumPy disagree.

    Without a name the device is a GPU, hardware if there is one, else NumPy.
    """
    print("A kernel is a Python function:\n")
    print(inspect.getsource(gelu.__wrapped__))
    print("Its WGSL:\n")
    print(gelu.wgsl())
    device = _device(name)
    x = np.linspace(-6.0, 6.0, _COUNT, dtype=np.float32)
    on_device = device.zeros(_COUNT, np.float32)
    gelu[_COUNT](device.array(x), on_device)
    result = on_device.numpy()
    reference = np.zeros_like(x)
    gelu[_COUNT](x, reference)
    print(f"Run over {_COUNT:,} numbers on {device.name}:\n")
    for i in range(0, _COUNT, _COUNT // 6):
        print(f"    gelu({x[i]:+.3f}) = {result[i]:+.6f}")
    error = float(np.max(np.abs(result - reference)))
    agrees = error <= 1e-5
    verdict = "the same as" if agrees else "NOT the same as"
    print(f"\nThat is {verdict} the NumPy reference: the largest difference is {error:.1e}.")
    return 0 if agrees else 1


def _device(name: str | None) -> Device:
    if name is not None:
        return pw.device(name)
    try:
        return pw.device("gpu")
    except DeviceError:
        return NUMPY

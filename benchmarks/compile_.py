"""How long a decorated function takes to become WGSL, in a warm process; and the import."""

from __future__ import annotations

import subprocess
import sys

import pywgsl as pw
from benchmarks.timing import best
from pywgsl.ops import activations, gradients, normalization, optimizers
from pywgsl.ops.linear import input_gradient, weight_gradient

#: The kernels of seed 000.
KERNELS = (
    activations.sigmoid_gradient,
    activations.relu_gradient,
    activations.leaky_relu_gradient,
    activations.tanh_gradient,
    activations.linear_gradient,
    weight_gradient,
    input_gradient,
    gradients.gradient_clipping,
    gradients.l2_regularization,
    optimizers.momentum_update,
    optimizers.adam_update,
    normalization.batch_norm_gradient,
)

_IMPORT = """
import time, numpy
started = time.perf_counter()
import pywgsl
print(time.perf_counter() - started)
import sys
assert "wgpu" not in sys.modules
"""


def run(device: str) -> None:
    del device
    print(f"{'kernel':24} {'to WGSL':>10}   bar: 5 ms")
    for kernel in KERNELS:
        seconds = best(lambda kernel=kernel: _compile(kernel), rounds=10)
        print(f"{kernel.name:24} {1e3 * seconds:7.2f} ms")
    print(f"{'import pywgsl':24} {1e3 * _import(_IMPORT):7.1f} ms   bar: 150 ms, without wgpu")
    with_numpy = _import(_IMPORT.replace(", numpy", ""))
    print(f"{'  and numpy':24} {1e3 * with_numpy:7.1f} ms")


def _compile(kernel: pw.Kernel) -> str:
    """Compile a kernel from its function on, nothing remembered."""
    return pw.Kernel(kernel.__wrapped__, **kernel.options).wgsl()


def _import(program: str) -> float:
    runs = [
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        for _ in range(7)
    ]
    return min(float(finished.stdout) for finished in runs)

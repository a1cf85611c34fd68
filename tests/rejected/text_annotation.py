import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], mode: str):
    x[0] = 1.0

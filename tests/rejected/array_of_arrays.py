import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[Array[f32]]):
    x[0] = 1.0

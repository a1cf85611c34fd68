import pywgsl as pw
from pywgsl import Array, array, f32


@pw.kernel
def step(x: Array[f32], weights: array[f32, 4]):
    x[0] = weights[0]

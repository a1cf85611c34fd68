import pywgsl as pw
from pywgsl import Array, Array2D, f32


@pw.kernel
def step(m: Array2D[f32], y: Array[f32]):
    i = pw.global_id.x
    y[i] = m * 2.0

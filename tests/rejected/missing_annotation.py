import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x, y: Array[f32], n):
    y[pw.global_id.x] = x[n]

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: list, y: Array[f32]):
    y[pw.global_id.x] = x[0]

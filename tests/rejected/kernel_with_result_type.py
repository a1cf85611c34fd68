import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y) -> Array[f32]:
    x[pw.global_id.x] = 1.0

import pywgsl as pw
from pywgsl import Array, f16, f32


@pw.kernel
def step(y: Array[f32], h: Array[f16]):
    i = pw.global_id.x
    y[i] = y[i] + h[i]

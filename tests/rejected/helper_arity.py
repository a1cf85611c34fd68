import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.function
def half(v):
    return v * 0.5


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    y[i] = half(x[i], 2.0)

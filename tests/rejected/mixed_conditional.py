import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    y[i] = x[i] if n > 0 else x[i] > 0.0

import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.function
def pick(v):
    if v > 0.0:
        return v


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    y[i] = pick(x[i])

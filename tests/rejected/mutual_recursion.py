import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.function
def even(v):
    return odd(v - 1.0)


@pw.function
def odd(v):
    return even(v - 1.0)


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    y[i] = even(x[i])

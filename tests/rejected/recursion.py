import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.function
def factorial(v):
    return v * factorial(v - 1.0) if v > 1.0 else 1.0


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    y[i] = factorial(x[i])

import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.function
def items(n):
    return n


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    for j in items(n):
        y[j] = 0.0

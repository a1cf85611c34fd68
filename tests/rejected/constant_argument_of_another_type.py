import pywgsl as pw
from pywgsl import Array, Const, f32, i32


@pw.function
def power(v, count: Const[int]):
    result = 1.0
    for _ in pw.static_range(count):
        result *= v
    return result


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    y[i] = power(x[i], 2.5)

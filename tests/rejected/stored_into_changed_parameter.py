import pywgsl as pw
from pywgsl import Array, f32, i32, vec2f


@pw.function
def clear(v, n):
    if n > 0:
        v = vec2f(0.0, 0.0)
    v.x = 0.0
    return v.y


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    y[i] = clear(vec2f(x[i], 1.0), n)

import pywgsl as pw
from pywgsl import Array, f32, i32, vec2f


@pw.function
def clear(v):
    v.x = 0.0


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    v = vec2f(x[i], 1.0)
    clear(v)
    y[i] = v.x

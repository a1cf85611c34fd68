import pywgsl as pw
from pywgsl import Array, f32, i32, vec2f


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    v: f32 = vec2f(x[i], 1.0)
    y[i] = v

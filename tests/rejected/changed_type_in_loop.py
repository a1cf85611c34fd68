import pywgsl as pw
from pywgsl import Array, f32, i32, vec2f


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    v = vec2f(0.0, 0.0)
    for j in range(n):
        v = x[j]
    y[i] = v.x

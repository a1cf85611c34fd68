import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    v = missing
    w = v * 2.0
    for j in range(w):
        w += v
    y[i] = w
    if w:
        y[i] = absent

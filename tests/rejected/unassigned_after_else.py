import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    if x[i] > 0.0:
        y[i] = 0.0
    else:
        v = 1.0
    y[i] = v

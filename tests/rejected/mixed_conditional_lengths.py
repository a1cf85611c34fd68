import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    p, q = (1.0, 2.0) if n > 0 else (1.0, 2.0, 3.0)
    y[i] = p + q

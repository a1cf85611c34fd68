import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32


@pw.kernel
def step(x: Array[f32], y: Array[f32], m: Array2D[f32], n: i32, u: u32):
    i = pw.global_id.x
    v = x[i] ^ 2
    w = n + u
    y[i] = lost
    y[i, 0] = 1.0
    if n:
        y[i] = m[i]
    return n

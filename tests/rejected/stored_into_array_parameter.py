import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.function
def fill(v):
    for j in range(4):
        v[j] = 1.0


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    v = pw.local_array(f32, 4)
    fill(v)
    y[i] = v[0]

import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    v = pw.local_array(f32, 4)
    for j in pw.static_range(5):
        v[j] = x[j]
    y[i] = v[0]

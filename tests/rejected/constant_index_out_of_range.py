import pywgsl as pw
from pywgsl import Array, array, f32, i32


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    v = array[f32, 3](1.0, 2.0, 3.0)
    y[i] = v[3]

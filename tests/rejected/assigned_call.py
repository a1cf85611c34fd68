import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    pw.sqrt(x[i])[0] = 1.0

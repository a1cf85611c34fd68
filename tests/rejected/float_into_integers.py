import pywgsl as pw
from pywgsl import Array, f32, i32


@pw.kernel
def step(x: Array[f32], k: Array[i32]):
    i = pw.global_id.x
    k[i] = x[i]

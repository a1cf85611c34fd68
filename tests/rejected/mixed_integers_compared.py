import pywgsl as pw
from pywgsl import Array, f32, u32


@pw.kernel
def step(y: Array[f32], u: u32):
    i = pw.global_id.x
    if i < u:
        y[i] = 1.0

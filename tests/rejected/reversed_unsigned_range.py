import pywgsl as pw
from pywgsl import Array, f32, u32


@pw.kernel
def step(y: Array[f32], u: u32):
    i = pw.global_id.x
    for j in reversed(range(u)):
        y[j] = 0.0

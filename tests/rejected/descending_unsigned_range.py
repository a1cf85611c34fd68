import pywgsl as pw
from pywgsl import Array, f32, u32


@pw.kernel
def step(y: Array[f32], u: u32):
    i = pw.global_id.x
    for j in range(u, 0, -1):
        y[j] = 0.0

import pywgsl as pw
from pywgsl import Array, f32, i32, u32


@pw.kernel
def step(y: Array[f32], n: i32, u: u32):
    i = pw.global_id.x
    for j in range(n, u):
        y[j] = 0.0

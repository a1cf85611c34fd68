import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32


@pw.kernel
def step(m: Array2D[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    y[i] = f32(m.shape[n])

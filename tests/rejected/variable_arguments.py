import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(y: Array[f32], *arrays: Array[f32]):
    i = pw.global_id.x
    y[i] = arrays[0][i]

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y: "Array[1 / 0]"):
    i = pw.global_id.x
    y[i] = x[i]

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    i = pw.global_id.x
    total = 0.0
    for value in x[2:]:
        total += value
    y[i] = total

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    i = pw.global_id.x
    weights = [0.25, 0.5, 0.25]
    y[i] = weights[1] * x[i]

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    i = pw.global_id.x
    try:
        y[i] = 1.0 / x[i]
    except ZeroDivisionError:
        y[i] = 0.0

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    i = pw.global_id.x
    with y:
        v = x[i] is y
    [a, b] = {1: 2}
    for value in x:
        y[i] = "text"
        y[:2] = value

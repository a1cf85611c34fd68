import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    i = pw.global_id.x
    squares = [x[k] * x[k] for k in range(4)]
    y[i] = squares[0]

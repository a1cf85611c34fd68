import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    j = pw.global_id.x
    y[j] = sum(x[k] * x[k] for k in range(len(x)) if k != j)

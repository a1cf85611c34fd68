import pywgsl as pw
from pywgsl import Array, f32

total = 0.0

@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    i = pw.global_id.x
    global total
    total += x[i]
    y[i] = total

import pywgsl as pw
from pywgsl import Array, f16


@pw.kernel
def step(h: Array[f16]):
    i = pw.global_id.x
    h[i] = h[i] * 65520

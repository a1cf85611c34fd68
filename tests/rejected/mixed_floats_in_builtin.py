import pywgsl as pw
from pywgsl import Array, f16, f32


@pw.kernel
def limit(x: Array[f32], h: Array[f16]):
    i = pw.global_id.x
    x[i] = max(x[i], h[i])

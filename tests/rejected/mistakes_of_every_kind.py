import pywgsl as pw
from pywgsl import Array, f32, u32


@pw.function
def double(x):
    return x * [2]


@pw.kernel
def mixed(x: Array[f32], counts: Array[u32]):
    i = pw.global_id.x
    x[i] = sum(x[0:4])
    counts[i] = x[i]
    x[i] = undefined + double(1.0)

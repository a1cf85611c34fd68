import pywgsl as pw
from pywgsl import Array, f32


@pw.function
def mean(value):
    return pw.workgroup_sum(value) / f32(pw.workgroup_size.x)


@pw.kernel
def center(x: Array[f32]):
    i = pw.global_id.x
    if x[i] > 0.0:
        x[i] -= mean(x[i])

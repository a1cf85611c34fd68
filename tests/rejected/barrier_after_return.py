import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def halve(x: Array[f32], n: int):
    i = pw.global_id.x
    if i >= n:
        return
    pw.workgroup_barrier()
    x[i] *= 0.5

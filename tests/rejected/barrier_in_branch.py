import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def halve(x: Array[f32]):
    lane = pw.local_id.x
    if lane < 32:
        total = pw.workgroup_sum(x[lane])
        x[lane] = total

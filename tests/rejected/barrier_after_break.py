import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def search(x: Array[f32], y: Array[f32]):
    for k in range(8):
        if x[pw.local_id.x] > 0.5:
            break
        pw.workgroup_barrier()
    y[pw.local_id.x] = 1.0

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def iterate(x: Array[f32]):
    while x[0] > 1.0:
        pw.storage_barrier()
        x[pw.global_id.x] *= 0.5

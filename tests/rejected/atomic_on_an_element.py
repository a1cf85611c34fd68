import pywgsl as pw
from pywgsl import Array, u32


@pw.kernel
def count(counts: Array[u32]):
    pw.atomic_add(counts[pw.global_id.x % 4], u32(1))

import pywgsl as pw
from pywgsl import Array, u32


@pw.kernel
def step(k: Array[u32]):
    i = pw.global_id.x
    k[i] = u32(-1)

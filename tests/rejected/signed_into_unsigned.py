import pywgsl as pw
from pywgsl import Array, i32, u32


@pw.kernel
def step(k: Array[u32], n: i32):
    i = pw.global_id.x
    k[i] = n

import pywgsl as pw
from pywgsl import Array, i32


@pw.kernel
def step(k: Array[i32], n: i32):
    i = pw.global_id.x
    k[i] = n << 32

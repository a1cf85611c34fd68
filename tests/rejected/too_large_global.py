import pywgsl as pw
from pywgsl import Array, i32


LIMIT = 2**31


@pw.kernel
def step(k: Array[i32]):
    i = pw.global_id.x
    k[i] = LIMIT

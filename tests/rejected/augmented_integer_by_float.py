import pywgsl as pw
from pywgsl import Array, i32


@pw.kernel
def step(k: Array[i32]):
    i = pw.global_id.x
    k[i] += 0.5

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32]):
    i = pw.global_id.x
    x[i] = missing + nope + foo

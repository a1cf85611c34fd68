import pywgsl as pw
from pywgsl import Array, f32

NAMES = (1, "two")


@pw.kernel
def step(x: Array[f32]):
    x[pw.global_id.x] = NAMES[1]

import pywgsl as pw
from pywgsl import Array, f32, vec2f


@pw.kernel
def step(p: Array[vec2f], y: Array[f32]):
    i = pw.global_id.x
    y[i] = f32(p[i])

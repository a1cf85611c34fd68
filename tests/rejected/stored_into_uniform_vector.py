import pywgsl as pw
from pywgsl import Array, f32, vec2f


@pw.kernel
def step(y: Array[f32], v: vec2f):
    i = pw.global_id.x
    v.x = 1.0
    y[i] = v.x

import pywgsl as pw
from pywgsl import Array, vec2f


@pw.kernel
def step(p: Array[vec2f]):
    i = pw.global_id.x
    if p[i] > vec2f(0.0, 0.0):
        p[i] = vec2f(0.0, 0.0)

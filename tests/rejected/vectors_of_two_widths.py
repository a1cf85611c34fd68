import pywgsl as pw
from pywgsl import Array, vec2f, vec3f


@pw.kernel
def step(p: Array[vec3f]):
    i = pw.global_id.x
    p[i] = p[i] + vec2f(1.0, 2.0)

import pywgsl as pw
from pywgsl import Array, f32, vec3f


@pw.kernel
def step(p: Array[vec3f], y: Array[f32]):
    i = pw.global_id.x
    y[i] = p[i]

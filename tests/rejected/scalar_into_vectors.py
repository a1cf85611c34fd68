import pywgsl as pw
from pywgsl import Array, f32, vec3f


@pw.kernel
def step(x: Array[f32], p: Array[vec3f]):
    i = pw.global_id.x
    p[i] = x[i]

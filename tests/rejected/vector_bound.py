import pywgsl as pw
from pywgsl import Array, f32, i32, vec2i


@pw.kernel
def step(x: Array[f32], y: Array[f32], n: i32):
    i = pw.global_id.x
    for j in range(vec2i(1, 2)):
        y[j] = 0.0

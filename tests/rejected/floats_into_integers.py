import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(n: Array[i32], p: Array[vec2f]):
    i = pw.global_id.x
    n[i] **= 0.5
    n[i] /= 2
    n[i] /= n[0] + 1
    n[i] = n[i] / 2
    n[i] = (n[i] + 1) / (n[0] - 1)
    n[i] = n[i] / 0.5
    n[i] /= 0.5
    p[i].x += p[i]
    k: i32 = 1
    k *= 0.5
    n[i] = k

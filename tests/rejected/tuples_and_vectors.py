import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(x: Array[f32], v: Array[vec3f]):
    i = pw.global_id.x
    v[i] = (1.0, 2.0, 3.0)
    v[i] = 1.0, 2.0, x[i]
    v[i] = (1.0, 2.0)
    x[i] = (1.0, 2.0)
    a, b, c = v[i]
    d, e = v[i]
    f, g, h = v[i] + v[0]

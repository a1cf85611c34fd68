import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(n: Array[i32], m: Array[u32]):
    i = pw.global_id.x
    n[i] = m[i] + n[i]
    m[i] = m[i] + n[i]
    n[i] += m[i] * n[i]
    both = m[i] + n[i]

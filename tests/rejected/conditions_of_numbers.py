import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(x: Array[f32]):
    i = pw.global_id.x
    if x[i] + 1.0:
        x[i] = 0.0
    if (x[i]) and i - 1:
        x[i] = 0.0

import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(x: Array[f32]):
    i = pw.global_id.x
    x[i] = max(x)
    x[i] = max((x[0], 2.0))

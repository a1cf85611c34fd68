import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(x: Array[f32]):
    i = pw.global_id.x
    own = pw.global_id
    x[own] = 1.0
    x[pw.global_id] = 1.0
    x[pw.global_id[0]] = 1.0
    x[own + 1] = 1.0

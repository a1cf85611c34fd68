import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def other(x: Array[f32]):
    x[pw.global_id.x] = 1.0


@pw.kernel
def step(x: Array[f32]):
    i = pw.global_id.x
    other(x)
    other[4](x)

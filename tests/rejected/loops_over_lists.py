import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    i = pw.global_id.x
    for v in [1.0, 2.0]:
        x[i] += v
    for v in "text":
        x[i] += 1.0
    for a, b in zip(x, y):
        x[i] += a * b

import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(x: Array[f32], n: Array[i32]):
    i = pw.global_id.x
    match i:
        case 0:
            x[i] = 0.0
        case k if k > 4:
            x[i] = 1.0
    match n[i]:
        case k if k > 4:
            x[i] = 1.0

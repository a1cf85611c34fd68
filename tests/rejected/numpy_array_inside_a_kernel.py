import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f


@pw.kernel
def step(x: Array[f32]):
    i = pw.global_id.x
    a = np.zeros(4)
    b = np.zeros((4, 3), np.int32)
    c = np.empty(4, dtype=np.float32)

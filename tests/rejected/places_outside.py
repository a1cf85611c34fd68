import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f

TABLE = np.zeros(4, np.float32)
T = (1.0, 2.0)


@pw.kernel
def step(x: Array[f32]):
    i = pw.global_id.x
    pw.global_id.x = 3
    TABLE[i] = 1.0
    T[0] = 2.0
    pw.workgroup_size = 4

import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f

T = (1, 2, 3)
LIST = [1.0, 2.0]
COUNTS = np.zeros((2, 2), np.uint32)


@pw.kernel
def step(x: Array[f32]):
    i = pw.global_id.x
    x[i] = T[i]
    x[i] += LIST[i]
    x[i] += len(LIST)
    x[i] += COUNTS[i, i]
    x[i] += np.pi[i]
    own = (1, 2.5)
    x[i] += own[i]

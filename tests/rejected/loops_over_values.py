import numpy as np

import pywgsl as pw
from pywgsl import Array, Array2D, f32, i32, u32, vec2f, vec3f

T = (1.0, 2.0, 3.0)
TABLE = [[1, 2], [3, 4]]


@pw.kernel
def step(x: Array[f32], m: Array2D[f32], p: Array[vec2f]):
    i = pw.global_id.x
    for t in T:
        x[i] += t
    for t in TABLE:
        x[i] += t
    for t in np.arange(3):
        x[i] += 1.0
    for k in 5:
        x[i] += 1.0
    for v in m:
        x[i] += 1.0
    for v in p[i]:
        x[i] += v
    for v in x[i]:
        x[i] += v
    for v in (1.0, 2.0):
        x[i] += v
    for v in zip(x, p):
        x[i] += 1.0

import pywgsl as pw
from pywgsl import Array, f32

FIRST = 0

@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    i = pw.global_id.x
    match i:
        case FIRST if x[i] > 0.0:
            y[i] = x[i]

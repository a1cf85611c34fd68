import pywgsl as pw
from pywgsl import Array, f16, f32, u32


@pw.kernel
def step(h: Array[f16], y: Array[f32]):
    i = pw.global_id.x
    y[i] = f32(pw.bitcast(u32, h[i]))

import pywgsl
from pywgsl import Array, f32


@pywgsl.kernel
def step(x: Array[f32]):
    x[0] = workgroup_sum(x[global_id.x]) + vec2f(1.0).x

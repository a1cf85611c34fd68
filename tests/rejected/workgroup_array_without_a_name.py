import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def copy(x: Array[f32]):
    x[0] = pw.workgroup_array(f32, 8)[0]

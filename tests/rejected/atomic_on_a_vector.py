import pywgsl as pw
from pywgsl import Array, f32, vec4f


@pw.kernel
def total(sums: Array[vec4f]):
    pw.atomic_add(sums, 0, f32(1))

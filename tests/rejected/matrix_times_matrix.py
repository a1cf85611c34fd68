import pywgsl as pw
from pywgsl import Array, mat2x2f


@pw.kernel
def step(p: Array[mat2x2f], q: Array[mat2x2f]):
    i = pw.global_id.x
    q[i] = p[i] * p[i]

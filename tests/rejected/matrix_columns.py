import pywgsl as pw
from pywgsl import Array, mat2x2f


@pw.kernel
def step(q: Array[mat2x2f]):
    i = pw.global_id.x
    q[i] = mat2x2f(1.0, 2.0, 3.0)

import pywgsl as pw
from pywgsl import Array, i32


@pw.kernel
def count(counts: Array[i32]):
    own = pw.local_array(i32, 4)
    pw.atomic_add(own, 0, 1)
    counts[0] = own[0]

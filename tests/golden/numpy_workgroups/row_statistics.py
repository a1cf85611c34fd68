import numpy as np

from pywgsl.runtime.access import load, store
from pywgsl.runtime.collectives import workgroup_sum
from pywgsl.runtime.lanes import own


def row_statistics(ids, x, mean, rstd, eps):
    # benchmarks/numpy_workgroups.py
    row = ids.workgroup(0)
    columns = np.int32(x.shape[1])
    total = np.float32(0.0)
    total = own(total, ids.over("xX"), 0)
    for part, c in ids.strides(ids.local(0), columns, 256):
        total_1 = part.of(total)
        row_1 = part.of(row)
        total_1 += load(x, row_1, c)
    result = workgroup_sum(ids, total, over="X")
    middle = result / columns.astype(np.float32)
    squares = np.float32(0.0)
    squares = own(squares, ids.over("xX"), 0)
    for part_1, c_1 in ids.strides(ids.local(0), columns, 256):
        row_2 = part_1.of(row)
        middle_1 = part_1.of(middle)
        squares_1 = part_1.of(squares)
        base = load(x, row_2, c_1) - middle_1
        squares_1 += base * base
    result_1 = workgroup_sum(ids, squares, over="X")
    variance = result_1 / columns.astype(np.float32)
    for part_2 in ids.parts(ids.local(0) == 0):
        row_3 = part_2.of(row)
        middle_2 = part_2.of(middle)
        variance_1 = part_2.of(variance)
        store(mean, (row_3,), middle_2)
        store(rstd, (row_3,), 1.0 / np.sqrt(variance_1 + eps))

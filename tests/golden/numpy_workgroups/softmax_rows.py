import numpy as np

from pywgsl import numerics
from pywgsl.runtime.access import load, store
from pywgsl.runtime.collectives import workgroup_max, workgroup_sum
from pywgsl.runtime.lanes import own


def softmax_rows(ids, x, y):
    # benchmarks/numpy_workgroups.py
    row = ids.workgroup(0)
    columns = np.int32(x.shape[1])
    largest = load(x, row, 0)
    largest = own(largest, ids.over("xX"), 0)
    for part, c in ids.strides(ids.local(0), columns, 256):
        largest_1 = part.of(largest)
        row_1 = part.of(row)
        largest_1[...] = numerics.maximum(largest_1, load(x, row_1, c))
    largest = workgroup_max(ids, largest, over="X")
    total = np.float32(0.0)
    total = own(total, ids.over("xX"), 0)
    for part_1, c_1 in ids.strides(ids.local(0), columns, 256):
        total_1 = part_1.of(total)
        row_2 = part_1.of(row)
        largest_2 = part_1.of(largest)
        total_1 += np.exp(load(x, row_2, c_1) - largest_2)
    total = workgroup_sum(ids, total, over="X")
    for part_2, c_2 in ids.strides(ids.local(0), columns, 256):
        row_3 = part_2.of(row)
        largest_3 = part_2.of(largest)
        total_2 = part_2.of(total)
        store(y, (row_3, c_2), np.exp(load(x, row_3, c_2) - largest_3) / total_2)

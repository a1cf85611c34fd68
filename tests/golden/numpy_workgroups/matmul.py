import numpy as np

from pywgsl.runtime.access import load, store
from pywgsl.runtime.lanes import narrowed


def matmul(ids, a, b, c):
    # benchmarks/numpy_workgroups.py
    a_tile = ids.memory("Y", (16, 16), np.float32)
    b_tile = ids.memory("X", (16, 16), np.float32)
    x = ids.local(0)
    y = ids.local(1)
    row = ids.y
    column = ids.x
    total = np.float32(0.0)
    for first in map(np.int32, range(0, a.shape[1], 16)):
        store(a_tile, (ids.nth(1), y, x), load(a, row, first + x))
        store(b_tile, (ids.nth(0), y, x), load(b, first + y, column))
        for k in map(np.int32, range(16)):
            total = total + load(a_tile, ids.nth(1), y, k) * load(b_tile, ids.nth(0), k, x)
    mask = narrowed(True, (row.lanes < c.shape[0]) & (column.lanes < c.shape[1]))
    if mask is not False:
        store(c, (row, column), total, mask)

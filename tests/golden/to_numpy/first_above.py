import numpy as np

from pywgsl.runtime.access import gather, store
from pywgsl.runtime.lanes import merge, narrowed


def first_above(ids, a, out, limit):
    # <source>:25
    row = ids.x
    column = np.int32(0)
    running = True
    while True:
        running = narrowed(running, (column < np.int32(a.shape[1])) & (gather(a, row, column) <= limit))
        if running is False:
            break
        column = merge(running, column + np.int32(1), column)
    store(out, (row,), column)

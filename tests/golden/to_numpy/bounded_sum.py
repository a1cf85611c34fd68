import numpy as np

from pywgsl import numerics
from pywgsl.runtime.access import load, store
from pywgsl.runtime.lanes import merge, narrowed, without


def bounded_sum(ids, a, out, limit):
    # <source>:15
    i = ids.x
    mask = without(True, i.lanes >= out.shape[0])
    if mask is not False:
        total = load(a, i)
        mask_1 = narrowed(mask, i.lanes > 0)
        if mask_1 is not False:
            total = merge(mask_1, total + load(a, i - 1), total)
        store(out, (i,), numerics.minimum(total, limit), mask)

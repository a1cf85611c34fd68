import numpy as np

from pywgsl.runtime.access import load
from pywgsl.runtime.atomics import update


def count_by_groups(ids, x, bins):
    # benchmarks/numpy_workgroups.py
    counts = ids.memory("X", (256,), np.int32)
    update(np.add, counts, (ids.nth(0), load(x, ids.x)), np.int32(1), ids.over("xX"))
    update(np.add, bins, (ids.local(0),), load(counts, ids.nth(0), ids.local(0)), ids.over("xX"))

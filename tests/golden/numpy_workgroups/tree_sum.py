import numpy as np

from pywgsl.runtime.access import combine, load, store


def tree_sum(ids, x, out):
    # benchmarks/numpy_workgroups.py
    partial = ids.memory("X", (256,), np.float32)
    lane = ids.local(0)
    store(partial, (ids.nth(0), lane), load(x, ids.x))
    reach = np.int32(128)
    while reach > np.int32(0):
        for part in ids.parts(lane < reach):
            lane_1 = part.of(lane)
            combine(np.add, partial, (part.nth(0), lane_1), load(partial, part.nth(0), lane_1 + reach))
        reach = reach // np.int32(2)
    for part_1 in ids.parts(lane == 0):
        store(out, (part_1.workgroup(0),), load(partial, part_1.nth(0), 0))

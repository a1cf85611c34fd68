import numpy as np

from pywgsl.runtime.access import load, store


def weight_gradient(ids, x, grad_output, grad_weight):
    """Sum over the batch."""
    # <source>:6
    i = ids.x
    o = ids.y
    total = np.float32(0.0)
    for b in range(x.shape[0]):
        total = total + load(x, b, i) * load(grad_output, b, o)
    store(grad_weight, (o, i), total)

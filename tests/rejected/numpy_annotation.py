import numpy as np

import pywgsl as pw


@pw.kernel
def step(x: np.ndarray, scale: np.float32, k: np.int32):
    x[k] = scale

from typing import TypeVar

import pywgsl as pw
from pywgsl import Array, f16, f32

T = TypeVar("T", f32, f16)


@pw.kernel
def double(x: Array[f32]):
    x[pw.global_id.x] *= T(2)

from typing import TypeVar

import pywgsl as pw
from pywgsl import Array, f32, vec2f

T = TypeVar("T", f32, vec2f)


@pw.kernel
def double(x: Array[T]):
    x[pw.global_id.x] *= 2.0

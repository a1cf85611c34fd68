from typing import TypeVar

import pywgsl as pw
from pywgsl import Array

T = TypeVar("T")


@pw.kernel
def double(x: Array[T]):
    x[pw.global_id.x] *= 2

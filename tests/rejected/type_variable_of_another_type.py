from typing import TypeVar

import pywgsl as pw
from pywgsl import Array, i32, u32

T = TypeVar("T", i32, u32)


@pw.function
def double(a: T):
    return a + a


@pw.kernel
def step(x: Array[pw.f32]):
    i = pw.global_id.x
    x[i] = double(x[i])

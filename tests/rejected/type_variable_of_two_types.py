from typing import TypeVar

import pywgsl as pw
from pywgsl import Array, f16, f32

T = TypeVar("T", f32, f16)


@pw.function
def add(a: T, b: T):
    return a + b


@pw.kernel
def step(x: Array[f32], h: Array[f16]):
    i = pw.global_id.x
    x[i] = add(x[i], h[i])

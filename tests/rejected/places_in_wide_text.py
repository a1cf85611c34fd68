import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32], y: Array[f32]):
    größe = x[0]; 漢字 = größe; y[0] = 漢字 if 漢字 in (größe,) else 1j

import pywgsl as pw
from pywgsl import Array, f32

exec("@pw.kernel\ndef step(x: Array[f32]):\n    x[0] = 1.0")

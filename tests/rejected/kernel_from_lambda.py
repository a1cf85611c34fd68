import pywgsl as pw
from pywgsl import Array, f32

step = pw.kernel(lambda x: x)

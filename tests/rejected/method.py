import pywgsl as pw
from pywgsl import Array, f32


class Model:
    rate = 0.1

    @pw.kernel
    def step(self, x: Array[f32]):
        x[pw.global_id.x] *= self.rate

import pywgsl as pw
from pywgsl import Array, f32


@pw.kernel
def step(x: Array[f32]):
    i = blockIdx.x * blockDim.x + threadIdx.x
    x[program_id(0)] = x[pw.thread_id]
    __syncthreads()

import pywgsl as pw
from pywgsl import Array, f32, vec2f


@pw.struct
class Particle:
    position: vec2f
    mass: f32


@pw.function
def push(p: Particle):
    p.mass = 2.0
    return p


@pw.kernel
def step(p: Array[Particle], x: Array[f32], start: Particle):
    i = pw.global_id.x
    p[i].masses = 1.0
    p[i] = p[i] + start
    if p[i] == start:
        x[i] = p[i]
    start.mass = 3.0
    p[i] = push(p[i])
    p[i] = push(x[i])

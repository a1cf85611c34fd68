import pywgsl as pw
from pywgsl import Array, f32, vec2f


@pw.struct
class Particle:
    position: vec2f
    mass: f32


@pw.kernel
def reset(p: Array[Particle]):
    i = pw.global_id.x
    if i == 0:
        p[i] = Particle(position=vec2f(0.0))
    elif i == 1:
        p[i] = Particle(vec2f(0.0), 1.0, speed=2.0)
    elif i == 2:
        p[i] = Particle(vec2f(0.0), 1.0, mass=2.0)
    elif i == 3:
        p[i] = Particle(vec2f(0.0), p[0].position)
    else:
        p[i] = Particle(vec2f(0.0), 1.0, 2.0)

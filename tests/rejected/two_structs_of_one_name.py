import pywgsl as pw
from pywgsl import Array, f32, vec2f


def particle(type_):
    @pw.struct
    class Particle:
        position: type_

    return Particle


Point, Height = particle(vec2f), particle(f32)


@pw.kernel
def project(points: Array[Point], heights: Array[Height]):
    i = pw.global_id.x
    heights[i].position = points[i].position.y

"""How a GPU lays out the workgroups of a launch."""

from __future__ import annotations

from pywgsl.codegen.layout import Grid
from pywgsl.errors import LaunchError
from pywgsl.runtime.shapes import Triple

#: WebGPU's limit on workgroups along an axis; every device has it.
MAX_GROUPS = 65535


def lay_out(kernel: str, shape: Triple, workgroup: Triple) -> tuple[Grid, Triple]:
    """Return how a GPU lays out the workgroups of a launch, and how many it starts along each axis.

    Raises:
        LaunchError: more workgroups than a GPU can start.
    """
    x, y, z = (-(-n // size) for n, size in zip(shape, workgroup, strict=True))
    if max(x, y, z) <= MAX_GROUPS:
        return Grid.PLAIN, (x, y, z)
    if y != 1 or z != 1:
        raise LaunchError(
            f"{kernel}: {max(x, y, z)} workgroups along an axis, but a GPU starts at most "
            f"{MAX_GROUPS}; make the workgroup larger there, or launch along x only"
        )
    rows = -(-x // MAX_GROUPS)
    return Grid.FOLDED, (-(-x // rows), rows, 1)

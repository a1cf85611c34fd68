"""What normalizations of planes share: shapes, workgroups, and sums for gradients.

An array is [N, C, S]: N samples of C channels, each a plane of S values. Statistics are [M, G]: of
all samples together (M = 1) or of each (M = N), for groups of C / G channels that follow each
other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pywgsl as pw
from pywgsl import Array2D, Array3D, Const, f32
from pywgsl.ops.arrays import A, AnyArray, T, expect_shape, floats, same_device
from pywgsl.runtime.shapes import Groups

# An invocation of an element-wise kernel computes so many values of a long plane, if they fit.
_ITEMS = 4
_LONG_PLANE = 1024

_INVOCATIONS = 256
# A plane is added up in parts if each is so many values at least.
_CHUNK = 4096
# So are the samples of channels of one value, of which a workgroup has so many.
_CHUNK_OF_COLUMNS = 64
_COLUMNS = 16
# As many workgroups keep a large GPU busy.
_GROUPS = 2048
# Limits of a launch: workgroups along an axis, and the depth of one.
_MOST_GROUPS = 65535
_MOST_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Planes:
    """The shape [N, C, S] of an array, given as [N, C, …].

    Attributes:
        samples: N.
        channels: C.
        size: S.
    """

    samples: int
    channels: int
    size: int

    @property
    def items(self) -> int:
        """How many values of a plane an invocation of an element-wise kernel computes."""
        return _ITEMS if self.size >= _LONG_PLANE and self.size % _ITEMS == 0 else 1

    @property
    def items_at_once(self) -> int:
        """How many values of a plane an invocation of a kernel that sums planes loads at once."""
        return _ITEMS if self.size >= _LONG_PLANE else 1

    @property
    def launch(self) -> tuple[int, int, int]:
        """The launch of an element-wise kernel."""
        return self.size // self.items, self.channels, self.samples

    @property
    def workgroup(self) -> tuple[int, int, int]:
        """The workgroup of an element-wise kernel: as long as a plane, with more channels if short.

        It is deeper than one sample if there are more samples than a launch has workgroups.
        """
        depth = min(_MOST_DEPTH, _power_of_two(-(-self.samples // _MOST_GROUPS)))
        width = min(_INVOCATIONS // depth, _power_of_two(self.size))
        return width, _INVOCATIONS // depth // width, depth

    @property
    def channel_tile(self) -> tuple[int, int]:
        """The workgroup of a kernel that sums channels: as long as a plane, of several if short."""
        return self._tile(self.samples)

    @property
    def sample_tile(self) -> tuple[int, int]:
        """The workgroup of a kernel that sums samples, in the same way."""
        return self._tile(self.channels)

    @property
    def chunks(self) -> int:
        """In how many sums of some values each the planes of a few channels are added up."""
        wanted = -(-_GROUPS // max(1, self.samples * self.channels))
        return max(1, min(wanted, self.size // _CHUNK))

    @property
    def parts(self) -> int:
        """In how many sums of some samples each the samples of a channel are added up."""
        most = -(-self.samples // self.channel_tile[1])
        return max(1, min(most, -(-_GROUPS // max(1, self.channels))))

    @property
    def groups(self) -> Groups:
        """The launch of a kernel that sums channels, in parts of the samples and of the planes."""
        return pw.groups(self.channels, self.parts, self.chunks)

    @property
    def parts_of_columns(self) -> int:
        """As `parts`, for a kernel that sums several channels of one value in each workgroup."""
        wanted = _GROUPS * _COLUMNS // max(1, self.channels)
        return max(1, min(wanted, self.samples // _CHUNK_OF_COLUMNS))

    def _tile(self, height: int) -> tuple[int, int]:
        width = min(_INVOCATIONS, _power_of_two(self.size))
        return width, min(_INVOCATIONS // width, _power_of_two(height))

    def of(self, array: A) -> A:
        """Return a contiguous array as planes."""
        shape = (self.samples, self.channels, self.size)
        return array.reshape(shape)  # type: ignore[return-value]  # as `array`

    def as_rows(self, array: A) -> A:
        """Return a contiguous array of planes of one value as [N, C]."""
        return array.reshape(self.samples, self.channels)  # type: ignore[return-value]  # as `array`


def planes_of(function: str, x: AnyArray) -> Planes:
    """Return the shape of x as planes.

    Raises:
        LaunchError: it has fewer than two axes.
    """
    if x.ndim < 2:
        raise pw.LaunchError(
            f"{function}: `x` takes [samples, channels, …], but has the shape {x.shape}"
        )
    return Planes(x.shape[0], x.shape[1], math.prod(x.shape[2:]))


def channel_parameters(
    function: str, planes: Planes, x: A, **parameters: A | None
) -> tuple[A | None, ...]:
    """Return a layer's parameters, contiguous, or None for those that are missing.

    Raises:
        LaunchError: one is not an array [C], they are not all f32 or all f16, or elsewhere than x.
    """
    given = {name: array for name, array in parameters.items() if array is not None}
    if not given:
        return tuple(parameters.values())
    same_device(function, x=x, **given)
    contiguous = dict(zip(given, floats(function, **given), strict=True))
    for name, array in contiguous.items():
        expect_shape(function, name, array, (planes.channels,))
    return tuple(contiguous.get(name) for name in parameters)


def _power_of_two(n: int) -> int:
    """Return the smallest power of two that is no less, at least 1."""
    return 1 << max(0, n - 1).bit_length()


@pw.kernel(workgroup_size=(64, 4))
def plane_sums(
    grad_output: Array3D[T],
    x: Array3D[T],
    mean: Array2D[f32],
    rstd: Array2D[f32],
    weight_partials: Array2D[f32],
    bias_partials: Array2D[f32],
    items: Const[int] = 1,
) -> None:
    """`weight_partials[p, c] = Σ dy[n, c, s] x̂[n, c, s]`, `bias_partials[p, c] = Σ dy[n, c, s]`.

    The sums are over part p of the samples and values; dy = grad_output, x̂ = (x - mean) rstd.

    Shapes: grad_output and x [N, C, S], mean and rstd [1 or N, G], partials [P, C]. A workgroup
    computes one sum: its invocations along x go through a plane, `items` values at once, those
    along y each through every so-manieth sample of all workgroups. Launch over (C, samples' parts,
    planes' parts) workgroups, P being the product of the latter. O(N·C·S), everything read once.
    After the reduction in RUMUS's `batch_norm_backward_kernel`, which has a single workgroup for
    each channel.
    """
    c, part, chunk = pw.workgroup_id.x, pw.workgroup_id.y, pw.workgroup_id.z
    chunks = pw.num_workgroups.z
    size, width = x.shape[2], pw.workgroup_size.x
    group = c // (x.shape[1] // mean.shape[1])
    sums = pw.vec2f(0.0)
    for n in range(pw.global_id.y, x.shape[0], pw.workgroup_size.y * pw.num_workgroups.y):
        m = n if mean.shape[0] > 1 else 0
        mu, r = mean[m, group], rstd[m, group]
        for first in range(chunk * items * width + pw.local_id.x, size, chunks * items * width):
            for k in pw.static_range(items):
                if first + k * width < size:
                    grad = f32(grad_output[n, c, first + k * width])
                    normal = (f32(x[n, c, first + k * width]) - mu) * r
                    sums += pw.vec2f(grad * normal, grad)
    total = pw.workgroup_sum(sums)
    if pw.local_index == 0:
        weight_partials[part * chunks + chunk, c] = total.x
        bias_partials[part * chunks + chunk, c] = total.y

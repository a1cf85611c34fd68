"""Launch shapes: how many invocations run, and the workgroups that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pywgsl.errors import LaunchError

Triple = tuple[int, int, int]

_MAX_INVOCATIONS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Groups:
    """A launch counted in workgroups; made by `pw.groups`."""

    counts: Triple

    def __repr__(self) -> str:
        return f"groups{_trimmed(self.counts)}"


def groups(x: int, y: int = 1, z: int = 1) -> Groups:
    """Return a launch shape counted in workgroups along x, y, z: `kernel[pw.groups(rows)](…)`.

    Raises:
        LaunchError: a count is not an int, or negative.
    """
    return Groups(_counts((x, y, z), "groups"))


def read_shape(kernel: str, shape: Any) -> Triple | Groups:
    """Return what stands in the brackets of `kernel[…]`: numbers of invocations, or of workgroups.

    Raises:
        LaunchError: it is neither.
    """
    if isinstance(shape, Groups):
        return shape
    if isinstance(shape, tuple) and any(isinstance(n, Groups) for n in shape):
        raise LaunchError(f"{kernel}[…]: write `groups(x, y)` for workgroups along two axes")
    lengths = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if not 1 <= len(lengths) <= 3:
        raise LaunchError(
            f"{kernel}[…] takes one to three numbers of invocations, but got {len(lengths)}"
        )
    return _counts((*lengths, 1, 1)[:3], f"{kernel}[…]")


def invocations(kernel: str, shape: Triple | Groups, workgroup: Triple, *, whole: bool) -> Triple:
    """Return how many invocations a launch has along each axis.

    Args:
        kernel: the kernel's name, for messages.
        shape: what the caller asked for.
        workgroup: the size of a workgroup.
        whole: only whole workgroups can run.

    Raises:
        LaunchError: more than ids can count, or parts of workgroups where only whole ones can run.
    """
    if isinstance(shape, Groups):
        found = _times(shape.counts, workgroup)
    else:
        found = shape
        if whole and any(n % size for n, size in zip(found, workgroup, strict=True)):
            raise LaunchError(
                f"{kernel}: its invocations work together in workgroups of {_trimmed(workgroup)}, "
                f"so the shape {_trimmed(found)} must be a multiple of that; round it up, or count "
                f"workgroups with `{kernel}[pw.groups(…)]`"
            )
    if max(found) > _MAX_INVOCATIONS:
        raise LaunchError(
            f"{kernel}: {max(found)} invocations along an axis, but ids are i32 and end at "
            f"{_MAX_INVOCATIONS}"
        )
    return found


def _counts(lengths: tuple[Any, ...], where: str) -> Triple:
    counts = []
    for length in lengths:
        if isinstance(length, bool) or not isinstance(length, int | np.integer):
            hint = f"; write `{int(length)}`" if _is_whole(length) else ""
            raise LaunchError(
                f"{where} takes integers, but got {length!r} ({type(length).__name__}){hint}"
            )
        count = int(length)
        if count < 0:
            raise LaunchError(f"{where} takes counts from 0, but got {count}")
        counts.append(count)
    return counts[0], counts[1], counts[2]


def _is_whole(length: Any) -> bool:
    return isinstance(length, float) and length.is_integer()


def _times(counts: Triple, sizes: Triple) -> Triple:
    return counts[0] * sizes[0], counts[1] * sizes[1], counts[2] * sizes[2]


def _trimmed(counts: Triple) -> str:
    """Return the counts as an author writes them: `(64)`, `(8, 8)`."""
    used = 3 if counts[2] != 1 else 2 if counts[1] != 1 else 1
    return f"({', '.join(map(str, counts[:used]))})"

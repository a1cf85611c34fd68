"""What the invocations of a workgroup compute together, for all workgroups of a block at once.

Sums are rounded as portable WGSL rounds them: values half a workgroup apart are added, then the
sums a quarter apart, until one is left; in a scan each invocation adds those 1, 2, 4, … before it.
f16 is added up in f32. If one value is nan, so are the largest and the smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pywgsl.runtime.ids import Ids

_SHORT = 8


def workgroup_sum(ids: Ids, value: Any, over: str, depth: int = 0) -> Any:
    """The sum over each workgroup."""
    lanes = by_lane(ids, value, depth)
    total = joined(np.add, _wide(lanes)).astype(lanes.dtype)
    return _of_groups(ids, total, over, depth)


def workgroup_max(ids: Ids, value: Any, over: str, depth: int = 0) -> Any:
    """The largest of each workgroup."""
    return _of_groups(ids, by_lane(ids, value, depth).max(axis=0), over, depth)


def workgroup_min(ids: Ids, value: Any, over: str, depth: int = 0) -> Any:
    """The smallest of each workgroup."""
    return _of_groups(ids, by_lane(ids, value, depth).min(axis=0), over, depth)


def workgroup_any(ids: Ids, value: Any, over: str) -> Any:
    """Whether it holds in some invocation of each workgroup."""
    return _of_groups(ids, by_lane(ids, value, 0).any(axis=0), over, 0)


def workgroup_all(ids: Ids, value: Any, over: str) -> Any:
    """Whether it holds in every invocation of each workgroup."""
    return _of_groups(ids, by_lane(ids, value, 0).all(axis=0), over, 0)


def workgroup_broadcast(ids: Ids, value: Any, source: Any, over: str, depth: int = 0) -> Any:
    """The value of the invocation with that local index; zero if there is none."""
    lanes, sources = by_lane(ids, value, depth), by_lane(ids, source, 0)[:1]
    return _of_groups(ids, picked(lanes, sources, depth)[0], over, depth)


def workgroup_inclusive_scan(ids: Ids, value: Any, over: str, depth: int = 0) -> Any:
    """The sum over the invocations of the workgroup up to each."""
    lanes = by_lane(ids, value, depth)
    return by_place(ids, _scanned(_wide(lanes)).astype(lanes.dtype), over, depth)


def workgroup_exclusive_scan(ids: Ids, value: Any, over: str, depth: int = 0) -> Any:
    """The sum over the invocations of the workgroup before each."""
    lanes = by_lane(ids, value, depth)
    before = np.zeros_like(lanes)
    before[1:] = _scanned(_wide(lanes))[:-1]
    return by_place(ids, before, over, depth)


# ------------------------------------------------------------------ lanes as the first axis


def by_lane(ids: Ids, value: Any, depth: int) -> Any:
    """A value with the invocations of a workgroup, by local index, along its first axis.

    The axes along which workgroups lie follow, then those of components.
    """
    rank, local = len(ids.counts), ids.local_axes
    full = list(np.shape(value))
    full = [1] * (rank + depth - len(full)) + full
    value = np.reshape(value, full)
    for axis in local:
        full[axis] = ids.counts[axis]
    order = [*local, *(k for k in range(rank + depth) if k not in local)]
    value = np.broadcast_to(value, full).transpose(order)
    return value if len(local) == 1 else value.reshape(-1, *value.shape[len(local) :])


def by_place(ids: Ids, lanes: Any, over: str, depth: int) -> Any:
    """What `by_lane` gave, with the axes of the block's arrays again."""
    local = ids.local_axes
    value = lanes.reshape(*(ids.counts[axis] for axis in local), *lanes.shape[1:])
    value = np.moveaxis(value, range(len(local)), local)
    return _trimmed(ids, value, over, depth)


def _of_groups(ids: Ids, groups: Any, over: str, depth: int) -> Any:
    """A value for each workgroup, with the axes of the block's arrays again."""
    value = np.expand_dims(groups, ids.local_axes)
    return _trimmed(ids, value, over, depth)


def _trimmed(ids: Ids, value: Any, over: str, depth: int) -> Any:
    """A value that differs along `over`, without the axes before these."""
    first = value.ndim - depth - len(ids.over(over))
    return value.reshape(value.shape[first:])[()]


def joined(join: Callable[[Any, Any], Any], lanes: Any) -> Any:
    """The values along the first axis as one: those that lie half the axis apart are joined."""
    count = len(lanes)
    reach = 1 << (count - 1).bit_length() >> 1
    if 0 < reach < count < 2 * reach:
        head = lanes[:reach].copy()
        head[: count - reach] = join(head[: count - reach], lanes[reach:])
        lanes, reach = head, reach >> 1
    while reach:
        if reach == _SHORT:
            # Where lanes are the fastest axis, NumPy would go through few at a time.
            lanes = np.ascontiguousarray(lanes)
        lanes = join(lanes[:reach], lanes[reach:])
        reach >>= 1
    return lanes[0]


def picked(lanes: Any, sources: Any, depth: int) -> Any:
    """For each source along the first axis, the value of that lane; zero if there is none."""
    valid = (sources >= 0) & (sources < len(lanes))
    where = np.where(valid, sources, 0)
    shape = np.broadcast_shapes(where.shape[1:], lanes.shape[1 : lanes.ndim - depth])
    lanes = np.broadcast_to(lanes, (len(lanes), *shape, *lanes.shape[lanes.ndim - depth :]))
    where, valid = (np.broadcast_to(a, (len(a), *shape)) for a in (where, valid))
    mesh = np.ogrid[tuple(map(slice, shape))] if shape else ()
    found = lanes[(where, *mesh)]
    found[~valid] = 0
    return found


def _scanned(lanes: Any) -> Any:
    if lanes.dtype.kind in "iu":
        return np.cumsum(lanes, axis=0, dtype=lanes.dtype)
    reach = 1
    while reach < len(lanes):
        total = lanes.copy()
        total[reach:] = lanes[:-reach] + lanes[reach:]
        lanes, reach = total, reach * 2
    return lanes


def _wide(lanes: Any) -> Any:
    return lanes.astype(np.float32) if lanes.dtype == np.float16 else lanes

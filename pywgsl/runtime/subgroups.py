"""What the invocations of a subgroup compute together: those that are active in the mask.

Subgroups are `pywgsl.runtime.ids.SUBGROUP_SIZE` invocations in the order of their local index,
fewer if the workgroup has fewer. Sums are rounded as `pywgsl.runtime.collectives` says, in the
values' own type. A value asked of an invocation that the subgroup does not have is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pywgsl.runtime.access import Mask, expanded
from pywgsl.runtime.collectives import by_lane, by_place, joined, picked
from pywgsl.runtime.ids import Ids


def subgroup_add(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The sum over each subgroup."""
    return _reduced(np.add, _minus_zero, ids, mask, value, over, depth)


def subgroup_mul(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The product over each subgroup."""
    return _reduced(np.multiply, _one, ids, mask, value, over, depth)


def subgroup_max(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The largest of each subgroup."""
    return _reduced(np.maximum, _smallest, ids, mask, value, over, depth)


def subgroup_min(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The smallest of each subgroup."""
    return _reduced(np.minimum, _largest, ids, mask, value, over, depth)


def subgroup_and(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The bitwise and over each subgroup."""
    return _reduced(np.bitwise_and, _all_bits, ids, mask, value, over, depth)


def subgroup_or(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The bitwise or over each subgroup."""
    return _reduced(np.bitwise_or, _minus_zero, ids, mask, value, over, depth)


def subgroup_xor(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The bitwise xor over each subgroup."""
    return _reduced(np.bitwise_xor, _minus_zero, ids, mask, value, over, depth)


def subgroup_any(ids: Ids, mask: Mask, value: Any, over: str) -> Any:
    """Whether it holds somewhere in each subgroup."""
    return _reduced(np.logical_or, _no, ids, mask, value, over, 0)


def subgroup_all(ids: Ids, mask: Mask, value: Any, over: str) -> Any:
    """Whether it holds in all of each subgroup."""
    return _reduced(np.logical_and, _yes, ids, mask, value, over, 0)


def subgroup_inclusive_add(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The sum over the subgroup's invocations up to each."""
    parts = _filled(_minus_zero, ids, mask, value, depth)
    return _by_place(ids, np.cumsum(parts, axis=0, dtype=parts.dtype), over, depth)


def subgroup_exclusive_add(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The sum over the subgroup's invocations before each."""
    parts = _filled(_minus_zero, ids, mask, value, depth)
    before = np.zeros_like(parts)
    before[1:] = np.cumsum(parts[:-1], axis=0, dtype=parts.dtype)
    return _by_place(ids, before, over, depth)


def subgroup_elect(ids: Ids, mask: Mask, over: str) -> Any:
    """Whether this is the first active invocation of its subgroup."""
    return _by_place(ids, _places(ids) == _first(ids, mask), over, 0)


def subgroup_broadcast(
    ids: Ids, mask: Mask, value: Any, source: Any, over: str, depth: int = 0
) -> Any:
    """The value of one invocation of the subgroup."""
    return subgroup_shuffle(ids, mask, value, source, over, depth)


def subgroup_broadcast_first(ids: Ids, mask: Mask, value: Any, over: str, depth: int = 0) -> Any:
    """The value of the first active invocation of the subgroup."""
    parts = _by_subgroup(ids, value, depth)
    return _by_place(ids, picked(parts, _first(ids, mask), depth), over, depth)


def subgroup_shuffle(
    ids: Ids, mask: Mask, value: Any, source: Any, over: str, depth: int = 0
) -> Any:
    """The value of an invocation of the subgroup, another one for each."""
    del mask
    return _shuffled(ids, value, _by_subgroup(ids, source, 0), over, depth)


def subgroup_shuffle_xor(
    ids: Ids, mask: Mask, value: Any, bits: Any, over: str, depth: int = 0
) -> Any:
    """The value of the invocation at the own place ^ `bits`."""
    del mask
    return _shuffled(ids, value, _places(ids) ^ _by_subgroup(ids, bits, 0), over, depth)


def subgroup_shuffle_up(
    ids: Ids, mask: Mask, value: Any, delta: Any, over: str, depth: int = 0
) -> Any:
    """The value of the invocation `delta` places before."""
    del mask
    return _shuffled(ids, value, _places(ids) - _by_subgroup(ids, delta, 0), over, depth)


def subgroup_shuffle_down(
    ids: Ids, mask: Mask, value: Any, delta: Any, over: str, depth: int = 0
) -> Any:
    """The value of the invocation `delta` places after."""
    del mask
    return _shuffled(ids, value, _places(ids) + _by_subgroup(ids, delta, 0), over, depth)


# ----------------------------------------------- what changes nothing, in values of a dtype


def _minus_zero(dtype: np.dtype[Any]) -> Any:
    return dtype.type(-0.0)


def _one(dtype: np.dtype[Any]) -> Any:
    return dtype.type(1)


def _smallest(dtype: np.dtype[Any]) -> Any:
    return dtype.type(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min)


def _largest(dtype: np.dtype[Any]) -> Any:
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


def _all_bits(dtype: np.dtype[Any]) -> Any:
    return ~dtype.type(0)


def _no(dtype: np.dtype[Any]) -> Any:
    return dtype.type(False)


def _yes(dtype: np.dtype[Any]) -> Any:
    return dtype.type(True)


# ------------------------------------------ the invocations of a subgroup as the first axis


def _by_subgroup(ids: Ids, value: Any, depth: int) -> Any:
    """A value by its place in the subgroup, then by subgroup; what the last one lacks is zero."""
    lanes = by_lane(ids, value, depth)
    size = int(ids.subgroup_size)
    missing = -len(lanes) % size
    if missing:
        lanes = np.concatenate([lanes, np.zeros((missing, *lanes.shape[1:]), lanes.dtype)])
    return np.swapaxes(lanes.reshape(-1, size, *lanes.shape[1:]), 0, 1)


def _by_place(ids: Ids, parts: Any, over: str, depth: int) -> Any:
    """What `_by_subgroup` gave, with the axes of the block's arrays again."""
    lanes = np.swapaxes(parts, 0, 1)
    lanes = lanes.reshape(-1, *lanes.shape[2:])
    count = int(np.prod([ids.counts[axis] for axis in ids.local_axes], dtype=int))
    return by_place(ids, lanes[:count], over, depth)


def _places(ids: Ids) -> Any:
    """The place in the subgroup of each invocation."""
    places = np.arange(int(ids.subgroup_size), dtype=np.int32)
    shape = _by_subgroup(ids, np.int32(0), 0).shape
    return np.broadcast_to(places.reshape(-1, *(1,) * (len(shape) - 1)), shape)


def _first(ids: Ids, mask: Mask) -> Any:
    """The place of the first active invocation of each subgroup, for each invocation."""
    active = _by_subgroup(ids, np.asarray(mask), 0)
    first = np.argmax(active, axis=0).astype(np.int32)
    return np.broadcast_to(first, active.shape)


def _filled(
    neutral: Callable[[np.dtype[Any]], Any], ids: Ids, mask: Mask, value: Any, depth: int
) -> Any:
    """A value by subgroup, with what changes nothing where an invocation is not active."""
    active = _by_subgroup(ids, np.asarray(mask), 0)
    parts = _by_subgroup(ids, value, depth)
    return np.where(expanded(active, depth), parts, neutral(parts.dtype))


def _reduced(
    join: np.ufunc,
    neutral: Callable[[np.dtype[Any]], Any],
    ids: Ids,
    mask: Mask,
    value: Any,
    over: str,
    depth: int,
) -> Any:
    parts = _filled(neutral, ids, mask, value, depth)
    return _by_place(ids, np.broadcast_to(joined(join, parts), parts.shape), over, depth)


def _shuffled(ids: Ids, value: Any, sources: Any, over: str, depth: int) -> Any:
    return _by_place(ids, picked(_by_subgroup(ids, value, depth), sources, depth), over, depth)

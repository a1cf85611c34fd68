"""What generated NumPy programs call: masks, composites, and what only NumPy does.

A lane is one invocation of the block that runs. Values are arrays over the axes of the launch
that they depend on, slowest axis first (z, y, x), and broadcasting does the rest: a value that
depends on x alone has the shape (X,), one that depends on y alone (Y, 1), a uniform one is a NumPy
scalar. Components of vectors, matrices and arrays come after these axes; "depth" is their number.

A mask says which lanes take part: True for all, False for none, or an array of bool.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pywgsl import numerics
from pywgsl.runtime.access import Mask, expanded
from pywgsl.runtime.affine import Affine, Shape, runs
from pywgsl.runtime.ids import Ids


def as_lanes(value: Any, dtype: Any) -> Any:
    """The numbers of an index that may be an `Affine`."""
    return value.lanes.view(dtype) if isinstance(value, Affine) else value


# --------------------------------------------------------------------------------- masks


def narrowed(mask: Mask, test: Any) -> Mask:
    """The lanes of `mask` for which `test` holds."""
    if mask is False:
        return False
    active = test if mask is True else mask & test
    count = np.count_nonzero(active)
    if count == 0:
        return False
    return True if count == np.size(active) else active


def without(mask: Mask, gone: Mask) -> Mask:
    """The lanes of `mask` that are not in `gone`."""
    if gone is True or gone is False:
        return mask if gone is False else False
    return narrowed(mask, ~gone)


def merge(mask: Mask, new: Any, old: Any, depth: int = 0) -> Any:
    """`new` in the lanes of `mask`, else `old` (None: it does not matter)."""
    if mask is True or old is None:
        return new
    if mask is False:
        return old
    if not depth and np.size(new) >= _MANY * mask.size:
        patched = _patched(mask, new, old)
        if patched is not None:
            return patched
    return numerics.where(expanded(mask, depth), new, old)


# A mask along one axis that leaves out a few runs of lanes, as conditions at a border do.
_MANY, _FEW = 64, 4


def _patched(mask: Mask, new: Any, old: Any) -> Any:
    """`new` with a few runs of lanes of `old`, or None if the mask leaves out more."""
    if mask.shape[0] != mask.size:
        return None
    missing = runs(~mask.ravel())
    if len(missing) > _FEW:
        return None
    shape = np.broadcast_shapes(np.shape(new), np.shape(old), mask.shape)
    result, old = np.array(np.broadcast_to(new, shape)), np.broadcast_to(old, shape)
    across = (slice(None),) * (mask.ndim - 1)
    for first, end in missing:
        lanes = (..., slice(first, end), *across)
        result[lanes] = old[lanes]
    return result


# ---------------------------------------------------------------------------------- loops


def trips(start: Any, stop: Any, step: Any) -> range:
    """Python's `range`, but empty where the step is 0."""
    return range(int(start), int(stop), int(step)) if step else range(0)


def trip_count(start: Any, stop: Any, step: Any) -> Any:
    """How many trips `range(start, stop, step)` makes, in each lane."""
    start, stop, step = (np.asarray(bound, np.int64) for bound in (start, stop, step))
    distance = np.where(step > 0, stop - start, start - stop)
    size = np.maximum(np.abs(step), 1)
    return np.where(step == 0, 0, np.maximum((distance + size - 1) // size, 0))


# ----------------------------------------------------------------------------- composites


def stacked(*parts: Any, depth: int = 0) -> Any:
    """A vector of its components, or (depth 1) a matrix of its columns, and so on."""
    parts = np.broadcast_arrays(*parts)
    return np.stack(parts, axis=np.ndim(parts[0]) - depth)


def components(vector: Any) -> Iterator[Any]:
    """The components of a vector, one after the other."""
    return (vector[..., k] for k in range(vector.shape[-1]))


def splat(value: Any, width: int) -> Any:
    """A vector of equal components."""
    return np.broadcast_to(value[..., None], (*np.shape(value), width))


def record(dtype: np.dtype[Any], *members: Any) -> Any:
    """A struct of its members."""
    assert dtype.names is not None
    shapes = [
        np.shape(member)[: np.ndim(member) - dtype[name].ndim]
        for name, member in zip(dtype.names, members, strict=True)
    ]
    result = np.empty(np.broadcast_shapes(*shapes), dtype)
    for name, member in zip(dtype.names, members, strict=True):
        result[name] = member
    return result


def own(value: Any, shape: Shape, depth: int) -> Any:
    """A copy of a composite with a place for every lane, so that parts of it can be stored."""
    inner = np.shape(value)[np.ndim(value) - depth :]
    return np.array(np.broadcast_to(value, shape + inner))


def pick(value: Any, depth: int, *indices: Any) -> Any:
    """The part of a composite at these indices, or zero where they are out of range."""
    key, valid = _component_key(value, depth, indices)
    if valid is False:
        return np.zeros_like(value[key])[()]
    part = value[key]
    if valid is True:
        return part
    return numerics.where(expanded(valid, depth - len(indices)), part, np.zeros((), part.dtype)[()])


def put(value: Any, depth: int, indices: tuple[Any, ...], new: Any, mask: Mask = True) -> None:
    """Store into the part of a composite at these indices, in the lanes of `mask`."""
    key, valid = _component_key(value, depth, indices)
    active = narrowed(mask, valid) if valid is not False else False
    if active is False:
        return
    inner = depth - len(indices)
    if not any(np.ndim(index) for index in indices):
        if active is True:
            value[key] = new
        else:
            np.copyto(value[key], new, where=expanded(active, inner))
        return
    lanes = value.shape[: value.ndim - depth]
    chosen = np.broadcast_to(active, lanes)
    where = tuple(np.broadcast_to(k, lanes)[chosen] for k in key)
    value[where] = np.broadcast_to(new, lanes + value.shape[value.ndim - inner :])[chosen]


def _component_key(value: Any, depth: int, indices: tuple[Any, ...]) -> tuple[Any, Any]:
    """What to index a composite with, in range, and which lanes meant it."""
    valid: Any = True
    safe = []
    first = value.ndim - depth
    for index, length in zip(indices, value.shape[first:], strict=False):
        inside = (index >= 0) & (index < length)
        valid = inside if valid is True else valid & inside
        safe.append(np.where(inside, index, 0)[()])
    count = np.count_nonzero(valid)
    settled = True if count == np.size(valid) else valid if count else False
    if not any(np.ndim(index) for index in indices):
        return (..., *safe, *(slice(None),) * (depth - len(indices))), settled
    # An open mesh over the lanes makes the indices pick one part in each lane.
    mesh = [np.arange(value.shape[k]).reshape((-1,) + (1,) * (first - 1 - k)) for k in range(first)]
    return (*mesh, *safe), settled


# ----------------------------------------------------------------- what only NumPy does


def check(ids: Ids, mask: Mask, test: Any, message: str) -> None:
    """Raise for the first active lane in which `test` does not hold."""
    for _, invocation in ids.invocations(narrowed(mask, ~test)):
        raise AssertionError(f"{message} (in invocation {invocation})")


def show(ids: Ids, mask: Mask, *parts: Any, end: str = "\n") -> None:
    """Print for each active lane, in the order of their ids. Parts are text or (depth, value)."""
    spread = [
        part if isinstance(part, str) else own(part[1], ids.counts, part[0]) for part in parts
    ]
    for position, _ in ids.invocations(mask):
        texts = [part if isinstance(part, str) else str(part[position]) for part in spread]
        print(*texts, end=end)

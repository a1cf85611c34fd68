"""Reading and writing memory from all lanes at once: by slices where indices grow evenly.

An index is an `Affine` (a slice), an integer (the same in all lanes) or an array over lanes. Out of
range, a load gives zero and a store is dropped.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pywgsl.runtime.affine import INT_MAX, INT_MIN, Affine, Box, Index, Shape, lanes_in_range

_ONE_BY_ONE = (1,)

Mask: TypeAlias = Any


def expanded(mask: Mask, depth: int) -> Mask:
    """A mask over lanes for values that have `depth` axes of components."""
    return mask[(..., *(None,) * depth)] if depth else mask


# ----------------------------------------------------------------------- slices and elements


def load(array: Any, *indices: Index) -> Any:
    """The element at indices that are even (`Affine`) or the same in all lanes."""
    view = _view(array, indices)
    counts = _counts(indices)
    if view is not None:
        return view.copy() if _is_scattered(view, counts) else view
    if counts is None:
        return _zeros(array, (), indices)[()]
    box = _box(array, indices, counts)
    if box is None:
        return gather(array, *indices)
    result = _zeros(array, _lane_shape(indices, counts), indices)
    if box.counts:
        inside = _view(array, box.indices(indices))
        box.part(result, array.ndim - len(indices))[...] = inside
    return result


def store(array: Any, indices: tuple[Index, ...], value: Any, mask: Mask = True) -> None:
    """Store to indices as in `load`; value and mask depend on no more axes than the indices."""
    depth = array.ndim - len(indices)
    counts = _counts(indices)
    view = _view(array, indices)
    if counts is None:
        if view is not None:
            array[indices] = value
        return
    if view is None:
        box = _box(array, indices, counts)
        if box is None:
            scatter(array, indices, value, mask)
            return
        if not box.counts:
            return
        view = _view(array, box.indices(indices))
        value = box.part(value, depth)
        mask = mask if mask is True else box.part(mask, 0)
    if mask is True:
        view[...] = value
    else:
        np.copyto(view, value, where=expanded(mask, depth))


def combine(
    function: np.ufunc, array: Any, indices: tuple[Index, ...], value: Any, mask: Mask = True
) -> None:
    """Store `function(element, value)` as `store` does, in place where it can be."""
    view = _view(array, indices)
    if view is None or _counts(indices) is None or np.ndim(value) > view.ndim:
        store(array, indices, function(load(array, *indices), value), mask)
    elif mask is True:
        function(view, value, out=view)
    else:
        function(view, value, out=view, where=expanded(mask, array.ndim - len(indices)))


def _is_scattered(view: Any, counts: Shape | None) -> bool:
    """Whether a small part of memory, spread over many lanes, is worth bringing together.

    NumPy joins axes only if they are so in all operands, and short ones make it slow.
    """
    return counts is not None and len(counts) > 2 and 16 * view.size <= math.prod(counts)


def _view(array: Any, indices: tuple[Index, ...]) -> Any:
    """The elements, as a view if some index is even; None if one is out of range."""
    index = indices[0]
    if len(indices) == 1 and type(index) is Affine and index.steps == _ONE_BY_ONE:
        first, end = index.start, index.high + 1
        return array[first:end] if first >= 0 and end <= array.shape[0] else None
    offset = 0
    strides: list[int] = []
    counts: Shape = ()
    for index, length, stride in zip(indices, array.shape, array.strides, strict=False):
        if type(index) is Affine:
            if index.low < 0 or index.high >= length:
                return None
            counts = index.counts
            strides = strides or [0] * len(counts)
            for axis, step in index.moves:
                strides[axis] += step * stride
            offset += index.start * stride
        elif 0 <= index < length:
            offset += int(index) * stride
        else:
            return None
    if not strides:
        return array[indices]
    skip = 0
    while skip < len(strides) - 1 and not strides[skip]:
        skip += 1
    inner = len(indices)
    shape = [c if s else 1 for c, s in zip(counts[skip:], strides[skip:], strict=True)]
    shape += array.shape[inner:]
    strides = strides[skip:] + list(array.strides[inner:])
    if array.flags.c_contiguous:
        return np.ndarray(shape, array.dtype, array, offset, strides)
    corner = tuple(slice(i.start if type(i) is Affine else i, None) for i in indices)
    return as_strided(array[corner], shape, strides)


def _counts(indices: tuple[Index, ...]) -> Shape | None:
    """How many lanes there are along each axis, or None if all indices are uniform."""
    return next((index.counts for index in indices if type(index) is Affine), None)


def _lane_shape(indices: tuple[Index, ...], counts: Shape) -> Shape:
    """The shape, without components, of what even indices select."""
    even = [index.steps for index in indices if type(index) is Affine]
    used = [any(steps[axis] for steps in even) for axis in range(len(counts))]
    first = used.index(True) if True in used else len(counts) - 1
    return tuple(c if u else 1 for c, u in zip(counts[first:], used[first:], strict=True))


def _zeros(array: Any, lanes: Shape, indices: tuple[Index, ...]) -> Any:
    return np.zeros(lanes + array.shape[len(indices) :], array.dtype)


_EMPTY = Box((), ())


def _box(array: Any, indices: tuple[Index, ...], counts: Shape) -> Box | None:
    """The lanes that are in range; None if they are no box."""
    firsts, ends = [0] * len(counts), list(counts)
    for index, length in zip(indices, array.shape, strict=False):
        if type(index) is not Affine:
            if not 0 <= index < length:
                return _EMPTY
        elif index.low < 0 or index.high >= length:
            axes = [axis for axis, step in enumerate(index.steps) if step]
            if len(axes) != 1 or index.low < INT_MIN or index.high > INT_MAX:
                return None
            (axis,) = axes
            first, end = lanes_in_range(index.start, index.steps[axis], length)
            firsts[axis] = max(firsts[axis], first)
            ends[axis] = min(ends[axis], end)
    if any(first >= end for first, end in zip(firsts, ends, strict=True)):
        return _EMPTY
    return Box(tuple(firsts), tuple(e - f for f, e in zip(firsts, ends, strict=True)))


# ----------------------------------------------------------------------------- any indices


def gather(array: Any, *indices: Index) -> Any:
    """The element at any indices."""
    key = positions(indices)
    valid = in_range(key, array.shape)
    if valid is True:
        return array[key] if len(key) > 1 else array.take(key[0], axis=0)
    if not array.size:
        return _zeros(array, np.broadcast_shapes(*map(np.shape, key)), indices)
    safe = tuple(np.where(valid, position, 0) for position in key)
    result = np.asarray(array[safe])
    result[~np.broadcast_to(valid, result.shape[: result.ndim - array.ndim + len(key)])] = 0
    return result


def scatter(array: Any, indices: tuple[Index, ...], value: Any, mask: Mask = True) -> None:
    """Store to any indices. Of lanes that store to one element the last one wins."""
    key = positions(indices)
    valid = in_range(key, array.shape)
    active = mask if valid is True else valid if mask is True else mask & valid
    depth = array.ndim - len(key)
    lanes = np.shape(value)[: np.ndim(value) - depth]
    shape = np.broadcast_shapes(*map(np.shape, key), np.shape(active), lanes)
    value = np.broadcast_to(value, shape + array.shape[len(key) :])
    key = tuple(np.broadcast_to(position, shape) for position in key)
    if active is not True:
        chosen = np.broadcast_to(active, shape)
        key, value = tuple(position[chosen] for position in key), value[chosen]
    array[key] = value


def positions(indices: tuple[Index, ...]) -> tuple[Any, ...]:
    """Indices as numbers or arrays of numbers."""
    return tuple([index.lanes if type(index) is Affine else index for index in indices])


def in_range(key: tuple[Any, ...], lengths: Shape) -> Any:
    """Which lanes have all indices in range; True if all have."""
    valid: Any = True
    for position, length in zip(key, lengths, strict=False):
        inside = (position >= 0) & (position < length)
        if not np.all(inside):
            valid = inside if valid is True else valid & inside
    return valid

"""Atomic operations of all lanes of a block: one lane after the other, x fastest.

An element is found by indices as in `pywgsl.runtime.access`; lanes whose indices are out of range
do nothing and find 0. `lanes` is the shape of all lanes that work on a memory, also where they all
do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pywgsl.runtime.access import Mask, in_range, positions
from pywgsl.runtime.affine import Index, Shape


def update(
    function: np.ufunc,
    array: Any,
    indices: tuple[Index, ...],
    value: Any,
    lanes: Shape,
    mask: Mask = True,
) -> None:
    """Replace elements by `function(element, value)`."""
    if mask is True and array.dtype.kind != "f":
        value, lanes = _reduced(function, positions(indices), value, lanes)
    targets = _targets(array, indices, lanes, mask)
    # `ufunc.at` is many times faster where the operand is an array, not a number.
    operands = np.ascontiguousarray(targets.chosen(value))
    function.at(targets.memory, targets.elements, operands)
    targets.write_back(array)


def _reduced(
    function: np.ufunc, key: tuple[Any, ...], value: Any, lanes: Shape
) -> tuple[Any, Shape]:
    """The operands for each element, of lanes that differ only along axes that indices do not."""
    spread = np.broadcast_shapes((1,) * len(lanes), *map(np.shape, key))
    shared = tuple(k for k, (n, m) in enumerate(zip(lanes, spread, strict=True)) if n != m)
    if not shared:
        return value, lanes
    join = np.add if function is np.subtract else function
    value = np.broadcast_to(value, lanes)
    value = join.reduce(value, axis=shared, keepdims=True, dtype=value.dtype)
    return value, value.shape


def fetch(
    function: np.ufunc,
    array: Any,
    indices: tuple[Index, ...],
    value: Any,
    lanes: Shape,
    mask: Mask = True,
) -> Any:
    """As `update`; return what each lane found."""

    def one_after_the_other(old: Any, operands: Any) -> Any:
        states = np.concatenate([[old], operands])
        return function.accumulate(states, dtype=states.dtype)

    return _fetched(function, one_after_the_other, array, indices, (value,), lanes, mask)


def exchange(
    array: Any, indices: tuple[Index, ...], value: Any, lanes: Shape, mask: Mask = True
) -> Any:
    """Replace elements by `value`; return what each lane found."""

    def one_after_the_other(old: Any, new: Any) -> Any:
        return np.concatenate([[old], new])

    return _fetched(_second, one_after_the_other, array, indices, (value,), lanes, mask)


def compare_exchange(
    array: Any,
    indices: tuple[Index, ...],
    expected: Any,
    new: Any,
    lanes: Shape,
    mask: Mask = True,
) -> Any:
    """Replace elements that are `expected`, bit for bit, by `new`; return what each lane found."""
    if array.dtype.kind == "f":
        memory, expected, new = (value.view(np.uint32) for value in (array, expected, new))
        found = compare_exchange(memory, indices, expected, new, lanes, mask)
        return found.view(array.dtype)

    def one_after_the_other(old: Any, expected: Any, new: Any) -> Any:
        found = [old]
        for wanted, replacement in zip(expected, new, strict=True):
            found.append(replacement if _same(found[-1], wanted) else found[-1])
        return np.array(found, new.dtype)

    return _fetched(_replaced, one_after_the_other, array, indices, (expected, new), lanes, mask)


def _second(old: Any, new: Any) -> Any:
    del old
    return new


def _replaced(old: Any, expected: Any, new: Any) -> Any:
    return np.where(_same(old, expected), new, old)


def _same(old: Any, expected: Any) -> Any:
    """Whether the bits are the same: also of a nan, but not of both zeros."""
    return old.view(np.uint32) == expected.view(np.uint32)


# ------------------------------------------------------------------------------ the lanes


class _Targets(NamedTuple):
    """The lanes that take part, in order, and the elements that they mean.

    Attributes:
        lanes: the shape of all lanes.
        active: which of them take part; True if all do.
        memory: all elements, as one axis.
        elements: the place in `memory` for each lane that takes part.
    """

    lanes: Shape
    active: Any
    memory: Any
    elements: Any

    def chosen(self, value: Any) -> Any:
        """A value in the lanes that take part."""
        spread = np.broadcast_to(value, self.lanes)
        return spread.ravel() if self.active is True else spread[self.active]

    def write_back(self, array: Any) -> None:
        """Store what was changed, if `memory` is a copy."""
        if not np.shares_memory(self.memory, array):
            array[...] = self.memory.reshape(array.shape)


def _targets(array: Any, indices: tuple[Index, ...], lanes: Shape, mask: Mask) -> _Targets:
    key = positions(indices)
    valid = in_range(key, array.shape)
    active = mask if valid is True else valid if mask is True else valid & mask
    if active is not True:
        active = np.broadcast_to(active, lanes)
    element: Any = np.int64(0)
    for position, length in zip(key, array.shape, strict=True):
        element = element * length + position
    targets = _Targets(lanes, active, array.reshape(-1), None)
    return targets._replace(elements=targets.chosen(element))


def _fetched(
    step: Callable[..., Any],
    one_after_the_other: Callable[..., Any],
    array: Any,
    indices: tuple[Index, ...],
    values: tuple[Any, ...],
    lanes: Shape,
    mask: Mask,
) -> Any:
    """Apply `step(old, *values)` lane by lane; return what each lane found.

    Lanes that mean different elements can go at once. Either those that are the n-th to
    their element are taken together, for each n, or those of each element one after the other, in
    whatever takes fewer steps.
    """
    targets = _targets(array, indices, lanes, mask)
    memory, elements = targets.memory, targets.elements
    operands = [targets.chosen(value) for value in values]
    found = np.zeros(len(elements), array.dtype)
    order = np.argsort(elements, kind="stable")
    firsts = np.flatnonzero(np.diff(elements[order], prepend=-1))
    sizes = np.diff(firsts, append=len(order))
    if len(firsts) < sizes.max(initial=0):
        for group in np.split(order, firsts[1:]):
            element = elements[group[0]]
            states = one_after_the_other(memory[element], *(v[group] for v in operands))
            found[group], memory[element] = states[:-1], states[-1]
    else:
        for n in range(sizes.max(initial=0)):
            group = order[firsts[sizes > n] + n]
            element = elements[group]
            found[group] = memory[element]
            memory[element] = step(found[group], *(v[group] for v in operands))
    targets.write_back(array)
    if targets.active is True:
        return found.reshape(lanes)
    result = np.zeros(lanes, array.dtype)
    result[targets.active] = found
    return result

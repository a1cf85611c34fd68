"""A kernel on NumPy: its generated program, compiled and run block by block."""

from __future__ import annotations

import itertools
import linecache
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pywgsl import ir
from pywgsl.analysis.axes import lane_axes
from pywgsl.codegen.to_numpy import to_numpy
from pywgsl.runtime.ids import Ids, Launch, Triple
from pywgsl.types import Scalar, scalar_of

#: Invocations a block: temporaries stay in the cache, NumPy's calls cost little beside the work.
BLOCK = 1 << 17
#: How many times as many where there is workgroup memory: much of what is done between barriers is
#: done by few invocations of each workgroup, so that calls cost more beside it.
_WITH_MEMORY = 4


class NumpyProgram:
    """A specialized kernel as a NumPy program."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._order = lane_axes(module).order

    @cached_property
    def source(self) -> str:
        """The program's text."""
        return to_numpy(self._module)

    def run(
        self,
        shape: Triple,
        arguments: Mapping[str, Any],
        groups: Triple | None = None,
    ) -> None:
        """Run the invocations of a launch in place.

        Args:
            shape: how many invocations along x, y and z.
            arguments: an ndarray for each buffer, a number or ndarray for each other parameter.
            groups: how many workgroups, for kernels that are launched by them.

        Raises:
            AssertionError: an `assert` in the kernel did not hold.
        """
        if groups is not None:
            sizes = zip(groups, self._module.workgroup_size, strict=True)
            x, y, z = (count * size for count, size in sizes)
            shape = (x, y, z)
        values = [self._prepared(p, arguments[p.name]) for p in self._module.parameters]
        kernel = self._function
        letters = self._order.letters[::-1]
        launch = Launch(letters, shape, self._module.workgroup_size)
        with np.errstate(all="ignore"):
            for block in _blocks(launch, self._order.grouped, self._room):
                counts = tuple([block.counts[letter] for letter in letters])
                kernel(Ids(launch, block.first, counts), *values)

    @property
    def _room(self) -> int:
        """How many invocations a block has room for."""
        spaces = {variable.space for variable in self._module.variables}
        return BLOCK * _WITH_MEMORY if ir.Space.WORKGROUP in spaces else BLOCK

    def _prepared(self, parameter: ir.Buffer | ir.Uniform, value: Any) -> Any:
        """Return an argument with the dtype that the program counts on."""
        if isinstance(parameter, ir.Buffer):
            return value
        scalar = scalar_of(parameter.type)
        if isinstance(parameter.type, Scalar):
            return parameter.type(value)
        return value if scalar is None else np.asarray(value, scalar.dtype)

    @cached_property
    def _function(self) -> Callable[..., None]:
        filename = f"<numpy {self._module.name} {zlib.crc32(self.source.encode()):08x}>"
        lines = self.source.splitlines(keepends=True)
        # Tracebacks show the generated source.
        linecache.cache[filename] = (len(self.source), None, lines, filename)
        namespace: dict[str, Any] = {}
        exec(compile(self.source, filename, "exec"), namespace)
        kernel: Callable[..., None] = next(reversed(namespace.values()))
        return kernel


class _Block(NamedTuple):
    """The first id of a block, and how many lanes it has along each axis, by its letter."""

    first: Triple
    counts: dict[str, int]


def _blocks(launch: Launch, grouped: bool, room: int) -> Iterator[_Block]:
    """Yield the blocks of a launch, x fastest.

    Along axes that the kernel does not tell apart a block has one invocation, or workgroup: what
    it does is done as often as the launch says.
    """
    spans = _spans_of_groups(launch, room) if grouped else _spans(launch, room)
    for z, y, x in itertools.product(*reversed(spans)):
        yield _Block((x[0], y[0], z[0]), x[1] | y[1] | z[1])


#: Where a part of an axis of the launch begins, and its lanes along the axes of arrays.
_Span = tuple[int, dict[str, int]]


def _spans(launch: Launch, room: int) -> list[list[_Span]]:
    """Parts of each axis of the launch: their lanes are as many as a block has room for."""
    spans: list[list[_Span]] = []
    for letter, length in zip("xyz", launch.shape, strict=True):
        count = min(length, room) if letter in launch.letters else 1
        room = max(room // max(count, 1), 1)
        starts = range(0, length, count) if length else ()
        spans.append([(first, {letter: min(count, length - first)}) for first in starts])
    return spans


def _spans_of_groups(launch: Launch, room: int) -> list[list[_Span]]:
    """The same in whole workgroups; what is left of a workgroup at the end is a part of its own."""
    spans: list[list[_Span]] = []
    room = max(room // math.prod(launch.workgroup_size), 1)
    for letter, length, size in zip("xyz", launch.shape, launch.workgroup_size, strict=True):
        group = letter.upper()
        whole, left = divmod(length, size)
        count = min(whole, room) if group in launch.letters else 1
        room = max(room // max(count, 1), 1)
        starts = range(0, whole, count) if whole else ()
        parts = [(n * size, {letter: size, group: min(count, whole - n)}) for n in starts]
        spans.append(parts + ([(whole * size, {letter: left, group: 1})] if left else []))
    return spans

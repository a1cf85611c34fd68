"""A kernel on NumPy: its generated program, compiled and run block by block."""

from __future__ import annotations

import itertools
import linecache
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from pywgsl import ir
from pywgsl.analysis.axes import lane_axes
from pywgsl.codegen.to_numpy import to_numpy
from pywgsl.runtime.lanes import Ids
from pywgsl.types import Scalar, scalar_of

#: Invocations a block: temporaries stay in the cache, NumPy's calls cost little beside the work.
BLOCK = 1 << 17


class NumpyProgram:
    """A specialized kernel as a NumPy program."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._rank = lane_axes(module).rank

    @cached_property
    def source(self) -> str:
        """The program's text."""
        return to_numpy(self._module)

    def run(
        self,
        shape: tuple[int, int, int],
        arguments: Mapping[str, Any],
        groups: tuple[int, int, int] | None = None,
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
        size = self._module.workgroup_size
        with np.errstate(all="ignore"):
            for first, counts in _blocks(shape, self._rank):
                kernel(Ids(first, counts, shape, size, self._rank), *values)

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


def _blocks(
    shape: tuple[int, int, int], rank: int
) -> Iterator[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Yield the first id and the lengths of each block, x fastest.

    Along axes that the kernel does not tell apart a block has one invocation: what it does is
    done as often as the launch says.
    """
    counts = []
    room = BLOCK
    for axis in range(3):
        count = min(shape[axis], max(room, 1)) if axis < rank else 1
        counts.append(count)
        room //= max(count, 1)
    if 0 in shape:
        return
    starts = [range(0, shape[axis], counts[axis]) for axis in range(3)]
    for z, y, x in itertools.product(*reversed(starts)):
        sizes = [
            min(count, length - first)
            for count, length, first in zip(counts, shape, (x, y, z), strict=True)
        ]
        yield (x, y, z), (sizes[0], sizes[1], sizes[2])

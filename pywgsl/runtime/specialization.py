"""One specialization of a kernel, and what it has been compiled to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pywgsl import ir
from pywgsl.analysis.uses import synchronizes
from pywgsl.codegen.layout import Grid
from pywgsl.runtime.arguments import Packed, uniform_converter

if TYPE_CHECKING:
    from pywgsl.runtime.gpu import GpuDevice
    from pywgsl.runtime.numpy_program import NumpyProgram
    from pywgsl.runtime.programs import GpuProgram


class Captures(Protocol):
    """What a kernel took from its surroundings when it was compiled."""

    def current(self) -> bool:
        """Whether all of it still has the value that was compiled in."""


class Specialization:
    """A kernel for given values of its constants.

    Attributes:
        module: the kernel's meaning.
        captures: whether that is still what the author's source means.
    """

    def __init__(self, module: ir.Module, captures: Captures) -> None:
        self.module = module
        self.captures = captures
        self._lock = threading.Lock()
        self._gpu_programs: dict[tuple[GpuDevice, Grid], GpuProgram] = {}

    @cached_property
    def numpy(self) -> NumpyProgram:
        """The kernel as NumPy code."""
        from pywgsl.runtime.numpy_program import NumpyProgram

        return NumpyProgram(self.module)

    @cached_property
    def converters(self) -> dict[str, Callable[[Any], Packed]]:
        """What checks and packs the argument of each uniform parameter, by its name."""
        return {u.name: uniform_converter(self.module.name, u) for u in self.module.uniforms}

    @cached_property
    def synchronizes(self) -> bool:
        """Whether invocations of a workgroup work together, so that only whole ones can run."""
        return synchronizes(self.module)

    def gpu(self, device: GpuDevice, grid: Grid) -> GpuProgram:
        """Return the kernel compiled for a GPU."""
        from pywgsl.runtime.programs import GpuProgram

        with self._lock:
            program = self._gpu_programs.get((device, grid))
            if program is None:
                program = GpuProgram(device, self.module, grid)
                self._gpu_programs[device, grid] = program
            return program

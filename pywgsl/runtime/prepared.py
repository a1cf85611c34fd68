"""A launch on a GPU that has been checked and bound: all but the values of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pywgsl import ir
from pywgsl.codegen.layout import ParameterValue
from pywgsl.errors import LaunchError
from pywgsl.frontend.definition import KernelParameter, Kind
from pywgsl.runtime.elements import element
from pywgsl.runtime.queue import Dispatch
from pywgsl.runtime.shapes import Triple
from pywgsl.runtime.specialization import Specialization
from pywgsl.runtime.workgroups import lay_out
from pywgsl.types import RuntimeArray, Scalar

if TYPE_CHECKING:
    from pywgsl.runtime.buffers import GpuArray
    from pywgsl.runtime.gpu import GpuDevice


class PreparedLaunch:
    """A kernel, arrays and a shape; `run` with other numbers as often as wanted.

    Attributes:
        captures: whether the kernel is still what the author's source means.
    """

    def __init__(
        self,
        device: GpuDevice,
        specialization: Specialization,
        shape: Triple,
        arrays: Sequence[GpuArray],
        parameters: Sequence[KernelParameter],
    ) -> None:
        module = specialization.module
        self.captures = specialization.captures
        grid, groups = lay_out(module.name, shape, module.workgroup_size)
        program = specialization.gpu(device, grid)
        _set_layouts(device, module, arrays)
        self._dispatch = Dispatch(
            module.name, shape, program.pipeline, program.bind_group(arrays), groups
        )
        self._push = device.queue.push
        self._pack = program.packer.pack
        lengths = {b.name: a.shape for b, a in zip(module.buffers, arrays, strict=True)}
        self._tail = program.packer.tail(lengths, shape)
        # The struct has only what the kernel uses; the other arguments are only checked.
        used = {f.origin for f in program.layout.fields}
        uniforms = [
            (i, specialization.converters[p.name], ParameterValue(p.name) in used)
            for i, p in enumerate(parameters)
            if p.kind is Kind.UNIFORM
        ]
        self._uniforms = [(i, convert) for i, convert, is_used in uniforms if is_used]
        self._unused = [(i, convert) for i, convert, is_used in uniforms if not is_used]
        self._flat = all(isinstance(u.type, Scalar) for u in module.uniforms)
        self._fixed = None if self._uniforms else self._pack(*self._tail)

    def run(self, values: Sequence[Any]) -> None:
        """Queue the launch with these values of the kernel's parameters."""
        for i, convert in self._unused:
            convert(values[i])
        data = self._fixed
        if data is None:
            numbers = [convert(values[i]) for i, convert in self._uniforms]
            if not self._flat:
                numbers = [n for v in numbers for n in (v if isinstance(v, tuple) else (v,))]
            data = self._pack(*numbers, *self._tail)
        self._push(self._dispatch, data)


def _set_layouts(device: GpuDevice, module: ir.Module, arrays: Sequence[GpuArray]) -> None:
    """Lay out every array as its parameter's element type asks."""
    wanted = []
    for buffer in module.buffers:
        assert isinstance(buffer.type, RuntimeArray)
        wanted.append(element(buffer.type.element).layout)
    for array, layout in zip(arrays, wanted, strict=True):
        device.set_layout(array, layout)
    for buffer, array, layout in zip(module.buffers, arrays, wanted, strict=True):
        if array.size and array.storage.layout != layout:
            raise LaunchError(
                f"{module.name}: the array for `{buffer.name}` is also passed as elements of "
                "another type, which lie differently in a GPU's memory; pass a copy"
            )

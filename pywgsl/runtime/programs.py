"""A kernel on one GPU: its pipeline, layouts, and the bind groups of the arrays it has run with."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import wgpu

from pywgsl import ir
from pywgsl.codegen.layout import Grid
from pywgsl.codegen.to_wgsl import Wgsl, to_wgsl
from pywgsl.errors import CompileError, DeviceError, Diagnostic, Label, PywgslWarning
from pywgsl.runtime.buffers import MIN_BINDING, GpuArray
from pywgsl.runtime.uniforms import UniformPacker
from pywgsl.source import NOWHERE, Span

if TYPE_CHECKING:
    from pywgsl.runtime.gpu import GpuDevice

#: wgpu's names of features, where they are not WebGPU's.
_FEATURES = {"subgroups": "subgroup"}

#: As many bind groups are kept for each program.
_MAX_BIND_GROUPS = 1024


class GpuProgram:
    """A specialized kernel, compiled for a GPU.

    Attributes:
        layout: the uniform struct.
        packer: what packs it.
        pipeline: wgpu's compute pipeline.
    """

    def __init__(self, device: GpuDevice, module: ir.Module, grid: Grid) -> None:
        self._device = device
        # The subgroups of software adapters are too small to be worth it.
        subgroups = _FEATURES["subgroups"] in device.features and not device.software
        wgsl = to_wgsl(module, grid=grid, target="wgpu", subgroups=subgroups)
        self._check(module, wgsl)
        _warn_of_prints(module, wgsl)
        layout = wgsl.uniforms
        self.layout = layout
        self.packer = UniformPacker(layout)
        gpu = device.gpu
        self._layout = gpu.create_bind_group_layout(entries=_layout_entries(wgsl))
        try:
            self.pipeline = gpu.create_compute_pipeline(
                label=module.name,
                layout=gpu.create_pipeline_layout(bind_group_layouts=[self._layout]),
                compute={
                    "module": gpu.create_shader_module(label=module.name, code=wgsl.text),
                    "entry_point": wgsl.entry_point,
                },
            )
        except (wgpu.GPUError, RuntimeError) as error:
            raise _rejection(module, wgsl, device.name, error) from error
        self._bind_groups: dict[tuple[int, ...], Any] = {}
        device.holds_bind_groups(self)

    def bind_group(self, arrays: Sequence[GpuArray]) -> Any:
        """Return the bind group of these arrays, in the order of the kernel's buffers."""
        key = tuple([n for a in arrays for n in (a.buffer.serial, a.stored_bytes)])
        found = self._bind_groups.get(key)
        if found is None:
            if len(self._bind_groups) >= _MAX_BIND_GROUPS:
                self.drop_bind_groups()
            found = self._bind_groups[key] = self._create_bind_group(arrays)
        return found

    def drop_bind_groups(self) -> None:
        """Let go of all bind groups, and so of the buffers in them."""
        self._bind_groups.clear()

    def _create_bind_group(self, arrays: Sequence[GpuArray]) -> Any:
        resources = [(a.buffer.gpu, a.stored_bytes or MIN_BINDING) for a in arrays]
        if self.packer.size:
            resources.append((self._device.queue.uniforms, self.packer.size))
        entries = [
            {"binding": i, "resource": {"buffer": buffer, "offset": 0, "size": size}}
            for i, (buffer, size) in enumerate(resources)
        ]
        return self._device.gpu.create_bind_group(layout=self._layout, entries=entries)

    def _check(self, module: ir.Module, wgsl: Wgsl) -> None:
        """Raise a `DeviceError` if the kernel needs more than the device has."""
        for feature in wgsl.features:
            if _FEATURES.get(feature, feature) not in self._device.features:
                raise DeviceError(
                    f"{module.name}: needs the feature `{feature}`, which {self._device.name} lacks"
                )
        limits = self._device.limits
        invocations = module.workgroup_size[0] * module.workgroup_size[1] * module.workgroup_size[2]
        checks = [
            (len(module.buffers), "max-storage-buffers-per-shader-stage", "buffers"),
            (invocations, "max-compute-invocations-per-workgroup", "invocations a workgroup"),
            (
                wgsl.workgroup_bytes,
                "max-compute-workgroup-storage-size",
                "bytes of workgroup memory",
            ),
        ]
        checks += [
            (size, f"max-compute-workgroup-size-{axis}", f"invocations a workgroup along {axis}")
            for size, axis in zip(module.workgroup_size, "xyz", strict=True)
        ]
        for value, limit, what in checks:
            if value > limits[limit]:
                raise DeviceError(
                    f"{module.name}: {value} {what}, but {self._device.name} has at most "
                    f"{limits[limit]}"
                )


def _layout_entries(wgsl: Wgsl) -> list[dict[str, Any]]:
    kinds: list[dict[str, Any]] = [
        {"type": "read-only-storage" if b.access is ir.Access.READ else "storage"}
        for b in wgsl.bindings
    ]
    size = wgsl.uniforms.size
    if size:
        kinds.append({"type": "uniform", "has_dynamic_offset": True, "min_binding_size": size})
    return [{"binding": i, "visibility": "COMPUTE", "buffer": kind} for i, kind in enumerate(kinds)]


def _rejection(
    module: ir.Module, wgsl: Wgsl, device_name: str, error: BaseException
) -> CompileError:
    """Return the error for generated text that the driver's compiler does not accept."""
    text = str(error).strip()
    span = _author_span(wgsl, text)
    diagnostic = Diagnostic(
        "E0501",
        f"{device_name} refused the WGSL generated for `{module.name}`; this is a mistake of "
        "pywgsl, not yours",
        Label(span, "from this line" if span is not NOWHERE else ""),
        help=f"please report it with the kernel's source and this text:\n{text}",
    )
    return CompileError([diagnostic])


def _warn_of_prints(module: ir.Module, wgsl: Wgsl) -> None:
    if wgsl.prints:
        places = ", ".join(span.location() for span in wgsl.prints)
        warnings.warn(
            f"{module.name}: a GPU does not run `print` ({places}); NumPy does",
            PywgslWarning,
            stacklevel=2,
        )


def _author_span(wgsl: Wgsl, text: str) -> Span:
    """Return where the line that a message names comes from."""
    for match in re.finditer(r":(\d+):\d+", text):
        line = int(match[1])
        if 1 <= line <= len(wgsl.lines):
            return wgsl.span_of(line) or NOWHERE
    return NOWHERE

"""What a host needs to know to launch a kernel's WGSL, as plain data."""

from __future__ import annotations

from typing import Any

from pywgsl import ir
from pywgsl.codegen.layout import Grid, LaunchSize, UniformLayout, guarded_axes, stored
from pywgsl.codegen.to_wgsl import Wgsl, to_wgsl
from pywgsl.types import RuntimeArray, Scalar, Struct, Type, align_of, size_of

#: WebGPU's limits on every device, by their names there.
DEFAULT_LIMITS = {
    "maxStorageBuffersPerShaderStage": 8,
    "maxComputeInvocationsPerWorkgroup": 256,
    "maxComputeWorkgroupSizeX": 256,
    "maxComputeWorkgroupSizeY": 256,
    "maxComputeWorkgroupSizeZ": 64,
    "maxComputeWorkgroupStorageSize": 16384,
    "maxUniformBufferBindingSize": 65536,
}


def reflect(module: ir.Module) -> dict[str, Any]:
    """Return the interface of a kernel's WGSL, ready for JSON.

    Keys: `name`; `entry_point`; `workgroup_size` (x, y, z); `bindings`, each with `name`, `group`,
    `binding`, `kind` (`storage` or `uniform`), and for buffers `access`, `type` (of an element),
    `ndim` and `stride` (bytes from element to element); `uniform`, with `size` in bytes and
    `fields` (`name`, `type`, `offset`, `size`, `carries`), or None if there is no struct;
    `structs` by name, each with `size`, `align` and `fields` (`name`, `type`, `offset`, `size`);
    `constants` by name, type variables among them; `launch`; `requires`.
    """
    wgsl = to_wgsl(module)
    layout = wgsl.uniforms
    return {
        "name": module.name,
        "entry_point": wgsl.entry_point,
        "workgroup_size": list(module.workgroup_size),
        "bindings": _bindings(module, wgsl),
        "uniform": _uniform(layout) if layout.size else None,
        "structs": {struct.name: _struct(struct) for struct in module.structs},
        "constants": {
            name: str(value) if isinstance(value, Scalar) else value
            for name, value in module.constants
        },
        "launch": _launch(module, layout),
        "requires": requirements(module, wgsl),
    }


def requirements(module: ir.Module, wgsl: Wgsl) -> dict[str, Any]:
    """Return what a device needs beyond WebGPU's defaults: `features`, and `limits` by name."""
    x, y, z = module.workgroup_size
    needed = {
        "maxStorageBuffersPerShaderStage": len(module.buffers),
        "maxComputeInvocationsPerWorkgroup": x * y * z,
        "maxComputeWorkgroupSizeX": x,
        "maxComputeWorkgroupSizeY": y,
        "maxComputeWorkgroupSizeZ": z,
        "maxComputeWorkgroupStorageSize": wgsl.workgroup_bytes,
        "maxUniformBufferBindingSize": wgsl.uniforms.size,
    }
    limits = {name: value for name, value in needed.items() if value > DEFAULT_LIMITS[name]}
    return {"features": list(wgsl.features), "limits": limits}


def _bindings(module: ir.Module, wgsl: Wgsl) -> list[dict[str, Any]]:
    bindings: list[dict[str, Any]] = []
    for buffer, bound in zip(module.buffers, wgsl.bindings, strict=True):
        assert isinstance(buffer.type, RuntimeArray)
        element = buffer.type.element
        bindings.append(
            {
                "name": buffer.name,
                "group": 0,
                "binding": bound.binding,
                "kind": "storage",
                "access": bound.access.value,
                "type": str(element),
                "ndim": buffer.type.ndim,
                "stride": _stride(element),
            }
        )
    if wgsl.uniforms.size:
        binding = {"name": "uniforms", "group": 0, "binding": len(bindings), "kind": "uniform"}
        bindings.append(binding)
    return bindings


def _struct(struct: Struct) -> dict[str, Any]:
    fields = [
        {"name": f.name, "type": str(stored(f.type)), "offset": offset, "size": size_of(f.type)}
        for f, offset in zip(struct.fields, struct.offsets, strict=True)
    ]
    return {"size": struct.size, "align": struct.align, "fields": fields}


def _uniform(layout: UniformLayout) -> dict[str, Any]:
    fields = [
        {
            "name": f.name,
            "type": str(f.type),
            "offset": f.offset,
            "size": f.size,
            "carries": _carries(f.origin),
        }
        for f in layout.fields
    ]
    return {"size": layout.size, "fields": fields}


def _carries(origin: Any) -> dict[str, Any]:
    """Say in data what a field of the uniform struct is filled with."""
    match origin:
        case LaunchSize(axis=axis):
            return {"launch_axis": axis}
        case _ if hasattr(origin, "array"):
            return {"length_of": origin.array, "axis": origin.axis}
        case _:
            return {"parameter": origin.name}


def _launch(module: ir.Module, layout: UniformLayout) -> dict[str, Any]:
    return {
        "counts": "invocations along x, y, z",
        "workgroups": [
            f"ceil({axis} / {size})"
            for axis, size in zip("xyz", module.workgroup_size, strict=True)
        ],
        "uniform_fields": {
            "xyz"[axis]: layout.field(LaunchSize(axis)).name
            for axis in guarded_axes(module, Grid.PLAIN)
        },
        "max_workgroups": 65535,
    }


def _stride(element: Type) -> int:
    return -(-size_of(element) // align_of(element)) * align_of(element)

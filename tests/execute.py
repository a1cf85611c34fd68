"""Run a module on the GPU with nothing between it and wgpu, to see what its text computes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pywgsl import ir
from pywgsl.codegen.layout import AxisLength, Grid, LaunchSize, ParameterValue
from pywgsl.codegen.to_wgsl import Wgsl, to_wgsl
from pywgsl.types import U32, Type, Vector, scalar_of


@lru_cache(maxsize=1)
def device() -> Any:
    """The adapter's device, with the features that texts may want."""
    import wgpu

    adapter = wgpu.gpu.request_adapter_sync()
    features = [name for name in ("shader-f16", "subgroup") if name in adapter.features]
    return adapter.request_device_sync(required_features=features)


def run(
    module: ir.Module,
    arrays: dict[str, np.ndarray[Any, Any]],
    launch: tuple[int, int, int],
    *,
    uniforms: dict[str, Any] | None = None,
    grid: Grid = Grid.PLAIN,
    groups: tuple[int, int, int] | None = None,
    subgroups: bool = False,
) -> dict[str, np.ndarray[Any, Any]]:
    """Launch a module and return its buffers afterwards; `groups` only to lay them unusually."""
    wgsl = to_wgsl(module, grid=grid, target="wgpu", subgroups=subgroups)
    queue, usage = device().queue, 0x80 | 0x04 | 0x08  # STORAGE | COPY_SRC | COPY_DST
    buffers = {
        name: device().create_buffer_with_data(data=_padded(array), usage=usage)
        for name, array in arrays.items()
    }
    bound = [buffers[b.name] for b in wgsl.bindings]
    if wgsl.uniform_binding is not None:
        data = _pack(wgsl, arrays, launch, uniforms or {})
        bound.append(device().create_buffer_with_data(data=data, usage=0x40))
    pipeline, layout = _pipeline(wgsl)
    entries = [{"binding": n, "resource": {"buffer": b}} for n, b in enumerate(bound)]
    encoder = device().create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, device().create_bind_group(layout=layout, entries=entries))
    size = module.workgroup_size
    compute.dispatch_workgroups(
        *(groups or (-(-n // s) for n, s in zip(launch, size, strict=True)))
    )
    compute.end()
    queue.submit([encoder.finish()])
    results = {}
    for name, array in arrays.items():
        raw = np.frombuffer(queue.read_buffer(buffers[name]), np.uint8)
        results[name] = raw[: array.nbytes].view(array.dtype).reshape(array.shape)
    return results


def _padded(array: np.ndarray[Any, Any]) -> bytes:
    data = array.tobytes()
    return data + bytes(-len(data) % 4 if data else 4)


def _pipeline(wgsl: Wgsl) -> tuple[Any, Any]:
    kinds = {"read": "read-only-storage", "read_write": "storage"}
    entries = [
        {"binding": b.binding, "visibility": 4, "buffer": {"type": kinds[b.access.value]}}
        for b in wgsl.bindings
    ]
    if wgsl.uniform_binding is not None:
        entries.append(
            {"binding": wgsl.uniform_binding, "visibility": 4, "buffer": {"type": "uniform"}}
        )
    layout = device().create_bind_group_layout(entries=entries)
    pipeline = device().create_compute_pipeline(
        layout=device().create_pipeline_layout(bind_group_layouts=[layout]),
        compute={
            "module": device().create_shader_module(code=wgsl.text),
            "entry_point": wgsl.entry_point,
        },
    )
    return pipeline, layout


def _pack(
    wgsl: Wgsl,
    arrays: dict[str, np.ndarray[Any, Any]],
    launch: tuple[int, int, int],
    values: dict[str, Any],
) -> bytes:
    data = bytearray(wgsl.uniforms.size)
    for field in wgsl.uniforms.fields:
        match field.origin:
            case ParameterValue(name):
                value = np.asarray(values[name])
                if value.dtype == np.bool_:
                    value = value.astype(np.uint32)
            case AxisLength(array, axis):
                value = np.asarray(arrays[array].shape[axis], np.int32)
            case LaunchSize(axis):
                value = np.asarray(launch[axis], np.uint32)
        data[field.offset : field.offset + value.nbytes] = value.tobytes()
    return bytes(data)


def numbers(type_: Type, count: int, seed: int = 7) -> np.ndarray[Any, Any]:
    """Small whole numbers, whose sums are exact in any order; vectors have a last axis."""
    scalar = scalar_of(type_)
    assert scalar is not None
    low = 0 if scalar is U32 else -3
    shape = (count, type_.width) if isinstance(type_, Vector) else (count,)
    return np.random.default_rng(seed).integers(low, 4, shape).astype(scalar.dtype)

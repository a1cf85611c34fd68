"""Moving rows of three values apart for WGSL's vectors of three, and together again."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from pywgsl.runtime.queue import Dispatch

if TYPE_CHECKING:
    from pywgsl.runtime.buffers import Buffer
    from pywgsl.runtime.gpu import GpuDevice

_WORKGROUP = 256

# An invocation writes one word of the result: one value of four bytes, or two of two.
_SHADER = """
struct Parameters { rows: u32, padded: u32, halves: u32 }

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;
@group(0) @binding(2) var<uniform> parameters: Parameters;

fn source_index(i: u32) -> u32 {
    if (parameters.padded == 0u) {
        return i / 3u * 4u + i % 3u;
    }
    return i / 4u * 3u + min(i % 4u, 2u);
}

fn half_value(i: u32) -> u32 {
    return (source[i / 2u] >> (16u * (i % 2u))) & 0xffffu;
}

@compute @workgroup_size(256)
fn move_rows(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let word = id.x + id.y * groups.x * 256u;
    let values = parameters.rows * select(3u, 4u, parameters.padded == 1u);
    if (parameters.halves == 0u) {
        if (word < values) {
            result[word] = source[source_index(word)];
        }
    } else if (2u * word < values) {
        let low = half_value(source_index(2u * word));
        let high = half_value(source_index(2u * word + 1u));
        result[word] = low | (high << 16u);
    }
}
"""


class PaddingProgram:
    """The kernel that moves rows of three, compiled when a device first needs it."""

    def __init__(self, device: GpuDevice) -> None:
        self._device = device
        self._pipeline: Any = None

    def run(self, source: Buffer, result: Buffer, rows: int, itemsize: int, padded: bool) -> None:
        """Queue moving `rows` rows of values of `itemsize` bytes from one buffer to another."""
        if not rows:
            return
        if self._pipeline is None:
            self._compile()
        words = -(-rows * (4 if padded else 3) * itemsize // 4)
        groups = -(-words // _WORKGROUP)
        y = -(-groups // 65535)
        uniforms = struct.pack("<III", rows, padded, itemsize == 2)
        entries = [
            _binding(0, source.gpu, source.capacity),
            _binding(1, result.gpu, result.capacity),
            _binding(2, self._device.queue.uniforms, len(uniforms)),
        ]
        bind_group = self._device.gpu.create_bind_group(layout=self._layout, entries=entries)
        dispatch = Dispatch(
            "(vector layout)", (words, 1, 1), self._pipeline, bind_group, (-(-groups // y), y, 1)
        )
        self._device.queue.push(dispatch, uniforms)

    def _compile(self) -> None:
        gpu = self._device.gpu
        kinds = (
            {"type": "read-only-storage"},
            {"type": "storage"},
            {"type": "uniform", "has_dynamic_offset": True},
        )
        entries = [
            {"binding": i, "visibility": "COMPUTE", "buffer": kind} for i, kind in enumerate(kinds)
        ]
        self._layout = gpu.create_bind_group_layout(entries=entries)
        self._pipeline = gpu.create_compute_pipeline(
            layout=gpu.create_pipeline_layout(bind_group_layouts=[self._layout]),
            compute={
                "module": gpu.create_shader_module(code=_SHADER),
                "entry_point": "move_rows",
            },
        )


def _binding(binding: int, buffer: Any, size: int) -> dict[str, Any]:
    return {"binding": binding, "resource": {"buffer": buffer, "offset": 0, "size": size}}

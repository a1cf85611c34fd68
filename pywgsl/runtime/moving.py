"""Moving arrays on a GPU between NumPy's layout and WGSL's."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from pywgsl.runtime.layouts import Layout
from pywgsl.runtime.queue import Dispatch

if TYPE_CHECKING:
    from pywgsl.runtime.buffers import Buffer
    from pywgsl.runtime.gpu import GpuDevice

_WORKGROUP = 256

# An invocation writes one word of the result, from as many units as a word has.
_SHADER = """
struct Parameters {{ elements: u32, source_units: u32, result_units: u32 }}

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;
@group(0) @binding(2) var<storage, read> moves: array<i32>;
@group(0) @binding(3) var<uniform> parameters: Parameters;

fn source_unit(i: u32) -> u32 {{
    return (source[i / {per_word}u] >> ({bits}u * (i % {per_word}u))) & {mask}u;
}}

@compute @workgroup_size(256)
fn move_elements(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {{
    let word = id.x + id.y * groups.x * 256u;
    var value = 0u;
    for (var k = 0u; k < {per_word}u; k++) {{
        let unit = word * {per_word}u + k;
        let element = unit / parameters.result_units;
        let from_unit = moves[unit % parameters.result_units];
        if (element < parameters.elements && from_unit >= 0) {{
            let i = element * parameters.source_units + u32(from_unit);
            value |= source_unit(i) << ({bits}u * k);
        }}
    }}
    if (word * {per_word}u < parameters.elements * parameters.result_units) {{
        result[word] = value;
    }}
}}
"""


class MovingProgram:
    """The kernels that move elements, each compiled when a device first needs it."""

    def __init__(self, device: GpuDevice) -> None:
        self._device = device
        self._layout: Any = None
        self._pipelines: dict[int, Any] = {}
        self._moves: dict[tuple[Layout, bool], Any] = {}

    def run(
        self, source: Buffer, result: Buffer, elements: int, layout: Layout, *, to_gpu: bool
    ) -> None:
        """Queue moving elements from one buffer to another, in or out of a layout."""
        if not elements:
            return
        pipeline = self._pipeline(layout.unit)
        units = (layout.host_units, len(layout.positions))
        source_units, result_units = units if to_gpu else units[::-1]
        words = -(-elements * result_units * layout.unit // 4)
        groups = -(-words // _WORKGROUP)
        y = -(-groups // 65535)
        uniforms = struct.pack("<III", elements, source_units, result_units)
        moves = self._moves_buffer(layout, to_gpu)
        entries = [
            _binding(0, source.gpu, source.capacity),
            _binding(1, result.gpu, result.capacity),
            _binding(2, moves, 4 * result_units),
            _binding(3, self._device.queue.uniforms, len(uniforms)),
        ]
        bind_group = self._device.gpu.create_bind_group(layout=self._layout, entries=entries)
        dispatch = Dispatch(
            "(memory layout)", (words, 1, 1), pipeline, bind_group, (-(-groups // y), y, 1)
        )
        self._device.queue.push(dispatch, uniforms)

    def _moves_buffer(self, layout: Layout, to_gpu: bool) -> Any:
        key = (layout, to_gpu)
        if key not in self._moves:
            data = layout.moves(to_gpu=to_gpu).astype(np.int32)
            self._moves[key] = self._device.gpu.create_buffer_with_data(data=data, usage="STORAGE")
        return self._moves[key]

    def _pipeline(self, unit: int) -> Any:
        if self._layout is None:
            self._layout = self._device.gpu.create_bind_group_layout(entries=_layout_entries())
        if unit not in self._pipelines:
            gpu, bits = self._device.gpu, 8 * unit
            code = _SHADER.format(per_word=4 // unit, bits=bits, mask=2**bits - 1)
            self._pipelines[unit] = gpu.create_compute_pipeline(
                layout=gpu.create_pipeline_layout(bind_group_layouts=[self._layout]),
                compute={
                    "module": gpu.create_shader_module(code=code),
                    "entry_point": "move_elements",
                },
            )
        return self._pipelines[unit]


def _layout_entries() -> list[dict[str, Any]]:
    kinds = (
        {"type": "read-only-storage"},
        {"type": "storage"},
        {"type": "read-only-storage"},
        {"type": "uniform", "has_dynamic_offset": True},
    )
    return [{"binding": i, "visibility": "COMPUTE", "buffer": kind} for i, kind in enumerate(kinds)]


def _binding(binding: int, buffer: Any, size: int) -> dict[str, Any]:
    return {"binding": binding, "resource": {"buffer": buffer, "offset": 0, "size": size}}

"""What a launch costs, against wgpu-py written by hand.

Both run the same WGSL on the same device in the same process, in turns. The hand-written side has
its pipeline, bind group and uniform buffer ready, as a careful author would, and waits as pywgsl
does: through wgpu-py's thread the same wait takes longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pywgsl as pw
from benchmarks.timing import side_by_side
from pywgsl import Array, f32

N = 256


@pw.kernel
def scale(x: Array[f32], y: Array[f32], factor: f32) -> None:
    i = pw.global_id.x
    y[i] = x[i] * factor


class ByHand:
    """The kernel above through wgpu-py."""

    def __init__(self, device: Any, x: np.ndarray[Any, Any], factor: float) -> None:
        self.device = device
        usage = "STORAGE|COPY_SRC|COPY_DST"
        x_buffer = device.create_buffer_with_data(data=x, usage=usage)
        y_buffer = device.create_buffer(size=x.nbytes, usage=usage)
        uniform = np.array([factor], np.float32).tobytes() + np.array([N], np.uint32).tobytes()
        uniforms = device.create_buffer_with_data(data=uniform, usage="UNIFORM")
        kinds = ("read-only-storage", "storage", "uniform")
        layout = device.create_bind_group_layout(
            entries=[
                {"binding": i, "visibility": "COMPUTE", "buffer": {"type": kind}}
                for i, kind in enumerate(kinds)
            ]
        )
        self.bind_group = device.create_bind_group(
            layout=layout,
            entries=[
                {"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}}
                for i, b in enumerate((x_buffer, y_buffer, uniforms))
            ],
        )
        module = device.create_shader_module(code=scale.wgsl())
        self.pipeline = device.create_compute_pipeline(
            layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": module, "entry_point": scale.reflection()["entry_point"]},
        )

    def launch(self, count: int) -> None:
        """Submit `count` launches in one pass, and wait for them."""
        encoder = self.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(self.pipeline)
        for _ in range(count):
            compute.set_bind_group(0, self.bind_group)
            compute.dispatch_workgroups(1)
        compute.end()
        self.device.queue.submit([encoder.finish()])
        self.device._poll_wait()


def compare(
    what: str, ours: Callable[[], object], by_hand: Callable[[], object], launches: int
) -> None:
    """Print the time of one launch on both sides."""
    mine, theirs = (1e6 / launches * seconds for seconds in side_by_side(ours, by_hand))
    print(f"{what:44} pywgsl {mine:7.2f} µs   by hand {theirs:7.2f} µs   {mine / theirs:.2f}x")


def run(device_name: str) -> None:
    """Print the table."""
    device = pw.device(device_name)
    values = np.ones(N, np.float32)
    x, y = device.array(values), device.zeros(N)
    hand = ByHand(device.gpu, values, 2.0)

    def one_at_a_time(count: int) -> None:
        for _ in range(count):
            scale[N](x, y, 2.0)
            device.synchronize()

    def queued(count: int, changing: bool) -> None:
        for i in range(count):
            scale[N](x, y, float(i) if changing else 2.0)
        device.synchronize()

    def by_hand(count: int, batch: int) -> None:
        for _ in range(count // batch):
            hand.launch(batch)

    print(device)
    compare(
        "one at a time, each waited for (bar 1.1)",
        lambda: one_at_a_time(200),
        lambda: by_hand(200, 1),
        200,
    )
    compare(
        "1000 queued, the same number (bar 1.5)",
        lambda: queued(1000, False),
        lambda: by_hand(1000, 1000),
        1000,
    )
    # By hand still the same number: another one each time would take a buffer for each.
    compare(
        "1000 queued, another number each (bar 1.5)",
        lambda: queued(1000, True),
        lambda: by_hand(1000, 1000),
        1000,
    )


if __name__ == "__main__":
    run("gpu")

"""What a launch costs, against wgpu-py written by hand: `python -m benchmarks.launch`.

Both run the same WGSL on the same device in the same process, in turns. The hand-written side has
its pipeline, bind group and uniform buffer ready, as a careful author would.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pywgsl as pw
from pywgsl import Array, f32

N = 256
ROUNDS = 15


@pw.kernel
def scale(x: Array[f32], y: Array[f32], factor: f32):
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
        self.fence = device.create_buffer(size=16, usage="COPY_DST|MAP_READ")

    def launch(self, count: int, *, wait: bool) -> None:
        """Submit `count` launches in one pass."""
        encoder = self.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(self.pipeline)
        for _ in range(count):
            compute.set_bind_group(0, self.bind_group)
            compute.dispatch_workgroups(1)
        compute.end()
        if wait:
            encoder.clear_buffer(self.fence, 0, 16)
        self.device.queue.submit([encoder.finish()])
        if wait:
            self.fence.map_async("READ_NOSYNC").sync_wait()
            self.fence.unmap()


def compare(ours: Callable[[], None], by_hand: Callable[[], None], launches: int) -> None:
    """Print the time of a launch on both sides, and the median ratio of rounds in turns."""
    ratios, times = [], []
    for _ in range(ROUNDS):
        taken = []
        for run in (ours, by_hand):
            started = time.perf_counter()
            run()
            taken.append((time.perf_counter() - started) / launches)
        times.append(taken)
        ratios.append(taken[0] / taken[1])
    mine, theirs = (statistics.median(t[side] for t in times) * 1e6 for side in (0, 1))
    ratio = statistics.median(ratios)
    print(f"  pywgsl {mine:8.2f} µs   by hand {theirs:8.2f} µs   ratio {ratio:.2f}")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="gpu")
    device = pw.device(parser.parse_args(argv).device)
    values = np.ones(N, np.float32)
    x, y = device.array(values), device.zeros(N)
    hand = ByHand(device.gpu, values, 2.0)
    print(device)

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
            hand.launch(batch, wait=True)

    queued(10, False)
    by_hand(10, 1)
    print("one at a time, each waited for (bar 1.1)")
    compare(lambda: one_at_a_time(500), lambda: by_hand(500, 1), 500)
    print("1000 queued, the same number each time (bar 1.5)")
    compare(lambda: queued(1000, False), lambda: by_hand(1000, 1000), 1000)
    print("1000 queued, another number each time; by hand the same (bar 1.5)")
    compare(lambda: queued(1000, True), lambda: by_hand(1000, 1000), 1000)


if __name__ == "__main__":
    main()

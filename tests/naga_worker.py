"""Reads WGSL texts as JSON strings, one a line; answers each with naga's error ("" if none).

It runs as a process of its own, because naga can abort.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Answer every line of standard input."""
    import wgpu

    adapter = wgpu.gpu.request_adapter_sync()
    features = [name for name in ("shader-f16", "subgroup") if name in adapter.features]
    device = adapter.request_device_sync(required_features=features)
    for line in sys.stdin:
        message = ""
        try:
            module = device.create_shader_module(code=json.loads(line))
            device.create_compute_pipeline(layout="auto", compute={"module": module})
        except wgpu.GPUError as error:
            message = str(error)
        print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()

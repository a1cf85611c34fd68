"""Where invocations of a workgroup may wait for each other: what Tint accepts, and nothing else."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest
import validators

import pywgsl as pw
from pywgsl.frontend import check

KERNEL = """
@pw.function
def synchronized(x):
    pw.workgroup_barrier()
    return x

@pw.function
def guarded(flag):
    if flag:
        pw.workgroup_barrier()

@pw.function
def first_only(lane):
    if lane > 0:
        return 1
    return 0

@pw.kernel(workgroup_size=64)
def kernel(inp: Array[f32], out: Array[f32], n: i32, v: vec4f):
    tile = pw.workgroup_array(f32, 64)
    lane, group = pw.local_id.x, pw.workgroup_id.x
    tile[lane] = inp[lane]
    pw.workgroup_barrier()
{body}
    out[pw.global_id.x] = tile[63 - lane]
"""

ACCEPTED = {
    "straight line": "pw.workgroup_barrier()",
    "workgroup_id": "if group > 1:\n    pw.workgroup_barrier()",
    "num_workgroups": "if pw.num_workgroups.x > 1:\n    pw.workgroup_barrier()",
    "a parameter": "if n > 1:\n    pw.workgroup_barrier()",
    "a vector parameter": "if v.y > 1.0:\n    pw.workgroup_barrier()",
    "a buffer that is only read": "if inp[0] > 1.0:\n    pw.workgroup_barrier()",
    "the same at the workgroup's index": "if inp[group] > 1.0:\n    pw.workgroup_barrier()",
    "a length": "if len(inp) > 1:\n    pw.workgroup_barrier()",
    "a workgroup's sum": "if pw.workgroup_sum(inp[lane]) > 1.0:\n    pw.workgroup_barrier()",
    "a broadcast": "if pw.workgroup_broadcast(inp[lane], 3) > 1.0:\n    pw.workgroup_barrier()",
    "whether any holds": "while pw.workgroup_any(tile[lane] > 9.0):\n    tile[lane] *= 0.5",
    "a local of uniform values": "flag = n > 1 and group > 2\nif flag:\n    pw.workgroup_barrier()",
    "a loop's counter": "for k in range(n):\n    if k > 2:\n        pw.workgroup_barrier()",
    "a halving stride": (
        "stride = 32\nwhile stride > 0:\n    if lane < stride:\n"
        "        tile[lane] += tile[lane + stride]\n    pw.workgroup_barrier()\n    stride //= 2"
    ),
    "a value overwritten with a uniform one": (
        "k = lane\ntile[k] = 1.0\nk = n\nif k > 1:\n    pw.workgroup_barrier()"
    ),
    "an element of an array of uniform values": (
        "own = pw.local_array(i32, 4)\nown[n % 4] = n\n"
        "if own[group % 4] > 1:\n    pw.workgroup_barrier()"
    ),
    "a uniform break": (
        "for k in range(9):\n    if k > n:\n        break\n    pw.workgroup_barrier()"
    ),
    "a uniform return": "if n > 100:\n    return\npw.workgroup_barrier()",
    "a divergent loop that ends before": (
        "k = lane\nwhile k > 0:\n    k -= 1\npw.workgroup_barrier()"
    ),
    "after a divergent branch": "if lane > 3:\n    tile[lane] = 1.0\npw.workgroup_barrier()",
    "after a divergent call": "k = first_only(lane)\npw.workgroup_barrier()\ntile[lane] += f32(k)",
    "a helper with a uniform argument": "guarded(n > 2)",
    "a helper with a barrier": "tile[lane] = synchronized(tile[lane])",
    "a uniform match": (
        "match n:\n    case 1:\n        pw.workgroup_barrier()\n    case _:\n        pass"
    ),
}

REJECTED = {
    "a return of some": "if pw.global_id.x >= n:\n    return\npw.workgroup_barrier()",
    "local_id": "if lane > 3:\n    pw.workgroup_barrier()",
    "global_id": "if pw.global_id.x > 3:\n    pw.workgroup_barrier()",
    "global_id divided": "if pw.global_id.x // 64 > 3:\n    pw.workgroup_barrier()",
    "local_index": "if pw.local_index > 3:\n    pw.workgroup_barrier()",
    "a buffer that is written": "if out[0] > 3.0:\n    pw.workgroup_barrier()",
    "a buffer at an index of its own": "if inp[lane] > 3.0:\n    pw.workgroup_barrier()",
    "workgroup memory": "if tile[0] > 3.0:\n    pw.workgroup_barrier()",
    "a scan": "if pw.workgroup_inclusive_scan(1) > 3:\n    pw.workgroup_barrier()",
    "one component of a vector": ("p = pw.vec2i(lane, n)\nif p.y > 3:\n    pw.workgroup_barrier()"),
    "an element of an array with another divergent one": (
        "own = pw.local_array(i32, 4)\nown[0] = lane\nown[n % 4] = n\n"
        "if own[group % 4] > 1:\n    pw.workgroup_barrier()"
    ),
    "assigned in a divergent branch": (
        "k = 0\nif lane > 3:\n    k = 1\nif k > 0:\n    pw.workgroup_barrier()"
    ),
    "changed in a divergent loop": (
        "k = 0\nm = lane\nwhile m > 0:\n    m -= 1\n    k += 1\n"
        "if k > 0:\n    pw.workgroup_barrier()"
    ),
    "a divergent loop": "k = lane\nwhile k > 0:\n    k -= 1\n    pw.workgroup_barrier()",
    "a range of its own": "for k in range(lane):\n    pw.workgroup_barrier()",
    "a break of some before": (
        "for k in range(9):\n    if k > lane:\n        break\n    pw.workgroup_barrier()"
    ),
    "a break of some after": (
        "for k in range(9):\n    pw.workgroup_barrier()\n    if k > lane:\n        break"
    ),
    "a continue of some": (
        "for k in range(9):\n    if k > lane:\n        continue\n    pw.workgroup_barrier()"
    ),
    "a helper with a divergent argument": "guarded(lane > 2)",
    "a helper's divergent result": "if first_only(lane) > 0:\n    pw.workgroup_barrier()",
    "a helper in a divergent branch": "if lane > 2:\n    tile[0] = synchronized(1.0)",
    "the right side of a divergent and": (
        "flag = lane > 2 and synchronized(1.0) > 0.0\nif flag:\n    tile[lane] = 1.0"
    ),
    "an arm of a conditional": "tile[lane] = synchronized(1.0) if lane > 2 else 0.0",
    "a divergent match": (
        "match lane:\n    case 1:\n        pw.workgroup_barrier()\n    case _:\n        pass"
    ),
    "a sum in a divergent branch": "if lane > 2:\n    tile[0] = pw.workgroup_sum(1.0)",
}


def kernel_with(body: str) -> pw.Kernel:
    return pw.kernel_from_source(KERNEL.format(body=textwrap.indent(body, "    ")), "kernel")


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_uniform_flow_is_accepted_here_and_by_both_compilers(
    body: str, accepted: Callable[[str], None]
) -> None:
    accepted(kernel_with(body).wgsl())


@pytest.mark.parametrize("body", REJECTED.values(), ids=REJECTED)
def test_flow_that_may_diverge_is_rejected(body: str) -> None:
    with pytest.raises(pw.CompileError) as caught:
        kernel_with(body).wgsl()
    assert {d.code for d in caught.value.diagnostics} == {"E0405"}


@pytest.mark.parametrize("body", REJECTED.values(), ids=REJECTED)
def test_tint_rejects_it_too(
    body: str, compilers: list[validators.Validator], monkeypatch: pytest.MonkeyPatch
) -> None:
    tint = next((c for c in compilers if c.name == "tint"), None)
    if tint is None:
        pytest.skip("Tint is not installed")
    monkeypatch.setattr(check, "check_uniform_flow", lambda module: [])
    assert "uniform" in tint.errors(kernel_with(body).wgsl())

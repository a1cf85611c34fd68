"""Timing launches."""

import contextlib
import json

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import Array, f32


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    return pw.device(request.param)


@pytest.fixture
def gpu():
    return pw.device("gpu")


@pw.kernel
def scale(x: Array[f32], factor: f32):
    i = pw.global_id.x
    x[i] = x[i] * factor


@pw.kernel
def clear(x: Array[f32]):
    x[pw.global_id.x] = 0.0


def test_a_profile_counts_every_launch_inside(device):
    x = device.array(np.ones(1000, np.float32))
    scale[1000](x, 2.0)
    with device.profile() as profile:
        for _ in range(3):
            scale[1000](x, 2.0)
        clear[10](x)
    scale[1000](x, 2.0)
    device.synchronize()
    assert sum(row.count for row in profile.rows) == len(profile.events) == 4
    rows = {row.kernel: row for row in profile.rows}
    assert (rows["scale"].count, rows["clear"].count) == (3, 1)
    for row in profile.rows:
        assert 0 <= row.min <= row.mean <= row.max <= row.total
        assert row.total == pytest.approx(row.mean * row.count)
    assert [row.total for row in profile.rows] == sorted(
        (r.total for r in profile.rows), reverse=True
    )
    assert [event.shape for event in profile.events] == [(1000, 1, 1)] * 3 + [(10, 1, 1)]
    assert x.numpy()[-1] == 32


def test_a_profile_prints_a_table(device):
    x = device.zeros(10)
    with device.profile() as profile:
        clear[10](x)
    head, line = str(profile).splitlines()
    assert head.split()[:6] == ["kernel", "count", "total", "mean", "min", "max"]
    assert device.name in head
    assert line.split()[:2] == ["clear", "1"]


def test_an_empty_profile_is_a_table_without_rows(device):
    with device.profile() as profile:
        pass
    assert profile.rows == []
    assert len(str(profile).splitlines()) == 1


def test_a_trace_has_an_event_for_each_launch(device, tmp_path):
    x = device.zeros(10)
    with device.profile() as profile:
        clear[10](x)
        scale[5](x, 2.0)
    path = tmp_path / "trace.json"
    profile.save_trace(path)
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in events] == ["clear", "scale"]
    assert events[0]["ts"] == 0
    assert events[1]["ts"] >= events[0]["ts"] + events[0]["dur"] * 0.5
    assert events[1]["args"]["shape"] == [5, 1, 1]


def test_profiles_nest(device):
    x = device.zeros(10)
    with device.profile() as outer:
        clear[10](x)
        with device.profile() as inner:
            clear[10](x)
        clear[10](x)
    assert (len(inner.events), len(outer.events)) == (1, 2)


def test_a_profile_ends_with_an_exception(device):
    x = device.zeros(10)
    with contextlib.suppress(ZeroDivisionError), device.profile() as profile:
        clear[10](x)
        _ = 1 / 0
    clear[10](x)
    device.synchronize()
    assert len(profile.events) == 1


@pytest.mark.gpu
def test_transfers_inside_a_profile_keep_their_order(gpu):
    x, y = gpu.array(np.ones(64, np.float32)), gpu.zeros(64)
    with gpu.profile() as profile:
        scale[64](x, 3.0)
        y.copy_from(x)
        clear[64](x)
        assert (y.numpy() == 3).all()
        scale[64](y, 2.0)
    assert (y.numpy() == 6).all()
    assert len(profile.events) == 3


@pytest.mark.gpu
def test_more_launches_than_are_submitted_at_once(gpu):
    x = gpu.array(np.ones(4, np.float32))
    with gpu.profile() as profile:
        for _ in range(1300):
            scale[4](x, 1.0)
    assert profile.rows[0].count == 1300


@pytest.mark.gpu
def test_without_timestamps_the_host_measures(gpu, monkeypatch):
    monkeypatch.setattr(gpu, "features", frozenset())
    x = gpu.array(np.ones(64, np.float32))
    with gpu.profile() as profile:
        scale[64](x, 3.0)
        scale[64](x, 2.0)
    assert profile.clock == "host"
    assert (x.numpy() == 6).all()
    assert profile.rows[0].count == 2
    assert profile.rows[0].min > 0


@pytest.mark.gpu
def test_the_gpus_clock_is_used_where_there_is_one(gpu):
    if "timestamp-query" not in gpu.features:
        pytest.skip("the adapter has no timestamps")
    assert gpu.profile().clock == "gpu"

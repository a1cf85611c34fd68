"""What a refused launch shows: what to write instead, and none of pywgsl's own frames."""

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import Array, Array2D, f32, u32


@pw.kernel
def scale(x: Array[f32], factor: f32):
    x[pw.global_id.x] *= factor


@pw.kernel
def misspelt(x: Array[f32]):
    x[pw.global_id.x] = no_such_name  # noqa: F821


def test_a_list_is_made_an_array_of_the_parameters_dtype():
    @pw.kernel
    def double(n: Array2D[u32]):
        n[0, 0] *= u32(2)

    with pytest.raises(pw.LaunchError, match=r"make it one: `np.array\(…, np.uint32\)`"):
        double[1]([[1]])


@pytest.mark.parametrize(
    ("launch", "error"), [(misspelt, pw.CompileError), (scale, pw.LaunchError)]
)
def test_a_refused_launch_shows_one_frame_of_its_own(launch, error):
    with pytest.raises(error) as caught:
        launch[4](*[np.zeros(4)] * len(launch.parameters))
    assert [entry.name for entry in caught.traceback][1:] == ["__call__"]

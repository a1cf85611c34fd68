"""What loops call their indices in WGSL."""

# mypy: disable-error-code="no-untyped-def"

import re
from collections.abc import Callable

import pytest

import pywgsl as pw
from pywgsl import Array, i32
from pywgsl.kernel import Kernel


@pw.kernel
def side_by_side(y: Array[i32], n: i32):
    for c in range(n):
        y[c] = 1
        for target in range(n):
            y[c] += target
    if n > 3:
        for c in range(n, 0, -1):
            y[c] += 2
            for target in range(c):
                y[target] += c


@pw.function
def filled(y, c):
    for k in range(c):
        y[k] = c
    for k in range(c):
        y[k] += c
    return c


@pw.kernel
def helped(y: Array[i32], n: i32):
    for c in range(n):
        y[c] = filled(y, c)
    for c in range(filled(y, n)):
        y[c] = 1


@pw.kernel
def kept_apart(y: Array[i32], n: i32):
    for k in range(n):
        for k in range(n):
            y[k] = 1
    for c in range(n):
        y[c] = 1
    c = n
    for j in range(n):
        c += j
    y[0] = c


EXPECTED = {
    side_by_side: ["c", "target_", "c", "target_"],
    helped: ["k", "k", "c", "c"],
    kept_apart: ["k", "k_1", "c", "j"],
}


@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda kernel: kernel.name)
def test_an_index_has_the_authors_name_where_it_is_free(
    kernel: Kernel, accepted: Callable[[str], None]
) -> None:
    text = kernel.wgsl()
    accepted(text)
    assert re.findall(r"for \(var (\w+) =", text) == EXPECTED[kernel], text

"""Loops: ranges as Python has them, `else`, and unrolled ones."""

import itertools

import kernels
import numpy as np
import pytest

from pywgsl import ir

HEAD = "def k(y: Array[i32], n: i32, m: i32):\n"


def run(body: str, n: int = 3, m: int = 1, size: int = 12) -> list[int]:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    y = np.zeros(size, np.int32)
    kernels.run(HEAD + lines, y=y, n=np.int32(n), m=np.int32(m))
    return [int(v) for v in y]


def visited(loop: str, n: int = 3, m: int = 1) -> list[int]:
    """The numbers that a loop over `i` visits."""
    found = run(f"c = 0\nfor i in {loop}:\n    c += 1\n    y[c] = i32(i)\ny[0] = c", n, m, 20)
    return found[1 : 1 + found[0]]


BOUNDS = (-3, 0, 1, 4)


@pytest.mark.parametrize(("n", "m"), list(itertools.product(BOUNDS, BOUNDS)))
def test_ranges_visit_what_python_visits(n: int, m: int) -> None:
    for text in ("range(n)", "range(n, m)", "range(m, 9, 2)", "range(9, n, -2)", "range(n, m, -1)"):
        assert visited(text, n, m) == list(eval(text)), text
        reverse = f"reversed({text})"
        assert visited(reverse, n, m) == list(eval(reverse)), reverse


@pytest.mark.parametrize("step", [-3, -1, 1, 2])
def test_a_step_may_be_known_at_run_time_only(step: int) -> None:
    assert visited("range(2, 9, n)", step) == list(range(2, 9, step))
    assert visited("range(9, 2, n)", step) == list(range(9, 2, step))


@pytest.mark.parametrize("step", [-3, -1, 1, 2, 5])
def test_reversed_takes_any_range(step: int) -> None:
    for text in ("range(2, 9, n)", "range(9, 2, n)", "range(m, m, n)"):
        expected = list(eval(f"reversed({text})", {"n": step, "m": 1}))
        assert visited(f"reversed({text})", step) == expected, text
    assert visited("reversed(range(u32(n + 3)))", step) == list(reversed(range(step + 3)))
    assert visited("reversed(range(u32(7), u32(n), u32(2)))", 5) == []
    assert visited("reversed(range(u32(1), u32(n), u32(2)))", 8) == [7, 5, 3, 1]


def test_a_run_time_step_of_zero_gives_no_iterations() -> None:
    assert visited("range(2, 9, n)", 0) == []
    assert visited("reversed(range(2, 9, n))", 0) == []


def test_assigning_the_target_does_not_change_the_trips() -> None:
    assert run("for i in range(4):\n    y[i] = 1\n    i = 9")[:5] == [1, 1, 1, 1, 0]


def test_the_bounds_are_read_once() -> None:
    assert run("for i in range(n):\n    n += 1\n    y[0] += 1\ny[1] = n")[:2] == [3, 6]
    assert run("y[0] = 3\nfor i in range(y[0]):\n    y[0] += 1")[0] == 6


@pytest.mark.parametrize("loop", ["for i in range(4)", "for i in pw.static_range(4)"])
def test_else_runs_unless_the_loop_was_left(loop: str) -> None:
    body = f"{loop}:\n    if i == n:\n        break\n    y[1] += 1\nelse:\n    y[0] = 1"
    assert run(body, 2)[:2] == [0, 2]
    assert run(body, 9)[:2] == [1, 4]


def test_else_of_a_while() -> None:
    body = "while n > 0:\n    n -= 1\n    if n == m:\n        break\nelse:\n    y[0] = 1\ny[1] = n"
    assert run(body, 3, 1)[:2] == [0, 1]
    assert run(body, 3, 7)[:2] == [1, 0]


def test_else_without_break_needs_no_flag() -> None:
    lines = "    for i in range(n):\n        y[i] = 1\n    else:\n        y[0] = 2\n"
    assert not any(isinstance(node, ir.If) for node in kernels.module(HEAD + lines).body)


@pytest.mark.parametrize("loop", ["range(6)", "pw.static_range(6)"])
def test_continue_and_break(loop: str) -> None:
    leave = "    if i == n:\n        continue\n    if i > m:\n        break\n"
    assert run(f"for i in {loop}:\n{leave}    y[i] = 1", 1, 3)[:6] == [1, 0, 1, 1, 0, 0]


def test_a_break_of_an_inner_loop_leaves_only_that() -> None:
    inner = "    for j in range(5):\n        if j == i:\n            break\n        y[i] += 1"
    assert run(f"for i in pw.static_range(3):\n{inner}")[:3] == [0, 1, 2]


def test_the_target_of_an_unrolled_loop_is_a_constant_in_its_body() -> None:
    text = kernels.wgsl(HEAD + "    for i in pw.static_range(3):\n        y[i] = i * 2\n")
    assert "y[2] = 4;" in text


def test_the_target_of_an_unrolled_loop_after_a_break() -> None:
    body = "for i in pw.static_range(5):\n    if i == n:\n        break\ny[0] = i"
    assert run(body, 2)[0] == 2
    assert run(body, 7)[0] == 4


def test_a_static_range_may_depend_on_an_outer_one() -> None:
    body = "for i in pw.static_range(4):\n    for j in pw.static_range(i):\n        y[i] += j + 1"
    assert run(body)[:4] == [0, 1, 3, 6]


def test_an_unrolled_loop_stops_at_a_return() -> None:
    body = "    for i in pw.static_range(4):\n        y[i] = 1\n        return\n    y[5] = 1\n"
    assert len(kernels.module(HEAD + body).body) == 2


def test_a_return_leaves_all_loops() -> None:
    inner = "    while True:\n        if i == n:\n            return\n        break\n"
    assert run(f"for i in range(9):\n{inner}    y[i] = 1")[:5] == [1, 1, 1, 0, 0]


def test_reversed_static_range() -> None:
    assert run("c = 0\nfor i in reversed(pw.static_range(1, 4)):\n    y[c] = i\n    c += 1")[
        :3
    ] == [3, 2, 1]


def test_a_while_whose_test_runs_statements() -> None:
    text = """
@pw.function
def count(y):
    y[0] += 1
    return y[0]

def k(y: Array[i32], n: i32, m: i32):
    while count(y) < n and count(y) < 10:
        if y[0] == 4:
            continue
        y[1] += 1
"""
    y = np.zeros(3, np.int32)
    kernels.run(text, y=y, n=np.int32(7), m=np.int32(0))
    assert list(y[:2]) == [7, 2]

"""Python's scope: which assignment a read sees, and names that may have none."""

import kernels
import numpy as np
import pytest

from pywgsl.errors import CompileError

HEAD = "def k(y: Array[f32], n: i32):\n"


def result(body: str, n: int = 3, size: int = 4) -> list[float]:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    y = np.zeros(size, np.float32)
    kernels.run(HEAD + lines, y=y, n=np.int32(n))
    return [float(v) for v in y]


def codes(body: str) -> list[str]:
    with pytest.raises(CompileError) as caught:
        result(body)
    return [d.code for d in caught.value.diagnostics]


def test_a_name_belongs_to_the_function_not_to_the_block() -> None:
    body = "if n > 2:\n    v = 1.0\nelse:\n    v = 2.0\ny[0] = v"
    assert result(body, 3)[0] == 1.0
    assert result(body, 1)[0] == 2.0


def test_a_parameter_may_be_assigned() -> None:
    assert result("n = n // 2\ny[0] = n", 7)[0] == 3.0


def test_a_parameter_that_a_loop_changes_keeps_its_name() -> None:
    assert result("while n > 1:\n    n //= 2\n    y[1] += 1\ny[0] = n", 9)[:2] == [1.0, 3.0]


def test_a_name_may_change_its_type_between_uses() -> None:
    text = kernels.wgsl(HEAD + "    v = n\n    y[0] = v\n    v = 0.5\n    y[1] = v\n")
    assert "let v = uniforms.n;" in text
    assert "let v_1 = 0.5;" in text


def test_what_is_merged_has_one_type() -> None:
    text = kernels.wgsl(
        HEAD + "    v = 0\n    for i in range(n):\n        v += 0.5\n    y[0] = v\n"
    )
    assert "var v = 0.0;" in text


def test_types_flow_backwards_through_long_chains() -> None:
    chain = "".join(f"        v{j} = v{j + 1}\n" for j in range(90))
    start = "".join(f"    v{j} = 0\n" for j in range(91))
    text = f"{HEAD}{start}    for i in range(n):\n{chain}        v90 = 0.5\n    y[0] = v0\n"
    assert "var v0 = 0.0;" in kernels.wgsl(text)


def test_swaps_read_before_they_assign() -> None:
    assert result("a, b = 1, 2\na, b = b, a\ny[0], y[1] = a, b")[:2] == [2.0, 1.0]
    assert result("a, (b, c) = 1, (2, 3)\na, (b, c) = b, (a, c)\ny[0], y[1] = a, b")[:2] == [
        2.0,
        1.0,
    ]
    assert result("y[0], y[1] = 1, 2\ny[0], y[1] = y[1], y[0]")[:2] == [2.0, 1.0]


def test_targets_are_assigned_from_the_left() -> None:
    assert result("i = 0\ni, y[i] = 2, 5\n") == [0.0, 0.0, 5.0, 0.0]


def test_chained_assignment_computes_its_value_once() -> None:
    assert result("a = b = y[0] = n * 2\ny[1] = a + b")[:2] == [6.0, 12.0]


def test_a_loop_target_is_read_after_its_loop() -> None:
    assert result("for i in range(5):\n    if i == n:\n        break\ny[0] = i")[0] == 3.0


def test_a_loop_that_always_runs_assigns() -> None:
    assert result("for i in range(3):\n    v = i\ny[0] = v")[0] == 2.0
    assert result("for i in range(3):\n    v = i\n    break\ny[0] = v")[0] == 0.0
    assert result("while True:\n    v = 1\n    break\ny[0] = v")[0] == 1.0


def test_paths_that_end_do_not_count() -> None:
    assert result("if n > 0:\n    v = 1.0\nelse:\n    return\ny[0] = v")[0] == 1.0
    body = "match n:\n    case 3:\n        v = 1.0\n    case _:\n        return\ny[0] = v"
    assert result(body)[0] == 1.0


def test_branches_that_constants_decide_do_not_count() -> None:
    assert result("if pw.workgroup_size.x > 1:\n    v = 1.0\ny[0] = v")[0] == 1.0
    assert result("if y.ndim == 2:\n    y[0, 0] = undefined\nelse:\n    y[0] = 4.0")[0] == 4.0
    assert result("v = 1.0 if True else missing\ny[0] = v")[0] == 1.0
    assert result("if y.ndim == 1 or missing:\n    y[0] = 3.0")[0] == 3.0
    assert result(
        "match y.ndim:\n    case 1:\n        v = 2.0\n    case 2:\n        w = 1.0\ny[0] = v"
    )


@pytest.mark.parametrize(
    "body",
    [
        "if n > 0:\n    v = 1\ny[0] = v",
        "for i in range(n):\n    v = 1\ny[0] = v",
        "while n > 0:\n    v = 1\n    break\ny[0] = v",
        "for i in range(3):\n    if n > i:\n        continue\n    v = 1\ny[0] = v",
        "for i in range(n):\n    y[i] = 1.0\nelse:\n    v = 1\ny[0] = i",
        "for i in range(3):\n    if n == i:\n        break\nelse:\n    v = 1\ny[0] = v",
        "match n:\n    case 1:\n        v = 1\n    case 2 if n > 3:\n        v = 2\ny[0] = v",
        "if n > 0:\n    v = 1\nv += 1\ny[0] = v",
        "for i in range(n):\n    if i > 0:\n        y[i] = v\n    v = 1.0",
    ],
)
def test_a_read_that_may_find_nothing_is_an_error(body: str) -> None:
    assert codes(body) == ["E0203"]


def test_a_local_hides_what_the_module_has() -> None:
    assert codes("y[0] = len(y)\nlen = 1") == ["E0202"]
    assert result("len = 3\ny[0] = len")[0] == 3.0


def test_a_loop_over_a_name_that_is_assigned_later() -> None:
    assert codes("for i in range(m):\n    y[i] = 0.0\nm = 3") == ["E0202"]


def test_deeply_nested_loops_are_followed_quickly() -> None:
    lines = [HEAD.rstrip("\n")]
    for depth in range(1, 19):
        pad = "    " * depth
        lines += [f"{pad}v{depth} = 0", f"{pad}while v{depth} < n:", f"{pad}    v{depth} += 1"]
    lines.append("    " * 19 + "y[0] += 1.0")
    assert "while" in kernels.wgsl("\n".join(lines) + "\n")


def test_an_annotation_holds_for_every_assignment() -> None:
    text = kernels.wgsl(HEAD + "    v: f32 = 1\n    y[0] = v\n    v = 2\n    y[1] = v\n")
    assert "var v = 1.0;" in text
    assert "v = 2.0;" in text


def test_an_annotation_without_a_value_declares_the_type() -> None:
    body = "v: f32\nif n > 0:\n    v = 1\nelse:\n    v = 2\ny[0] = v / 2"
    assert result(body)[0] == 0.5


def test_every_legal_name_works() -> None:
    names = ("_", "__x", "target", "filter", "type", "é", "变量", "i32_", "uniforms", "global_id")
    lines = "".join(f"    {name} = {position}.0\n" for position, name in enumerate(names))
    total = " + ".join(names)
    y = np.zeros(1, np.float32)
    kernels.run(f"{HEAD}{lines}    y[0] = {total}\n", y=y, n=np.int32(0))
    assert y[0] == sum(range(len(names)))

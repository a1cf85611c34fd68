"""Where variables are declared, what is left out, and arrays that become variables."""

import kernels
import pytest

from pywgsl.errors import CompileError

HEAD = "def k(x: Array[f32], y: Array[f32], n: i32):\n"


def body_of(body: str, before: str = "") -> list[str]:
    """The statements of the WGSL, without the guard that every kernel starts with."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = kernels.wgsl(before + HEAD + lines)
    entry = text[text.index("fn k(") :].split("\n")
    start = next(number for number, line in enumerate(entry) if "return;" in line) + 2
    return [line.strip() for line in entry[start : entry.index("}")]]


def test_a_variable_assigned_once_is_a_let() -> None:
    assert body_of("v = x[0]\ny[0] = v") == ["let v = x[0];", "y[0] = v;"]


def test_a_variable_is_declared_where_it_is_first_assigned() -> None:
    assert body_of("v = x[0]\nv += 1\ny[0] = v")[0] == "var v = x[0];"


def test_a_variable_of_one_block_is_declared_in_it() -> None:
    assert body_of("if n > 0:\n    v = x[0]\n    y[0] = v")[1] == "let v = x[0];"


def test_a_variable_of_two_blocks_is_declared_around_them() -> None:
    found = body_of("if n > 0:\n    v = x[0]\nelse:\n    v = 1.0\ny[0] = v")
    assert found[0] == "var v: f32;"


@pytest.mark.parametrize(
    "dead",
    [
        "v = x[0] ** 3",
        "v = 0\nfor i in range(n):\n    v += 1",
        "v, w = 1, 2\nfor i in range(n):\n    v, w = w, v",
        "v = pw.local_array(f32, 4)\nv[n] = 1.0",
        "v = vec2f(1, 2)\nv.x = 3.0",
        "if n > 0:\n    v = 1\nelse:\n    v = 2",
        "match n:\n    case 1:\n        v = 1",
        "v = x[0] if n > 0 else 1.0",
        "pw.sqrt(x[0])",
        "v = half(x[0])",
    ],
)
def test_what_nothing_comes_of_is_left_out(dead: str) -> None:
    helper = "@pw.function\ndef half(v):\n    return v * 0.5\n\n"
    assert body_of(dead + "\ny[0] = 1.0", helper) == ["y[0] = 1.0;"]


def test_a_call_with_an_effect_stays_without_its_result() -> None:
    helper = "@pw.function\ndef bump(a):\n    a[0] += 1.0\n    return a[0]\n\n"
    assert body_of("v = bump(y)\nbump(y)", helper) == ["bump();", "bump();"]


def test_a_helper_that_is_never_called_is_left_out() -> None:
    helper = "@pw.function\ndef wrong(v):\n    return v.nothing\n\n"
    assert "wrong" not in kernels.wgsl(helper + HEAD + "    y[0] = 1.0\n")


def test_what_cannot_be_reached_is_left_out() -> None:
    assert body_of("y[0] = 1.0\nreturn\ny[1] = 2.0") == ["y[0] = 1.0;"]
    assert "y[1]" not in " ".join(body_of("while True:\n    y[0] = 1.0\ny[1] = 2.0"))
    assert "y[1]" not in " ".join(body_of("if n > 0:\n    return\nelse:\n    return\ny[1] = 2.0"))
    assert body_of("if False:\n    y[1] = 2.0\nelse:\n    y[0] = 1.0") == ["y[0] = 1.0;"]


def test_a_value_overwritten_before_it_is_read_is_left_out() -> None:
    assert body_of("v = 1.0\nv = x[0]\nv += v\ny[0] = v")[0] == "var v = x[0];"


def test_a_value_that_a_break_may_carry_out_is_kept() -> None:
    loop = "for i in range(n):\n    v = 1.0\n    if x[i] > 0:\n        break\n    v = 2.0"
    assert "v = 1.0;" in body_of(f"v = 0.0\n{loop}\ny[0] = v")


def test_a_conditional_is_assigned_in_its_arms() -> None:
    expected = ["var v: f32;", "if (uniforms.n > 0) {", "v = x[0];", "} else {", "v = 0.0;", "}"]
    assert body_of("v = x[0] if n > 0 else 0\ny[0] = v")[:6] == expected


def test_a_conditional_that_keeps_a_value_has_one_arm() -> None:
    found = body_of("v = 1.0\nv = x[0] if n > 0 else v\ny[0] = v")
    assert found == ["var v = 1.0;", "if (uniforms.n > 0) {", "v = x[0];", "}", "y[0] = v;"]


def test_conditionals_chain() -> None:
    found = body_of("y[0] = x[0] if n > 0 else x[1] if n > -3 else x[2]")
    assert "} else if (uniforms.n > -3) {" in found


def test_a_conditional_without_loads_is_a_select() -> None:
    assert body_of("y[0] = 1 if n > 0 else 2")[0].startswith("y[0] = select(")


def test_an_array_indexed_by_constants_becomes_variables() -> None:
    found = body_of(
        "s = pw.local_array(f32, 2)\n"
        "for i in range(n):\n    for j in pw.static_range(2):\n        s[j] += x[i]\n"
        "y[0] = s[0] + s[-1]"
    )
    assert found[:2] == ["var s_0 = 0.0;", "var s_1 = 0.0;"]
    assert found[-1] == "y[0] = s_0 + s_1;"


def test_nested_arrays_become_variables() -> None:
    found = body_of(
        "s = pw.local_array(f32, 2, 2)\n"
        "for i in range(n):\n    for p in pw.static_range(2):\n"
        "        for q in pw.static_range(2):\n            s[p, q] += x[i]\n"
        "y[0] = s[0, 1] + s[1][0]"
    )
    assert "var s_0_1 = 0.0;" in found
    assert "y[0] = s_0_1 + s_1_0;" in found


def test_only_the_outer_array_becomes_variables_if_the_inner_index_is_computed() -> None:
    found = body_of("s = pw.local_array(f32, 2, 2)\ns[0][n] = x[0]\ny[0] = s[0][1]")
    assert found[0] == "var s_0 = array<f32, 2>();"


@pytest.mark.parametrize("use", ["s[n] = 1.0", "t = s\nt[n] = 2.0\ny[1] = t[0]", "s = other(s)"])
def test_an_array_that_is_needed_whole_stays_one(use: str) -> None:
    helper = "@pw.function\ndef other(a):\n    return a\n\n"
    found = body_of(f"s = pw.local_array(f32, 2)\n{use}\ny[0] = s[0] + s[1]", helper)
    assert "array<f32, 2>" in found[0]


def test_an_array_made_of_its_own_elements_is_not_torn() -> None:
    found = body_of("s = array[f32, 2](x[0], x[1])\ns = array[f32, 2](s[1], s[0])\ny[0] = s[0]")
    assert "array<f32, 2>(s[1], s[0])" in " ".join(found)


def test_blocks_nested_too_deeply_are_refused() -> None:
    for text in (_deep_choice(60), HEAD + _nested(55)):
        with pytest.raises(CompileError, match="E0404"):
            kernels.module(text)


def _nested(depth: int) -> str:
    lines = ["    " * (d + 1) + f"if n > {d}:" for d in range(depth)]
    return "\n".join(lines) + "\n" + "    " * (depth + 1) + "y[0] = 1.0\n"


def _deep_choice(depth: int) -> str:
    """A conditional whose conditions all need statements of their own."""
    text = "0.0"
    for k in range(depth):
        text = f"(x[{k}] if first(y, {k}) else {text})"
    helper = "@pw.function\ndef first(a, k):\n    a[k] = 1.0\n    return a[k] > 0.0\n\n"
    return f"{helper}{HEAD}    y[0] = {text}\n"


def test_long_texts_compile() -> None:
    total = " + ".join(f"x[{k}]" for k in range(800))
    branches = "".join(f"    elif n == {k}:\n        y[0] = {k}.0\n" for k in range(1, 400))
    parentheses = "(" * 90 + "x[0]" + " + 1.0)" * 90
    for text in (
        f"    y[0] = {total}\n",
        f"    if n == 0:\n        y[0] = 0.0\n{branches}",
        f"    y[0] = {parentheses}\n",
        _nested(54),
    ):
        assert kernels.module(HEAD + text).body

"""What the checker makes of expressions, calls and statements."""

from typing import Any

import kernels
import numpy as np
import pytest

from pywgsl.errors import CompileError

HEAD = "def k(x: Array[f32], y: Array[f32], a: Array[i32], u: Array[u32], n: i32):\n"


def run(body: str, n: int = 3, before: str = "", **names: object) -> dict[str, list[float]]:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    arrays: dict[str, Any] = {
        "x": np.array([0.5, 1.5, -2.5, 4.0], np.float32),
        "y": np.zeros(4, np.float32),
        "a": np.array([5, -7, 2, 0], np.int32),
        "u": np.array([5, 7, 0, 0xFFFFFFFF], np.uint32),
    }
    kernels.run(before + HEAD + lines, names=names, n=np.int32(n), **arrays)
    return {name: array.tolist() for name, array in arrays.items()}


def value(expression: str, n: int = 3, before: str = "", **names: object) -> float:
    return run(f"y[0] = {expression}", n, before, **names)["y"][0]


def codes(body: str, before: str = "") -> list[str]:
    with pytest.raises(CompileError) as caught:
        run(body, before=before)
    return [d.code for d in caught.value.diagnostics]


# ---------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n / 2", 1.5),
        ("n // 2", 1),
        ("-n // 2", -2),
        ("-n % 5", 2),
        ("a[1] // 2", -4),
        ("a[1] % a[2]", 1),
        ("a[0] // a[3]", 5),
        ("a[0] % a[3]", 0),
        ("x[2] // 1", -3),
        ("x[2] % 1.5", 0.5),
        ("n ** 2", 9),
        ("x[2] ** 3", -15.625),
        ("2 ** -1", 0.5),
        ("-7 // 2", -4),
        ("7 % -3", -2),
        ("-2 ** 2", -4),
        ("1 if n > 2 else 0.5", 1),
        ("n + 0.5", 3.5),
        ("max(n, 3.5)", 3.5),
        ("min(n, 2, a[1])", -7),
        ("abs(a[1])", 7),
        ("round(2.5)", 2),
        ("math.floor(x[2])", -3),
        ("math.pi", np.float32(np.pi)),
        ("1 << 4 | 3", 19),
        ("n << 2", 12),
        ("a[1] >> 1", -4),
        ("~n", -4),
        ("f32(n > 2)", 1),
        ("f32(0 < n < 5)", 1),
        ("f32(0 < n < 3)", 0),
        ("f32(n > 2 and not n > 3)", 1),
        ("f32((n > 2) ^ (n > 1))", 0),
        ("int(x[2])", -2),
        ("int(-2.7)", -2),
        ("int(math.nan)", 0),
        ("len(x) * 10 + x.ndim + x.size", 45),
        ("x.shape[-1]", 4),
        ("x[-1]", 4),
        ("len(x.shape)", 1),
        ("max(1, 2.5)", 2.5),
        ("pw.workgroup_size.x", 256),
    ],
)
def test_numbers_are_pythons(expression: str, expected: float) -> None:
    assert value(expression) == pytest.approx(float(expected))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("i32(2147483647) + 1", -(2**31)),
        ("i32(65536) * i32(65536)", 0),
        ("-2147483648", -(2**31)),
        ("-i32(-2147483648)", -(2**31)),
        ("i32(u32(3) - u32(4))", -1),
        ("i32(u32(4294967295))", -1),
        ("2147483648 - 1", 2**31 - 1),
        ("2**40 // 2**20", 2**20),
    ],
)
def test_typed_constants_wrap_and_others_do_not(expression: str, expected: int) -> None:
    assert run(f"a[0] = {expression}")["a"][0] == expected


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("a[0] = 2147483647 + 1", "E0304"),
        ("a[0] = 1 << 31", "E0304"),
        ("u[0] = -1", "E0304"),
        ("y[0] = 10 ** 400", "E0304"),
        ("y[0] = 2 ** 100000", "E0308"),
        ("y[0] = 10.0 ** 400", "E0308"),
        ("y[0] = 0 ** -1", "E0308"),
        ("y[0] = (-8) ** 0.5", "E0308"),
        ("y[0] = math.sqrt(-1)", "E0308"),
        ("a[0] = n << 32", "E0309"),
    ],
)
def test_constants_that_no_type_holds(statement: str, code: str) -> None:
    assert codes(statement) == [code]


# --------------------------------------------------------------------------------- literals


def test_literals_take_the_type_of_their_context() -> None:
    assert run("u[0] = 1 if n > 2 else 2")["u"][0] == 1
    assert run("u[1] = u[1] * (3 if n > 2 else 4) + 5")["u"][1] == 26
    assert run("y[0] = 1 if n > 5 else 2")["y"][0] == 2.0
    assert run("a[(1 if n > 2 else 0)] = 9")["a"][1] == 9
    assert value("(1 if n > 2 else 3) / 2") == 0.5
    assert value("f32((1 if n > 2 else 3) < (2 if n > 2 else 0))") == 1.0


def test_a_variable_that_holds_literals_takes_the_type_of_its_reads() -> None:
    text = kernels.wgsl(HEAD + "    m = 7\n    u[0] = u[1] * m\n    k = m\n    u[2] = k ^ u[3]\n")
    assert "let m = 7u;" in text
    assert "let k = m;" in text


def test_half_precision_literals() -> None:
    head = "def k(h: Array[f16], n: i32):\n"
    text = kernels.wgsl(head + "    s = 0.5\n    h[0] = h[1] * s + (1.0 if n > 0 else 2.0)\n")
    assert "let s = 0.5h;" in text
    assert "f32" not in text


def test_arguments_wait_for_the_types_of_variables() -> None:
    helper = "@pw.function\ndef twice(v):\n    return v + v\n\n"
    body = "v = 0\nfor i in range(3):\n    v = twice(v)\n    v = v + u32(1)\nu[0] = v"
    assert run(body, before=helper)["u"][0] == 7
    body = "v = 0\nw = v << 1\nfor i in range(3):\n    v = v ^ u32(i)\nu[0] = v + w"
    assert run(body)["u"][0] == 3
    body = "v = 0\nt = (v, 1)\nfor i in range(2):\n    v += 0.5\n    t = (v, 2)\ny[0] = t[0] + t[1]"
    assert run(body)["y"][0] == 3.0


def test_conditions_that_need_no_test() -> None:
    body = "    if n > 0 and True:\n        y[0] = 1.0\n    if n > 0 or True:\n        y[1] = 1.0\n"
    text = kernels.wgsl(HEAD + body)
    assert "if (uniforms.n > 0) {" in text
    assert text.count("if (") == 2  # with the guard of the launch


# ---------------------------------------------------------------------- order of evaluation

BUMP = "@pw.function\ndef bump(a, by=1):\n    a[0] += by\n    return a[0]\n\n"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a[0] * 100 + bump(a)", 506),
        ("bump(a) * 100 + a[0]", 606),
        ("bump(a) * 100 + bump(a) * 10 + a[0]", 677),
        ("min(a[0], bump(a))", 5),
        ("(a[0] if bump(a) > 5 else 0) + bump(a)", 13),
        ("i32(a[0] < bump(a) < 7)", 1),
        ("i32(a[0] == 5 and bump(a) == 6 and a[0] == 6)", 1),
        ("i32(a[0] == 5 or bump(a) == 9) * 10 + a[0]", 15),
        ("i32(not (a[0] == 4 and bump(a) == 6)) * 10 + a[0]", 15),
        ("a[bump(a) - 6]", 6),
        ("bump(a, by=a[0])", 10),
        ("0 if n > 2 else bump(a)", 0),
    ],
)
def test_operands_are_evaluated_from_the_left(expression: str, expected: int) -> None:
    assert run(f"y[0] = {expression}", before=BUMP)["y"][0] == expected


def test_the_value_is_evaluated_before_the_target() -> None:
    assert run("a[bump(a) - 6] = a[0]", before=BUMP)["a"][0] == 5
    assert run("a[a[2]] = bump(a)", before=BUMP)["a"][:3] == [6, -7, 6]


def test_an_augmented_target_is_evaluated_first_and_once() -> None:
    assert run("a[0] += bump(a)", before=BUMP)["a"][0] == 11
    assert run("a[bump(a) - 6] += 10", before=BUMP)["a"][0] == 16
    assert run("a[a[3]] += bump(a)", before=BUMP)["a"][0] == 11


def test_only_the_taken_arm_is_evaluated() -> None:
    assert run("y[0] = bump(a) if n > 5 else 1", before=BUMP)["a"][0] == 5


def test_a_call_of_a_store_into_what_a_result_reads() -> None:
    assert run("p = q = bump(a)\ny[0] = p + q", before=BUMP)["y"][0] == 12
    assert run("p, q = a[0], bump(a)\ny[0] = p * 10 + q", before=BUMP)["y"][0] == 56


# ----------------------------------------------------------------------------------- helpers


def test_helpers_return_several_results() -> None:
    helper = "@pw.function\ndef both(p, q):\n    return p + q, p - q\n\n"
    body = "p, q = both(n, 1)\nr = both(x[0], 1)\ny[0], y[1] = p, q\ny[2] = r[-1]"
    assert run(body, before=helper)["y"][:3] == [4.0, 2.0, -0.5]


def test_helpers_are_compiled_for_each_kind_of_argument() -> None:
    helper = "@pw.function\ndef half(v):\n    return v / 2\n\n"
    text = kernels.wgsl(helper + HEAD + "    y[0] = half(n) + half(x[0]) + half(x[1])\n")
    assert "fn half(v: i32) -> f32" in text
    assert "fn half_1(v: f32) -> f32" in text
    assert "half_2" not in text


def test_constant_parameters_prune_branches() -> None:
    helper = (
        "@pw.function\ndef act(v, kind: Const[int]):\n"
        "    if kind == 0:\n        return max(v, 0.0)\n    return v.nothing\n\n"
    )
    assert run("y[0] = act(x[2], 0)", before=helper)["y"][0] == 0.0


def test_constants_that_differ_by_sign_or_type_are_different() -> None:
    helper = "@pw.function\ndef times(v, c: Const[float]):\n    return v * c\n\n"
    text = kernels.wgsl(helper + HEAD + "    y[0] = times(x[0], 0.0) + times(x[0], -0.0)\n")
    assert "fn times_1" in text


def test_specialized_kernels_leave_out_what_is_not_taken() -> None:
    body = "    if fast:\n        y[0] = 1.0\n    else:\n        y[0] = missing\n"
    text = f"def k(y: Array[f32], fast: Const[bool]):\n{body}"
    assert "1.0" in kernels.wgsl(text, {"fast": True})
    with pytest.raises(CompileError, match="missing"):
        kernels.wgsl(text, {"fast": False})


def test_helpers_take_arrays_functions_and_defaults() -> None:
    helper = (
        "@pw.function\ndef twice(v):\n    return v + v\n\n"
        "@pw.function\ndef apply(f, array, i, scale=2.0):\n    return f(array[i]) * scale\n\n"
    )
    assert run("y[0] = apply(twice, x, 1)", before=helper)["y"][0] == 6.0
    assert run("y[0] = apply(pw.sqrt, array=x, i=3, scale=1)", before=helper)["y"][0] == 2.0


def test_a_mistake_in_a_helper_is_reported_once_with_its_call() -> None:
    helper = "@pw.function\ndef wrong(v):\n    return v.nothing\n\n"
    with pytest.raises(CompileError) as caught:
        run("y[0] = wrong(x[0]) + wrong(x[1])\ny[1] = wrong(x[2])", before=helper)
    (found,) = caught.value.diagnostics
    assert found.primary.span.text == "nothing"
    assert [label.text for label in found.secondary] == ["called here"]
    assert found.secondary[0].span.text == "wrong(x[0])"


def test_mistakes_of_discarded_rounds_are_not_reported() -> None:
    helper = "@pw.function\ndef f(v):\n    return v ^ u32(1)\n\n"
    body = "v = 0\nfor i in range(3):\n    u[i] = f(v)\n    v = u[i]"
    assert run(body, before=helper)["u"][:3] == [1, 0, 1]


def test_mistakes_do_not_cascade() -> None:
    uses = "w = v + 1\nfor i in range(w):\n    w += v\ny[0] = w\nif w > v:\n    y[1] = w"
    assert codes(f"v = missing\n{uses}") == ["E0201"]


def test_what_is_wrong_with_a_name_is_said_once() -> None:
    assert codes("y[0] = missing\ny[1] = missing + 1\nif missing > 0:\n    y[2] = 1") == ["E0201"]
    assert codes("if n > 0:\n    v = 1\ny[0] = v\ny[1] = v + v") == ["E0203"]
    assert codes("v = n\ny[0] = v[0] + v[1]") == ["E0318"]


def test_mistakes_behind_wrong_conditions_are_reported() -> None:
    assert codes("if n:\n    y[0] = p") == ["E0307", "E0201"]
    assert codes("while n:\n    y[0] = p") == ["E0307", "E0201"]
    assert codes("for i in range(0.5):\n    y[i] = p") == ["E0328", "E0201"]
    assert codes("y[0] = p if n else q") == ["E0201", "E0307", "E0201"]
    assert codes("match x[0]:\n    case 1:\n        y[0] = p") == ["E0325", "E0201"]


# ------------------------------------------------------------------------- aliases and values


def test_names_stand_for_arrays_ids_and_functions() -> None:
    body = "s, d = x, y\nid = pw.global_id\nroot = pw.sqrt\nd[id.x] = root(s[3])\n"
    assert run(body + "t = (d, s)\nt[0][1] = t[1][0]")["y"][:2] == [2.0, 0.5]


def test_vectors_are_values() -> None:
    body = "v = vec2f(1, 2)\nw = v\nw.x = 5\nv.yx = v\nw[n - 2] += 1\ny[0], y[1] = v\n"
    with pytest.raises(CompileError, match="E0322"):
        run(body)
    body = body.replace("y[0], y[1] = v", "y[0], y[1], y[2], y[3] = v.x, v.y, w.x, w.y")
    assert run(body)["y"] == [2.0, 1.0, 5.0, 3.0]


def test_local_arrays_are_values() -> None:
    body = "s = pw.local_array(f32, 2)\nt = s\nt[n - 3] = 1\ny[0], y[1] = s[0], t[0]"
    assert run(body)["y"][:2] == [0.0, 1.0]


def test_matrices() -> None:
    body = "m = mat2x2f(1, 2, 3, 4)\nv = m @ vec2f(1, 1)\nm[1].x = 9\n"
    found = run(body + "y[0], y[1], y[2] = v.x, v.y, m[1][0]")
    assert found["y"][:3] == [4.0, 6.0, 9.0]


def test_match_runs_the_first_case_that_holds() -> None:
    body = (
        "match n:\n    case 1 | 2:\n        y[0] = 1\n    case 3 if x[0] > 1:\n        y[0] = 2\n"
        "    case 3:\n        y[0] = 3\n    case _:\n        y[0] = 4"
    )
    assert [run(body, n)["y"][0] for n in (1, 2, 3, 7)] == [1, 1, 3, 4]


def test_print_and_assert() -> None:
    text = HEAD + '    print("n is", n, x[0], end="!")\n    print()\n    assert n > 0, "positive"\n'
    arrays: dict[str, Any] = {name: np.zeros(1, t) for name, t in zip("xyau", "ffiI", strict=True)}
    assert kernels.run(text, n=np.int32(2), **arrays) == ["n is 2 0.0!", "\n"]
    with pytest.raises(AssertionError, match="positive"):
        kernels.run(text, n=np.int32(0), **arrays)

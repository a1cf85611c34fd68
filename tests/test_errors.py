"""How a diagnostic looks, to the character, and that every code is explained."""

import pickle
import re
from pathlib import Path

import pywgsl.errors
from pywgsl.codes import SYNTAX, explain, explanations
from pywgsl.errors import CompileError, Diagnostic, Label, LaunchError, fail
from pywgsl.source import NOWHERE, Source, Span

PACKAGE = Path(pywgsl.errors.__file__).parent


def at(source: Source, text: str, nth: int = 0) -> Span:
    start = [match.start() for match in re.finditer(re.escape(text), source.text)][nth]
    return source.span(start, start + len(text))


def test_a_diagnostic_shows_both_places_and_the_change() -> None:
    source = Source("norm.py", "def rms(x: f32, n: u32):\n    y = 1\n    s = rsqrt(n)\n", 42)
    diagnostic = Diagnostic(
        "E0302",
        "`rsqrt` does not accept `u32`",
        Label(at(source, "n)"), "expected f32"),
        (Label(at(source, "n: u32"), "`n` is declared here"),),
        "convert it first: `rsqrt(f32(n))`",
    )
    assert diagnostic.render() == (
        "error[E0302]: `rsqrt` does not accept `u32`\n"
        "  --> norm.py:44:15\n"
        "   |\n"
        "42 | def rms(x: f32, n: u32):\n"
        "   |                 ------ `n` is declared here\n"
        "...\n"
        "44 |     s = rsqrt(n)\n"
        "   |               ^^ expected f32\n"
        "   |\n"
        "   = help: convert it first: `rsqrt(f32(n))`"
    )


def test_indentation_that_was_taken_off_is_shown_again() -> None:
    source = Source("a.py", "x = y", first_line=3, first_column=4)
    assert fail("E0201", "no `y`", at(source, "y")).diagnostics[0].render() == (
        "error[E0201]: no `y`\n --> a.py:3:9\n  |\n3 |     x = y\n  |         ^"
    )


def test_carets_stand_under_tabs_and_wide_characters() -> None:
    source = Source("a.py", "\tx = 漢 + é + y")
    *_, line, caret = str(fail("E0201", "no `y`", at(source, "y"))).split("\n")
    assert line == "1 | \tx = 漢 + é + y"
    assert caret == "  | \t" + " " * len("x = __ + é + ") + "^"


def test_a_span_of_several_lines_underlines_the_first() -> None:
    source = Source("a.py", "x = f(1,\n      2)")
    *_, caret = str(fail("E0201", "no", source.span(4, len(source.text)))).split("\n")
    assert caret == "  |     ^^^^"


def test_an_empty_span_still_has_a_caret() -> None:
    *_, caret = str(fail("E0201", "ends", Source("a.py", "x").span(1, 1))).split("\n")
    assert caret == "  |  ^"


def test_places_in_two_files_are_shown_apart() -> None:
    here, there = Source("a.py", "f(x)"), Source("b.py", "def f(y): ...")
    error = fail("E0301", "wrong", at(here, "x"), Label(at(there, "y"), "declared here"))
    assert str(error) == (
        "error[E0301]: wrong\n"
        " --> a.py:1:3\n"
        "  |\n"
        "1 | f(x)\n"
        "  |   ^\n"
        " ::: b.py:1:7\n"
        "  |\n"
        "1 | def f(y): ...\n"
        "  |       - declared here"
    )


def test_a_diagnostic_without_a_place_is_its_message_and_help() -> None:
    assert str(fail("E0101", "no text", NOWHERE, help="use a file")) == (
        "error[E0101]: no text\n  = help: use a file"
    )


def test_an_error_shows_every_mistake() -> None:
    source = Source("a.py", "a\nb")
    parts = [Diagnostic("E0201", f"no `{n}`", Label(at(source, n))) for n in "ab"]
    text = str(CompileError(parts))
    assert text == "\n\n".join(part.render() for part in parts)


def test_an_error_survives_pickling() -> None:
    error = fail("E0201", "no `x`", Source("a.py", "x").span(0, 1), help="define it")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_launch_error_is_caught_as_a_type_or_value_error() -> None:
    assert issubclass(LaunchError, TypeError)
    assert issubclass(LaunchError, ValueError)


def codes_in_use() -> set[str]:
    texts = (
        path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
        if path.name != "codes.py"
    )
    return {code for text in texts for code in re.findall(r'"(E0\d{3})"', text)}


def test_every_code_in_use_is_explained() -> None:
    assert sorted(codes_in_use() - set(explanations())) == []


def test_every_explained_code_is_in_use() -> None:
    assert sorted(set(explanations()) - codes_in_use()) == []


def test_no_explanation_is_lost_to_a_slip_of_format() -> None:
    written = re.findall(r"^(E\d{4}):", SYNTAX, re.MULTILINE)
    assert written == sorted(set(written))
    assert set(written) <= set(explanations())


def test_an_explanation_shows_the_mistake_and_its_correction() -> None:
    assert explain("E0126") == (
        "E0126: `is`\n\n"
        "Values of a kernel are numbers and have no identity; `==` compares them.\n\n"
        "Instead of\n\n    if flag is True: …\n\nwrite\n\n    if flag: …\n"
    )

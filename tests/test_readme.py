"""The README's code runs, and prints what the README says (`--update-golden` writes it anew)."""

import contextlib
import io
import linecache
import os
import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def code_lines(text: str) -> list[str]:
    """Return the README's lines with all but its Python left empty, so that they are a module."""
    lines = ["\n"] * (text.count("\n") + 1)
    for match in BLOCK.finditer(text):
        if match[1] == "python":
            first = text[: match.start(2)].count("\n")
            body = match[2].splitlines(keepends=True)
            lines[first : first + len(body)] = body
    return lines


def with_outputs(text: str, name: str) -> str:
    """Return the README with what its Python prints now in the blocks that follow it."""
    namespace: dict[str, object] = {"__name__": "readme"}
    printed = ""

    def run(match: re.Match[str]) -> str:
        nonlocal printed
        if match[1] == "text":
            return f"```text\n{printed.rstrip()}\n```"
        line = text[: match.start(2)].count("\n")
        code = compile("\n" * line + match[2], name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, namespace)
        printed = out.getvalue().replace(name, "README.md")
        return match[0]

    return BLOCK.sub(run, text)


def test_the_readme_prints_what_it_says(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("PYWGSL_DEVICE", "numpy")
    text, name = README.read_text(encoding="utf-8"), os.fspath(README)
    monkeypatch.setitem(linecache.cache, name, (len(text), None, code_lines(text), name))
    now = with_outputs(text, name)
    assert text.count("```text") >= 5
    if request.config.getoption("--update-golden"):
        README.write_text(now, encoding="utf-8")
    assert README.read_text(encoding="utf-8") == now

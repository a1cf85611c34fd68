"""Functions found in files, notebooks, doctests and prompts, with their exact places."""

import doctest
import importlib.util
import itertools
import linecache
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pywgsl import syntax
from pywgsl.errors import CompileError
from pywgsl.frontend.capture import capture
from pywgsl.frontend.definition import MISSING, Captured
from pywgsl.frontend.locate import text_of

ROOT = Path(__file__).parents[1]
_count = itertools.count()

Importer = Callable[[str | bytes], ModuleType]


@pytest.fixture
def imported(tmp_path: Path) -> Importer:
    """Return a function that imports a text as a module of its own."""

    def load(text: str | bytes) -> ModuleType:
        name = f"captured_{next(_count)}"
        path = tmp_path / f"{name}.py"
        path.write_bytes(textwrap.dedent(text).encode() if isinstance(text, str) else text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def edit(module: ModuleType, old: str, new: str) -> None:
    """Change a module's file behind its back."""
    assert module.__file__ is not None
    path = Path(module.__file__)
    path.write_text(path.read_text().replace(old, new))
    later = path.stat().st_mtime + 10
    os.utime(path, (later, later))


def names(captured: Captured) -> dict[str, str]:
    """Return where the last occurrence of each name stands, as `line:column`."""
    found = [node for node in syntax.walk(captured.tree) if isinstance(node, syntax.Name)]
    return {node.id: f"{node.span.line}:{node.span.column}" for node in found}


def error_of(function: Any) -> CompileError:
    try:
        captured = capture(function)
    except CompileError as error:
        return error
    assert captured.mistakes
    return CompileError(captured.mistakes)


# -------------------------------------------------------------------------- text and places


def decorated(*_: object, **__: object) -> Callable[[Any], Any]:
    return lambda function: function


def test_a_function_in_a_function_is_placed_in_its_file() -> None:
    if True:

        @decorated(
            "several",
            "lines",
        )
        @decorated(key=1)
        def step(x: int, y: float = 2.0) -> float:
            return x + y

    captured = capture(step)
    first = step.__code__.co_firstlineno
    assert captured.source.name == __file__
    assert (captured.source.first_line, captured.source.first_column) == (first, 8)
    assert captured.source.text.startswith('@decorated(\n    "several"')
    assert names(captured) == {"x": f"{first + 6}:20", "y": f"{first + 6}:24"}
    assert captured.tree.span.location() == f"{__file__}:{first + 5}:13"


def test_a_function_whose_asserts_pytest_has_rewritten_is_found() -> None:
    def step(x: int) -> int:
        assert x > 0, "positive"
        return x

    (check, _) = capture(step).tree.body
    assert isinstance(check, syntax.Assert)


def test_functions_of_one_name_are_told_apart(imported: Importer) -> None:
    module = imported(
        """
        def f(x): return x + 1
        first = f
        def f(x): return x + 2
        second = f
        class A:
            def f(x): return x + 3
        def make(k):
            def f(x): return x + k
            return f
        """
    )
    functions = [module.first, module.second, module.A.f, module.make(4)]
    assert [capture(f).source.first_line for f in functions] == [2, 4, 7, 9]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_breaks_of_every_system(imported: Importer, newline: str) -> None:
    text = "# one\nclass A:\n\tdef f(x):\n\t\ty = x\n\t\treturn (y +\n x)\n"
    module = imported(text.replace("\n", newline).encode())
    captured = capture(module.A.f)
    assert names(captured) == {"y": "5:11", "x": "6:2"}
    assert captured.source.first_column == 0  # The last line sticks out to the left.


def test_form_feeds_and_continued_lines(imported: Importer) -> None:
    module = imported(
        "if True:\n    \x0c\n    def f(x):\n\n        y = \\\n  x\n        return y\n"
    )
    assert names(capture(module.f)) == {"x": "6:3", "y": "7:16"}


@pytest.mark.parametrize(
    "data",
    [
        "\ufeffdef f(é):\n    ñ = é  # ñ\n    return ñ + é".encode(),
        "# -*- coding: latin-1 -*-\ndef f(é):\n    return 'ñ', é".encode("latin-1"),
    ],
)
def test_encodings(imported: Importer, data: bytes) -> None:
    module = imported(data)
    if b"latin" in data:
        assert error_of(module.f).diagnostics[0].primary.span.location().endswith(":3:12")
    else:
        assert names(capture(module.f)) == {"ñ": "3:12", "é": "3:16"}


def test_a_mangled_name_keeps_its_annotation(imported: Importer) -> None:
    module = imported("class A:\n    def f(__x: int = 3): return __x\n")
    (parameter,) = capture(module.A.f).parameters
    assert (parameter.name, parameter.annotation, parameter.default) == ("__x", int, 3)


# ------------------------------------------------------------------------- texts that change


def test_lines_inserted_above_do_not_matter(imported: Importer) -> None:
    module = imported("def f(x):\n    return x + 1\n")
    edit(module, "def f", "# new\n# lines\ndef f")
    linecache.checkcache()
    assert capture(module.f).source.first_line == 3


def test_an_unchanged_text_is_verified_whatever_its_scopes(imported: Importer) -> None:
    module = imported(
        """
        from __future__ import annotations
        import math
        try:
            import math as m
        except ImportError:
            m = None
        from math import *

        class A:
            import cmath
            def make(self):
                k = 1
                class B:
                    if True:
                        def f(__x: int):
                            return math.sin(__x) + m.cos(k) + B.f.y() + tan.z()
                        def h(x): return x in {"one", "two", "three"}
                    async def g(x):
                        import random
                        await random.x(cmath.y())
                return B
        """
    )
    edit(module, "", "")  # Only its time changes, so that nothing but the bytecode vouches for it.
    functions = module.A().make()
    assert capture(functions.f).source.first_line == functions.f.__code__.co_firstlineno
    assert [d.code for d in error_of(functions.h).diagnostics] == ["E0127"]
    assert [d.code for d in error_of(functions.g).diagnostics] == ["E0106", "E0112", "E0106"]


def test_another_text_is_never_taken_for_the_function(imported: Importer) -> None:
    module = imported("def f(x):\n    return x + 1\n")
    edit(module, "+", "-")
    linecache.checkcache()
    error = error_of(module.f)
    assert [d.code for d in error.diagnostics] == ["E0103"]
    assert "has changed since it was imported" in str(error)


def test_a_number_of_another_type_is_another_text(imported: Importer) -> None:
    module = imported("def f(x):\n    return x + 1\n")
    edit(module, "1", "1.0")
    linecache.checkcache()
    assert [d.code for d in error_of(module.f).diagnostics] == ["E0103"]


def test_a_text_taken_before_an_edit_serves_after_it(imported: Importer) -> None:
    module = imported("def f(x):\n    return x + 1\n")
    source = text_of(module.f)
    edit(module, "+", "-")
    linecache.checkcache()
    captured = capture(module.f, source=source)
    assert captured.source.text == "def f(x):\n    return x + 1"


# --------------------------------------------------------------- notebooks, prompts, strings


def run_text(text: str, filename: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "cell"}
    exec(compile(text, filename, "exec"), namespace)
    return namespace


def test_a_registered_text_is_found_as_in_a_notebook() -> None:
    text = "x = 1\ndef f(x):\n    return x\n"
    filename = "/tmp/ipykernel_1/123.py"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    try:
        assert capture(run_text(text, filename)["f"]).source.first_line == 2
    finally:
        del linecache.cache[filename]


def test_a_text_that_is_nowhere_is_reported() -> None:
    assert str(error_of(run_text("def f(x): return x", "<string>")["f"])) == (
        "error[E0101]: the text of `f` cannot be found: it was defined in <string>\n"
        "  = help: put the kernel in a file, or make it with `pw.kernel_from_source(text)`"
    )


def test_a_doctest_is_found() -> None:
    text = """
    >>> def f(x):
    ...     return x
    >>> capture(f).tree.name
    'f'
    """
    test = doctest.DocTestParser().get_doctest(text, {"capture": capture}, "example", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


SCRIPT = """
from pywgsl.frontend.capture import capture
def f(x):
    return x
print(capture(f).source.first_line)
"""


def python(*arguments: str, **options: Any) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        **options,
    )
    return str(done.stdout + done.stderr)


def test_the_text_of_python_c_is_found() -> None:
    assert python("-X", "utf8", "-c", SCRIPT, "argument") == "3\n"


def test_redirected_input_is_found(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    with path.open() as stdin:
        assert python("-", stdin=stdin) == "3\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_what_is_typed_at_the_prompt_is_found(tmp_path: Path) -> None:
    typed = [
        "from pywgsl.frontend.capture import capture",
        "def deco(k): return lambda g: g",
        "",
        "def f(x):",
        "    return x + 1",
        "",
        "@deco(",
        "    1)",
        "def f(x):",
        '    """Text',
        'at the margin."""',
        "    return x + 2",
        "",
        "captured = capture(f)",
        "print('found', captured.source.first_line, captured.tree.span.line, captured.tree.doc)",
        "exit()",
    ]
    assert "found 1 3 Text\r\nat the margin." in type_at_prompt(typed, tmp_path)


def type_at_prompt(lines: list[str], home: Path) -> str:
    """Return what an interactive Python shows when lines are typed into it."""
    import pty

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home), "TERM": "dumb"}
    main, secondary = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-q", "-i"],
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        env=environment,
        start_new_session=True,
    )
    os.close(secondary)
    os.write(main, ("\n".join(lines) + "\n").encode())
    shown = b""
    try:
        while chunk := os.read(main, 4096):
            shown += chunk
    except OSError:
        pass  # The terminal closes when the process ends.
    process.wait()
    os.close(main)
    return shown.decode()


# ------------------------------------------------------------------- parameters and lookup


def test_annotations_and_defaults() -> None:
    def f(a, b: int, c: "float" = 2.0, *, d: bool = True, e=None):  # type: ignore[no-untyped-def] # unannotated on purpose
        pass

    parameters = capture(f).parameters
    assert [p.name for p in parameters] == ["a", "b", "c", "d", "e"]
    assert [p.annotation for p in parameters] == [MISSING, int, float, bool, MISSING]
    assert [p.default for p in parameters] == [MISSING, MISSING, 2.0, True, None]
    assert [p.span.text for p in parameters] == ["a", "b", "c", "d", "e"]
    assert [p.annotation_span.text for p in parameters] == ["a", "int", '"float"', "bool", "e"]


def test_postponed_annotations_see_the_module_and_the_closure(imported: Importer) -> None:
    module = imported(
        """
        from __future__ import annotations
        def make(k, T):
            def f(a: Row, b: list[T], c: 'int'): return a[k], T
            return f
        Row = tuple
        """
    )
    parameters = capture(module.make(1, float)).parameters
    assert [p.annotation for p in parameters] == [tuple, list[float], int]


def test_an_annotation_that_is_not_defined_is_underlined(imported: Importer) -> None:
    module = imported(
        "from __future__ import annotations\ndef f(a: list[Missing], b: 1 / 0): y = b is a\n"
    )
    error = error_of(module.f)
    assert [(d.code, d.primary.span.text) for d in error.diagnostics] == [
        ("E0108", "Missing"),
        ("E0108", "1 / 0"),
        ("E0126", "is"),
    ]
    assert "the annotation of `a` uses `Missing`, which is not defined" in str(error)
    assert "the annotation of `b` raises ZeroDivisionError: division by zero" in str(error)


GLOBAL = 1


def test_names_are_looked_up_at_the_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    local = 10

    def f(x: int) -> object:
        return local, GLOBAL, unset

    lookup = capture(f).lookup
    with pytest.raises(KeyError):
        lookup("unset")
    unset = 5
    local = 20
    monkeypatch.setitem(globals(), "GLOBAL", 2)
    assert [lookup(name) for name in ("local", "GLOBAL", "unset", "len")] == [20, 2, unset, len]
    with pytest.raises(KeyError):
        lookup("nowhere")


# -------------------------------------------------------------------------- not a function


class Model:
    def step(self, x: int) -> None: ...

    def free(x: int) -> None: ...  # type: ignore[misc] # noqa: N805

    @staticmethod
    def static(x: int) -> None: ...


def test_a_method_is_refused_at_its_self() -> None:
    error = error_of(Model.step)
    assert [(d.code, d.primary.span.text) for d in error.diagnostics] == [("E0105", "self")]


def test_functions_in_a_class_are_no_methods() -> None:
    assert capture(Model.free).tree.name == "free"
    assert capture(Model.static).tree.name == "static"


@pytest.mark.parametrize("value", [Model, len, Model().step, 3, Model.__dict__["static"]])
def test_only_a_def_can_be_captured(value: Any) -> None:
    assert [d.code for d in error_of(value).diagnostics] == ["E0102"]


def test_a_lambda_is_refused_where_it_stands() -> None:
    error = error_of(lambda x: x)
    (diagnostic,) = error.diagnostics
    assert diagnostic.code == "E0102"
    assert diagnostic.primary.span.text == "lambda"
    assert diagnostic.primary.span.column == 22


def test_generators_and_coroutines_are_refused() -> None:
    def count(n: int) -> Iterator[int]:
        yield n

    async def wait(x: int) -> None:
        pass

    assert [d.code for d in error_of(count).diagnostics] == ["E0107"]
    assert [d.code for d in error_of(wait).diagnostics] == ["E0106"]

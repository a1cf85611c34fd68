"""Kernels from text that is in no file."""

from __future__ import annotations

import ast
import itertools
import linecache
import math
import textwrap
from types import FunctionType
from typing import Any

from pywgsl.errors import LaunchError, fail
from pywgsl.kernel import Kernel
from pywgsl.source import Source

_numbers = itertools.count(1)


def kernel_from_source(text: str, name: str | None = None) -> Kernel:
    """Return a kernel that is given as text.

    The text sees `pw`, `math` and every public name of pywgsl; it may import more. A function
    without a decorator is a kernel too, if it is the one that is meant.

    Args:
        text: Python source with one or more functions.
        name: which function is the kernel; needed if there are several.

    Raises:
        CompileError: the text is not Python.
        LaunchError: it holds no kernel, or several and no name, or none of that name.
    """
    import pywgsl

    filename = f"<pywgsl source {next(_numbers)}>"
    namespace = {n: getattr(pywgsl, n) for n in pywgsl.__all__}
    namespace |= {"pw": pywgsl, "math": math, "__name__": filename}
    before = dict(namespace)
    execute(textwrap.dedent(text), filename, namespace)
    made = {n: v for n, v in namespace.items() if v is not before.get(n)}
    found = _choose(made, name, filename)
    return found if isinstance(found, Kernel) else Kernel(found)


def execute(text: str, filename: str, namespace: dict[str, Any]) -> None:
    """Run text in a namespace, such that its functions' source can be found under `filename`.

    Raises:
        CompileError: the text is not Python.
    """
    try:
        code = compile(ast.parse(text, filename), filename, "exec")
    except SyntaxError as error:
        raise _syntax_error(error, text, filename) from None
    # No modification time: linecache then never looks for a file of that name.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(code, namespace)


def _choose(made: dict[str, Any], name: str | None, filename: str) -> Any:
    kernels = {n: v for n, v in made.items() if isinstance(v, Kernel)}
    functions = {
        n: v
        for n, v in made.items()
        if isinstance(v, FunctionType) and v.__code__.co_filename == filename
    }
    if name is not None:
        found = kernels.get(name) or functions.get(name)
        if found is None:
            raise LaunchError(
                f"the text has no kernel `{name}`; it has {_listed(kernels | functions)}"
            )
        return found
    candidates = kernels or functions
    if len(candidates) != 1:
        wanted = "say which one with `name=…`" if candidates else "write one with `def`"
        raise LaunchError(
            f"the text has {len(candidates)} kernels: {_listed(candidates)}; {wanted}"
        )
    return next(iter(candidates.values()))


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"`{n}`" for n in values) or "none"


def _syntax_error(error: SyntaxError, text: str, filename: str) -> Exception:
    source = Source(filename, text)
    line = min(max((error.lineno or 1) - 1, 0), len(source.line_starts) - 1)
    start = source.line_starts[line] + max((error.offset or 1) - 1, 0)
    end = start + 1
    if error.end_lineno == error.lineno and error.end_offset:
        end = source.line_starts[line] + error.end_offset - 1
    return fail("E0101", f"this is not Python: {error.msg}", source.span(start, end))

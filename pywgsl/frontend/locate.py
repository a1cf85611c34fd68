"""The text of a Python function: in files, notebooks, doctests, `python -c` and the REPL.

A text counts only if it compiles to the function's own bytecode. So neither an edit since the
import nor another function of the same name can lead to the wrong kernel.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from pywgsl.errors import CompileError, fail
from pywgsl.frontend.from_python import FunctionNode
from pywgsl.source import NOWHERE, Source

#: Files older than this cannot have changed since a kernel was imported from them.
_STARTED = time.time()

_FILTERS = threading.Lock()


@dataclass(frozen=True, eq=False)
class Definition:
    """A function's definition in a text: its node, and what its compilation depends on."""

    node: FunctionNode
    #: The module-level statement around it, which makes the scopes what they are.
    outermost: ast.stmt
    #: Those of the module: a call of an imported module's function has bytecode of its own.
    imports: list[ast.stmt]
    in_class: bool

    @property
    def first_line(self) -> int:
        """The line of its first decorator, or of the `def`."""
        return min([self.node.lineno, *(d.lineno for d in self.node.decorator_list)])


def text_of(function: FunctionType) -> tuple[str, str] | None:
    """Return the file name and present text of the file that holds a function, if there is one.

    Nothing is parsed. Taken when a function is decorated, it lets `capture` read that text
    later even if the file has changed by then.
    """
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    return (filename, "".join(lines)) if lines else None


def locate(
    function: FunctionType, source: tuple[str, str] | None = None
) -> tuple[Source, Definition]:
    """Return the text of a function, from its first decorator on, and its definition there.

    Args:
        function: The function.
        source: The name and text of the file that it is known to come from.

    Raises:
        CompileError: If there is no text, or none that is the function's.
    """
    code = function.__code__
    unverified = None
    has_text = False
    for filename, text in _texts(function, source):
        has_text = True
        for definition in _nearest_first(text, code):
            if _compiles_to(definition, code):
                return _excerpt(filename, text, definition), definition
            if unverified is None and definition.first_line == code.co_firstlineno:
                unverified = _excerpt(filename, text, definition), definition
    # Import hooks (pytest's assertions, run-time type checkers) compile something else than
    # the text. If it cannot have changed, it is still what the author wrote.
    if unverified is not None and _unchanged_since_start(code.co_filename):
        return unverified
    raise _not_found(function, has_text)


def _not_found(function: FunctionType, has_text: bool) -> CompileError:
    name, filename = function.__name__, function.__code__.co_filename
    if has_text and not filename.startswith("<"):
        return fail(
            "E0103",
            f"the text of `{name}` in {filename} has changed since it was imported",
            NOWHERE,
            help="import it again, in a new process or with `importlib.reload`",
        )
    return fail(
        "E0101",
        f"the text of `{name}` cannot be found: it was defined in {filename}",
        NOWHERE,
        help="put the kernel in a file, or make it with `pw.kernel_from_source(text)`",
    )


# ------------------------------------------------------------------ where a text may be kept


def _texts(function: FunctionType, source: tuple[str, str] | None) -> Iterator[tuple[str, str]]:
    """Yield the texts that may hold a function, the likeliest first."""
    filename = function.__code__.co_filename
    if source is not None:
        yield source[0], _with_plain_newlines(source[1])
    # Files, and whatever registers its text: IPython, doctest, the REPL of Python 3.13.
    yield from _cached(function, fresh=False)
    yield from _cached(function, fresh=True)
    if filename == "<string>":
        for argument in sys.orig_argv[1:]:
            yield filename, _with_plain_newlines(argument.removeprefix("-c"))
    if filename == "<stdin>":
        for text in (*_redirected_input(), *_typed_statements(function.__code__.co_name)):
            yield filename, _with_plain_newlines(text)


def _cached(function: FunctionType, *, fresh: bool) -> Iterator[tuple[str, str]]:
    code = function.__code__
    if fresh:
        linecache.checkcache(code.co_filename)
    # Called through its module: doctest replaces it there.
    lines = linecache.getlines(code.co_filename, function.__globals__)
    by_code = getattr(linecache, "_getlines_from_code", None)  # Python 3.13 keeps `-c` there.
    if not lines and by_code is not None:
        lines = by_code(code)
    if lines:
        yield code.co_filename, _with_plain_newlines("".join(lines))


def _redirected_input() -> Iterator[str]:
    """Yield the text of `python < script.py`."""
    try:
        descriptor = sys.__stdin__.fileno() if sys.__stdin__ else -1
        size = os.fstat(descriptor).st_size if descriptor >= 0 else 0
        # A pipe has no size, and cannot be read twice. Reading leaves the position alone.
        text = os.pread(descriptor, size, 0) if size else b""
    except (OSError, ValueError, AttributeError):
        return
    yield text.decode(errors="replace")


def _typed_statements(name: str) -> Iterator[str]:
    """Yield the statements of the interactive session that define `name`, the last first.

    Up to Python 3.12 the readline history is all there is. It has no empty lines, and the
    lines of one statement are separate entries.
    """
    try:
        import readline
    except ImportError:
        return
    count = readline.get_current_history_length()
    lines = [readline.get_history_item(index) or "" for index in range(1, count + 1)]
    for index in range(count - 1, -1, -1):
        if not lines[index].lstrip().startswith((f"def {name}", f"async def {name}")):
            continue
        starts = [i for i in range(max(0, index - 200), index + 1) if lines[i][:1].strip()]
        yield from filter(None, (_statement_at(lines, start, index) for start in starts[-20:]))


def _statement_at(lines: list[str], start: int, inside: int) -> str | None:
    """Return the statement that starts at one line if it reaches another."""
    for end in range(inside + 1, len(lines) + 1):
        if end < len(lines) and not lines[end][:1].strip():
            continue  # An indented line goes on with the statement before it.
        text = "\n".join(lines[start:end]) + "\n"
        try:
            body = _parse(text).body
        except SyntaxError:
            continue
        return text if len(body) == 1 else None
    return None


def _with_plain_newlines(text: str) -> str:
    """Return a text as Python's compiler reads it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")


def _unchanged_since_start(filename: str) -> bool:
    try:
        return os.stat(filename).st_mtime <= _STARTED
    except OSError:
        return False


# ------------------------------------------------------------- which definition it is there


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep the compiler silent: it gave its warnings when Python compiled the text itself."""
    # The filters are one state for all threads: two that overlap would restore each other's.
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _parse(text: str) -> ast.Module:
    with _without_warnings():
        return ast.parse(text)


@lru_cache(maxsize=16)
def _definitions(text: str) -> dict[str, list[Definition]]:
    """Return every function that a text defines, by name; nothing if it is not Python."""
    found: dict[str, list[Definition]] = {}
    try:
        module = _parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    imports: list[ast.stmt] = []
    # The scope of a statement is the function or class around it, or None.
    pending: list[tuple[ast.stmt, ast.stmt, ast.stmt | None]]
    pending = [(statement, statement, None) for statement in reversed(module.body)]
    while pending:
        statement, outermost, scope = pending.pop()
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                in_class = isinstance(scope, ast.ClassDef)
                definition = Definition(statement, outermost, imports, in_class)
                found.setdefault(statement.name, []).append(definition)
                scope = statement
            case ast.ClassDef():
                scope = statement
            case ast.Import() | ast.ImportFrom() if scope is None:
                imports.append(statement)
        pending += [(child, outermost, scope) for child in _substatements(statement)]
    return found


def _substatements(statement: ast.stmt) -> Iterator[ast.stmt]:
    for field in ("body", "orelse", "finalbody"):
        yield from getattr(statement, field, ())
    for field in ("handlers", "cases"):
        for part in getattr(statement, field, ()):
            yield from part.body


def _nearest_first(text: str, code: CodeType) -> list[Definition]:
    named = _definitions(text).get(code.co_name, [])
    return sorted(named, key=lambda d: abs(d.first_line - code.co_firstlineno))


def _compiles_to(definition: Definition, code: CodeType) -> bool:
    """Whether a definition has the bytecode of a function."""
    module = ast.Module([*definition.imports, definition.outermost], type_ignores=[])
    flags = code.co_flags & __future__.annotations.compiler_flag
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # A notebook's cell may have one.
    try:
        with _without_warnings():
            compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    wanted = _fingerprint(code)
    pending = [compiled]
    while pending:
        current = pending.pop()
        if (
            current.co_name == code.co_name
            and current.co_firstlineno == definition.first_line
            and _fingerprint(current) == wanted
        ):
            return True
        pending += [const for const in current.co_consts if isinstance(const, CodeType)]
    return False


def _fingerprint(code: CodeType) -> tuple[Any, ...]:
    """Return all that says what a function does, and nothing that says where it stands."""
    return (
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_kwonlyargcount,
        tuple(_constant(constant) for constant in code.co_consts),
    )


def _constant(value: object) -> object:
    match value:
        case CodeType():
            return _fingerprint(value)
        case frozenset():
            return frozenset(repr(element) for element in value)
        case _:
            return repr(value)  # By spelling: 1, 1.0 and True are equal, and nan is not.


def _excerpt(filename: str, text: str, definition: Definition) -> Source:
    """Return the lines of a definition, without indentation if all of them share it."""
    first, last = definition.first_line, definition.node.end_lineno
    lines = text.split("\n")[first - 1 : last]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    if not all(line.startswith(indent) or not line.strip() for line in lines):
        indent = ""  # A text or a continued line sticks out to the left.
    shown = "\n".join(line[len(indent) :] for line in lines)
    return Source(filename, shown, first, len(indent))

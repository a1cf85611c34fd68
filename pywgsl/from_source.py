"""Python text that is in no file: run such that its functions' source can be found."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

_numbers = itertools.count(1)


def execute(text: str, namespace: dict[str, Any], what: str = "source") -> str:
    """Run text in a namespace, and return the unique name of the file that it then seems to be in.

    Raises:
        SyntaxError: the text is not Python.
    """
    filename = f"<pywgsl {what} {next(_numbers)}>"
    namespace["__name__"] = filename
    # Without a modification time linecache never looks for a file of that name.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), namespace)
    return filename

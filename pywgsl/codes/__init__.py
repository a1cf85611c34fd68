"""What each error code means: `pywgsl explain CODE`.

One text for each group: E01 the Python that can be read, E02 names, E03 types, E04 what must hold
of a whole kernel, E05 launches. A test asserts that every code in use is explained.

An entry is a line `CODE: title`, a paragraph, and the mistake and its correction, indented under
`wrong:` and `right:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from pywgsl.codes.launch import LAUNCH
from pywgsl.codes.names import NAMES
from pywgsl.codes.syntax import SYNTAX
from pywgsl.codes.types import TYPES
from pywgsl.codes.validity import VALIDITY

__all__ = [
    "LAUNCH",
    "NAMES",
    "SYNTAX",
    "TYPES",
    "VALIDITY",
    "Explanation",
    "explain",
    "explanations",
]

_ENTRY = re.compile(
    r"""
    ^(?P<code>E\d{4}):[ ](?P<title>.+)\n
    (?P<text>(?:\S.*\n)+)
    wrong:\n(?P<wrong>(?:[ ]{4}.*\n|\n(?=[ ]{4}))+)
    right:\n(?P<right>(?:[ ]{4}.*\n|\n(?=[ ]{4}))+)
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an error code means, with the mistake and its correction."""

    code: str
    title: str
    text: str
    wrong: str
    right: str

    def __str__(self) -> str:
        return (
            f"{self.code}: {self.title}\n\n{self.text}\n"
            f"Instead of\n\n{self.wrong}\nwrite\n\n{self.right}"
        )


@cache
def explanations() -> dict[str, Explanation]:
    """Return the explanation of every code."""
    text = "\n".join([SYNTAX, NAMES, TYPES, VALIDITY, LAUNCH])
    return {entry["code"]: Explanation(**entry.groupdict()) for entry in _ENTRY.finditer(text)}


def explain(code: str) -> str:
    """Return what a code means, as text for a terminal.

    Raises:
        KeyError: If there is no such code.
    """
    return str(explanations()[code])

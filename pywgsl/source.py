"""Source text and places in it.

Every node of both trees carries a `Span`, so that a message about it can show the author's
own line. Offsets count characters of `Source.text` (not bytes), half open.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """A piece of text that a front end reads.

    A kernel's text usually starts somewhere inside its file: `first_line` is the number of its
    first line there, and `first_column` how many characters of indentation were taken off
    every line.
    """

    name: str
    text: str = field(repr=False)
    first_line: int = 1
    first_column: int = 0

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset at which each line starts."""
        starts = [0]
        starts.extend(i + 1 for i, character in enumerate(self.text) if character == "\n")
        return starts

    def line_of(self, offset: int) -> int:
        """Return the index, from 0, of the line that holds `offset`."""
        return bisect_right(self.line_starts, offset) - 1

    def line_text(self, index: int) -> str:
        """Return line `index` (from 0) without its line break."""
        start = self.line_starts[index]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]

    def span(self, start: int, end: int) -> Span:
        """Return the span of the characters from `start` up to `end`."""
        return Span(self, start, max(start, end))


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters of one source."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line number in the author's file, from 1."""
        return self.source.first_line + self.source.line_of(self.start)

    @property
    def column(self) -> int:
        """The column in the author's file, from 1."""
        start_of_line = self.source.line_starts[self.source.line_of(self.start)]
        return self.source.first_column + self.start - start_of_line + 1

    @property
    def text(self) -> str:
        """The characters themselves."""
        return self.source.text[self.start : self.end]

    def location(self) -> str:
        """Return `file:line:column`, as editors understand it."""
        return f"{self.source.name}:{self.line}:{self.column}"


#: Where something comes from that no author wrote.
NOWHERE = Span(Source("<generated>", ""), 0, 0)

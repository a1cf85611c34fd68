"""One class of diagnostic for the compiler, one for launches, and the renderer with carets.

The codes and their explanations are in `pywgsl.codes`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pywgsl.source import NOWHERE, Source, Span


class PywgslError(Exception):
    """Whatever pywgsl itself reports."""


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the source and what to say about it (nothing, if the message says it all)."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: what was found, where, where the other side of it came from, and a fix.

    `message` starts in lower case, has no full stop, and quotes code in back quotes; `help` is a
    change that the reader can paste.
    """

    code: str
    message: str
    primary: Label
    secondary: tuple[Label, ...] = ()
    help: str | None = None

    def render(self) -> str:
        """Return the text with source lines and carets."""
        lines = [f"error[{self.code}]: {self.message}"]
        labels = [label for label in (self.primary, *self.secondary) if label.span is not NOWHERE]
        if labels:
            lines += _render_labels(self.primary, labels)
        if self.help:
            if labels:
                lines.append(" " * _margin(labels) + " |")
            first, *rest = self.help.split("\n")
            indent = " " * (_margin(labels) if labels else 1)
            lines.append(f"{indent} = help: {first}")
            lines += [f"{indent}         {line}" for line in rest]
        return "\n".join(lines)


class CompileError(PywgslError):
    """A kernel that cannot be compiled; `str()` shows every independent mistake in it."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n\n".join(diagnostic.render() for diagnostic in self.diagnostics)


class LaunchError(PywgslError, TypeError, ValueError):
    """Arguments or a launch shape that a kernel cannot run with, found before anything runs.

    It is both a `TypeError` and a `ValueError`: callers of an array library expect one for a
    wrong dtype and the other for a wrong shape.
    """


class DeviceError(PywgslError, RuntimeError):
    """A device that is missing, lost, out of memory, or that refused what it was given."""


class PywgslWarning(UserWarning):
    """Something that is allowed but may not be what was meant."""


def fail(
    code: str, message: str, span: Span, *secondary: Label, label: str = "", help: str | None = None
) -> CompileError:
    """Return a `CompileError` with a single diagnostic, to raise."""
    return CompileError([Diagnostic(code, message, Label(span, label), secondary, help)])


def _margin(labels: Sequence[Label]) -> int:
    return max(len(str(label.span.line)) for label in labels)


def _render_labels(primary: Label, labels: Sequence[Label]) -> list[str]:
    margin = _margin(labels)
    lines = [f"{' ' * margin}--> {primary.span.location()}"]
    sources: list[Source] = []
    for label in labels:
        if label.span.source not in sources:
            sources.append(label.span.source)
    for source in sources:
        if source != primary.span.source:
            first = next(label for label in labels if label.span.source == source)
            lines.append(f"{' ' * margin}::: {first.span.location()}")
        lines.append(f"{' ' * margin} |")
        here = [label for label in labels if label.span.source == source]
        here.sort(key=lambda label: (label.span.line, -label.span.start))
        shown = None
        for label in here:
            if label.span.line != shown:
                if shown is not None and label.span.line > shown + 1:
                    lines.append("...")
                shown = label.span.line
                text = source.line_text(source.line_of(label.span.start))
                lines.append(f"{shown:>{margin}} | {' ' * source.first_column}{text}".rstrip())
            lines.append(f"{' ' * margin} | {_caret_line(label, primary)}")
    return lines


def _caret_line(label: Label, primary: Label) -> str:
    """Return the padding and marks that stand under a label's characters."""
    span, source = label.span, label.span.source
    start = source.line_starts[source.line_of(span.start)]
    line = source.line_text(source.line_of(span.start))
    before = line[: span.start - start]
    # Tabs are kept so that the caret stays under its token however wide the terminal shows them.
    padding = "".join("\t" if c == "\t" else " " * _width(c) for c in before)
    marked = line[span.start - start : max(span.end - start, span.start - start + 1)]
    mark = ("^" if label is primary else "-") * max(1, sum(_width(c) for c in marked))
    return f"{' ' * source.first_column}{padding}{mark} {label.text}".rstrip()


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

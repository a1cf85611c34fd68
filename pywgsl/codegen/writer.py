"""What every emitter needs to write text: lines with their origin, and WGSL's precedence."""

from __future__ import annotations

from typing import NamedTuple

from pywgsl.source import NOWHERE, Span


class Writer:
    """Indented lines, each with the place in the author's source that it comes from."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.spans: list[Span | None] = []
        self._indent = ""

    def line(self, text: str, span: Span = NOWHERE) -> None:
        """Add a line."""
        self.lines.append(self._indent + text if text else "")
        self.spans.append(None if span is NOWHERE else span)

    def open(self, header: str, span: Span = NOWHERE) -> None:
        """Add a line that opens a block."""
        self.line(f"{header} {{", span)
        self._indent += "    "

    def close(self, after: str = "", span: Span = NOWHERE) -> None:
        """Close a block; `after` follows the brace."""
        self._indent = self._indent[:-4]
        self.line(f"}}{after}", span)

    def reopen(self, header: str, span: Span = NOWHERE) -> None:
        """Close a block and open another on the same line, as `} else {`."""
        self._indent = self._indent[:-4]
        self.open(f"}} {header}", span)

    def extend(self, other: Writer) -> None:
        """Add the lines of another writer."""
        self.lines += other.lines
        self.spans += other.spans

    def nest(self, other: Writer) -> None:
        """Add the lines of another writer, indented as those here."""
        for text, span in zip(other.lines, other.spans, strict=True):
            self.line(text, NOWHERE if span is None else span)


# How tightly the outermost operator of a text binds.
OR, AND, BIT_OR, BIT_XOR, BIT_AND, RELATION, SHIFT, SUM, PRODUCT, UNARY, PRIMARY = range(1, 12)


class Code(NamedTuple):
    """The text of an expression, and how tightly its outermost operator binds."""

    text: str
    level: int = PRIMARY


class _Infix(NamedTuple):
    level: int
    chains: bool
    left: int
    right: int


# WGSL's grammar is stricter than C's: shifts and bit operators take unary operands only, and do
# not mix. A shift is kept in parentheses beside a comparison, since `a < b >> c` starts a template.
_INFIX: dict[str, _Infix] = {
    **dict.fromkeys(("*", "/", "%"), _Infix(PRODUCT, True, PRODUCT, UNARY)),
    **dict.fromkeys(("+", "-"), _Infix(SUM, True, SUM, PRODUCT)),
    **dict.fromkeys(("<<", ">>"), _Infix(SHIFT, False, UNARY, UNARY)),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _Infix(RELATION, False, SUM, SUM)),
    "&": _Infix(BIT_AND, True, UNARY, UNARY),
    "^": _Infix(BIT_XOR, True, UNARY, UNARY),
    "|": _Infix(BIT_OR, True, UNARY, UNARY),
    "&&": _Infix(AND, True, RELATION, RELATION),
    "||": _Infix(OR, True, RELATION, RELATION),
}


def infix(left: Code, token: str, right: Code) -> Code:
    """Return a binary expression, with the parentheses that it needs."""
    rule = _INFIX[token]
    first = left.text
    if not (left.level >= rule.left or (rule.chains and left.level == rule.level)):
        first = f"({first})"
    second = right.text
    if right.level < rule.right or (second[0] == "-" and rule.level >= SUM):
        second = f"({second})"
    return Code(f"{first} {token} {second}", rule.level)


def prefix(token: str, operand: Code) -> Code:
    """Return a unary expression; `--x` would be another token."""
    bare = operand.level >= UNARY and operand.text[0] != token
    return Code(token + (operand.text if bare else f"({operand.text})"), UNARY)


def postfix(operand: Code, text: str) -> Code:
    """Return an expression followed by an index or a member."""
    bare = operand.level >= PRIMARY
    return Code((operand.text if bare else f"({operand.text})") + text)


def call(function: str, *args: Code) -> Code:
    """Return a call. In `f(a < b, c > d)` WGSL sees a template list, hence the parentheses."""
    last = len(args) - 1
    texts = [
        f"({arg.text})"
        if "<" in arg.text and arg.level <= RELATION and position < last
        else arg.text
        for position, arg in enumerate(args)
    ]
    return Code(f"{function}({', '.join(texts)})")

"""The untyped tree that the front ends build and the checker reads.

It says what the author wrote, in the author's order, with no types and no resolved names. Operators
carry their meaning (`//` is `FLOOR_DIV`, WGSL's `/` on integers is `TRUNC_DIV`), so the
checker does not ask which language the text was in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from pywgsl.ir import BinaryOp, UnaryOp
from pywgsl.source import NOWHERE, Span


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """What every node has."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ----------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    """A name, read or (as a target) assigned. Two occurrences are two nodes."""

    id: str


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Node):
    """A number, a truth value, or (in print, assert and match) a text."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Node):
    """`-x`, `~x`, `not x`."""

    op: UnaryOp
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """An arithmetic or bitwise operator. `DIV` is Python's `/`; `matmul` marks `@`."""

    op: BinaryOp
    left: Expr
    right: Expr
    matmul: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Node):
    """A chain `first op operand op operand …`; middle operands are evaluated once."""

    first: Expr
    ops: tuple[BinaryOp, ...]
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BoolOp(Node):
    """`a and b and …` or `a or b or …`, evaluated from the left until the result is known."""

    op: BinaryOp  # LOGICAL_AND or LOGICAL_OR
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Conditional(Node):
    """`body if test else orelse`."""

    test: Expr
    body: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Keyword(Node):
    """A named argument of a call."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """A call; what is called is decided by the checker."""

    callee: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Attribute(Node):
    """`base.name`: a module's attribute, a swizzle, a struct's member."""

    base: Expr
    name: str
    name_span: Span = NOWHERE


@dataclass(frozen=True, slots=True, eq=False)
class Subscript(Node):
    """`base[index, …]`."""

    base: Expr
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tuple(Node):
    """Several values (of a return, a tuple assignment, an index) in parentheses or not."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Refused(Node):
    """What stands for a mistake that the reader has reported; the rest is checked all the same."""


Expr: TypeAlias = (
    Name
    | Refused
    | Constant
    | Unary
    | Binary
    | Compare
    | BoolOp
    | Conditional
    | Call
    | Attribute
    | Subscript
    | Tuple
)

# ------------------------------------------------------------------------------ statements


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    """`a = b = value`; a target is a name, an attribute, a subscript, or a tuple of targets."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Annotated(Node):
    """`name: annotation = value`."""

    target: Name
    annotation: Expr
    value: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Augmented(Node):
    """`target op= value`: the target's indices once, then its value, then `value`."""

    target: Expr
    op: BinaryOp
    value: Expr
    matmul: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(Node):
    """An expression for its effect."""

    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """`if test: body else: orelse` (an elif is an If inside orelse)."""

    test: Expr
    body: Block
    orelse: Block = ()


@dataclass(frozen=True, slots=True, eq=False)
class While(Node):
    """`while test: body else: orelse`."""

    test: Expr
    body: Block
    orelse: Block = ()


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """`for target in iterable: body else: orelse`; the iterable is a call such as `range(n)`."""

    target: Name
    iterable: Expr
    body: Block
    orelse: Block = ()


@dataclass(frozen=True, slots=True, eq=False)
class MatchCase(Node):
    """One `case`: the patterns (joined by `|`), or none for `case _`; an optional guard."""

    patterns: tuple[Expr, ...]
    body: Block
    guard: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Match(Node):
    """`match subject: case …`."""

    subject: Expr
    cases: tuple[MatchCase, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Return(Node):
    """`return value`."""

    value: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Break(Node):
    """`break`."""


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Node):
    """`continue`."""


@dataclass(frozen=True, slots=True, eq=False)
class Assert(Node):
    """`assert test, message`."""

    test: Expr
    message: str | None = None


Stmt: TypeAlias = (
    Assign
    | Annotated
    | Augmented
    | Evaluate
    | If
    | While
    | For
    | Match
    | Return
    | Break
    | Continue
    | Assert
)
Block: TypeAlias = tuple[Stmt, ...]

# ---------------------------------------------------------------------------- declarations


@dataclass(frozen=True, slots=True, eq=False)
class Param(Node):
    """A parameter; its annotation and default are evaluated by the capture, not here."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Function(Node):
    """A kernel or helper as written. `span` is its name's.

    `result` is where it says what it returns, unless it says `None` or nothing.
    """

    name: str
    params: tuple[Param, ...]
    body: Block
    doc: str = ""
    result: Span | None = None


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly under `node`, in the order written."""
    for f in fields(node):
        value = getattr(node, f.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and everything under it, parents first, without recursion."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(tuple(children(current))))

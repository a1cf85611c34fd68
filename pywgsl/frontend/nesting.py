"""How deep blocks may nest: Tint stops at 61 loops, 62 branches, or 41 switches."""

from __future__ import annotations

from pywgsl import ir, syntax
from pywgsl.errors import fail
from pywgsl.frontend.blocks import blocks_of
from pywgsl.source import NOWHERE

#: Emitters add some of their own: around the body, for checks, in loops.
_DEEPEST = 55


def check_nesting(body: ir.Block, function: syntax.Function) -> None:
    """Refuse a body that no compiler of WGSL would take.

    Raises:
        CompileError: blocks nest too deeply.
    """
    pending = [(statement, 1) for statement in body]
    while pending:
        statement, depth = pending.pop()
        if depth > _DEEPEST:
            span = function.span if statement.span is NOWHERE else statement.span
            raise fail(
                "E0404",
                f"`{function.name}` nests blocks more than {_DEEPEST} deep",
                span,
                help="move the inner blocks into a helper decorated with `@pw.function`",
            )
        for block in blocks_of(statement):
            # An `elif` adds no block to the `if` that it belongs to.
            chained = isinstance(statement, ir.If) and block is statement.orelse and len(block) == 1
            # A `switch` has a block around those of its cases.
            deeper = depth + (2 if isinstance(statement, ir.Switch) else 1)
            level = depth if chained and isinstance(block[0], ir.If) else deeper
            pending.extend((inner, level) for inner in block)

"""Loops side by side call their index what their author did.

In the intermediate representation names are unique, so the second loop over `c` has the index
`c_1`. Its text can be `c` again where no other `c` is visible, or declared inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from pywgsl import ir

_NUMBERED = re.compile(r"(.+)_\d+")


def shared_indices(body: ir.Block, locals_: AbstractSet[str]) -> dict[str, str]:
    """Return the loop indices that can be called as another of a function's locals is."""
    found: dict[str, str] = {}
    if not any(_plain(name) in locals_ for name in locals_):
        return found
    params = locals_ - _declared(body)
    pending = [(body, frozenset(params))]
    while pending:
        block, outside = pending.pop()
        visible = outside | {node.name for node in block if isinstance(node, ir.Let | ir.Var)}
        for statement in block:
            inside = visible
            if isinstance(statement, ir.ForRange):
                name = _name(statement, visible, locals_)
                if name != statement.index:
                    found[statement.index] = name
                inside = visible | {name}
            pending.extend((inner, inside) for inner in _blocks(statement))
    return found


def _name(loop: ir.ForRange, visible: AbstractSet[str], locals_: AbstractSet[str]) -> str:
    plain = _plain(loop.index)
    free = plain in locals_ and plain not in visible and plain not in _declared(loop.body)
    return plain if free else loop.index


def _plain(name: str) -> str:
    """A name without the number that made it unique, or nothing."""
    match = _NUMBERED.fullmatch(name)
    return match[1] if match else ""


def _declared(block: ir.Block) -> set[str]:
    """The locals that a block declares, and the blocks in it."""
    names = set()
    for node in ir.walk_block(block):
        match node:
            case ir.Let(name=name) | ir.Var(name=name) | ir.ForRange(index=name):
                names.add(name)
            case _:
                pass
    return names


def _blocks(statement: ir.Stmt) -> Iterator[ir.Block]:
    """The blocks directly under a statement."""
    match statement:
        case ir.If(body=body, orelse=orelse):
            yield from (body, orelse)
        case ir.ForRange(body=body):
            yield body
        case ir.While(body=body, continuing=continuing):
            # One after the other: `continuing` sees what the body declares.
            yield body + continuing
        case ir.Switch(cases=cases, default=default):
            yield from (*(case.body for case in cases), default)
        case _:
            pass

"""Deep expressions in shallow pieces: a sum of a thousand terms is one expression to its author."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from pywgsl import ir

_MAX_HEIGHT = 20


def split(expr: ir.Expr, name: Callable[[str], str]) -> tuple[list[ir.Let], ir.Expr]:
    """Return locals, to declare in order, and the expression with them in place of its deep parts.

    Expressions have no effects, so evaluating a part before the rest changes nothing. If the
    expression is a place, it stays one. `name` makes a name for a local.
    """
    # Parents first; from the end, every node comes after those under it. No recursion: the
    # author may nest deeper than Python does.
    nodes = list(ir.walk(expr))
    kept = _places(expr)
    lets: list[ir.Let] = []
    rebuilt: dict[int, tuple[Any, int]] = {}
    for node in reversed(nodes):
        new, height = _with_children(node, rebuilt)
        if height >= _MAX_HEIGHT and id(node) not in kept:
            let = ir.Let(name("part"), new, span=node.span)
            lets.append(let)
            new, height = ir.Local(let.name, new.type, span=node.span), 0
        rebuilt[id(node)] = new, height
    return lets, rebuilt[id(expr)][0]


def _with_children(node: ir.Node, rebuilt: dict[int, tuple[Any, int]]) -> tuple[Any, int]:
    """Return a node over the rebuilt nodes under it, and its height."""
    height = 0
    changes: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ir.Node):
            new, below = rebuilt[id(value)]
            changed = new is not value
            height = max(height, below + 1)
        elif isinstance(value, tuple) and value and isinstance(value[0], ir.Node):
            parts = [rebuilt[id(item)] for item in value]
            new = tuple(part for part, _ in parts)
            changed = any(a is not b for a, b in zip(new, value, strict=True))
            height = max(height, *(below + 1 for _, below in parts))
        else:
            continue
        if changed:
            changes[field.name] = new
    return (replace(node, **changes) if changes else node), height


def _places(expr: ir.Expr) -> set[int]:
    """The nodes that stay: the expression itself, and the place that it denotes or takes."""
    kept = {id(expr)}
    place = expr.args[0] if isinstance(expr, ir.Call) and expr.args else expr
    while isinstance(place, ir.Index | ir.Member | ir.Swizzle):
        kept.add(id(place))
        place = place.base
    return kept

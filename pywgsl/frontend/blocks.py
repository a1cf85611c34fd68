"""The blocks inside a statement of the typed tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pywgsl import ir


def blocks_of(statement: ir.Stmt) -> list[ir.Block]:
    """Return the blocks of a statement, in order."""
    match statement:
        case ir.If(body=body, orelse=orelse):
            return [body, orelse]
        case ir.ForRange(body=body):
            return [body]
        case ir.While(body=body, continuing=continuing):
            return [body, continuing]
        case ir.Switch(cases=cases, default=default):
            return [*(case.body for case in cases), default]
        case _:
            return []


def map_blocks(statement: ir.Stmt, change: Callable[[ir.Block], ir.Block]) -> ir.Stmt:
    """Return a statement with each of its blocks changed."""
    match statement:
        case ir.If(body=body, orelse=orelse):
            return replace(statement, body=change(body), orelse=change(orelse))
        case ir.ForRange(body=body):
            return replace(statement, body=change(body))
        case ir.While(body=body, continuing=continuing):
            return replace(statement, body=change(body), continuing=change(continuing))
        case ir.Switch(cases=cases, default=default):
            changed = tuple(replace(case, body=change(case.body)) for case in cases)
            return replace(statement, cases=changed, default=change(default))
        case _:
            return statement

"""Where variables are declared: as late and as deep as Python's scope lets them be.

The checker only assigns. This pass gives each variable one declaration, in the innermost block
that holds all its uses: a `Let` if it is assigned once, a `Var` with a value if its first use
is an assignment, else an empty `Var`. Since every read is preceded by an assignment on every
path, a variable used only inside a loop's body never carries a value from one iteration to the
next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from pywgsl import ir
from pywgsl.types import Type


def declare(
    body: ir.Block, variables: Mapping[str, Type], has_effect: Callable[[ir.Expr], bool]
) -> ir.Block:
    """Return `body` with a declaration for each of `variables`, and without those never read.

    `has_effect` tells which calls must stay although their result is not used.
    """
    uses = _Uses(variables)
    for statement in body:
        uses.count(statement)
    dead = {name for name in variables if not uses.reads.get(name)}
    if dead:
        body = _without(body, dead, has_effect)
        return declare(body, {n: t for n, t in variables.items() if n not in dead}, has_effect)
    single = {name for name in variables if uses.writes.get(name) == 1 and name not in uses.stored}
    return _block(body, dict(variables), single)


class _Uses:
    """How often variables are read, assigned whole, and assigned in part."""

    def __init__(self, variables: Mapping[str, Type]) -> None:
        self.variables = variables
        self.reads: dict[str, int] = {}
        self.writes: dict[str, int] = {}
        self.stored: set[str] = set()

    def count(self, statement: ir.Stmt) -> None:
        pending: list[ir.Node] = [statement]
        while pending:
            node = pending.pop()
            if isinstance(node, ir.Assign):
                if isinstance(node.target, ir.Local):
                    name = node.target.name
                    self.writes[name] = self.writes.get(name, 0) + 1
                    pending.append(node.value)
                    continue
                root = ir.root(node.target)
                if isinstance(root, ir.Local):
                    self.stored.add(root.name)
            elif isinstance(node, ir.Local) and node.name in self.variables:
                self.reads[node.name] = self.reads.get(node.name, 0) + 1
            pending.extend(ir.children(node))


def _without(body: ir.Block, dead: set[str], has_effect: Callable[[ir.Expr], bool]) -> ir.Block:
    kept: list[ir.Stmt] = []
    for statement in body:
        match statement:
            case ir.Assign(target=ir.Local(name=name), value=value) if name in dead:
                if isinstance(value, ir.Invoke | ir.Call) and has_effect(value):
                    kept.append(ir.Effect(value, span=statement.span))
            case _:
                kept.append(_map_blocks(statement, lambda block: _without(block, dead, has_effect)))
    return tuple(kept)


def _block(body: ir.Block, variables: dict[str, Type], single: set[str]) -> ir.Block:
    """Declare in a block what is used by several of its statements, or by one of them itself."""
    first: dict[str, int] = {}
    here: set[str] = set()
    for position, statement in enumerate(body):
        own, inside = _mentions(statement, variables)
        for name in own:
            first.setdefault(name, position)
            here.add(name)
        counts: dict[str, int] = {}
        for block in inside:
            for name in block:
                counts[name] = counts.get(name, 0) + 1
        for name, count in counts.items():
            if count > 1 or name in first:
                here.add(name)
            first.setdefault(name, position)
    starts: dict[int, list[str]] = {}
    for name in sorted(here, key=lambda name: list(variables).index(name)):
        starts.setdefault(first[name], []).append(name)
    deeper = {name: type_ for name, type_ in variables.items() if name not in here}
    out: list[ir.Stmt] = []
    for position, statement in enumerate(body):
        names = starts.get(position, [])
        statement = _map_blocks(statement, lambda block: _block(block, deeper, single))
        out.extend(_declarations(statement, names, variables, single))
    return tuple(out)


def _declarations(
    statement: ir.Stmt, names: list[str], variables: Mapping[str, Type], single: set[str]
) -> Iterator[ir.Stmt]:
    """Yield a statement preceded by, or turned into, the declarations of `names`."""
    merged: ir.Stmt | None = None
    for name in names:
        if isinstance(statement, ir.Assign) and isinstance(statement.target, ir.Local):
            target, value = statement.target, statement.value
            if target.name == name and not _mentions_name(value, name):
                if name in single:
                    merged = ir.Let(name, value, span=statement.span)
                else:
                    merged = ir.Var(name, variables[name], value, span=statement.span)
                continue
        yield ir.Var(name, variables[name], span=statement.span)
    yield statement if merged is None else merged


def _mentions_name(expr: ir.Expr, name: str) -> bool:
    return any(isinstance(n, ir.Local) and n.name == name for n in ir.walk(expr))


def _mentions(statement: ir.Stmt, variables: Mapping[str, Type]) -> tuple[set[str], list[set[str]]]:
    """Return the variables that a statement names itself, and those of each of its blocks."""
    blocks = _blocks(statement)
    inside = []
    for block in blocks:
        inside.append(
            {
                node.name
                for node in ir.walk_block(block)
                if isinstance(node, ir.Local) and node.name in variables
            }
        )
    inner = {id(s) for block in blocks for s in block}
    own: set[str] = set()
    pending: list[ir.Node] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ir.Local) and node.name in variables:
            own.add(node.name)
        pending.extend(
            child
            for child in ir.children(node)
            if id(child) not in inner and not isinstance(child, ir.Case)
        )
    return own, inside


def _blocks(statement: ir.Stmt) -> list[ir.Block]:
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


def _map_blocks(statement: ir.Stmt, change: Callable[[ir.Block], ir.Block]) -> ir.Stmt:
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

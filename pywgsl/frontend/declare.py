"""Where variables are declared: as late and as deep as Python's scope lets them be.

The checker only assigns. This pass drops what is never read, and gives each variable one
declaration, in the innermost block that holds all its uses: a `Let` if it is assigned once, a
`Var` with a value if its first use is an assignment, else an empty `Var`. Since every read is
preceded by an assignment on every path, a variable used only inside a loop's body never carries
a value from one iteration to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from pywgsl import ir
from pywgsl.frontend.blocks import blocks_of, map_blocks
from pywgsl.frontend.operators import negated
from pywgsl.types import Type


def declare(
    body: ir.Block, variables: Mapping[str, Type], has_effect: Callable[[ir.Expr], bool]
) -> ir.Block:
    """Return `body` with a declaration for each of `variables`, and without what is never read.

    `has_effect` tells which calls must stay although their result is not used.
    """
    body = without_unused(body, has_effect)
    writes, stored = _count_writes(body)
    single = {name for name in variables if writes.get(name) == 1 and name not in stored}
    return _Placer(variables, single).block(body, frozenset(variables))


# ------------------------------------------------------------------------------ unused values


def without_unused(body: ir.Block, has_effect: Callable[[ir.Expr], bool]) -> ir.Block:
    """Return a block without the assignments of locals that nothing comes of."""
    while True:
        live = _live(body, has_effect)
        kept = _Sweeper(live, has_effect).block(body)
        if kept == body:
            return body
        body = kept


def _live(body: ir.Block, has_effect: Callable[[ir.Expr], bool]) -> set[str]:
    """Return the locals whose values reach memory, a decision, a result or an effect."""
    needs: dict[str, set[str]] = {}
    live: set[str] = set()
    pending: list[ir.Node] = list(body)
    while pending:
        node = pending.pop()
        target = _assigned(node)
        value = _value(node)
        if target is not None and not (value is not None and has_effect(value)):
            needs.setdefault(target, set()).update(_locals(node))
            continue
        if isinstance(node, ir.Local):
            live.add(node.name)
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Local):
            pending.append(node.value)
        else:
            pending.extend(ir.children(node))
    reached = list(live)
    while reached:
        more = needs.get(reached.pop(), set()) - live
        live |= more
        reached.extend(more)
    return live


def _assigned(node: ir.Node) -> str | None:
    """Return the local that a statement gives a value, whole or in part."""
    match node:
        case ir.Let(name=name) | ir.Var(name=name):
            return name
        case ir.Assign(target=target):
            root = ir.root(target)
            return root.name if isinstance(root, ir.Local) else None
        case _:
            return None


def _value(node: ir.Node) -> ir.Expr | None:
    return node.value if isinstance(node, ir.Let | ir.Var | ir.Assign) else None


def _locals(node: ir.Node) -> set[str]:
    return {n.name for n in ir.walk(node) if isinstance(n, ir.Local)}


class _Sweeper:
    """Leaves out assignments of locals that are not live, or assigned again before any read."""

    def __init__(self, live: set[str], has_effect: Callable[[ir.Expr], bool]) -> None:
        self.live = live
        self.has_effect = has_effect
        # By identity; a statement is kept with what is known of it, so that its id stays its own.
        self.known: dict[int, tuple[ir.Stmt, set[str], bool]] = {}

    def block(self, body: ir.Block) -> ir.Block:
        kept: list[ir.Stmt] = []
        overwritten: set[str] = set()
        for statement in reversed(body):
            swept = self.statement(statement, overwritten)
            if swept is not None:
                kept.append(swept)
                self.note(swept, overwritten)
        kept.reverse()
        return tuple(kept)

    def statement(self, node: ir.Stmt, overwritten: set[str]) -> ir.Stmt | None:
        name = _assigned(node)
        if name is not None:
            whole = isinstance(node, ir.Assign) and isinstance(node.target, ir.Local)
            if name in self.live and not (whole and name in overwritten):
                return node
            value = _value(node)
            if value is not None and self.has_effect(value):
                assert isinstance(value, ir.Call | ir.Invoke)
                return ir.Effect(value, span=node.span)
            return None
        swept = map_blocks(node, self.block)
        match swept:
            case ir.If(body=(), orelse=()) | ir.ForRange(body=()):
                return None
            case ir.If(condition=test, body=(), orelse=orelse):
                return replace(swept, condition=negated(test), body=orelse, orelse=())
            case ir.Switch(cases=cases, default=()) if not any(case.body for case in cases):
                return None
        return swept

    def note(self, node: ir.Stmt, overwritten: set[str]) -> None:
        """Note which locals are certain to be assigned from a statement on before any read."""
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Local):
            overwritten.add(node.target.name)
            overwritten -= _locals(node.value)
        elif overwritten:
            names, leaves = self.summary(node)
            overwritten -= overwritten if leaves else names

    def summary(self, node: ir.Stmt) -> tuple[set[str], bool]:
        """Return the locals in a statement, and whether what follows it may not run."""
        known = self.known.get(id(node))
        if known is None:
            names, leaves = _own_locals(node), isinstance(node, ir.Break | ir.Continue | ir.Return)
            for block in blocks_of(node):
                for inner in block:
                    more, also = self.summary(inner)
                    names |= more
                    leaves |= also
            known = self.known[id(node)] = node, names, leaves
        return known[1:]


def _own_locals(statement: ir.Stmt) -> set[str]:
    """Return the locals that a statement names, not counting the blocks in it."""
    found: set[str] = set()
    within = {id(s) for block in blocks_of(statement) for s in block}
    pending: list[ir.Node] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ir.Local):
            found.add(node.name)
        pending += (
            child
            for child in ir.children(node)
            if id(child) not in within and not isinstance(child, ir.Case)
        )
    return found


# ------------------------------------------------------------------------------- declarations


def _count_writes(body: ir.Block) -> tuple[dict[str, int], set[str]]:
    """Return how often locals are assigned whole, and which are assigned in part."""
    writes: dict[str, int] = {}
    stored: set[str] = set()
    for node in ir.walk_block(body):
        if not isinstance(node, ir.Assign):
            continue
        root = ir.root(node.target)
        if isinstance(node.target, ir.Local):
            writes[node.target.name] = writes.get(node.target.name, 0) + 1
        elif isinstance(root, ir.Local):
            stored.add(root.name)
    return writes, stored


class _Placer:
    """Puts declarations into blocks."""

    def __init__(self, variables: Mapping[str, Type], single: set[str]) -> None:
        self.variables = variables
        self.single = single
        self.order = {name: position for position, name in enumerate(variables)}
        # By identity: statements live as long as the body that is being walked.
        self.known: dict[int, tuple[set[str], list[set[str]]]] = {}

    def block(self, body: ir.Block, variables: frozenset[str]) -> ir.Block:
        """Declare in a block what several of its statements use, or one of them itself."""
        first: dict[str, int] = {}
        here: set[str] = set()
        for position, statement in enumerate(body):
            own, inside = self.mentions(statement)
            for name in own & variables:
                first.setdefault(name, position)
                here.add(name)
            seen: set[str] = set()
            for names in inside:
                here |= (names & seen) | (names & first.keys())
                seen |= names
            for name in seen & variables:
                first.setdefault(name, position)
        here &= variables
        starts: dict[int, list[str]] = {}
        for name in sorted(here, key=self.order.__getitem__):
            starts.setdefault(first[name], []).append(name)
        out: list[ir.Stmt] = []
        for position, statement in enumerate(body):
            inner = map_blocks(statement, lambda block: self.block(block, variables - here))
            out.extend(self.declarations(inner, starts.get(position, [])))
        return tuple(out)

    def declarations(self, statement: ir.Stmt, names: list[str]) -> Iterator[ir.Stmt]:
        """Yield a statement preceded by, or turned into, the declarations of `names`."""
        merged: ir.Stmt | None = None
        for name in names:
            if isinstance(statement, ir.Assign) and isinstance(statement.target, ir.Local):
                value = statement.value
                if statement.target.name == name and name not in _locals(value):
                    if name in self.single:
                        merged = ir.Let(name, value, span=statement.span)
                    else:
                        merged = ir.Var(name, self.variables[name], value, span=statement.span)
                    continue
            yield ir.Var(name, self.variables[name], span=statement.span)
        yield statement if merged is None else merged

    def mentions(self, statement: ir.Stmt) -> tuple[set[str], list[set[str]]]:
        """Return the locals that a statement names itself, and those of each of its blocks."""
        found = self.known.get(id(statement))
        if found is None:
            inside = [self.all_mentions(block) for block in blocks_of(statement)]
            found = self.known[id(statement)] = _own_locals(statement), inside
        return found

    def all_mentions(self, block: ir.Block) -> set[str]:
        names: set[str] = set()
        for statement in block:
            own, inside = self.mentions(statement)
            names.update(own, *inside)
        return names

"""Which workgroup variables may be read before they are written: those that must start as zero.

WGSL says that all do, but not every implementation keeps to it, and clearing what is written
first anyway takes time. A variable counts as written before a read if a store stands before it
in the same block or in one around it; for a single number, anywhere before it, since one
invocation usually writes it for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pywgsl import ir
from pywgsl.types import FixedArray, Struct


class _Access(NamedTuple):
    variable: str
    stores: bool
    blocks: tuple[int, ...]  # the blocks around it, outermost first


def unwritten(module: ir.Module) -> list[ir.Variable]:
    """Return the workgroup variables that a read may find as they started."""
    variables = {v.name: v for v in module.variables if v.space is ir.Space.WORKGROUP}
    if not variables:
        return []
    written: dict[str, set[tuple[int, ...]]] = {name: set() for name in variables}
    found: dict[str, ir.Variable] = {}
    for access in _Walk(module).accesses(module.body, (0,)):
        variable = variables.get(access.variable)
        if variable is None:
            continue
        stores = written[access.variable]
        if access.stores:
            stores.add(access.blocks)
        elif not _is_covered(access.blocks, stores, variable):
            found[variable.name] = variable
    return list(found.values())


def _is_covered(
    blocks: tuple[int, ...], stores: set[tuple[int, ...]], variable: ir.Variable
) -> bool:
    if not isinstance(variable.type, FixedArray | Struct):
        return bool(stores)
    return any(blocks[: len(store)] == store for store in stores)


class _Walk:
    """The accesses of a module in the order of its text, calls entered."""

    def __init__(self, module: ir.Module) -> None:
        self._functions = {f.name: f for f in module.functions}
        self._blocks = 0

    def accesses(self, block: ir.Block, path: tuple[int, ...]) -> Iterator[_Access]:
        for statement in block:
            yield from self._statement(statement, path)

    def _statement(self, node: ir.Stmt, path: tuple[int, ...]) -> Iterator[_Access]:
        match node:
            case ir.Assign(target=target, value=value):
                yield from self._expression(value, path)
                yield from self._expression(target, path, target=ir.root(target))
                if isinstance(root := ir.root(target), ir.Global):
                    yield _Access(root.name, True, path)
            case ir.If(condition=condition, body=body, orelse=orelse):
                yield from self._expression(condition, path)
                yield from self._either(body, orelse, path)
            case _:
                inner: list[ir.Stmt] = []
                for child in ir.children(node):
                    if isinstance(child, ir.Case):
                        yield from self._inner(child.body, path)
                    elif isinstance(child, ir.Stmt):
                        inner.append(child)
                    elif isinstance(child, ir.Expr):
                        yield from self._expression(child, path)
                yield from self._inner(tuple(inner), path)

    def _inner(self, block: ir.Block, path: tuple[int, ...]) -> Iterator[_Access]:
        self._blocks += 1
        yield from self.accesses(block, (*path, self._blocks))

    def _either(self, body: ir.Block, orelse: ir.Block, path: tuple[int, ...]) -> Iterator[_Access]:
        """Two arms: what both store is stored after them."""
        stored: list[set[str]] = []
        for arm in (body, orelse):
            names: set[str] = set()
            for access in self._inner(arm, path):
                if access.stores and len(access.blocks) == len(path) + 1:
                    names.add(access.variable)
                yield access
            stored.append(names)
        for name in stored[0] & stored[1]:
            yield _Access(name, True, path)

    def _expression(
        self, node: ir.Expr, path: tuple[int, ...], target: ir.Expr | None = None
    ) -> Iterator[_Access]:
        for part in ir.walk(node):
            if isinstance(part, ir.Global) and part is not target:
                yield _Access(part.name, False, path)
            elif isinstance(part, ir.Invoke):
                yield from self.accesses(self._functions[part.function].body, path)

"""Local arrays that are only indexed by constants become separate variables.

GPUs keep variables in registers, and arrays, if they are not sure which element is meant, in
slow memory. After a `static_range` is unrolled, an array of partial sums has constant indices only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from pywgsl import ir
from pywgsl.types import FixedArray, Scalar, Type

N = TypeVar("N", bound=ir.Node)


def scalarize(body: ir.Block, variables: dict[str, Type], fresh: Callable[[str], str]) -> ir.Block:
    """Return `body` with an own variable for each element of such arrays.

    `variables` are the variables of the function; arrays in it are replaced by their elements.
    """
    while True:
        arrays = {n: t for n, t in variables.items() if isinstance(t, FixedArray)}
        if arrays:
            arrays = _indexed_by_constants(body, arrays)
        if not arrays:
            return body
        parts = {
            name: [ir.Local(fresh(f"{name}_{i}"), type_.element) for i in range(type_.length)]
            for name, type_ in arrays.items()
        }
        body = _Splitter(parts).block(body)
        # In place of the array, as the order of variables is the order of declarations.
        items = list(variables.items())
        variables.clear()
        for name, type_ in items:
            elements = parts.get(name)
            variables.update({name: type_} if elements is None else _types(elements))


def _types(elements: list[ir.Local]) -> dict[str, Type]:
    return {element.name: element.type for element in elements}


def _indexed_by_constants(body: ir.Block, arrays: dict[str, FixedArray]) -> dict[str, FixedArray]:
    """Return those arrays of which no whole is needed and no index is computed."""
    left = dict(arrays)
    pending: list[ir.Node] = list(body)
    while pending and left:
        node = pending.pop()
        match node:
            case ir.Index(base=ir.Local(name=name), indices=(ir.Literal(),)) if name in left:
                continue
            case ir.Assign(target=ir.Local(name=name), value=value) if name in left:
                if isinstance(value, ir.Construct) and not _mentions(value, name):
                    pending.extend(value.args)
                else:
                    del left[name]
                    pending.append(value)
            case ir.Local(name=name):
                left.pop(name, None)
            case _:
                pending.extend(ir.children(node))
    return left


def _mentions(node: ir.Node, name: str) -> bool:
    return any(isinstance(n, ir.Local) and n.name == name for n in ir.walk(node))


class _Splitter:
    """Replaces arrays by their parts."""

    def __init__(self, parts: dict[str, list[ir.Local]]) -> None:
        self.parts = parts

    def block(self, body: ir.Block) -> ir.Block:
        return tuple(part for statement in body for part in self.statement(statement))

    def statement(self, node: ir.Stmt) -> Iterator[ir.Stmt]:
        match node:
            case ir.Assign(target=ir.Local(name=name), value=ir.Construct(args=args)) if (
                name in self.parts
            ):
                for position, part in enumerate(self.parts[name]):
                    value = self.node(args[position]) if args else _zero(part.type)
                    target = replace(part, span=node.target.span)
                    yield ir.Assign(target, value, span=node.span)
            case _:
                yield self.node(node)

    def node(self, node: N) -> N:
        """Return a node with the elements in it replaced."""
        if isinstance(node, ir.Index) and isinstance(node.base, ir.Local):
            parts = self.parts.get(node.base.name)
            if parts is not None:
                index = node.indices[0]
                assert isinstance(index, ir.Literal)
                return replace(parts[int(index.value)], span=node.span)  # type: ignore[return-value]
        changes = {}
        for field in fields(node):
            before = getattr(node, field.name)
            after = self.field(before)
            if after is not before:
                changes[field.name] = after
        return replace(node, **changes) if changes else node

    def field(self, value: Any) -> Any:
        if isinstance(value, ir.Node):
            return self.node(value)
        if not isinstance(value, tuple) or not value or not isinstance(value[0], ir.Node | str):
            return value
        if isinstance(value[0], ir.Stmt):
            return self.block(value)
        return tuple(self.node(v) if isinstance(v, ir.Node) else v for v in value)


def _zero(type_: Type) -> ir.Expr:
    if isinstance(type_, Scalar):
        return ir.Literal(type_.dtype.type(0).item(), type_)
    return ir.Construct(type_, ())

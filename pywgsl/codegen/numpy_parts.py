"""Branches that a box of lanes takes, as in `if i < n:`, as NumPy on that part of all arrays.

A mask would compute what the branch does in every lane, and drop most of it where few take
the branch, as in the last steps of a tree of sums.
"""

from __future__ import annotations

from dataclasses import replace

from pywgsl import ir
from pywgsl.analysis.axes import UNIFORM
from pywgsl.builtins import BUILTINS
from pywgsl.codegen.numpy_flow import exits_of
from pywgsl.codegen.numpy_loops import Loops
from pywgsl.codegen.numpy_scope import ATOM, Mask, Value, Variable, depth_of
from pywgsl.ir import BinaryOp, type_of
from pywgsl.table import Scope
from pywgsl.types import BOOL, I32

_MAKES_BOXES = (BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ)


class Parts(Loops):
    """Writes branches on parts of the lanes; `Statements` completes it."""

    def part_if(self, node: ir.If, mask: Mask) -> bool:
        """Write a branch on a part of the lanes, if it is one that can be."""
        if node.orelse or not _stands_alone(node.body):
            return False
        tests, rest = self._boxes(node.condition)
        if not tests:
            return False
        outer_ids, outer_locals = self.ids, dict(self.locals)
        part = self.names.new("part")
        body = node.body
        if rest is not None:
            body = (ir.If(rest, body, span=node.span),)
        with self.out.block(f"for {part} in {self.ids}.parts({', '.join(tests)}):"):
            self.ids = part
            self._narrow_locals(body)
            if mask.text != "True":
                narrow = Mask(self.names.new("mask"), mask.axes, loops=len(self.loops))
                self.out.line(f"{narrow.text} = {part}.of({mask.text})")
                mask = narrow
            self.block(body, mask)
        self.ids, self.locals = outer_ids, outer_locals
        return True

    def _boxes(self, condition: ir.Expr) -> tuple[list[str], ir.Expr | None]:
        """The comparisons in a condition that make boxes, and what is left of it."""
        tests: list[str] = []
        rest: ir.Expr | None = None
        for part in _conjuncts(condition):
            test = self._box(part)
            if test:
                tests.append(test)
            elif rest is None:
                rest = part
            else:
                rest = ir.Binary(BinaryOp.LOGICAL_AND, rest, part, BOOL)
        return tests, rest

    def _box(self, node: ir.Expr) -> str:
        """A comparison of what grows along one axis with what all lanes agree on, or nothing."""
        if not isinstance(node, ir.Binary) or node.op not in _MAKES_BOXES:
            return ""
        if type_of(node.left) is not I32 or any(isinstance(p, ir.Invoke) for p in ir.walk(node)):
            return ""
        left, right = self.value(node.left), self.value(node.right)
        grows, fixed = (left, right) if left.even else (right, left)
        if not grows.even or grows.axes.bit_count() != 1 or fixed.axes != UNIFORM:
            return ""
        first, second = (v.plain or v.at(ATOM) for v in (left, right))
        return f"{first} {node.op.value} {second}"

    def _narrow_locals(self, body: ir.Block) -> None:
        """Take the part's lanes of all that a branch uses of what was there before it."""
        used = {node.name: node for node in ir.walk_block(body) if isinstance(node, ir.Local)}
        for name, node in used.items():
            known = self.locals.get(name)
            if known is None or (known.value.axes == UNIFORM and not known.value.even):
                continue
            text = self.names.new(known.value.text)
            depth = depth_of(type_of(node))
            extra = f", {depth}" if depth else ""
            self.out.line(f"{text} = {self.ids}.of({known.value.text}{extra})")
            narrow: Value = replace(known.value, text=text)
            self.locals[name] = Variable(narrow, known.type)


def _conjuncts(condition: ir.Expr) -> list[ir.Expr]:
    if isinstance(condition, ir.Binary) and condition.op is BinaryOp.LOGICAL_AND:
        return [*_conjuncts(condition.left), *_conjuncts(condition.right)]
    return [condition]


def _stands_alone(body: ir.Block) -> bool:
    """Whether a block changes nothing but memory and what it declares itself, nor leaves.

    A subgroup's operation joins all lanes that are active, so a part of them will not do. Functions
    of the module, `print` and `assert` work on the lanes of the block that runs.
    """
    if exits_of(body):
        return False
    declared: set[str] = set()
    for node in ir.walk_block(body):
        match node:
            case ir.Let(name=name) | ir.Var(name=name) | ir.ForRange(index=name):
                declared.add(name)
            case ir.Assign(target=target):
                root = ir.root(target)
                if isinstance(root, ir.Local) and root.name not in declared:
                    return False
            case ir.Call(builtin=name):
                if BUILTINS[name].scope is Scope.SUBGROUP:
                    return False
            case ir.Invoke() | ir.Print() | ir.Assert() | ir.Global(space=ir.Space.PRIVATE):
                return False
            case _:
                pass
    return True

"""Branches and loops of a box of lanes, as in `if i < n:`, as NumPy on that part of all arrays.

A mask would compute what they do in every lane, and drop most of it where few lanes take part, as
in the last steps of a tree of sums.
"""

from __future__ import annotations

from dataclasses import replace

from pywgsl import ir
from pywgsl.analysis.axes import UNIFORM
from pywgsl.builtins import BUILTINS
from pywgsl.codegen.numpy_flow import exits_of
from pywgsl.codegen.numpy_loops import Loops
from pywgsl.codegen.numpy_scope import ATOM, Exit, Mask, Value, Variable, depth_of
from pywgsl.ir import BinaryOp, type_of
from pywgsl.table import Scope
from pywgsl.types import BOOL, I32, Type

_MAKES_BOXES = (BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ)


class Parts(Loops):
    """Writes branches and loops on parts of the lanes; `Statements` completes it."""

    def part_if(self, node: ir.If, mask: Mask) -> bool:
        """Write a branch on a part of the lanes, if it is one that can be."""
        # Where a branch only replaces numbers, choosing them by a mask is as fast.
        if node.orelse or _assigned(node.body) or not self._can_be_partial(node.body):
            return False
        tests, rest = self._boxes(node.condition)
        if not tests:
            return False
        body = node.body
        if rest is not None:
            body = (ir.If(rest, body, span=node.span),)
        part = self.names.new("part")
        with self.out.block(f"for {part} in {self.ids}.parts({', '.join(tests)}):"):
            self._on_part(part, body, mask)
        return True

    def for_range(self, node: ir.ForRange, mask: Mask) -> frozenset[Exit]:
        """Write a `ForRange`; if only its start differs, each trip is one of a part of the lanes.

        So a workgroup shares out the columns of a row: `for c in range(local_id.x, columns, 256)`.
        """
        parts = (node.start, node.stop, node.step)
        if any(isinstance(p, ir.Invoke) for part in parts for p in ir.walk(part)):
            return super().for_range(node, mask)
        start, *rest = map(self.value, parts)
        fixed = all(bound.axes == UNIFORM for bound in rest)
        if not (fixed and self._makes_box(start, type_of(node.start))):
            return super().for_range(node, mask)
        if not self._can_be_partial(node.body):
            return super().for_range(node, mask)
        self._own_lanes(node.body)
        part, index = self.names.new("part"), self.names.of(node.index)
        known = Value(index, axes=start.axes, spread=True, even=True)
        args = ", ".join(bound.plain or bound.text for bound in (start, *rest))
        with self.out.block(f"for {part}, {index} in {self.ids}.strides({args}):"):
            self._on_part(part, node.body, mask, {node.index: Variable(known, I32)})
        return frozenset()

    def _on_part(
        self, part: str, body: ir.Block, mask: Mask, known: dict[str, Variable] | None = None
    ) -> None:
        """Write a block that works on a part of the lanes."""
        outer_ids, outer_locals, outer_loops = self.ids, dict(self.locals), self.loops
        self.ids, self.loops = part, []
        narrow = Mask("True")
        if mask.text != "True":
            narrow = Mask(self.names.new("mask"), mask.axes)
            self.out.line(f"{narrow.text} = {part}.of({mask.text})")
        self._narrow_locals(body, mask, narrow)
        self.locals |= known or {}
        self.block(body, narrow)
        self.ids, self.locals, self.loops = outer_ids, outer_locals, outer_loops

    def _own_lanes(self, body: ir.Block) -> None:
        """Give the variables that a block assigns to arrays with a place for every lane."""
        for name in _assigned(body):
            known = self.locals[name]
            if not known.owned:
                own = self.own(known.value, known.value.axes, depth_of(known.type))
                self.out.line(f"{known.value.text} = {own}")

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
        if any(isinstance(part, ir.Invoke) for part in ir.walk(node)):
            return ""
        left, right = self.value(node.left), self.value(node.right)
        grows, fixed = (left, right) if left.even else (right, left)
        if not self._makes_box(grows, type_of(node.left)) or fixed.axes != UNIFORM:
            return ""
        first, second = (v.plain or v.at(ATOM) for v in (left, right))
        return f"{first} {node.op.value} {second}"

    def _can_be_partial(self, body: ir.Block) -> bool:
        """Whether a part of the lanes can run a block to its end by itself."""
        nodes = tuple(ir.walk_block(body))
        called = (node.function for node in nodes if isinstance(node, ir.Invoke))
        return (
            not exits_of(body)
            and not any(map(_needs_the_block, nodes))
            and all(map(self._takes_any_lanes, called))
        )

    def _takes_any_lanes(self, function: str) -> bool:
        """Whether a function knows no lanes but those of its arguments."""
        nodes = tuple(ir.walk_block(self.module.functions[function].body))
        called = (node.function for node in nodes if isinstance(node, ir.Invoke))
        return not any(map(_needs_lanes, nodes)) and all(map(self._takes_any_lanes, called))

    def _makes_box(self, value: Value, type_: Type) -> bool:
        """Whether a bound of a value makes a box of lanes: it grows along one axis."""
        return value.even and value.axes.bit_count() == 1 and type_ is I32

    def _narrow_locals(self, body: ir.Block, mask: Mask, narrow: Mask) -> None:
        """Take the part's lanes of all that a block uses of what was there before it."""
        assigned = _assigned(body)
        used = {node.name: node for node in ir.walk_block(body) if isinstance(node, ir.Local)}
        for name, node in used.items():
            known = self.locals.get(name)
            if known is None or (known.value.axes == UNIFORM and not known.value.even):
                continue
            plain = name.isascii() and name.isidentifier()
            text = self.names.new(name if plain else known.value.text)
            depth = depth_of(type_of(node))
            extra = f", {depth}" if depth else ""
            self.out.line(f"{text} = {self.ids}.of({known.value.text}{extra})")
            owned = known.owned or name in assigned
            value = replace(known.value, text=text, spread=known.value.spread or owned, view=owned)
            self.locals[name] = Variable(
                value, known.type, owned, narrow if mask.reaches(known) else None
            )


def _conjuncts(condition: ir.Expr) -> list[ir.Expr]:
    if isinstance(condition, ir.Binary) and condition.op is BinaryOp.LOGICAL_AND:
        return [*_conjuncts(condition.left), *_conjuncts(condition.right)]
    return [condition]


def _needs_the_block(node: ir.Node) -> bool:
    """Whether this is for the lanes of a whole block, not for a part of them.

    A subgroup's operation joins all lanes that are active.
    """
    match node:
        case ir.Call(builtin=name):
            return BUILTINS[name].scope is Scope.SUBGROUP
        case ir.Print() | ir.Assert() | ir.Global(space=ir.Space.PRIVATE):
            return True
        case _:
            return False


def _needs_lanes(node: ir.Node) -> bool:
    """Whether a function that has this must know the lanes that it works on."""
    match node:
        case ir.Call(builtin=name):
            return BUILTINS[name].effect
        case ir.InvocationId() | ir.Global(space=ir.Space.WORKGROUP):
            return True
        case ir.Assign(target=target):
            # Composites that are stored in parts have a place for every lane.
            return not isinstance(target, ir.Local | ir.Global)
        case _:
            return _needs_the_block(node)


def _assigned(body: ir.Block) -> list[str]:
    """Return the locals that a block assigns to but does not declare."""
    nodes = tuple(ir.walk_block(body))
    declared = {node.name for node in nodes if isinstance(node, ir.Let | ir.Var)}
    roots = (ir.root(node.target) for node in nodes if isinstance(node, ir.Assign))
    names = dict.fromkeys(root.name for root in roots if isinstance(root, ir.Local))
    return [name for name in names if name not in declared]

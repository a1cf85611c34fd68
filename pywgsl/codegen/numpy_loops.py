"""Loops as NumPy: Python's own where all lanes leave together, else until no lane is left."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pywgsl import ir
from pywgsl.analysis.axes import UNIFORM, Axes
from pywgsl.codegen.numpy_expressions import Expressions
from pywgsl.codegen.numpy_flow import Survey, exits_of, leaves_partly
from pywgsl.codegen.numpy_scope import (
    PRODUCT,
    SUM,
    Exit,
    Mask,
    ModuleScope,
    Names,
    Value,
    Variable,
    dtype_text,
)
from pywgsl.ir import type_of
from pywgsl.types import Type


@dataclass(slots=True)
class Loop:
    """A loop whose body is being written.

    Attributes:
        root: the lanes that run an iteration.
        axes: along which axes lanes can differ in running it.
        running: the variable with the lanes that are still in the loop; empty if all leave at once.
        staying: the variable with the lanes that did not continue; empty if none need to be known.
        next_iteration: writes what comes after the body, before the next iteration.
    """

    root: Mask
    axes: Axes
    running: str = ""
    staying: str = ""
    next_iteration: Callable[[], None] = lambda: None


class Loops(Expressions):
    """Writes the loops of one function; `Statements` completes it."""

    def __init__(self, module: ModuleScope, function: ir.Function, taken: Iterable[str]) -> None:
        survey = Survey(function.body)
        super().__init__(module, Names(taken, survey.declared))
        self.name = function.name
        self.body = function.body
        self.loops: list[Loop] = []
        #: Locals of which a component or element is stored.
        self.owned = survey.stored_in_parts
        self.assigned_privates: set[str] = set()
        #: The variable with the lanes that have not returned; empty if nothing needs to know.
        self.live = ""
        #: The variable with what some lanes have returned while others went on; empty if none have.
        self.result = ""

    def own(self, value: Value, axes: Axes, depth: int) -> str:
        """Return a copy of a value with a place for every lane along these axes."""
        along = self.module.axes.order.along(axes)
        return f'own({value.text}, {self.ids}.over("{along}"), {depth})'

    @abstractmethod
    def block(self, block: ir.Block, mask: Mask) -> frozenset[Exit]:
        """Write a block; return how some lanes, but not all, may have left it."""

    # ------------------------------------------------------------------------------- while

    def while_(self, node: ir.While, mask: Mask) -> frozenset[Exit]:
        """Write a `While`."""
        masked = self._is_masked(node, mask)
        loop = self._loop(node, mask, masked)
        loop.next_iteration = lambda: self._continuing(node, loop)
        endless = isinstance(node.condition, ir.Literal) and bool(node.condition.value)
        if masked:
            self.out.line(f"{loop.running} = {mask.text}")
            header = f"while {loop.running} is not False:" if endless else "while True:"
            with self.out.block(header):
                if not endless:
                    self._narrow_running(loop, node.condition)
                return self._body(node, node.body, loop) & _RETURNED
        start = len(self.out.lines)
        test = "True" if endless else self.array(node.condition).text
        before = self.out.lines[start:]
        del self.out.lines[start:]
        with self.out.block(f"while {'True' if before else test}:"):
            if before:
                self.mask = mask
                test = self.array(node.condition).text
                self.out.line(f"if not ({test}):")
                self.out.line("    break")
            return self._body(node, node.body, loop) & _RETURNED

    def _narrow_running(self, loop: Loop, condition: ir.Expr) -> None:
        self.mask = loop.root
        test = self.array(condition)
        self.out.line(f"{loop.running} = narrowed({loop.running}, {test.text})")
        self._stop_when_empty(loop)

    def _stop_when_empty(self, loop: Loop) -> None:
        with self.out.block(f"if {loop.running} is False:"):
            self.out.line("break")

    def _continuing(self, node: ir.While, loop: Loop) -> None:
        if node.continuing:
            self.block(node.continuing, loop.root)
        if node.break_if is None:
            return
        self.mask = loop.root
        test = self.array(node.break_if)
        if not loop.running:
            with self.out.block(f"if {test.text}:"):
                self.out.line("break")
            return
        self.out.line(f"{loop.running} = without({loop.running}, {test.text})")
        self._stop_when_empty(loop)

    # --------------------------------------------------------------------------- for range

    def for_range(self, node: ir.ForRange, mask: Mask) -> frozenset[Exit]:
        """Write a `ForRange`."""
        bounds = [self.value(bound) for bound in (node.start, node.stop, node.step)]
        if any(bound.axes != UNIFORM for bound in bounds):
            return self._lane_range(node, bounds, mask)
        masked = self._is_masked(node, mask)
        loop = self._loop(node, mask, masked)
        index = self.names.of(node.index)
        self.locals[node.index] = Variable(Value(index), type_of(node.start))
        trips = self._trips(node, bounds)
        if not _is_only_an_index(node):
            dtype = dtype_text(type_of(node.start), self.module.structs)
            trips = f"map({dtype}, {trips})"
        if masked:
            self.out.line(f"{loop.running} = {mask.text}")
        with self.out.block(f"for {index} in {trips}:"):
            if masked:
                self._stop_when_empty(loop)
            return self._body(node, node.body, loop) & _RETURNED

    def _trips(self, node: ir.ForRange, bounds: list[Value]) -> str:
        start, stop, step = (bound.plain or bound.text for bound in bounds)
        if not isinstance(node.step, ir.Literal) or not node.step.value:
            return f"trips({start}, {stop}, {step})"
        if node.step.value != 1:
            return f"range({start}, {stop}, {step})"
        return f"range({stop})" if start == "0" else f"range({start}, {stop})"

    def _lane_range(self, node: ir.ForRange, bounds: list[Value], mask: Mask) -> frozenset[Exit]:
        """A range whose bounds differ: lanes leave after their own number of trips."""
        type_ = type_of(node.start)
        loop = self._loop(node, mask, masked=True)
        first, stride = self._named("first", bounds[0]), self._named("step", bounds[2])
        texts = [self.as_array(b, type_).text for b in (first, bounds[1], stride)]
        count, trip = self.names.new("count"), self.names.new("trip")
        self.out.line(f"{count} = trip_count({', '.join(texts)})")
        self.out.line(f"{trip} = 0")
        self.out.line(f"{loop.running} = narrowed({mask.text}, {count} > 0)")

        def next_iteration() -> None:
            self.out.line(f"{trip} += 1")
            self.out.line(f"{loop.running} = narrowed({loop.running}, {count} > {trip})")

        loop.next_iteration = next_iteration
        name = self.names.of(node.index)
        with self.out.block(f"while {loop.running} is not False:"):
            self.out.line(f"{name} = {self._lane_index(first, stride, trip, type_)}")
            even = first.even and stride.axes == UNIFORM
            axes = first.axes | stride.axes
            self.locals[node.index] = Variable(
                Value(name, axes=axes, spread=first.spread or stride.spread, even=even), type_
            )
            return self._body(node, node.body, loop) & _RETURNED

    def _named(self, name: str, value: Value) -> Value:
        """Return a value that is computed once."""
        if value.plain or value.text.isidentifier():
            return value
        text = self.names.new(name)
        self.out.line(f"{text} = {value.text}")
        return Value(text, axes=value.axes, spread=value.spread, even=value.even)

    def _lane_index(self, first: Value, stride: Value, trip: str, type_: Type) -> str:
        if first.even and stride.axes == UNIFORM:
            return f"{first.text} + {trip} * {stride.plain or stride.text}"
        first, stride = self.as_array(first, type_), self.as_array(stride, type_)
        dtype = dtype_text(type_, self.module.structs)
        return f"{first.at(SUM)} + {dtype}({trip}) * {stride.at(PRODUCT + 1)}"

    # ------------------------------------------------------------------------- what both do

    def _is_masked(self, node: ir.ForRange | ir.While, mask: Mask) -> bool:
        """Whether lanes leave a loop at different times, or leave more than it."""
        if self.module.axes.exits(node) != UNIFORM:
            return True
        returns = Exit.RETURN in exits_of((node,))
        return returns and not mask.keeps(self.root, _RETURNED)

    def _loop(self, node: ir.ForRange | ir.While, mask: Mask, masked: bool) -> Loop:
        if not masked:
            return Loop(mask, mask.axes)
        axes = mask.axes | self.module.axes.exits(node)
        running = self.names.new("running")
        return Loop(Mask(running, axes, mask, loops=len(self.loops) + 1), axes, running)

    def _body(self, node: ir.Node, body: ir.Block, loop: Loop) -> frozenset[Exit]:
        """Write the body of a loop and what comes before the next iteration."""
        while body and isinstance(body[-1], ir.Continue):
            body = body[:-1]
        if leaves_partly(body, Exit.CONTINUE):
            loop.staying = self.names.new("staying")
            loop.axes |= self.module.axes.continues(node)
            self.out.line(f"{loop.staying} = {loop.root.text}")
        self.loops.append(loop)
        left = self.block(body, loop.root)
        if not body or not isinstance(body[-1], ir.Break):
            loop.next_iteration()
        self.loops.pop()
        return left


_RETURNED = frozenset({Exit.RETURN})


def _is_only_an_index(node: ir.ForRange) -> bool:
    """Whether a loop's index is nothing but an index of buffers: then it may be a Python number."""
    uses = direct = 0
    for inner in ir.walk_block(node.body):
        if isinstance(inner, ir.Local):
            uses += inner.name == node.index
        elif isinstance(inner, ir.Index) and isinstance(inner.base, ir.Global):
            direct += sum(isinstance(i, ir.Local) and i.name == node.index for i in inner.indices)
    return uses == direct

"""Statements of the intermediate representation as NumPy.

What all lanes agree on stays Python: its `if`, `for`, `while`, `break`, `return`. Where lanes can
disagree a mask says which of them run a block, and a lane that leaves is taken out of the masks
that follow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from pywgsl import ir
from pywgsl.analysis.axes import UNIFORM, Axes
from pywgsl.analysis.order import value_first
from pywgsl.codegen.numpy_collectives import STORES
from pywgsl.codegen.numpy_flow import exits_of, leaves_partly, switched, terminates
from pywgsl.codegen.numpy_parts import Parts
from pywgsl.codegen.numpy_places import Place, is_memory, tuple_text
from pywgsl.codegen.numpy_scope import (
    ATOM,
    Exit,
    Lines,
    Mask,
    Value,
    Variable,
    depth_of,
    dtype_text,
    inner_shape,
)
from pywgsl.ir import type_of

_NONE: frozenset[Exit] = frozenset()
_IN_PLACE = {
    ir.BinaryOp.ADD: "np.add",
    ir.BinaryOp.SUB: "np.subtract",
    ir.BinaryOp.MUL: "np.multiply",
    ir.BinaryOp.DIV: "np.divide",
}


class Statements(Parts):
    """Writes the statements of one function."""

    def function(self) -> list[str]:
        """Return the lines of the function's body."""
        body = self.out
        if leaves_partly(self.body, Exit.RETURN):
            self.live = self.names.new("live")
        self.block(self.body, self.root)
        if self.result:
            body.line(f"return {self.result}")
        head = Lines(body.depth)
        if self.assigned_privates and self.name:
            head.line(f"nonlocal {', '.join(sorted(self.assigned_privates))}")
        if self.live:
            head.line(f"{self.live} = {self.root.text}")
        if self.result:
            head.line(f"{self.result} = None")
        return (head.lines + body.lines) or ["    " * body.depth + "pass"]

    def private(self, variable: Variable) -> None:
        """Write the start of a private variable: zero in every lane."""
        zero = self.zero(variable.type)
        depth = depth_of(variable.type)
        text = self.own(zero, variable.value.axes, depth) if variable.owned else zero.text
        variable.mask = self.root
        self.out.line(f"{variable.value.text} = {text}")

    def shared(self, memory: ir.Variable) -> None:
        """Write the start of workgroup memory: zero in every workgroup."""
        axes = self.module.axes
        groups = axes.order.along(axes.shared(memory.name))[::-1]
        dtype = dtype_text(memory.type, self.module.structs)
        args = f'"{groups}", {inner_shape(memory.type)}, {dtype}'
        self.out.line(f"{self.module.shared[memory.name]} = {self.ids}.memory({args})")

    def block(self, block: ir.Block, mask: Mask) -> frozenset[Exit]:
        """Write a block; return how some lanes, but not all, may have left it."""
        left: frozenset[Exit] = _NONE
        for position, statement in enumerate(block):
            following = block[position + 1 :]
            self.mask = mask
            if isinstance(statement, ir.Switch):
                return left | self.block(self._switch(statement) + following, mask)
            if isinstance(statement, ir.If):
                dropped, done = self._if(statement, following, mask)
            else:
                dropped, done = self._statement(statement, mask), _is_exit(statement)
            left |= dropped
            if done or not following:
                return left
            if dropped:
                return left | self.under(self._remaining(mask, dropped), following)
        return left

    def under(self, mask: Mask, block: ir.Block) -> frozenset[Exit]:
        """Write a block that runs if a mask has any lanes."""
        lines = self.out.lines
        start = len(lines)
        with self.out.block(f"if {mask.text} is not False:"):
            left = self.block(block, mask)
            empty = len(lines) == start + 1
        if empty:
            del lines[start:]
        return left

    def _statement(self, statement: ir.Stmt, mask: Mask) -> frozenset[Exit]:  # noqa: C901
        match statement:
            case ir.Let():
                self._let(statement)
            case ir.Var():
                self._var(statement, mask)
            case ir.Assign():
                self._assign(statement, mask)
            case ir.Effect(call=call):
                self._effect(call)
            case ir.ForRange():
                return self.for_range(statement, mask)
            case ir.While():
                return self.while_(statement, mask)
            case ir.Break():
                return self._break(mask)
            case ir.Continue():
                return self._continue(mask)
            case ir.Return(value=value):
                return self._return(value, mask)
            case ir.Assert():
                self._assert(statement, mask)
            case ir.Print():
                self._print(statement, mask)
            case ir.If() | ir.Switch():
                raise AssertionError("a block takes these itself")
            case _:
                assert_never(statement)
        return _NONE

    def _effect(self, call: ir.Call | ir.Invoke) -> None:
        if isinstance(call, ir.Invoke):
            self.out.line(self.value(call).text)
        elif call.builtin in STORES:
            place, value = call.args
            self._assign(ir.Assign(place, value), self.mask)
        elif text := self.effect(call):
            self.out.line(text)

    # -------------------------------------------------------------------------- variables

    def _let(self, node: ir.Let) -> None:
        value = self.kept(self.value(node.value))
        name = self.names.of(node.name)
        self.out.line(f"{name} = {value.text}")
        known = replace(value, text=name, level=ATOM, plain="")
        self.locals[node.name] = Variable(known, type_of(node.value))

    def _var(self, node: ir.Var, mask: Mask) -> None:
        value = self.zero(node.type) if node.value is None else self.array(node.value)
        axes = self.module.axes.local(self.name, node.name)
        name = self.names.of(node.name)
        owned = node.name in self.owned
        if owned:
            self.out.line(f"{name} = {self.own(value, axes, depth_of(node.type))}")
        else:
            self.out.line(f"{name} = {self.kept(value).text}")
        known = Value(name, axes=axes, spread=owned and axes != UNIFORM, view=owned)
        self.locals[node.name] = Variable(known, node.type, owned, mask, len(self.loops))

    def _assign(self, node: ir.Assign, mask: Mask) -> None:
        if self._in_place(node, mask):
            return
        value = self.array(node.value)
        if isinstance(node.target, ir.Local | ir.Global) and not is_memory(node.target):
            self._assign_variable(self._target(node.target), value, mask)
            return
        if value_first(node):
            name = self.names.new("result")
            self.out.line(f"{name} = {value.text}")
            value = replace(value, text=name)
        place = self.resolve(node.target)
        if place.is_memory:
            self._store(place, value, mask)
            return
        assert isinstance(place.root, ir.Local | ir.Global)
        reached = mask.reaches(self._target(place.root))
        key = place.component
        if reached and key is not None:
            self.out.line(f"{place.base.text}{key} = {value.text}")
            return
        args = [
            place.base.text,
            str(place.depth),
            tuple_text(i.text for i in place.indices),
            value.text,
        ]
        args += [] if reached else [mask.text]
        self.out.line(f"put({', '.join(args)})")

    def _in_place(self, node: ir.Assign, mask: Mask) -> bool:
        """Write `x += value` or `memory[i] += value` in place, if it can be."""
        new = node.value
        if not isinstance(new, ir.Binary) or new.op not in _IN_PLACE or new.left != node.target:
            return False
        if new.right.type != node.target.type:
            return False
        if isinstance(node.target, ir.Local):
            known = self.variable(node.target)
            if not known.owned or not mask.reaches(known):
                return False
            self.out.line(f"{known.value.text} {new.op.value}= {self.array(new.right).text}")
            return True
        return is_memory(ir.root(node.target)) and self._combine(node, new, mask)

    def _combine(self, node: ir.Assign, new: ir.Binary, mask: Mask) -> bool:
        """Combine elements with a value, if the lanes store to elements side by side."""
        place = self.resolve(node.target)
        value = self.array(new.right)
        beside = (value.axes | mask.axes) & ~place.index_axes
        if not place.is_even or place.index_axes == UNIFORM or beside != UNIFORM:
            return False
        args = [_IN_PLACE[new.op], place.base.text, tuple_text(place.index_texts), value.text]
        args += [] if mask.text == "True" else [mask.text]
        self.out.line(f"combine({', '.join(args)})")
        return True

    def _target(self, node: ir.Local | ir.Global) -> Variable:
        if isinstance(node, ir.Global):
            self.assigned_privates.add(self.variable(node).value.text)
        return self.variable(node)

    def _assign_variable(self, variable: Variable, value: Value, mask: Mask) -> None:
        name, depth = variable.value.text, depth_of(variable.type)
        reached = mask.reaches(variable)
        if variable.owned and reached:
            self.out.line(f"{name}[...] = {value.text}")
        elif variable.owned:
            self.out.line(f"put({name}, {depth}, (), {value.text}, {mask.text})")
        elif reached:
            self.out.line(f"{name} = {self.kept(value).text}")
        else:
            self.out.line(f"{name} = {self._merged(mask, self.kept(value), name, depth)}")

    def _merged(self, mask: Mask, value: Value, old: str, depth: int) -> str:
        extra = f", {depth}" if depth else ""
        return f"merge({mask.text}, {value.text}, {old}{extra})"

    def _store(self, place: Place, value: Value, mask: Mask) -> None:
        beside = (value.axes | mask.axes) & ~place.index_axes
        even = place.is_even and beside == UNIFORM
        args = [place.base.text, tuple_text(place.index_texts), value.text]
        args += [] if mask.text == "True" else [mask.text]
        self.out.line(f"{'store' if even else 'scatter'}({', '.join(args)})")

    # --------------------------------------------------------------------------- branches

    def _if(self, node: ir.If, following: ir.Block, mask: Mask) -> tuple[frozenset[Exit], bool]:
        """Write a branch; return how lanes left, and whether what follows has been written.

        Where a branch always leaves, what follows is the other branch.
        """
        if self.part_if(node, mask):
            return _NONE, False
        test = self.array(node.condition)
        if test.axes == UNIFORM:
            return self._uniform_if(test, node, following, mask)
        body, orelse = node.body, node.orelse
        swapped = not terminates(body) and bool(orelse) and terminates(orelse)
        if swapped:
            body, orelse = orelse, body
        ends = terminates(body)
        done = ends
        if ends:
            orelse += following
        axes = mask.axes | test.axes
        if ends and self._is_silent(body):
            gone = exits_of(body)
            return gone | self._arm(mask, test.text, orelse, axes, not swapped, gone), True
        text = test.text
        if orelse or swapped:
            text = self.names.new("test")
            self.out.line(f"{text} = {test.text}")
        left = self._arm(mask, text, body, axes, swapped, _NONE)
        if orelse:
            gone = exits_of(body) if ends else _NONE
            left |= self._arm(mask, text, orelse, axes, not swapped, gone)
        return left, done

    def _is_silent(self, body: ir.Block) -> bool:
        """Whether a block does nothing but return, and nothing need know for which lanes."""
        returns = isinstance(body[0], ir.Return) and body[0].value is None
        return returns and not self.live and not self.loops

    def _arm(
        self,
        mask: Mask,
        test: str,
        block: ir.Block,
        axes: Axes,
        otherwise: bool,
        gone: frozenset[Exit],
    ) -> frozenset[Exit]:
        start = len(self.out.lines)
        narrow = "without" if otherwise else "narrowed"
        arm = Mask(self.names.new("mask"), axes, mask, gone, len(self.loops))
        self.out.line(f"{arm.text} = {narrow}({mask.text}, {test})")
        left = self.under(arm, block)
        if len(self.out.lines) == start + 1:
            del self.out.lines[start:]
        return left

    def _uniform_if(
        self, test: Value, node: ir.If, following: ir.Block, mask: Mask, word: str = "if"
    ) -> tuple[frozenset[Exit], bool]:
        body, orelse = node.body, node.orelse
        done = False
        if orelse and terminates(orelse):
            body, done = body + following, True
        with self.out.block(f"{word} {test.text}:"):
            left = self.block(body, mask)
        # Where a branch leaves by Python's own statements, what follows needs no `else`.
        if left and not done and terminates(body):
            orelse, done = orelse + following, True
        if not orelse:
            return left, done
        if len(orelse) == 1 and isinstance(orelse[0], ir.If):
            nested = self._elif(orelse[0], mask)
            if nested is not None:
                return left | nested, done
        with self.out.block("else:"):
            left |= self.block(orelse, mask)
        return left, done

    def _elif(self, node: ir.If, mask: Mask) -> frozenset[Exit] | None:
        """Write a nested branch as `elif` if its condition is uniform and needs no lines before."""
        start = len(self.out.lines)
        self.mask = mask
        test = self.array(node.condition)
        if test.axes != UNIFORM or len(self.out.lines) > start:
            del self.out.lines[start:]
            return None
        return self._uniform_if(test, node, (), mask, "elif")[0]

    def _switch(self, node: ir.Switch) -> ir.Block:
        """Return a switch as branches."""
        selector = self.array(node.selector)
        name = self.names.new("selector")
        self.out.line(f"{name} = {selector.text}")
        known = replace(selector, text=name, level=ATOM, plain="")
        # No author's name has parentheses.
        local = ir.Local(f"({name})", type_of(node.selector))
        self.locals[local.name] = Variable(known, local.type)
        return switched(node, local, nested=selector.axes == UNIFORM)

    # ------------------------------------------------------------------------------ exits

    def _remaining(self, mask: Mask, left: frozenset[Exit]) -> Mask:
        """Return the lanes of a mask that have not left."""
        keep = []
        loop = self.loops[-1] if self.loops else None
        if left & {Exit.RETURN, Exit.BREAK}:
            keep.append(loop.running if loop and loop.running else self.live)
        if Exit.CONTINUE in left:
            assert loop is not None
            keep.append(loop.staying)
        axes = mask.axes | (loop.axes if loop else self.module.axes.returns(self.name))
        outer = loop.root if loop else self.root
        if len(keep) == 1 and (mask is outer or mask.text == keep[0]):
            return Mask(keep[0], axes, mask, left, len(self.loops))
        text = mask.text
        for kept in keep:
            text = f"narrowed({text}, {kept})"
        name = self.names.new("mask")
        self.out.line(f"{name} = {text}")
        return Mask(name, axes, mask, left, len(self.loops))

    def _break(self, mask: Mask) -> frozenset[Exit]:
        loop = self.loops[-1]
        if mask.keeps(loop.root, {Exit.RETURN, Exit.BREAK}):
            self.out.line("break")
            return _NONE
        self._drop(loop.running, mask)
        return frozenset({Exit.BREAK})

    def _continue(self, mask: Mask) -> frozenset[Exit]:
        loop = self.loops[-1]
        if mask.keeps(loop.root, Exit):
            loop.next_iteration()
            self.out.line("continue")
            return _NONE
        if loop.staying:
            self._drop(loop.staying, mask)
        return frozenset({Exit.CONTINUE})

    def _return(self, node: ir.Expr | None, mask: Mask) -> frozenset[Exit]:
        value = None if node is None else self.kept(self.array(node))
        depth = 0 if node is None else depth_of(type_of(node))
        if mask.keeps(self.root, {Exit.RETURN}):
            if value is None:
                self.out.line("return")
            elif self.result and mask is not self.root:
                self.out.line(f"return {self._merged(mask, value, self.result, depth)}")
            else:
                self.out.line(f"return {value.text}")
            return _NONE
        if value is not None:
            self.result = self.result or self.names.new("result")
            merged = self._merged(mask, value, self.result, depth)
            self.out.line(f"{self.result} = {merged}")
        if self.live:
            self._drop(self.live, mask)
        for loop in self.loops:
            if loop.running:
                self._drop(loop.running, mask)
        if self.loops and mask.keeps(self.loops[-1].root, {Exit.RETURN, Exit.BREAK}):
            self.out.line("break")
        return frozenset({Exit.RETURN})

    def _drop(self, lanes: str, mask: Mask) -> None:
        self.out.line(f"{lanes} = without({lanes}, {mask.text})")

    # ----------------------------------------------------------------- what NumPy adds

    def _assert(self, node: ir.Assert, mask: Mask) -> None:
        test = self.array(node.condition)
        message = f"{node.span.source.name}:{node.span.line}: {node.message}"
        self.out.line(f"check(ids, {mask.text}, {test.text}, {message!r})")

    def _print(self, node: ir.Print, mask: Mask) -> None:
        parts = [
            repr(part) if isinstance(part, str) else self._printed(part) for part in node.parts
        ]
        end = [] if node.end == "\n" else [f"end={node.end!r}"]
        args = ", ".join(["ids", mask.text, *parts, *end])
        self.out.line(f"show({args})")

    def _printed(self, node: ir.Expr) -> str:
        return f"({depth_of(type_of(node))}, {self.array(node).text})"


def _is_exit(statement: ir.Stmt) -> bool:
    return isinstance(statement, ir.Return | ir.Break | ir.Continue)

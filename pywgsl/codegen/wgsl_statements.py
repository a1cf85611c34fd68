"""Statements of the intermediate representation as WGSL text."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from pywgsl import ir
from pywgsl.analysis.order import acts, value_first
from pywgsl.analysis.ranges import everything
from pywgsl.builtins import BUILTINS, Scope
from pywgsl.codegen.layout import stored
from pywgsl.codegen.scope import FunctionScope
from pywgsl.codegen.split import split
from pywgsl.codegen.wgsl_collectives import atomic_store
from pywgsl.codegen.wgsl_expressions import Expressions, TooDeepError
from pywgsl.codegen.wgsl_places import is_carried, is_simple
from pywgsl.codegen.writer import Code, Writer, call, infix
from pywgsl.ir import BinaryOp, UnaryOp, type_of
from pywgsl.source import Span
from pywgsl.types import BOOL, I32, U32

# WGSL has these only for two operands of one type.
_BITWISE = {BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR}
_COMPOUND = {BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, *_BITWISE}

#: Branches of one `if`; Tint takes 127, less what is around them.
MAX_CHAIN = 50

# Operators of a loop's bound that are written in its condition, not before the loop.
_CHEAP = 2


class Statements:
    """Writes the statements of one function."""

    def __init__(self, scope: FunctionScope, out: Writer) -> None:
        self._scope = scope
        self._module = scope.module
        self._out = out
        self._expressions = Expressions(scope)
        # Locals whose value cannot change between two readings.
        self._immutable: set[str] = set()
        self._depth = 0

    def parameters(self, params: tuple[ir.Param, ...]) -> None:
        """Say which locals are parameters: they never change."""
        self._immutable.update(p.name for p in params)

    def block(self, block: ir.Block) -> None:
        """Write the statements of a block, up to the first that leaves it."""
        for statement in block:
            self._statement(statement)
            if isinstance(statement, ir.Return | ir.Break | ir.Continue):
                return

    def _statement(self, node: ir.Stmt) -> None:  # noqa: C901
        match node:
            case ir.Let():
                self._let(node)
            case ir.Var():
                self._var(node)
            case ir.Assign():
                self._assign(node)
            case ir.Effect():
                self._effect(node)
            case ir.If():
                self._if(node)
            case ir.ForRange():
                self._for_range(node)
            case ir.While():
                self._while(node)
            case ir.Switch():
                self._switch(node)
            case ir.Break():
                self._out.line("break;", node.span)
            case ir.Continue():
                self._out.line("continue;", node.span)
            case ir.Return():
                self._return(node)
            case ir.Assert() | ir.Print():
                pass
            case _:
                assert_never(node)

    # ------------------------------------------------------------------- values of a statement

    def _code(self, node: ir.Expr, span: Span) -> Code:
        """Write what an expression needs before its statement, and return its text."""
        try:
            code = self._expressions.code(node)
        except TooDeepError:
            self._expressions.take_before()
            code = self._expressions.code(self._shallow(node, span))
        for line in self._expressions.take_before():
            self._out.line(line, span)
        return code

    def _text(self, node: ir.Expr, span: Span) -> str:
        return self._code(node, span).text

    def _shallow(self, node: ir.Expr, span: Span) -> ir.Expr:
        """Write the deep parts of an expression as locals, and return the rest."""
        lets, rest = split(node, self._temporary)
        for let in lets:
            text = self._text(let.value, span)
            self._out.line(f"let {self._scope.names[let.name]} = {text};", span)
        return rest

    def _temporary(self, name: str) -> str:
        """Declare a local that the author did not write; return its name in the representation."""
        unique = self._scope.declare(name)
        self._scope.names[unique] = unique
        self._immutable.add(unique)
        return unique

    def _place(self, node: ir.Expr, span: Span) -> str:
        """Return the text of a target; the indices are evaluated as part of its statement."""
        try:
            text = self._expressions.place(node).text
        except TooDeepError:
            self._expressions.take_before()
            text = self._expressions.place(self._shallow(node, span)).text
        for line in self._expressions.take_before():
            self._out.line(line, span)
        return text

    # ------------------------------------------------------------------------- declarations

    def _let(self, node: ir.Let) -> None:
        self._immutable.add(node.name)
        name = self._scope.names[node.name]
        self._out.line(f"let {name} = {self._text(node.value, node.span)};", node.span)
        self._scope.note_let(node)
        if isinstance(node.value, ir.InvocationId):
            self._scope.alias(node.value, name, self._depth)

    def _var(self, node: ir.Var) -> None:
        name = self._scope.names[node.name]
        if node.value is None:
            self._out.line(f"var {name}: {self._module.spell(node.type)};", node.span)
        else:
            self._out.line(f"var {name} = {self._text(node.value, node.span)};", node.span)

    # --------------------------------------------------------------------------- assignments

    def _assign(self, node: ir.Assign) -> None:
        target, guard = node.target, ""
        checked = self._module.module.checked and target != ir.root(target)
        if value_first(node) or (checked and acts(node.value)):
            # A call runs wherever its result goes, even if that is nowhere.
            node = replace(node, value=self._simple(node.value, node.span, "result"))
        if checked:
            target, guard = self._guarded(target, node.span)
        text = self._store(target, node)
        if guard:
            self._out.open(f"if ({guard})", node.span)
        self._out.line(text, node.span)
        if guard:
            self._out.close()

    def _store(self, target: ir.Expr, node: ir.Assign) -> str:
        value, span = node.value, node.span
        place = self._place(target, span)
        if self._expressions.is_atomic(target):
            store = atomic_store(Code(place), self._code(value, span), type_of(target))
            return f"{store.text};"
        if is_carried(target):
            return f"{place} = {self._carried(value, span)};"
        if isinstance(value, ir.Binary) and _is_compound(value) and value.left == node.target:
            return f"{place} {value.op.value}= {self._text(value.right, span)};"
        return f"{place} = {self._text(value, span)};"

    def _carried(self, value: ir.Expr, span: Span) -> str:
        """A bool as it is kept in a buffer or struct."""
        code = self._code(value, span)
        return call(str(stored(type_of(value))), code).text

    def _guarded(self, target: ir.Expr, span: Span) -> tuple[ir.Expr, str]:
        """Return a target with simple indices, and the condition that they are inside."""
        path: list[ir.Index | ir.Member | ir.Swizzle] = []
        while isinstance(target, ir.Index | ir.Member | ir.Swizzle):
            path.append(target)
            target = target.base
        inside: list[str] = []
        for part in reversed(path):
            if isinstance(part, ir.Index) and self._expressions.limits(part):
                part = replace(part, indices=tuple(self._simple(i, span) for i in part.indices))
                inside += (limit.text for limit in self._expressions.limits(part))
            target = replace(part, base=target)
        return target, " && ".join(inside)

    def _simple(self, node: ir.Expr, span: Span, called: str = "index") -> ir.Expr:
        """Return a node that may be written twice, after a local for it if need be."""
        if is_simple(node):
            return node
        name = self._temporary(called)
        self._out.line(f"let {self._scope.names[name]} = {self._text(node, span)};", span)
        return ir.Local(name, type_of(node), span=node.span)

    def _effect(self, node: ir.Effect) -> None:
        dropped = ""
        if isinstance(node.call, ir.Call):
            if node.call.builtin == "atomic_store":
                target, value = node.call.args
                self._assign(ir.Assign(target, value, span=node.span))
                return
            scope = BUILTINS[node.call.builtin].scope
            if scope is None or node.call.builtin == "atomic_load":
                return
            # WGSL insists that results of a subgroup are used.
            dropped = "_ = " if scope is Scope.SUBGROUP else ""
        self._out.line(f"{dropped}{self._text(node.call, node.span)};", node.span)

    def _return(self, node: ir.Return) -> None:
        if node.value is None:
            self._out.line("return;", node.span)
        else:
            self._out.line(f"return {self._text(node.value, node.span)};", node.span)

    # ------------------------------------------------------------------------------ branches

    def _if(self, node: ir.If) -> None:
        body, orelse = _spoken(node.body), _spoken(node.orelse)
        if not body and not orelse:
            return
        condition = node.condition
        if not body:
            condition = ir.Unary(UnaryOp.NOT, condition, BOOL, span=condition.span)
            body, orelse = orelse, ()
        first = self._text(condition, node.span)
        found = self._scope.declare("found") if chain_length(node) > MAX_CHAIN else ""
        if found:
            self._out.line(f"var {found} = true;", node.span)
        self._out.open(f"if ({first})", node.span)
        self._inner(body)
        count = 1
        while orelse:
            if found and count == MAX_CHAIN:
                self._out.reopen("else")
                self._out.line(f"{found} = false;")
                self._out.close()
                self._out.open(f"if (!{found})")
                self._inner(orelse)
                break
            count += 1
            branch = orelse[0] if len(orelse) == 1 else None
            text = self._plain(branch.condition) if isinstance(branch, ir.If) else None
            if text is None or not isinstance(branch, ir.If) or not _spoken(branch.body):
                self._out.reopen("else")
                self._inner(orelse)
                break
            self._out.reopen(f"else if ({text})", branch.span)
            self._inner(branch.body)
            orelse = _spoken(branch.orelse)
        self._out.close()

    def _plain(self, node: ir.Expr) -> str | None:
        """Return an expression's text if nothing must precede its statement, else None."""
        try:
            text = self._expressions.text(node)
        except TooDeepError:
            self._expressions.take_before()
            return None
        return None if self._expressions.take_before() else text

    def _inner(self, block: ir.Block) -> None:
        self._depth += 1
        self.block(block)
        self._depth -= 1

    def _switch(self, node: ir.Switch) -> None:
        blocks = [*(case.body for case in node.cases), node.default]
        if any(_breaks(block) for block in blocks):
            self._inner_if(node)
            return
        self._out.open(f"switch ({self._text(node.selector, node.span)})", node.span)
        for case in node.cases:
            values = ", ".join(
                self._expressions.text(ir.Literal(value, type_of(node.selector)))
                for value in case.values
            )
            self._out.open(f"case {values}:", case.span)
            self._inner(case.body)
            self._out.close()
        self._out.open("default:")
        self._inner(node.default)
        self._out.close()
        self._out.close()

    def _inner_if(self, node: ir.Switch) -> None:
        """A switch as an if-chain: WGSL's `break` in a switch would leave the switch."""
        selector = self._bound(node.selector, "selector", node.span)
        chain = node.default
        for case in reversed(node.cases):
            tests: list[ir.Expr] = [
                ir.Binary(BinaryOp.EQ, selector, ir.Literal(value, type_of(selector)), BOOL)
                for value in case.values
            ]
            condition = tests[0]
            for test in tests[1:]:
                condition = ir.Binary(BinaryOp.LOGICAL_OR, condition, test, BOOL)
            chain = (ir.If(condition, case.body, chain, span=case.span),)
        self.block(chain)

    # --------------------------------------------------------------------------------- loops

    def _for_range(self, node: ir.ForRange) -> None:
        self._immutable.add(node.index)
        index = self._scope.names[node.index]
        if not _spoken(node.body):
            return
        if self._counts_safely(node):
            self._count(node, index)
        else:
            self._count_trips(node, index)
        self._inner(node.body)
        self._out.close()

    def _counts_safely(self, node: ir.ForRange) -> bool:
        """Whether the step's sign is known, and the index can pass its last value unwrapped."""
        step = self._module.ranges.interval(node.step, self._scope.function)
        if step in ((1, 1), (-1, -1)):
            return True
        stop = self._module.ranges.interval(node.stop, self._scope.function)
        every = everything(node.stop.type)
        if step.low > 0:
            return stop.high - 1 + step.high <= every.high
        return step.high < 0 and every.low <= stop.low + 1 + step.low

    def _count(self, node: ir.ForRange, index: str) -> None:
        start = self._text(node.start, node.span)
        stop = self._code(self._bound(node.stop, f"{index}_stop", node.span), node.span)
        step = self._bound(node.step, f"{index}_step", node.span)
        rises = self._module.ranges.is_non_negative(node.step, self._scope.function)
        condition = infix(Code(index), "<" if rises else ">", stop).text
        value = step.value if isinstance(step, ir.Literal) else 0
        if value in (1, -1):
            update = f"{index}{'++' if rises else '--'}"
        elif -(2**31) < value < 0:
            update = f"{index} -= {-value}"
        else:
            update = f"{index} += {self._text(step, node.span)}"
        self._out.open(f"for (var {index} = {start}; {condition}; {update})", node.span)

    def _count_trips(self, node: ir.ForRange, index: str) -> None:
        """Count the trips instead, where the index could wrap or the step's sign is not known."""
        names = (f"{index}_start", f"{index}_stop", f"{index}_step")
        start, stop, step = (
            self._bound(bound, name, node.span)
            for bound, name in zip((node.start, node.stop, node.step), names, strict=True)
        )
        trips = self._scope.declare(f"{index}_trips")
        trip = self._scope.declare(f"{index}_trip")
        types = (I32,) * 3 if node.start.type is I32 else (U32,) * 3
        length = call(
            self._module.prelude.use("range_length", *types),
            *(self._code(bound, node.span) for bound in (start, stop, step)),
        )
        self._out.line(f"let {trips} = {length.text};", node.span)
        self._out.open(f"for (var {trip} = 0u; {trip} < {trips}; {trip}++)", node.span)
        counter = call("i32", Code(trip)) if node.start.type is I32 else Code(trip)
        offset = infix(counter, "*", self._code(step, node.span))
        first = self._code(start, node.span)
        value = offset if first.text in ("0", "0u") else infix(first, "+", offset)
        self._out.line(f"let {index} = {value.text};", node.span)

    def _bound(self, node: ir.Expr, name: str, span: Span) -> ir.Expr:
        """Return an expression that is evaluated once, through a local unless it cannot change."""
        if self._is_fixed(node):
            return node
        unique = self._temporary(name)
        self._out.line(f"let {self._scope.names[unique]} = {self._text(node, span)};", span)
        return ir.Local(unique, type_of(node), span=node.span)

    def _is_fixed(self, node: ir.Expr, depth: int = 0) -> bool:
        """Whether an expression has the same value each time, and is cheap enough to repeat."""
        match node:
            case ir.Literal() | ir.Shape() | ir.InvocationId():
                return True
            case ir.Local(name=name):
                return name in self._immutable
            case ir.Global(space=space):
                return space is ir.Space.UNIFORM
            case ir.Binary(op=BinaryOp.ADD | BinaryOp.SUB, left=left, right=right):
                return depth < _CHEAP and all(
                    self._is_fixed(operand, depth + 1) for operand in (left, right)
                )
            case _:
                return False

    def _while(self, node: ir.While) -> None:
        text = self._plain(node.condition)
        if text is not None and not node.continuing and node.break_if is None:
            self._out.open(f"while ({text})", node.span)
            self._inner(node.body)
            self._out.close()
            return
        update = self._update(node)
        if text is not None and update is not None:
            self._out.open(f"for (; {text}; {update})", node.span)
            self._inner(node.body)
            self._out.close()
            return
        self._loop(node)

    def _update(self, node: ir.While) -> str | None:
        """The update of a `for`, if `continuing` is one, and names no local of the body."""
        if len(node.continuing) != 1 or node.break_if is not None:
            return None
        statement = node.continuing[0]
        inner = {s.name for s in node.body if isinstance(s, ir.Let | ir.Var)}
        named = {n.name for n in ir.walk(statement) if isinstance(n, ir.Local)}
        if not isinstance(statement, ir.Assign) or inner & named or self._module.module.checked:
            return None
        lines = Writer()
        self._nested(lines)._statement(statement)
        return lines.lines[0].removesuffix(";") if len(lines.lines) == 1 else None

    def _nested(self, out: Writer) -> Statements:
        """Return a writer of this function's statements to another place."""
        nested = Statements(self._scope, out)
        nested._immutable = self._immutable
        return nested

    def _loop(self, node: ir.While) -> None:
        """The general loop: what a condition needs before it is evaluated in each trip."""
        self._out.open("loop", node.span)
        done = ir.Unary(UnaryOp.NOT, node.condition, BOOL, span=node.condition.span)
        self._out.open(f"if ({self._text(done, node.span)})", node.span)
        self._out.line("break;")
        self._out.close()
        self._inner(node.body)
        if node.continuing or node.break_if is not None:
            self._out.open("continuing")
            self._inner(node.continuing)
            if node.break_if is not None:
                self._out.line(f"break if {self._text(node.break_if, node.span)};", node.span)
            self._out.close()
        self._out.close()


def chain_length(node: ir.If) -> int:
    """Return how many branches of an if-chain have a condition."""
    length = 1
    while len(node.orelse) == 1 and isinstance(inner := node.orelse[0], ir.If):
        node, length = inner, length + 1
    return length


def _is_compound(value: ir.Binary) -> bool:
    if value.op is BinaryOp.BIT_XOR and value.type is BOOL:
        return False
    if value.op in _BITWISE and value.right.type != value.type:
        return False
    return value.op in _COMPOUND and value.left.type == value.type


def _spoken(block: ir.Block) -> ir.Block:
    """The block without what has no text: assertions, prints, and conditions for nothing else."""
    if all(isinstance(s, ir.Assert | ir.Print) or _is_silent_if(s) for s in block):
        return ()
    return block


def _is_silent_if(node: ir.Stmt) -> bool:
    return isinstance(node, ir.If) and not _spoken(node.body) and not _spoken(node.orelse)


def _breaks(block: ir.Block) -> bool:
    """Whether a block leaves the loop that it is in."""
    for statement in block:
        match statement:
            case ir.Break():
                return True
            case ir.If(body=body, orelse=orelse) if _breaks(body) or _breaks(orelse):
                return True
            case ir.Switch(cases=cases, default=default):
                if _breaks(default) or any(_breaks(case.body) for case in cases):
                    return True
            case _:
                pass
    return False

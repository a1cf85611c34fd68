"""Which values and branches all invocations of a workgroup share: where they can wait for all.

A barrier that some invocations of a workgroup never reach is undefined behaviour. Tint refuses
what it cannot show to be uniform, naga lets everything pass, so this analysis decides, by Tint's
rules. A value is *divergent* if it comes from an invocation's own id, from memory that invocations
write, from an atomic or subgroup operation, or was assigned where flow had diverged; all else is
uniform. Composite values count as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pywgsl import ir
from pywgsl.builtins import BUILTINS, Scope
from pywgsl.source import Span
from pywgsl.types import RuntimeArray


@dataclass(frozen=True, slots=True)
class Cause:
    """Where something that differs between invocations comes from, and what it is."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """An operation of a whole workgroup that only some of its invocations may reach."""

    span: Span
    builtin: str
    branch: Cause  # what made flow diverge
    source: Cause  # why that differs between invocations
    help: str


#: None stands for uniform; otherwise where flow diverged, why, and what to do about it.
Flow: TypeAlias = tuple[Cause, Cause, str] | None
Environment: TypeAlias = dict[str, Cause | None]

_SHARED_IDS = frozenset({ir.Id.WORKGROUP, ir.Id.NUM_WORKGROUPS})


def divergences(module: ir.Module) -> list[Divergence]:
    """Return every operation of a workgroup that stands where flow may have diverged."""
    walker = _Walker(module)
    walker.function(module.body, {}, None)
    return list(walker.found.values())


@dataclass(slots=True)
class _Loop:
    """A loop being followed: how some invocations have left it, or its iteration."""

    left: Flow = None
    skipped: Flow = None


@dataclass(slots=True)
class _Frame:
    """A function being followed."""

    returned: Flow = None
    result: Cause | None = None
    loops: list[_Loop] = field(default_factory=list)


class _Walker:
    def __init__(self, module: ir.Module) -> None:
        self.functions = {f.name: f for f in module.functions}
        self.written = {b.name for b in module.buffers if b.access is ir.Access.READ_WRITE}
        self.found: dict[tuple[Span, str], Divergence] = {}
        self.frames: list[_Frame] = []

    def function(self, body: ir.Block, environment: Environment, flow: Flow) -> Cause | None:
        """Follow a function's body; return why its result differs between invocations."""
        frame = _Frame()
        self.frames.append(frame)
        self.block(body, environment, flow)
        self.frames.pop()
        return frame.result

    # ---------------------------------------------------------------------------- statements

    def block(self, body: Sequence[ir.Stmt], environment: Environment, flow: Flow) -> None:
        for statement in body:
            self.statement(statement, environment, self.now(flow))

    def now(self, flow: Flow) -> Flow:
        """Return how flow stands, with what some invocations may have left by now."""
        frame = self.frames[-1]
        if frame.loops:
            flow = flow or frame.loops[-1].left or frame.loops[-1].skipped
        return flow or frame.returned

    def statement(  # noqa: C901
        self, node: ir.Stmt, environment: Environment, flow: Flow
    ) -> None:
        match node:
            case ir.Let(name=name, value=value):
                environment[name] = self.value(value, environment, flow)
            case ir.Var(name=name, value=start):
                value_ = None if start is None else self.value(start, environment, flow)
                environment[name] = value_
            case ir.Assign():
                self.assign(node, environment, flow)
            case ir.Effect(call=call):
                self.value(call, environment, flow)
            case ir.If(condition=condition, body=body, orelse=orelse):
                self.branch(condition, (body, orelse), environment, flow)
            case ir.Switch(selector=selector, cases=cases, default=default):
                blocks = (*(case.body for case in cases), default)
                self.branch(selector, blocks, environment, flow)
            case ir.ForRange() | ir.While():
                self.loop(node, environment, flow)
            case ir.Break():
                loop = self.frames[-1].loops[-1]
                loop.left = loop.left or _exit(flow, node, "leave the loop here", _STAY)
            case ir.Continue():
                loop = self.frames[-1].loops[-1]
                loop.skipped = loop.skipped or _exit(flow, node, "skip what follows", _STAY)
            case ir.Return(value=value):
                self.leave(node, value, environment, flow)
            case ir.Assert() | ir.Print():
                pass

    def assign(self, node: ir.Assign, environment: Environment, flow: Flow) -> None:
        cause = self.value(node.value, environment, flow) or (flow[1] if flow else None)
        root = ir.root(node.target)
        if not isinstance(root, ir.Local):
            return
        if not isinstance(node.target, ir.Local):
            # A part of a composite: the whole keeps what the other parts have.
            cause = cause or self.indices(node.target, environment, flow)
            cause = cause or environment.get(root.name)
        environment[root.name] = cause

    def indices(self, place: ir.Expr, environment: Environment, flow: Flow) -> Cause | None:
        cause = None
        while isinstance(place, ir.Index | ir.Member | ir.Swizzle):
            if isinstance(place, ir.Index):
                cause = cause or self.first(place.indices, environment, flow)
            place = place.base
        return cause

    def leave(
        self, node: ir.Return, value: ir.Expr | None, environment: Environment, flow: Flow
    ) -> None:
        frame = self.frames[-1]
        cause = None if value is None else self.value(value, environment, flow)
        frame.result = frame.result or cause or (flow[1] if flow else None)
        frame.returned = frame.returned or _exit(flow, node, "return here", _NO_RETURN)

    def branch(
        self,
        condition: ir.Expr,
        blocks: Sequence[ir.Block],
        environment: Environment,
        flow: Flow,
    ) -> None:
        cause = self.value(condition, environment, flow)
        inner = flow or _diverged(condition, cause, _MOVE_OUT)
        merged: Environment = {}
        for block in blocks:
            own = dict(environment)
            self.block(block, own, inner)
            for name in environment:
                merged[name] = merged.get(name) or own[name]
        environment.update(merged)

    def loop(self, node: ir.ForRange | ir.While, environment: Environment, flow: Flow) -> None:
        """Follow iterations until nothing more is found to differ."""
        loop = _Loop()
        frame = self.frames[-1]
        while True:
            before = dict(environment), loop.left, frame.returned
            loop.skipped = None
            frame.loops.append(loop)
            self.iteration(node, environment, loop, flow)
            frame.loops.pop()
            if before == (environment, loop.left, frame.returned):
                break

    def iteration(
        self,
        node: ir.ForRange | ir.While,
        environment: Environment,
        loop: _Loop,
        flow: Flow,
    ) -> None:
        own = dict(environment)
        flow = self.now(flow)
        if isinstance(node, ir.ForRange):
            head: ir.Expr = node.stop
            cause = self.first((node.start, node.stop, node.step), own, flow)
            own[node.index] = cause
        else:
            head = node.condition
            cause = self.value(head, own, flow)
        # Invocations that end the loop here have left it as if by a break.
        loop.left = loop.left or _diverged(head, cause, _STAY)
        self.block(node.body, own, flow)
        if isinstance(node, ir.While):
            loop.skipped = None
            self.block(node.continuing, own, flow)
            if node.break_if is not None:
                cause = self.value(node.break_if, own, flow)
                loop.left = loop.left or _diverged(node.break_if, cause, _STAY)
        for name in environment:
            environment[name] = environment[name] or own[name]

    # --------------------------------------------------------------------------- expressions

    def first(
        self, expressions: Sequence[ir.Expr], environment: Environment, flow: Flow
    ) -> Cause | None:
        causes = [self.value(e, environment, flow) for e in expressions]
        return next((cause for cause in causes if cause is not None), None)

    def value(self, node: ir.Expr, environment: Environment, flow: Flow) -> Cause | None:
        """Return why a value differs between invocations, noting operations on the way."""
        match node:
            case ir.Literal() | ir.Shape():
                return None
            case ir.Local(name=name):
                return environment.get(name)
            case ir.InvocationId(id=id_):
                text = f"`{id_.value}` is another in each invocation"
                return None if id_ in _SHARED_IDS else Cause(node.span, text)
            case ir.Global():
                return self.variable(node)
            case ir.Index(base=ir.Global() as base, indices=indices):
                return self.variable(base) or self.first(indices, environment, flow)
            case ir.Call():
                return self.call(node, environment, flow)
            case ir.Invoke():
                return self.invoke(node, environment, flow)
            case _:
                operands = [child for child in ir.children(node) if not isinstance(child, ir.Case)]
                return self.first(operands, environment, flow)  # type: ignore[arg-type]

    def variable(self, node: ir.Global) -> Cause | None:
        name = node.name
        if isinstance(node.type, RuntimeArray):
            text = f"`{name}` is a buffer that the kernel writes"
            return Cause(node.span, text) if name in self.written else None
        if node.space is ir.Space.WORKGROUP:
            return Cause(node.span, f"`{name}` is workgroup memory, which any invocation may write")
        if node.space is ir.Space.PRIVATE:
            return Cause(node.span, f"`{name}` is each invocation's own")
        return None

    def call(self, node: ir.Call, environment: Environment, flow: Flow) -> Cause | None:
        row = BUILTINS[node.builtin]
        places = row.scope is Scope.ATOMIC
        cause = self.first(node.args[places:], environment, flow)
        if row.scope is Scope.WORKGROUP and flow is not None:
            self.found.setdefault((node.span, row.name), Divergence(node.span, row.name, *flow))
        if row.scope is None:
            return cause
        text = f"`{row.name}` gives each invocation its own result"
        return None if row.shared else Cause(node.span, text)

    def invoke(self, node: ir.Invoke, environment: Environment, flow: Flow) -> Cause | None:
        function = self.functions[node.function]
        causes = [self.value(arg, environment, flow) for arg in node.args]
        inside = {p.name: cause for p, cause in zip(function.params, causes, strict=True)}
        return self.function(function.body, dict(inside), flow)


def _diverged(condition: ir.Expr, cause: Cause | None, fix: str) -> Flow:
    if cause is None:
        return None
    branch = Cause(condition.span, "not all invocations of a workgroup agree on this")
    return branch, cause, fix


def _exit(flow: Flow, node: ir.Stmt, what: str, fix: str) -> Flow:
    """Return flow that has diverged because some invocations have left."""
    return None if flow is None else (Cause(node.span, f"some invocations {what}"), flow[1], fix)


_MOVE_OUT = "move it out of the branch: what the branch guards can stay inside"
_NO_RETURN = "let every invocation go on: put what follows into `if …:` instead of returning"
_STAY = "let every invocation make the same trips, and guard what it does in them with `if …:`"

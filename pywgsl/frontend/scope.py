"""Which assignment a read of a variable sees: Python's function scope, made explicit.

A name may be assigned several times. Assignments that can reach a common read form one *web*, and
each web becomes one typed variable: `n = n // 2` may follow a use of the parameter `n`, and
`x = float(x)` may change a type, but what a branch or loop merges must agree. The same walk
finds names that may be read before they are assigned, and along which path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from pywgsl import syntax
from pywgsl.errors import Diagnostic, Label
from pywgsl.ir import BinaryOp
from pywgsl.source import Span

#: What the reads of a name may see: assignments (0, 1, …) and paths without one (-1, -2, …).
Reaching: TypeAlias = frozenset[int]
Environment: TypeAlias = dict[str, Reaching]

#: Tells the value of an expression that is known when the kernel is compiled, else None.
Evaluator: TypeAlias = Callable[[syntax.Expr], "bool | int | float | range | None"]

_NEVER: Reaching = frozenset({-1})

#: Loops are followed until nothing changes; inside so many others that would take too long.
_EXACT_LOOPS = 5


@dataclass
class Scope:
    """The webs of a function. Webs are numbered by one of their assignments."""

    reads: dict[syntax.Name, int] = field(default_factory=dict)
    writes: dict[syntax.Name, int] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)
    assignments: dict[int, int] = field(default_factory=dict)  # how many make up each web
    locals: set[str] = field(default_factory=set)
    escaping: set[int] = field(default_factory=set)  # loop targets read outside their loop
    decided: dict[syntax.Expr, bool] = field(default_factory=dict)  # tests known at compile time
    matched: dict[syntax.Match, syntax.Block] = field(default_factory=dict)  # likewise, of a match
    reached: set[syntax.Stmt] = field(default_factory=set)
    ends_open: bool = False  # whether control may come out at the end of the body


def _start(span: Span) -> int:
    return span.start


def resolve(
    function: syntax.Function, parameters: Iterable[str], constant: Evaluator
) -> tuple[Scope, list[Diagnostic]]:
    """Return the webs of a function, and a diagnostic for each read that may find nothing.

    `constant` decides branches that are never taken in this specialization; what they contain
    does not count.
    """
    walker = _Walker(constant)
    scope = walker.scope
    environment: Environment = {}
    for name in parameters:
        scope.locals.add(name)
        scope.parameters[name] = walker.define()
        environment[name] = frozenset({scope.parameters[name]})
    scope.locals |= assigned_names(function)
    scope.ends_open = walker.block(function.body, environment) is not None
    diagnostics = walker.finish()
    _find_escaping(function, scope)
    return scope, diagnostics


def _find_escaping(function: syntax.Function, scope: Scope) -> None:
    total = Counter(scope.reads.values())
    for loop in syntax.walk(function):
        if isinstance(loop, syntax.For) and loop.target in scope.writes:
            web = scope.writes[loop.target]
            inside = sum(
                1
                for statement in loop.body
                for name in syntax.walk(statement)
                if isinstance(name, syntax.Name) and scope.reads.get(name) == web
            )
            if inside < total[web]:
                scope.escaping.add(web)


def assigned_names(function: syntax.Function) -> set[str]:
    """Return the names that a function assigns."""
    return {name.id for node in syntax.walk(function) for name in _assigned(node)}


def _assigned(node: syntax.Node) -> list[syntax.Name]:
    """Return the names that a statement itself assigns."""
    match node:
        case syntax.Assign(targets=targets):
            return [name for target in targets for name in _names(target)]
        case syntax.Annotated(target=target) | syntax.Augmented(target=target):
            return _names(target)
        case syntax.For(target=target):
            return [target]
        case _:
            return []


def _names(target: syntax.Expr) -> list[syntax.Name]:
    match target:
        case syntax.Name():
            return [target]
        case syntax.Tuple(items=items):
            return [name for item in items for name in _names(item)]
        case _:
            return []


@dataclass
class _Loop:
    """Where `break` and `continue` inside a loop arrive."""

    breaks: list[Environment] = field(default_factory=list)
    continues: list[Environment] = field(default_factory=list)


class _Walker:
    """Follows control flow, carrying what each name may hold. None means: not reached."""

    def __init__(self, constant: Evaluator) -> None:
        self.scope = Scope()
        self.constant = constant
        self.parent: list[int] = []  # union-find over assignments
        self.reaching: dict[syntax.Name, Reaching] = {}
        self.loops: list[_Loop] = []
        self.paths: list[tuple[Span, str] | None] = [None]  # what -1, -2, … stand for
        self.path_numbers: dict[tuple[int, str, str], int] = {}

    # -------------------------------------------------------------------------- assignments

    def define(self) -> int:
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, web: int) -> int:
        while self.parent[web] != web:
            self.parent[web] = self.parent[self.parent[web]]
            web = self.parent[web]
        return web

    def write(self, name: syntax.Name, environment: Environment) -> None:
        if name not in self.scope.writes:
            self.scope.writes[name] = self.define()
        environment[name.id] = frozenset({self.scope.writes[name]})

    def read(self, node: syntax.Node, environment: Environment) -> None:
        """Note what the names in an expression may hold, where they can be reached."""
        pending = [node]
        while pending:
            part = pending.pop()
            match part:
                case syntax.Name(id=name):
                    if name in self.scope.locals:
                        seen = self.reaching.get(part, frozenset())
                        self.reaching[part] = seen | environment.get(name, _NEVER)
                case syntax.Conditional(test=test, body=body, orelse=orelse):
                    known = self.decide(test)
                    arms = (body, orelse) if known is None else (body if known else orelse,)
                    pending += (test, *arms)
                case syntax.BoolOp(op=op, operands=operands):
                    for operand in operands:
                        pending.append(operand)
                        if self.decide(operand) is (op is BinaryOp.LOGICAL_OR):
                            break
                case _:
                    pending.extend(syntax.children(part))

    def decide(self, test: syntax.Expr) -> bool | None:
        """Return what a test is known to be."""
        known = self.constant(test)
        if not isinstance(known, bool):
            return None
        self.scope.decided[test] = known
        return known

    def finish(self) -> list[Diagnostic]:
        """Join webs along every read, and report reads that may find nothing."""
        diagnostics = []
        told: set[tuple[str, Reaching]] = set()
        for name, reaching in sorted(self.reaching.items(), key=lambda item: item[0].span.start):
            webs = sorted(r for r in reaching if r >= 0)
            for other in webs[1:]:
                self.parent[self.find(other)] = self.find(webs[0])
            missing = frozenset(r for r in reaching if r < 0)
            if missing and (name.id, missing) not in told:
                told.add((name.id, missing))
                diagnostics.append(self.unassigned(name, reaching))
        scope = self.scope
        for name, reaching in self.reaching.items():
            first = max(reaching)
            if first >= 0:
                scope.reads[name] = self.find(first)
        scope.writes = {name: self.find(web) for name, web in scope.writes.items()}
        scope.parameters = {name: self.find(web) for name, web in scope.parameters.items()}
        for web in (*scope.writes.values(), *scope.parameters.values()):
            scope.assignments[web] = scope.assignments.get(web, 0) + 1
        return diagnostics

    def unassigned(self, name: syntax.Name, reaching: Reaching) -> Diagnostic:
        labels = []
        for number in sorted((r for r in reaching if r < -1), reverse=True):
            path = self.paths[-number - 1]
            assert path is not None
            labels.append(Label(*path))
        if max(reaching) < 0 and not labels:
            writes = [w.span for w in self.scope.writes if w.id == name.id]
            text = f"this makes `{name.id}` a local of the whole function"
            return Diagnostic(
                "E0202",
                f"`{name.id}` is read before anything is assigned to it",
                Label(name.span),
                tuple(Label(span, text) for span in sorted(writes, key=_start)[:1]),
                help=f"assign it first: `{name.id} = …`",
            )
        return Diagnostic(
            "E0203",
            f"`{name.id}` may be unassigned here",
            Label(name.span),
            tuple(labels),
            help=f"assign it on every path, or before: `{name.id} = 0`",
        )

    # ------------------------------------------------------------------------------- merging

    def merge(
        self,
        node: syntax.Node,
        left: Environment | None,
        right: Environment | None,
        left_text: str = "",
        right_text: str = "",
    ) -> Environment | None:
        """Join two paths; where only one of them assigned a name, note which did not."""
        if left is None or right is None:
            return left if right is None else right
        merged: Environment = {}
        for name in left.keys() | right.keys():
            here, there = left.get(name, _NEVER), right.get(name, _NEVER)
            if here == _NEVER and max(there) >= 0 and left_text:
                here = self.path(node, name, left_text)
            if there == _NEVER and max(here) >= 0 and right_text:
                there = self.path(node, name, right_text)
            merged[name] = here | there
        return merged

    def path(self, node: syntax.Node, name: str, text: str) -> Reaching:
        key = (id(node), name, text)
        if key not in self.path_numbers:
            self.paths.append((node.span, text.replace("NAME", name)))
            self.path_numbers[key] = -len(self.paths)
        return frozenset({self.path_numbers[key]})

    # ---------------------------------------------------------------------------- statements

    def block(self, block: syntax.Block, environment: Environment | None) -> Environment | None:
        for statement in block:
            if environment is None:
                return None
            self.scope.reached.add(statement)
            environment = self.statement(statement, environment)
        return environment

    def statement(  # noqa: C901
        self, node: syntax.Stmt, environment: Environment
    ) -> Environment | None:
        match node:
            case syntax.Assign(targets=targets, value=value):
                self.read(value, environment)
                for target in targets:
                    self.assign(target, environment)
            case syntax.Annotated(target=target, value=value):
                if value is not None:
                    self.read(value, environment)
                    self.write(target, environment)
            case syntax.Augmented(target=target, value=value):
                self.read(target, environment)
                self.read(value, environment)
                self.assign(target, environment)
            case syntax.Evaluate(value=value):
                self.read(value, environment)
            case syntax.Assert(test=test):
                self.read(test, environment)
            case syntax.If():
                return self.branch(node, environment)
            case syntax.While() | syntax.For():
                return self.loop(node, environment)
            case syntax.Match():
                return self.match(node, environment)
            case syntax.Return(value=value):
                if value is not None:
                    self.read(value, environment)
                return None
            case syntax.Break():
                self.loops[-1].breaks.append(environment)
                return None
            case syntax.Continue():
                self.loops[-1].continues.append(environment)
                return None
        return environment

    def assign(self, target: syntax.Expr, environment: Environment) -> None:
        match target:
            case syntax.Name():
                self.write(target, environment)
            case syntax.Tuple(items=items):
                for item in items:
                    self.assign(item, environment)
            case _:
                self.read(target, environment)

    def branch(self, node: syntax.If, environment: Environment) -> Environment | None:
        self.read(node.test, environment)
        known = self.decide(node.test)
        if known is not None:
            return self.block(node.body if known else node.orelse, dict(environment))
        body = self.block(node.body, dict(environment))
        orelse = self.block(node.orelse, dict(environment))
        where = node.test
        return self.merge(
            where,
            body,
            orelse,
            "`NAME` is not assigned when this is true",
            "`NAME` is not assigned when this is false",
        )

    def loop(self, node: syntax.While | syntax.For, environment: Environment) -> Environment | None:
        head = node.test if isinstance(node, syntax.While) else node.iterable
        if isinstance(node, syntax.For):
            self.read(head, environment)
        if len(self.loops) >= _EXACT_LOOPS:
            environment = self.mark_inside(head, environment, self.widened(node, environment))
        while True:
            loop, end = self.trip(node, head, environment)
            back = end
            for other in loop.continues:
                back = self.merge(node, back, other)
            again = self.merge(node, environment, back)
            assert again is not None
            if again == environment:
                break
            environment = self.mark_inside(head, environment, again)
        done = self.after(node, head, environment, back)
        done = self.block(node.orelse, done)
        for other in loop.breaks:
            done = self.merge(node, done, other)
        return done

    def widened(self, node: syntax.While | syntax.For, environment: Environment) -> Environment:
        """Return an environment in which every assignment of a loop reaches its start."""
        again = dict(environment)
        for statement in node.body:
            for part in syntax.walk(statement):
                for name in _assigned(part):
                    if name not in self.scope.writes:
                        self.scope.writes[name] = self.define()
                    again[name.id] = again.get(name.id, _NEVER) | {self.scope.writes[name]}
        return again

    def trip(
        self, node: syntax.While | syntax.For, head: syntax.Expr, environment: Environment
    ) -> tuple[_Loop, Environment | None]:
        """Follow one iteration."""
        loop = _Loop()
        self.loops.append(loop)
        inside: Environment | None = dict(environment)
        if isinstance(node, syntax.For):
            assert inside is not None
            self.write(node.target, inside)
        else:
            self.read(head, environment)
            if self.constant(head) is False:
                inside = None
        end = self.block(node.body, inside)
        self.loops.pop()
        return loop, end

    def mark_inside(
        self, head: syntax.Expr, before: Environment, again: Environment
    ) -> Environment:
        """Name the loop as the reason where only its body assigns."""
        marked = dict(again)
        for name, reaching in again.items():
            if before.get(name, _NEVER) == _NEVER and max(reaching) >= 0:
                inside = self.path(head, name, "`NAME` is assigned only inside this loop")
                marked[name] = (reaching - _NEVER) | inside
        return marked

    def after(
        self,
        node: syntax.While | syntax.For,
        head: syntax.Expr,
        environment: Environment,
        back: Environment | None,
    ) -> Environment | None:
        """What holds when the loop ends by itself."""
        known = self.constant(head)
        if isinstance(node, syntax.While):
            return None if known is True else environment
        if isinstance(known, range) and known:
            return back
        return environment

    def match(self, node: syntax.Match, environment: Environment) -> Environment | None:
        self.read(node.subject, environment)
        known = self.matching(node)
        if known is not None:
            self.scope.matched[node] = known
            return self.block(known, environment)
        ends: list[tuple[syntax.MatchCase, Environment]] = []
        complete = False
        for case in node.cases:
            for part in (*case.patterns, *((case.guard,) if case.guard else ())):
                self.read(part, environment)
            end = self.block(case.body, dict(environment))
            if end is not None:
                ends.append((case, end))
            complete = complete or not (case.patterns or case.guard)
        assigned = {name for _, end in ends for name in end if max(end[name]) >= 0}
        merged: Environment | None = None
        for case, end in ends:
            for name in assigned:
                if end.get(name, _NEVER) == _NEVER:
                    end[name] = self.path(case, name, "`NAME` is not assigned in this case")
            merged = self.merge(case, merged, end)
        if complete:
            return merged
        text = "`NAME` is not assigned when no case matches"
        return self.merge(node.subject, merged, environment, "", text)

    def matching(self, node: syntax.Match) -> syntax.Block | None:
        """Return the block that a `match` runs, if that is known."""
        subject = self.constant(node.subject)
        if subject is None:
            return None
        for case in node.cases:
            patterns = [self.constant(pattern) for pattern in case.patterns]
            guard = True if case.guard is None else self.constant(case.guard)
            if None in patterns or not isinstance(guard, bool):
                return None
            if guard and (not patterns or subject in patterns):
                return case.body
        return ()

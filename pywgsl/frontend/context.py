"""What the checker knows while it walks one function, and what all functions of a kernel share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np

from pywgsl import ir, syntax
from pywgsl.builtins import BUILTINS
from pywgsl.errors import Diagnostic, Label
from pywgsl.frontend.definition import Captured, Helper
from pywgsl.frontend.scope import Scope
from pywgsl.source import Span
from pywgsl.types import ABSTRACT_INT, F16, F32, I32, U32, Field, Scalar, TupleStruct, Type

_T = TypeVar("_T")


class Abort(Exception):  # noqa: N818
    """A diagnostic has been noted; give up this expression or statement."""


@dataclass(frozen=True, slots=True)
class Host:
    """A Python object that a name stands for: a module, a type, a function."""

    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class TupleValue:
    """Several values that have not been given a place: `a, b`, `x.shape`, a helper's results."""

    items: tuple[Value, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Undeclared:
    """What `workgroup_array(…)` gives until it has the name that it is assigned to."""

    type: Type


Value: TypeAlias = ir.Expr | Host | TupleValue


@dataclass(frozen=True, slots=True)
class Capture:
    """A global or closure value that was compiled in: how to read it again, and what it was."""

    read: Callable[[], Any]
    value: Any

    def current(self) -> bool:
        """Whether it still has that value."""
        try:
            return _same(self.read(), self.value)
        except Exception:  # Whatever reading an attribute or element raises: it is gone.
            return False


def _same(now: Any, before: Any) -> bool:
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if isinstance(now, tuple):
        return len(now) == len(before) and all(map(_same, now, before))
    # By text, as 0.0 equals -0.0 and nan does not equal nan.
    return isinstance(now, _NUMBERS) and repr(now) == repr(before)


_NUMBERS = (bool, int, float, np.generic)


class Captures:
    """Everything that a specialization took from its surroundings."""

    def __init__(self) -> None:
        self._captures: dict[tuple[int, Any], tuple[object, Capture]] = {}

    def add(self, owner: object, name: Any, read: Callable[[], Any], value: Any) -> None:
        """Note that `owner` (a function, module or object) gave `value` for `name`."""
        # The owner is kept, so that no other object can get its id.
        self._captures.setdefault((id(owner), name), (owner, Capture(read, value)))

    def current(self) -> bool:
        """Whether everything still has the value that was compiled in."""
        return all(capture.current() for _, capture in self._captures.values())


class Invoker(Protocol):
    """How a call of a helper is compiled; `pywgsl.frontend.functions` does it."""

    def __call__(
        self,
        ctx: Context,
        helper: Helper,
        args: Sequence[Value],
        keywords: Sequence[tuple[syntax.Keyword, Value]],
        span: Span,
    ) -> Value:
        """Return the value of the call."""


@dataclass
class Program:
    """One kernel being compiled: what its functions share."""

    workgroup_size: tuple[int, int, int]
    invoke: Invoker
    written: set[str] = field(default_factory=set)
    functions: dict[Any, ir.Function] = field(default_factory=dict)
    rejected: dict[Any, list[Diagnostic]] = field(default_factory=dict)  # helpers with mistakes
    effects: dict[str, bool] = field(default_factory=dict)
    in_progress: list[Any] = field(default_factory=list)
    function_names: set[str] = field(default_factory=set)
    structs: dict[tuple[Type, ...], TupleStruct] = field(default_factory=dict)
    variables: dict[Any, ir.Variable] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    captures: Captures = field(default_factory=Captures)

    def global_name(self, name: str) -> str:
        """Return `name`, or it with a number, unused at module scope."""
        candidate, n = name, 1
        while candidate in self.global_names:
            candidate, n = f"{name}_{n}", n + 1
        self.global_names.add(candidate)
        return candidate

    def has_effect(self, expr: ir.Expr) -> bool:
        """Whether evaluating an expression's outermost call does more than give a value."""
        match expr:
            case ir.Invoke(function=name, type=type_):
                return type_ is None or self.effects.get(name, False)
            case ir.Call(builtin=name):
                return name in BUILTINS and BUILTINS[name].effect
            case _:
                return False

    def tuple_struct(self, types: tuple[Type, ...]) -> TupleStruct:
        """Return the struct in which several results travel."""
        struct = self.structs.get(types)
        if struct is None:
            fields = tuple(Field(f"item_{i}", type_) for i, type_ in enumerate(types))
            struct = self.structs[types] = TupleStruct(f"Tuple_{len(self.structs)}", fields)
        return struct


@dataclass
class LoopContext:
    """How `break` and `continue` are written inside a loop, and what they must note on the way."""

    on_break: ir.Block = (ir.Break(),)
    on_continue: ir.Block = (ir.Continue(),)
    broke: bool = False
    continued: bool = False


@dataclass
class Variable:
    """One typed variable: the webs of a name that have one type."""

    name: str
    type: Type


@dataclass
class Inferred:
    """What rounds of checking a function have found out about its webs.

    A web that is only assigned literals takes the type of its context, as a literal does: `wishes`
    are the types that its reads ask for, `feeds` the webs that it is assigned to.
    """

    types: dict[int, Type] = field(default_factory=dict)
    wishes: dict[int, set[Scalar]] = field(default_factory=dict)
    feeds: dict[int, set[int]] = field(default_factory=dict)

    def wanted(self, web: int) -> set[Scalar]:
        """Return the types that a web is asked for, also through others."""
        found: set[Scalar] = set()
        seen = {web}
        pending = [web]
        while pending:
            current = pending.pop()
            found |= self.wishes.get(current, set())
            more = self.feeds.get(current, set()) - seen
            seen |= more
            pending.extend(more)
        return found


class Context:
    """The state of checking one function once.

    Types of variables are found by checking the body repeatedly: `inferred` holds what earlier
    rounds found, and grows until nothing changes.
    """

    def __init__(
        self,
        program: Program,
        captured: Captured,
        scope: Scope,
        bound: Mapping[str, Value],
        inferred: Inferred,
        types: Mapping[str, Scalar],
    ) -> None:
        self.program = program
        self.captured = captured
        self.scope = scope
        self.bound = bound
        self.inferred = inferred
        self.types = types  # what type variables stand for, by their names
        self.web_types = inferred.types
        self.open_reads: dict[int, int] = {}  # where a web is read whose type is not known yet
        self.web_spans: dict[int, Span] = {}
        self.web_values: dict[int, Value] = {}
        self.known: dict[str, bool | int | float] = {}
        self.broken: set[int] = set()
        self.variables: dict[tuple[str, Type], Variable] = {}
        self.out: list[ir.Stmt] = []
        self.loops: list[LoopContext] = []
        self.diagnostics: list[Diagnostic] = []
        self.result: Type | None = None
        self.returns_value: Span | None = None
        self.returns_nothing: Span | None = None
        self.is_kernel = False
        self.goal: Scalar | None = None  # what the element holds that is being assigned
        self.declared: dict[str, Span] = {}
        self.effect = False
        self.changed = False
        self.final = False
        self.gave_up = False
        self.kept: set[str] = set()  # temporaries that are used more than once
        self.copies = 1  # how often the statement is written out by enclosing static ranges
        self.annotations: dict[str, tuple[Type, Span]] = {}
        self.taken: set[str] = set(scope.locals)
        self.spelled: set[str] = set()

    # --------------------------------------------------------------------------- diagnostics

    def attempt(self, check: Callable[[], _T]) -> _T | None:
        """Return what `check` returns, or None if it gives up: what follows is checked too."""
        try:
            return check()
        except Abort:
            return None

    def error(
        self,
        code: str,
        message: str,
        span: Span,
        *secondary: Label,
        label: str = "",
        help: str | None = None,
    ) -> NoReturn:
        """Note a mistake and give up what is being checked."""
        self.note(code, message, span, *secondary, label=label, help=help)
        raise Abort

    def note(
        self,
        code: str,
        message: str,
        span: Span,
        *secondary: Label,
        label: str = "",
        help: str | None = None,
    ) -> None:
        """Note a mistake and go on."""
        found = Diagnostic(code, message, Label(span, label), secondary, help)
        if not any(_says_the_same(found, known) for known in self.diagnostics):
            self.diagnostics.append(found)

    # ---------------------------------------------------------------------------- statements

    def emit(self, statement: ir.Stmt) -> None:
        """Append a statement to the block being written, unless it cannot be reached."""
        if not self.has_left():
            self.out.append(statement)

    def has_left(self) -> bool:
        """Whether control never comes to the end of the block being written."""
        return bool(self.out) and isinstance(self.out[-1], ir.Break | ir.Continue | ir.Return)

    @contextmanager
    def block(self) -> Iterator[list[ir.Stmt]]:
        """Collect the statements of an inner block."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def fresh(self, name: str) -> str:
        """Return `name`, or it with a number, unused in this function."""
        candidate, n = name, 1
        while candidate in self.taken:
            candidate, n = f"{name}_{n}", n + 1
        self.taken.add(candidate)
        return candidate

    def temporary(self, value: ir.Expr, name: str = "value") -> ir.Expr:
        """Evaluate now what is used later."""
        return self.temporary_at(len(self.out), value, name)

    def temporary_at(self, position: int, value: ir.Expr, name: str = "value") -> ir.Expr:
        """Evaluate `value` before the statement at `position` of the block being written."""
        assert value.type is not None
        local = ir.Local(self.fresh(name), value.type, span=value.span)
        self.out.insert(position, ir.Let(local.name, value, span=value.span))
        return local

    # ----------------------------------------------------------------------------- variables

    def variable(self, name: str, type_: Type) -> Variable:
        """Return the variable that holds values of `type_` for the author's `name`."""
        found = self.variables.get((name, type_))
        if found is None:
            found = self.variables[name, type_] = Variable(self.spell(name), type_)
        return found

    def spell(self, name: str) -> str:
        """Return the name for one more variable of the author's `name`."""
        if name in self.spelled or name in self.scope.parameters:
            return self.fresh(name)
        self.spelled.add(name)
        return name

    def web_of(self, target: syntax.Name) -> int:
        """Return the web that an assignment belongs to."""
        web = self.scope.writes.get(target)
        if web is None:
            raise Abort  # it cannot be reached
        return web

    def web_type(self, web: int) -> Type | None:
        """Return the type that a web has, as far as is known."""
        return self.web_types.get(web)

    def wish(self, read: ir.Local, scalar: Scalar) -> None:
        """Note which type a read of a variable that only holds literals would like."""
        web = self.open_reads.get(read.span.start)
        if web is not None:
            self.inferred.wishes.setdefault(web, set()).add(scalar)

    def note_feeds(self, new: ir.Expr, web: int) -> None:
        """Note that a web is assigned a value computed from such variables."""
        for node in ir.walk(new):
            if isinstance(node, ir.Local) and node.span.start in self.open_reads:
                source = self.open_reads[node.span.start]
                self.inferred.feeds.setdefault(source, set()).add(web)

    def wanted_type(self, web: int, literal: Type) -> Scalar:
        """Return the type of a web that only holds literals: what its reads agree on."""
        family = {I32, U32} if literal is ABSTRACT_INT else {F32, F16}
        wanted = self.inferred.wanted(web) & family
        if len(wanted) == 1:
            return wanted.pop()
        return I32 if literal is ABSTRACT_INT else F32

    def lookup(self, name: syntax.Name) -> Any:
        """Return the object that a name outside the function stands for; `KeyError` if none."""
        return self.captured.lookup(name.id)


def is_memory(value: Value) -> bool:
    """Whether a value is memory that is named and not copied: a buffer, or a workgroup array."""
    return isinstance(value, ir.Global) and value.space in (ir.Space.STORAGE, ir.Space.WORKGROUP)


#: What is wrong with a name is wrong wherever it is used, so the first use says it.
_OF_A_NAME = {"E0201", "E0318"}


def _says_the_same(found: Diagnostic, known: Diagnostic) -> bool:
    if found.code in _OF_A_NAME and found.code == known.code:
        return (found.message, found.primary.span.text) == (
            known.message,
            known.primary.span.text,
        )
    return found == known


def has_memory_load(expr: ir.Expr, program: Program) -> bool:
    """Whether evaluating an expression reads memory that a call could change."""
    for node in ir.walk(expr):
        if isinstance(node, ir.Global) and node.space is not ir.Space.UNIFORM:
            return True
        if isinstance(node, ir.Invoke):
            return True
    return False


def changes_memory(statements: list[ir.Stmt], program: Program) -> bool:
    """Whether statements may change memory that an expression loads."""
    for statement in statements:
        for node in ir.walk(statement):
            if isinstance(node, ir.Effect):
                return True
            if isinstance(node, ir.Invoke | ir.Call) and program.has_effect(node):
                return True
            if isinstance(node, ir.Assign) and isinstance(ir.root(node.target), ir.Global):
                return True
    return False


def is_simple(expr: ir.Expr) -> bool:
    """Whether an expression is as short to repeat as to name, and cannot change meanwhile."""
    match expr:
        case ir.Literal() | ir.InvocationId() | ir.Local() | ir.Shape():
            return True
        case ir.Global(space=space):
            return space is ir.Space.UNIFORM
        case ir.Convert(operand=operand):
            return is_simple(operand)
        case ir.Swizzle(base=base) | ir.Member(base=base):
            return is_simple(base)
        case _:
            return False

"""What the checker knows while it walks one function, and what all functions of a kernel share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, TypeAlias

from pywgsl import ir, syntax
from pywgsl.builtins import BUILTINS
from pywgsl.errors import Diagnostic, Label
from pywgsl.frontend.definition import Captured, Helper
from pywgsl.frontend.scope import Scope
from pywgsl.source import Span
from pywgsl.types import Field, Struct, Type


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


Value: TypeAlias = ir.Expr | Host | TupleValue


@dataclass
class Capture:
    """A global or closure value that was compiled in: how to read it again, and what it was."""

    read: Callable[[], Any]
    value: Any

    def current(self) -> bool:
        """Whether it still has that value."""
        try:
            now = self.read()
        except (KeyError, AttributeError):
            return False
        return now is self.value or (type(now) is type(self.value) and bool(now == self.value))


class Captures:
    """Everything that a specialization took from its surroundings."""

    def __init__(self) -> None:
        self._captures: dict[tuple[int, str], Capture] = {}

    def add(self, owner: object, name: str, read: Callable[[], Any], value: Any) -> None:
        """Note that `owner` (a function or module) gave `value` for `name`."""
        self._captures.setdefault((id(owner), name), Capture(read, value))

    def current(self) -> bool:
        """Whether everything still has the value that was compiled in."""
        return all(capture.current() for capture in self._captures.values())


class Invoker(Protocol):
    """How a call of a helper is compiled; `pywgsl.frontend.helpers` does it."""

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
    effects: dict[str, bool] = field(default_factory=dict)
    in_progress: list[Any] = field(default_factory=list)
    function_names: set[str] = field(default_factory=set)
    structs: dict[tuple[Type, ...], Struct] = field(default_factory=dict)
    captures: Captures = field(default_factory=Captures)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def has_effect(self, expr: ir.Expr) -> bool:
        """Whether evaluating an expression's outermost call does more than give a value."""
        match expr:
            case ir.Invoke(function=name, type=type_):
                return type_ is None or self.effects.get(name, False)
            case ir.Call(builtin=name):
                return name in BUILTINS and BUILTINS[name].effect
            case _:
                return False

    def tuple_struct(self, types: tuple[Type, ...]) -> Struct:
        """Return the struct in which several results travel."""
        struct = self.structs.get(types)
        if struct is None:
            fields = tuple(Field(f"item_{i}", type_) for i, type_ in enumerate(types))
            struct = self.structs[types] = Struct(f"Tuple_{len(self.structs)}", fields)
        return struct


def is_tuple(type_: Type | None) -> bool:
    """Whether a type is the struct in which several results travel."""
    return isinstance(type_, Struct) and type_.name.startswith("Tuple_")


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


class Context:
    """The state of checking one function once.

    Types of variables are found by checking the body repeatedly: `web_types` holds what earlier
    rounds found, and grows until nothing changes.
    """

    def __init__(
        self,
        program: Program,
        captured: Captured,
        scope: Scope,
        bound: Mapping[str, Value],
        web_types: dict[int, Type],
    ) -> None:
        self.program = program
        self.captured = captured
        self.scope = scope
        self.bound = bound
        self.web_types = web_types
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
        self.declared: dict[str, Span] = {}
        self.effect = False
        self.changed = False
        self.final = False
        self.taken: set[str] = set(scope.locals)
        self.spelled: set[str] = set()

    def result_fields(self) -> tuple[Field, ...]:
        """Return the items of a result that is a tuple."""
        return self.result.fields if isinstance(self.result, Struct) else ()

    # --------------------------------------------------------------------------- diagnostics

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
        if found not in self.diagnostics:
            self.diagnostics.append(found)

    # ---------------------------------------------------------------------------- statements

    def emit(self, statement: ir.Stmt) -> None:
        """Append a statement to the block being written."""
        self.out.append(statement)

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

    def lookup(self, name: syntax.Name) -> Any:
        """Return the object that a name outside the function stands for; `KeyError` if none."""
        return self.captured.lookup(name.id)


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

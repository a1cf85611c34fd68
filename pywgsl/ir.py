"""The typed intermediate representation: what a kernel means, wherever it comes from and runs.

Two front ends build it, three emitters spell it, analyses ask questions of it. It holds all of
the compute part of WGSL, with Python's number rules where the two differ: an operator here has
one meaning, the same on every back end.

**Expressions have no effects.** Evaluating one may read memory, but never writes it, never
synchronizes and never leaves the flow. A call that does one of these (a barrier, an atomic
operation, a helper that stores) stands only as the whole value of a `Let`, `Var`, `Assign`,
`Return` or `Effect` statement. The checker writes temporaries until this holds, in Python's
order of evaluation, so emitters may evaluate the operands of an expression in any order.

**An expression is evaluated where it stands**, each time its statement runs. A load sees
what earlier statements stored. `LogicalAnd` and `LogicalOr` evaluate their right side only if the
left leaves the result open; `Select` evaluates both arms, so the checker uses it only where
neither arm loads, calls or can trap, and an `If` otherwise. `Assign` evaluates its value
before the indices of its target.

**Places.** A place is an expression that denotes memory: a `Local` declared by `Var`, or a
`Global`, followed by any `Index`, `Member` and single-component `Swizzle`. A place anywhere but as
the target of `Assign` (or the first operand of an atomic operation) is a load. All other values
are immutable, and composite values are values: using one copies it.

**Names are unique.** A `Local` is declared once in its function (by a parameter, `Let`, `Var`, or
`ForRange`), so emitters never resolve scope. A name is the author's, made unique with a numeric
suffix; emitters rename what their language reserves. A declaration is visible in the statements
that follow it in its block. A `Var` in a loop's body starts anew in each iteration.

**Numbers.** Operands of an operator have been converted to one type by explicit `Convert`
nodes. No node of a finished module has an abstract type. 32-bit integers wrap. `FLOOR_DIV` and
`FLOOR_MOD` are Python's; an integer division by zero gives the dividend and a remainder by zero
gives 0. `TRUNC_DIV` and `TRUNC_REM` are WGSL's. Shifts use the low five bits of the count.
`Convert` from float to integer truncates, saturates (to -2147483648 … 2147483520, or 0 …
4294967040) and maps nan to 0; between i32 and u32 it keeps the bits; to bool it compares with
zero.

**Indices** are i32 or u32. Out of range, a load from a buffer gives zero and a store is dropped on
NumPy (on a GPU only in a `checked` module; otherwise memory-safe and unspecified); constants have
been checked already, and constant negative ones replaced.

Every node is immutable and compares by value; `span` says where it came from and does not count.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from pywgsl.source import NOWHERE, Span
from pywgsl.types import Scalar, Struct, Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every node has."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


class UnaryOp(enum.Enum):
    """An operator with one operand; the value is its WGSL token."""

    NEG = "-"
    NOT = "!"
    BIT_NOT = "~"


class BinaryOp(enum.Enum):
    """An operator with two operands; the value is WGSL's token where it has the same meaning."""

    ADD = "+"
    SUB = "-"
    MUL = "*"  # also vector by scalar, matrix by scalar, matrix by vector, matrix by matrix
    DIV = "/"  # floats only
    FLOOR_DIV = "floor /"  # integers and floats, Python's rounding
    FLOOR_MOD = "floor %"  # integers and floats, the sign of the divisor
    TRUNC_DIV = "trunc /"  # integers, WGSL's rounding
    TRUNC_REM = "trunc %"  # integers and floats, the sign of the dividend
    POW = "**"  # Python's: right for negative bases; int ** negative int gives 1
    SHL = "<<"  # the count is u32
    SHR = ">>"  # the count is u32; arithmetic on i32
    BIT_AND = "&"  # also bool
    BIT_OR = "|"  # also bool
    BIT_XOR = "^"  # also bool
    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    LOGICAL_AND = "&&"  # evaluates its right side only if needed
    LOGICAL_OR = "||"


COMPARISONS = frozenset(
    {BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE}
)


class Space(enum.Enum):
    """Where a global lives."""

    STORAGE = "storage"
    UNIFORM = "uniform"
    WORKGROUP = "workgroup"
    PRIVATE = "private"


class Id(enum.Enum):
    """A number that tells an invocation where it is. All are i32."""

    GLOBAL = "global_id"
    LOCAL = "local_id"
    WORKGROUP = "workgroup_id"
    NUM_WORKGROUPS = "num_workgroups"
    LOCAL_INDEX = "local_index"
    SUBGROUP_SIZE = "subgroup_size"
    SUBGROUP_INVOCATION = "subgroup_invocation_id"
    SUBGROUP = "subgroup_id"
    NUM_SUBGROUPS = "num_subgroups"


# ----------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A scalar constant; a float is exact in its type, and may be inf or nan."""

    value: bool | int | float
    type: Type


@dataclass(frozen=True, slots=True)
class Local(Node):
    """The value (or, as a place, the memory) of a parameter, `Let`, `Var` or loop index."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Global(Node):
    """A buffer, a workgroup or private variable, or a parameter in the uniform struct."""

    name: str
    type: Type
    space: Space


@dataclass(frozen=True, slots=True)
class InvocationId(Node):
    """One component of an id; `axis` is 0, 1, 2 for x, y, z (0 for those that have no axes)."""

    id: Id
    axis: int
    type: Type


@dataclass(frozen=True, slots=True)
class Shape(Node):
    """The length of a buffer along one of its axes: i32, known at launch."""

    array: Global
    axis: int
    type: Type


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """An operator applied to one operand, component by component."""

    op: UnaryOp
    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An operator applied to two operands; a scalar meets each component of a vector."""

    op: BinaryOp
    left: Expr
    right: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`accept` where `condition` holds, else `reject`; both are evaluated."""

    condition: Expr
    accept: Expr
    reject: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A builtin, by the name of its row in `pywgsl.builtins`."""

    builtin: str
    args: tuple[Expr, ...]
    type: Type | None


@dataclass(frozen=True, slots=True)
class Invoke(Node):
    """A function of the module. Arguments are values; type None means it returns nothing."""

    function: str
    args: tuple[Expr, ...]
    type: Type | None


@dataclass(frozen=True, slots=True)
class Construct(Node):
    """A composite value from its parts.

    A vector takes scalars and vectors that fill it, or one scalar for every component; a matrix its
    columns; an array its elements; a struct its members. No arguments: all zero.
    """

    type: Type
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Convert(Node):
    """A value converted to another scalar type (component by component)."""

    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Bitcast(Node):
    """The same bits as another type of the same size."""

    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Index(Node):
    """An element: as many indices as a buffer has axes, one for an array, matrix or vector."""

    base: Expr
    indices: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Member(Node):
    """A member of a struct."""

    base: Expr
    field: str
    type: Type


@dataclass(frozen=True, slots=True)
class Swizzle(Node):
    """Components of a vector, named by letters of `xyzw`; one letter gives a scalar."""

    base: Expr
    components: str
    type: Type


Expr: TypeAlias = (
    Literal
    | Local
    | Global
    | InvocationId
    | Shape
    | Unary
    | Binary
    | Select
    | Call
    | Invoke
    | Construct
    | Convert
    | Bitcast
    | Index
    | Member
    | Swizzle
)

# ------------------------------------------------------------------------------ statements


@dataclass(frozen=True, slots=True)
class Let(Node):
    """An immutable local."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Var(Node):
    """A mutable local; without a value it starts as zero."""

    name: str
    type: Type
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """Store a value in a place. The value is evaluated before the target's indices."""

    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Effect(Node):
    """A call for its effect; a result is dropped."""

    call: Call | Invoke


@dataclass(frozen=True, slots=True)
class If(Node):
    """One of two blocks."""

    condition: Expr
    body: Block
    orelse: Block = ()


@dataclass(frozen=True, slots=True)
class ForRange(Node):
    """Python's `for index in range(start, stop, step)`.

    The three bounds are i32 or u32, all of one type, and are evaluated once, before the
    first trip. The index is a fresh immutable local in each iteration. No trip where Python has
    none, and none for a run-time step of 0.
    """

    index: str
    start: Expr
    stop: Expr
    step: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class While(Node):
    """Repeat while a condition holds.

    `continuing` runs after each iteration, also after `Continue`; then, if `break_if` is given and
    holds, the loop ends. (WGSL's `for` is a `While` with its update there, its `loop` one
    whose condition is true.)
    """

    condition: Expr
    body: Block
    continuing: Block = ()
    break_if: Expr | None = None


@dataclass(frozen=True, slots=True)
class Case(Node):
    """The values, all of the selector's type, for which a block of a `Switch` runs."""

    values: tuple[int, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Switch(Node):
    """The block whose case holds the selector, else `default`.

    A `Break` inside leaves an enclosing loop.

    (WGSL's own `break` leaves its switch: the reader writes that out, and the WGSL emitter uses an
    if-chain for a switch that contains a `Break` of a loop.)
    """

    selector: Expr
    cases: tuple[Case, ...]
    default: Block = ()


@dataclass(frozen=True, slots=True)
class Break(Node):
    """Leave the innermost loop."""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """Start the next iteration of the innermost loop."""


@dataclass(frozen=True, slots=True)
class Return(Node):
    """Leave the function, with its result."""

    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Assert(Node):
    """Checked on NumPy and by the sanitizer; left out on a GPU."""

    condition: Expr
    message: str


@dataclass(frozen=True, slots=True)
class Print(Node):
    """Printed on NumPy, left out on a GPU. Parts are literal text or values."""

    parts: tuple[str | Expr, ...]
    end: str = "\n"


Stmt: TypeAlias = (
    Let
    | Var
    | Assign
    | Effect
    | If
    | ForRange
    | While
    | Switch
    | Break
    | Continue
    | Return
    | Assert
    | Print
)
Block: TypeAlias = tuple[Stmt, ...]

# ---------------------------------------------------------------------------- declarations


class Access(enum.Enum):
    """What a kernel does with a buffer; the value is WGSL's word."""

    READ = "read"
    READ_WRITE = "read_write"


@dataclass(frozen=True, slots=True)
class Buffer(Node):
    """A storage buffer parameter."""

    name: str
    type: Type  # a RuntimeArray
    access: Access


@dataclass(frozen=True, slots=True)
class Uniform(Node):
    """A parameter that travels in the generated uniform struct."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """A module-scope variable: workgroup memory, or private to an invocation. Starts as zero."""

    name: str
    type: Type
    space: Space


@dataclass(frozen=True, slots=True)
class Param(Node):
    """A parameter of a function; immutable."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function. Buffers and workgroup variables are not passed: the body names them."""

    name: str
    params: tuple[Param, ...]
    result: Type | None
    body: Block


@dataclass(frozen=True, slots=True)
class Module(Node):
    """One kernel, specialized: everything that an emitter needs.

    `functions` holds helpers, each before its callers; `body` is the entry point's. `parameters`
    lists buffers and uniforms in the author's order, used or not. `constants` are the values of
    compile-time parameters and type variables, for display.
    """

    name: str
    parameters: tuple[Buffer | Uniform, ...]
    body: Block
    workgroup_size: tuple[int, int, int]
    structs: tuple[Struct, ...] = ()
    variables: tuple[Variable, ...] = ()
    functions: tuple[Function, ...] = ()
    constants: tuple[tuple[str, bool | int | float | Scalar], ...] = ()
    checked: bool = False
    doc: str = ""

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The storage buffers, in the author's order."""
        return tuple(p for p in self.parameters if isinstance(p, Buffer))

    @property
    def uniforms(self) -> tuple[Uniform, ...]:
        """The parameters that travel in the uniform struct, in the author's order."""
        return tuple(p for p in self.parameters if isinstance(p, Uniform))


# ------------------------------------------------------------------------------- traversal


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly under `node`, in the order of its fields."""
    for name in _child_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and everything under it, parents first, without recursion."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(tuple(children(current))))


def walk_block(block: Block) -> Iterator[Node]:
    """Yield every node of a block."""
    for statement in block:
        yield from walk(statement)


def root(place: Expr) -> Expr:
    """Return the variable under a place, or the expression itself if it is none."""
    while isinstance(place, Index | Member | Swizzle):
        place = place.base
    return place


def type_of(expr: Expr) -> Type:
    """Return the type of an expression that has a value: all but some calls."""
    assert expr.type is not None
    return expr.type


def called(block: Block) -> set[str]:
    """Return the names of the module's functions that a block calls directly."""
    return {node.function for node in walk_block(block) if isinstance(node, Invoke)}


def with_type(node: Literal, type_: Type) -> Literal:
    """Return a literal with another type."""
    return replace(node, type=type_)


_FIELDS: dict[type, tuple[str, ...]] = {}


def _child_fields(kind: type) -> tuple[str, ...]:
    names = _FIELDS.get(kind)
    if names is None:
        skip = {"span", "type", "op", "name", "space", "id", "axis"}
        names = tuple(f.name for f in fields(kind) if f.name not in skip)
        _FIELDS[kind] = names
    return names

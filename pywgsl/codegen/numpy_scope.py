"""The state of one NumPy program while it is written: names, lines, masks and what locals are."""

from __future__ import annotations

import builtins as python
import enum
import keyword
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pywgsl import ir
from pywgsl.analysis.axes import UNIFORM, Axes, LaneAxes, lane_axes
from pywgsl.types import FixedArray, Matrix, RuntimeArray, Scalar, Struct, Type, Vector

#: What programs import, by module.
SUPPORT = {
    "pywgsl.runtime.access": ("combine", "gather", "load", "scatter", "store"),
    "pywgsl.runtime.atomics": ("compare_exchange", "exchange", "fetch", "update"),
    "pywgsl.runtime.collectives": (
        *("workgroup_all", "workgroup_any", "workgroup_broadcast", "workgroup_exclusive_scan"),
        *("workgroup_inclusive_scan", "workgroup_max", "workgroup_min", "workgroup_sum"),
    ),
    "pywgsl.runtime.lanes": (
        *("as_lanes", "check", "components", "merge", "narrowed", "own", "pick", "put"),
        *("record", "show", "splat", "stacked", "trip_count", "trips", "without"),
    ),
    "pywgsl.runtime.subgroups": (
        *("subgroup_add", "subgroup_all", "subgroup_and", "subgroup_any", "subgroup_broadcast"),
        *("subgroup_broadcast_first", "subgroup_elect", "subgroup_exclusive_add"),
        *("subgroup_inclusive_add", "subgroup_max", "subgroup_min", "subgroup_mul", "subgroup_or"),
        *("subgroup_shuffle", "subgroup_shuffle_down", "subgroup_shuffle_up"),
        *("subgroup_shuffle_xor", "subgroup_xor"),
    ),
}
_SPOKEN_FOR = {"np", "numerics", "ids", *dir(python), *keyword.kwlist, *sum(SUPPORT.values(), ())}

# How tightly the outermost operator of a text binds, in Python's grammar.
CONDITIONAL, OR, AND, COMPARISON, BIT_OR, BIT_XOR, BIT_AND = range(1, 8)
SHIFT, SUM, PRODUCT, UNARY, ATOM = range(8, 13)


@dataclass(frozen=True, slots=True)
class Value:
    """The text of an expression, and what is known of its value.

    Attributes:
        text: Python for the value, of the right dtype.
        level: how tightly the outermost operator binds.
        axes: along which axes it can differ.
        spread: whether it surely is an array, beside which a Python number takes its dtype.
        plain: the same as a Python number, if it can be written as one.
        even: whether it is an `Affine`, which makes a slice.
        view: whether it may be a view of memory that changes later.
    """

    text: str
    level: int = ATOM
    axes: Axes = UNIFORM
    spread: bool = False
    plain: str = ""
    even: bool = False
    view: bool = False

    def at(self, level: int) -> str:
        """The text, in parentheses if it binds less tightly than `level`."""
        return self.text if self.level >= level else f"({self.text})"


class Exit(enum.Enum):
    """A way out of a block."""

    RETURN = enum.auto()
    BREAK = enum.auto()
    CONTINUE = enum.auto()


_RETURNED = frozenset({Exit.RETURN})


@dataclass(eq=False, slots=True)
class Mask:
    """The lanes that run a piece of code, by the name of a variable.

    Attributes:
        text: the variable, or `True` for all lanes.
        axes: along which axes lanes can differ in taking part.
        parent: the mask that this one narrows.
        gone: how the lanes that are missing left, if they left; empty if they come back.
        loops: in how many loops the mask is made.
    """

    text: str
    axes: Axes = UNIFORM
    parent: Mask | None = None
    gone: frozenset[Exit] = frozenset()
    loops: int = 0

    def keeps(self, outer: Mask, gone: Iterable[Exit]) -> bool:
        """Whether this is all of `outer`, but for lanes that left in one of these ways."""
        mask: Mask | None = self
        while mask is not None and mask is not outer:
            if not mask.gone or not mask.gone <= set(gone):
                return False
            mask = mask.parent
        return mask is outer

    def reaches(self, variable: Variable) -> bool:
        """Whether this is all lanes that still need a variable."""
        mask: Mask | None = self
        while mask is not None and mask is not variable.mask:
            # Lanes that left a loop in which the variable lives need it no more.
            if not mask.gone or not (mask.gone == _RETURNED or mask.loops <= variable.loops):
                return False
            mask = mask.parent
        return mask is not None


@dataclass(slots=True)
class Variable:
    """A local or private variable: its Python name and what it holds.

    Attributes:
        value: the name, and what is known of every value it has.
        type: its type.
        owned: whether parts of it are stored, so that it has an array of its own.
        mask: the lanes for which it was declared; None if it is immutable.
        loops: in how many loops the declaration is.
    """

    value: Value
    type: Type
    owned: bool = False
    mask: Mask | None = None
    loops: int = 0


class Names:
    """Python names for the author's; each is kept if Python and the program leave it free."""

    def __init__(self, taken: Iterable[str] = (), authors: Iterable[str] = ()) -> None:
        self._taken = {*_SPOKEN_FOR, *taken}
        self._authors = set(authors)

    def of(self, name: str) -> str:
        """Return a name for the author's `name`."""
        return self._free(name if name.isascii() else unicodedata.normalize("NFKC", name), set())

    def new(self, name: str) -> str:
        """Return a name for something that the author did not name."""
        return self._free(name, self._authors)

    def _free(self, name: str, avoid: set[str]) -> str:
        candidate, number = name, 1
        while candidate in self._taken or candidate in avoid:
            candidate, number = f"{name}_{number}", number + 1
        self._taken.add(candidate)
        return candidate


class Lines:
    """Lines of Python."""

    def __init__(self, depth: int = 0) -> None:
        self.lines: list[str] = []
        self.depth = depth

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Add a line that opens a block; without anything in it, `pass`."""
        self.line(header)
        self.depth += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1


@dataclass
class ModuleScope:
    """What all functions of a program share."""

    module: ir.Module
    axes: LaneAxes
    names: Names = field(default_factory=Names)
    globals: dict[str, Value] = field(default_factory=dict)
    privates: dict[str, Variable] = field(default_factory=dict)
    # The names of workgroup variables.
    shared: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ir.Function] = field(default_factory=dict)
    function_names: dict[str, str] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    # For each parameter of a called function, whether its arguments are `Affine`.
    even_params: dict[tuple[str, str], set[bool]] = field(default_factory=dict)
    structs: dict[Struct, str] = field(default_factory=dict)
    written: frozenset[str] = frozenset()


def module_scope(module: ir.Module) -> ModuleScope:
    """Return the scope of a module, with a name for all that its functions share."""
    scope = ModuleScope(module, lane_axes(module))
    for parameter in module.parameters:
        scope.globals[parameter.name] = Value(scope.names.of(parameter.name))
    for struct in module.structs:
        scope.structs[struct] = scope.names.of(struct.name)
    for function in module.functions:
        scope.functions[function.name] = function
        scope.function_names[function.name] = scope.names.of(function.name)
    root = Mask("True")
    for variable in module.variables:
        if variable.space is ir.Space.WORKGROUP:
            scope.shared[variable.name] = scope.names.of(variable.name)
            continue
        value = Value(scope.names.of(variable.name), axes=scope.axes.private(variable.name))
        owned = not isinstance(variable.type, Scalar)
        scope.privates[variable.name] = Variable(value, variable.type, owned, root)
    scope.written = frozenset(b.name for b in module.buffers if b.access is ir.Access.READ_WRITE)
    return scope


def depth_of(type_: Type) -> int:
    """Return how many axes of components a value has. A struct has none: its dtype has members."""
    match type_:
        case Vector():
            return 1
        case Matrix():
            return 2
        case FixedArray(element=element):
            return 1 + depth_of(element)
        case RuntimeArray(element=element, ndim=ndim):
            return ndim + depth_of(element)
        case _:
            return 0


def inner_shape(type_: Type) -> tuple[int, ...]:
    """Return the lengths of the axes of components."""
    match type_:
        case Vector(width=width):
            return (width,)
        case Matrix(columns=columns, rows=rows):
            return (columns, rows)
        case FixedArray(element=element, length=length):
            return (length, *inner_shape(element))
        case _:
            return ()


def innermost(type_: Type) -> Scalar | Struct:
    """Return what a value's array is made of."""
    match type_:
        case Vector(scalar=scalar) | Matrix(scalar=scalar):
            return scalar
        case FixedArray(element=element) | RuntimeArray(element=element):
            return innermost(element)
        case Scalar() | Struct():
            return type_
        case _:
            raise NotImplementedError(f"{type_} on NumPy")


def dtype_text(type_: Type, structs: dict[Struct, str]) -> str:
    """Return Python for the dtype of a value's array."""
    base = innermost(type_)
    return (
        structs[base]
        if isinstance(base, Struct)
        else f"np.{base.dtype.name}".replace("np.bool", "np.bool_")
    )

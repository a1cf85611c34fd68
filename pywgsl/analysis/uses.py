"""What a function uses: names, ids, buffers, builtins, types. One walk finds it all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pywgsl import ir
from pywgsl.builtins import BUILTINS, Scope
from pywgsl.types import FixedArray, RuntimeArray, Struct, Type

#: A component of an id: which id, and its axis.
IdKey = tuple[ir.Id, int]

#: An operation of a whole workgroup on values: its builtin, and their type.
Collective = tuple[str, Type]

_SYNCHRONIZING = ("workgroup_", "subgroup_", "storage_barrier")


@dataclass(slots=True)
class Uses:
    """What the body of one function mentions, not counting the functions it calls."""

    locals: list[str] = field(default_factory=list)
    ids: Counter[IdKey] = field(default_factory=Counter)
    globals: set[str] = field(default_factory=set)
    lengths: set[tuple[str, int]] = field(default_factory=set)
    indexed: set[tuple[str, int]] = field(default_factory=set)  # buffers, with their ndim
    atomics: set[str] = field(default_factory=set)
    builtins: set[str] = field(default_factory=set)
    collectives: Counter[Collective] = field(default_factory=Counter)
    functions: set[str] = field(default_factory=set)
    types: set[Type] = field(default_factory=set)
    prints: list[ir.Print] = field(default_factory=list)


def uses_of(body: ir.Block, params: tuple[ir.Param, ...] = ()) -> Uses:
    """Return what a function's body uses."""
    uses = Uses()
    for param in params:
        uses.locals.append(param.name)
        uses.types.add(param.type)
    for node in ir.walk_block(body):
        _note(node, uses)
    return uses


def _note(node: ir.Node, uses: Uses) -> None:  # noqa: C901
    match node:
        case ir.Let(name=name) | ir.ForRange(index=name):
            uses.locals.append(name)
        case ir.Var(name=name, type=type_):
            uses.locals.append(name)
            uses.types.add(type_)
        case ir.Literal(type=type_) | ir.Construct(type=type_) | ir.Convert(type=type_):
            uses.types.add(type_)
        case ir.InvocationId(id=id_, axis=axis):
            uses.ids[id_, axis] += 1
        case ir.Global(name=name, type=type_):
            uses.globals.add(name)
            uses.types.add(type_)
        case ir.Shape(array=array, axis=axis):
            uses.lengths.add((array.name, axis))
        case ir.Index(base=ir.Global(name=name, type=RuntimeArray(ndim=ndim))):
            uses.indexed.add((name, ndim))
        case ir.Call(builtin=name, args=args):
            uses.builtins.add(name)
            scope = BUILTINS[name].scope
            if scope is Scope.ATOMIC and isinstance(place := ir.root(args[0]), ir.Global):
                uses.atomics.add(place.name)
            elif scope is Scope.WORKGROUP and args:
                uses.collectives[name, ir.type_of(args[0])] += 1
        case ir.Invoke(function=name):
            uses.functions.add(name)
        case ir.Print():
            uses.prints.append(node)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class ModuleUses:
    """What the entry point uses, and each helper that can be reached from it, callees first."""

    entry: Uses
    functions: dict[str, Uses]

    def all(self) -> tuple[Uses, ...]:
        """Return the uses of every reachable function."""
        return (*self.functions.values(), self.entry)

    def types(self) -> set[Type]:
        """Return the types that reachable code mentions."""
        return set().union(*(uses.types for uses in self.all()))

    def globals(self) -> set[str]:
        """Return the buffers, variables and uniform parameters that reachable code mentions."""
        return set().union(*(uses.globals for uses in self.all()))


def module_uses(module: ir.Module) -> ModuleUses:
    """Return what a module's reachable functions use."""
    entry = uses_of(module.body)
    reached = set(entry.functions)
    functions: dict[str, Uses] = {}
    # Helpers stand before their callers, so one pass from the end meets every caller first.
    for function in reversed(module.functions):
        if function.name in reached:
            uses = uses_of(function.body, function.params)
            functions[function.name] = uses
            reached |= uses.functions
    return ModuleUses(entry, dict(reversed(functions.items())))


def synchronizes(module: ir.Module, uses: ModuleUses | None = None) -> bool:
    """Whether invocations of a workgroup work together, so that none may leave early by itself."""
    return any(v.space is ir.Space.WORKGROUP for v in module.variables) or any(
        name.startswith(_SYNCHRONIZING)
        for used in (uses or module_uses(module)).all()
        for name in used.builtins
    )


def structs_in(types: set[Type]) -> set[str]:
    """Return the names of the structs that types mention, at any depth."""
    found: set[str] = set()
    pending = list(types)
    while pending:
        match pending.pop():
            case Struct(name=name, fields=fields) if name not in found:
                found.add(name)
                pending.extend(f.type for f in fields)
            case FixedArray(element=element) | RuntimeArray(element=element):
                pending.append(element)
            case _:
                pass
    return found

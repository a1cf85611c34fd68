"""Along which axes of a launch a value can differ from one invocation to the next.

A value that differs along no axis is uniform: one number stands for all invocations, and a branch
on it is a branch of the host. What a value depends on is found without regard to order: a local
depends on all that is ever assigned to it and on the conditions under which it is; a loop's body
on what ends the loop for some invocations earlier than for others.

Where invocations work together, their place in a workgroup and the workgroup's place in the launch
are axes of their own: what a workgroup shares differs along the second kind only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pywgsl import ir
from pywgsl.analysis.uses import synchronizes
from pywgsl.builtins import BUILTINS, Scope

#: A set of axes, as bits: the fastest axis of an `Order` is 1, the next one 2, and so on.
Axes = int
UNIFORM: Axes = 0

# What something depends on: axes, or the key of a value whose axes are not known yet.
_Key = tuple[str, str | int, str]
_Sources = frozenset[_Key | Axes]
_NOTHING: _Sources = frozenset()

_NARROWING = "narrowing"
_OF_A_GROUP = ("shared", "joined")
_OF_THE_LAUNCH = (ir.Id.GLOBAL, ir.Id.NUM_WORKGROUPS)
_EVERY_AXIS: Axes = -1


@dataclass(frozen=True, slots=True)
class Order:
    """The axes of a program's arrays, each a letter, the fastest first.

    A kernel to which workgroups are nothing has the axes of the launch, `xyz`. Elsewhere `x` is the
    place in the workgroup and `X` the workgroup's own. The two stand side by side, `xXyYZ`, because
    together they run through memory as the global id does. Axes along which a workgroup has one
    invocation are left out.
    """

    letters: str
    grouped: bool

    def axis(self, letter: str) -> Axes:
        """Return an axis, or none if the order lacks it."""
        position = self.letters.find(letter)
        return UNIFORM if position < 0 else 1 << position

    @property
    def local(self) -> Axes:
        """The axes inside a workgroup."""
        return _union(self.axis(letter) for letter in "xyz") if self.grouped else UNIFORM

    @property
    def groups(self) -> Axes:
        """The axes along which workgroups lie."""
        return _union(self.axis(letter) for letter in "XYZ")

    def of_id(self, node: ir.InvocationId) -> Axes:
        """Return the axes along which an id differs."""
        inside, outside = self.axis("xyz"[node.axis]), self.axis("XYZ"[node.axis])
        match node.id:
            case ir.Id.GLOBAL:
                return inside | outside
            case ir.Id.LOCAL:
                return inside
            case ir.Id.WORKGROUP:
                return outside
            case ir.Id.LOCAL_INDEX | ir.Id.SUBGROUP_INVOCATION | ir.Id.SUBGROUP:
                return self.local
            case ir.Id.NUM_WORKGROUPS | ir.Id.SUBGROUP_SIZE | ir.Id.NUM_SUBGROUPS:
                return UNIFORM

    def along(self, axes: Axes) -> str:
        """Return the letters of axes, the fastest first."""
        return "".join(letter for k, letter in enumerate(self.letters) if axes >> k & 1)


def order_of(module: ir.Module) -> Order:
    """Return the axes that a module's arrays may have."""
    nodes = (node for block in _bodies(module) for node in ir.walk_block(block))
    ids = (node.id for node in nodes if isinstance(node, ir.InvocationId))
    if not synchronizes(module) and all(id_ in _OF_THE_LAUNCH for id_ in ids):
        return Order("xyz", grouped=False)
    sizes = zip("xyz", module.workgroup_size, strict=True)
    letters = "".join((name if size > 1 else "") + name.upper() for name, size in sizes)
    return Order(letters, grouped=True)


class LaneAxes:
    """The axes of the locals, results and loops of a module. The entry point's name is `""`."""

    def __init__(self, axes: dict[_Key, Axes], order: Order) -> None:
        self._axes = axes
        #: The axes that the module tells apart.
        self.order = order

    def local(self, function: str, name: str) -> Axes:
        """Return the axes of a parameter, `Let`, `Var` or loop index."""
        return self._axes.get(_local(function, name), UNIFORM)

    def private(self, name: str) -> Axes:
        """Return the axes of a private variable."""
        return self._axes.get(_private(name), UNIFORM)

    def shared(self, name: str) -> Axes:
        """Return the axes along which workgroups differ in a workgroup variable."""
        return self._axes.get(_shared(name), UNIFORM)

    def result(self, function: str) -> Axes:
        """Return the axes of what a function returns."""
        return self._axes.get(_result(function), UNIFORM)

    def called(self, function: str) -> Axes:
        """Return the axes along which invocations may differ in whether they call a function."""
        return self._axes.get(_called(function), UNIFORM)

    def exits(self, loop: ir.ForRange | ir.While) -> Axes:
        """Return the axes along which invocations leave a loop by `Break` or `Return`."""
        return self._axes.get(_running(loop), UNIFORM)

    def continues(self, loop: ir.Node) -> Axes:
        """Return the axes along which invocations skip the rest of an iteration."""
        return self._axes.get(_continued(loop), UNIFORM)

    def returns(self, function: str) -> Axes:
        """Return the axes along which invocations differ in how far they get in a function."""
        return self._axes.get(_returned(function), UNIFORM)


def lane_axes(module: ir.Module) -> LaneAxes:
    """Return the axes of everything in a module."""
    collector = _Collector(module)
    for function in module.functions:
        collector.function(function.name, function.body)
    collector.function("", module.body)
    order = Order(collector.order.letters[: collector.rank], collector.order.grouped)
    return LaneAxes(_solve(collector.sources, order), order)


def _bodies(module: ir.Module) -> Iterable[ir.Block]:
    return (*(function.body for function in module.functions), module.body)


def _local(function: str, name: str) -> _Key:
    return ("local", function, name)


def _private(name: str) -> _Key:
    return ("private", name, "")


def _shared(name: str) -> _Key:
    return ("shared", name, "")


def _called(function: str) -> _Key:
    return ("called", function, "")


def _narrowing(function: str, number: int) -> _Key:
    return (_NARROWING, function, str(number))


def _result(function: str) -> _Key:
    return ("result", function, "")


def _running(loop: ir.Node) -> _Key:
    return ("running", id(loop), "")


def _continued(loop: ir.Node) -> _Key:
    return ("continued", id(loop), "")


def _returned(function: str) -> _Key:
    return ("returned", function, "")


class _Scope:
    """A function or a loop while its body is read: conditions on the way in, and what exits it."""

    def __init__(self, exits: _Key, continued: _Key | None) -> None:
        self.exits = exits
        self.continued = continued
        self.conditions: _Sources = _NOTHING


class _Collector:
    """Reads each function once and notes what depends on what."""

    def __init__(self, module: ir.Module) -> None:
        self.sources: defaultdict[_Key, set[_Key | Axes]] = defaultdict(set)
        self.order = order_of(module)
        # Every invocation of a workgroup runs, whether or not anything differs between them.
        self.rank = max(self.order.local.bit_length(), 1)
        self._params = {f.name: f.params for f in module.functions}
        self._function = ""
        self._scopes: list[_Scope] = []
        self._narrowings: dict[tuple[str, _Sources], _Key] = {}
        self._joined = 0

    def function(self, name: str, body: ir.Block) -> None:
        self._function = name
        self._scopes = [_Scope(_returned(name), None)]
        self._block(body)

    # ------------------------------------------------------------------------- statements

    def _block(self, block: ir.Block) -> None:
        scope = self._scopes[-1]
        before = scope.conditions
        for statement in block:
            self._statement(statement)
            scope.conditions |= self._after(statement)
        scope.conditions = before

    def _after(self, statement: ir.Stmt) -> _Sources:
        """What decides whether an invocation gets past a statement."""
        if isinstance(statement, ir.Let | ir.Var | ir.Assign | ir.Effect):
            return _NOTHING
        kinds = {type(node) for node in ir.walk(statement)}
        keys: set[_Key | Axes] = set()
        if ir.Return in kinds:
            keys.add(_returned(self._function))
        scope = self._scopes[-1]
        if scope.continued is not None and kinds & {ir.Break, ir.Continue}:
            keys |= {scope.exits, scope.continued}
        return frozenset(keys)

    def _statement(self, statement: ir.Stmt) -> None:  # noqa: C901
        match statement:
            case ir.Let(name=name, value=value):
                self.sources[_local(self._function, name)] |= self._leaves(value)
            case ir.Var(name=name, value=value):
                start = _NOTHING if value is None else self._leaves(value)
                self.sources[_local(self._function, name)] |= start
            case ir.Assign():
                self._assign(statement)
            case ir.Effect(call=call):
                self._leaves(call)
            case ir.If(condition=condition, body=body, orelse=orelse):
                self._branch(self._leaves(condition), body, orelse)
            case ir.Switch(selector=selector, cases=cases, default=default):
                self._branch(self._leaves(selector), *(case.body for case in cases), default)
            case ir.ForRange():
                self._for_range(statement)
            case ir.While():
                self._while(statement)
            case ir.Return(value=value):
                self._return(value)
            case ir.Break():
                self.sources[self._scopes[-1].exits] |= self._scopes[-1].conditions
            case ir.Continue():
                scope = self._scopes[-1]
                assert scope.continued is not None
                self.sources[scope.continued] |= scope.conditions
            case ir.Assert() | ir.Print():
                self._leaves(statement)

    def _assign(self, statement: ir.Assign) -> None:
        sources = self._leaves(statement.value) | self._leaves(statement.target)
        target = ir.root(statement.target)
        match target:
            case ir.Local(name=name):
                self.sources[_local(self._function, name)] |= sources | self._mask()
            case ir.Global(name=name, space=ir.Space.PRIVATE):
                self.sources[_private(name)] |= sources | self._memory_conditions()
            case ir.Global(name=name, space=ir.Space.WORKGROUP):
                self.sources[_shared(name)] |= sources | self._memory_conditions()
            case _:
                pass

    def _branch(self, condition: _Sources, *arms: ir.Block) -> None:
        scope = self._scopes[-1]
        before = scope.conditions
        scope.conditions |= condition
        for arm in arms:
            self._block(arm)
        scope.conditions = before

    def _for_range(self, loop: ir.ForRange) -> None:
        bounds = self._leaves(loop.start) | self._leaves(loop.stop) | self._leaves(loop.step)
        self.sources[_local(self._function, loop.index)] |= bounds
        self._loop(loop, bounds, loop.body)

    def _while(self, loop: ir.While) -> None:
        condition = self._leaves(loop.condition)
        if loop.break_if is not None:
            condition |= self._leaves(loop.break_if)
        self._loop(loop, condition, loop.body, loop.continuing)

    def _loop(self, loop: ir.ForRange | ir.While, condition: _Sources, *blocks: ir.Block) -> None:
        scope = _Scope(_running(loop), _continued(loop))
        self.sources[scope.exits] |= condition
        scope.conditions = frozenset({scope.exits})
        self._scopes.append(scope)
        for block in blocks:
            self._block(block)
        self._scopes.pop()

    def _return(self, value: ir.Expr | None) -> None:
        if value is not None:
            self.sources[_result(self._function)] |= self._leaves(value) | self._mask()
        # Where every invocation of an outer scope returns, the loops in it end for all at once.
        conditions = _NOTHING
        for scope in reversed(self._scopes):
            conditions |= scope.conditions
            self.sources[scope.exits] |= conditions

    def _mask(self) -> _Sources:
        """What decides which invocations run a statement, of all that run in the launch.

        In a function that some invocations call, a condition that they disagree on narrows
        these; where they agree, nothing is narrowed.
        """
        conditions = self._conditions()
        if not conditions or not self._function:
            return conditions
        key = self._narrowings.setdefault(
            (self._function, conditions), _narrowing(self._function, len(self._narrowings))
        )
        self.sources[key] |= conditions
        return frozenset({key})

    def _conditions(self) -> _Sources:
        return frozenset().union(*(scope.conditions for scope in self._scopes))

    def _memory_conditions(self) -> _Sources:
        """What decides whether an invocation of the launch stores to a module's variable."""
        return self._conditions() | {_called(self._function)}

    # ------------------------------------------------------------------------ expressions

    def _leaves(self, node: ir.Node) -> _Sources:
        """What a value depends on: all ids, locals and calls in it."""
        if isinstance(node, ir.Call) and BUILTINS[node.builtin].effect:
            return self._together(node)
        sources: set[_Key | Axes] = set()
        for leaf in ir.walk(node):
            match leaf:
                case ir.Local(name=name):
                    sources.add(_local(self._function, name))
                case ir.InvocationId():
                    sources.add(self._id(leaf))
                case ir.Global(name=name, space=ir.Space.PRIVATE):
                    sources.add(_private(name))
                case ir.Global(name=name, space=ir.Space.WORKGROUP):
                    sources.add(_shared(name))
                case ir.Invoke(function=function, args=args):
                    self._call(function, args)
                    sources.add(_result(function))
                case _:
                    pass
        return frozenset(sources)

    def _id(self, node: ir.InvocationId) -> Axes:
        axes = self.order.of_id(node)
        self.rank = max(self.rank, axes.bit_length())
        return axes

    def _together(self, node: ir.Call) -> _Sources:
        """What the result of an operation that joins invocations depends on."""
        row = BUILTINS[node.builtin]
        sources = _NOTHING.union(*map(self._leaves, node.args))
        if row.scope is Scope.ATOMIC:
            return self._atomic(ir.root(node.args[0]), sources)
        if row.scope is Scope.SUBGROUP:
            return sources | self._conditions() | {self.order.local}
        if not row.shared:
            return sources | {self.order.local}
        self._joined += 1
        key = ("joined", self._joined, "")
        self.sources[key] |= sources
        return frozenset({key})

    def _atomic(self, memory: ir.Expr, sources: _Sources) -> _Sources:
        """Each invocation finds what the one before it left."""
        assert isinstance(memory, ir.Global)
        if memory.space is ir.Space.STORAGE:
            return frozenset({_EVERY_AXIS})
        key = _shared(memory.name)
        self.sources[key] |= sources | self._memory_conditions()
        return frozenset({key, self.order.local})

    def _call(self, function: str, args: Iterable[ir.Expr]) -> None:
        for param, arg in zip(self._params[function], args, strict=True):
            self.sources[_local(function, param.name)] |= self._leaves(arg)
        self.sources[_called(function)] |= self._conditions() | {_called(self._function)}


def _solve(sources: dict[_Key, set[_Key | Axes]], order: Order) -> dict[_Key, Axes]:
    """Follow dependencies until nothing changes."""
    every = (1 << len(order.letters)) - 1
    limits = {key: order.groups if key[0] in _OF_A_GROUP else every for key in sources}
    axes: dict[_Key, Axes] = {}
    links: dict[_Key, list[_Key]] = {}
    for key, found in sources.items():
        axes[key] = _union(s for s in found if isinstance(s, int)) & limits[key]
        links[key] = [s for s in found if not isinstance(s, int)]
    changed = True
    while changed:
        changed = False
        for key, linked in links.items():
            joined = axes[key] | _union(axes.get(link, UNIFORM) for link in linked)
            if joined and key[0] == _NARROWING:
                joined |= axes.get(_called(str(key[1])), UNIFORM)
            joined &= limits[key]
            if joined != axes[key]:
                axes[key], changed = joined, True
    return axes


def _union(sets: Iterable[Axes]) -> Axes:
    result = UNIFORM
    for axes in sets:
        result |= axes
    return result

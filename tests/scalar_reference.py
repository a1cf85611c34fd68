"""What a module means, one invocation and one node at a time: slow, and easy to see to be right.

It shares no code with the NumPy back end but the table of builtins. An invocation is a generator
that stops at each operation that joins invocations; between two of these the invocations of a
workgroup run one after the other, in any order one likes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Mapping
from contextlib import suppress
from copy import deepcopy
from random import Random
from typing import Any, TypeAlias

import numpy as np
from reference_collectives import Request, answers, subgroup_size, updated
from reference_values import (
    FLOATS,
    convert,
    each,
    from_numpy,
    operate,
    product,
    to_numpy_value,
    wrap,
    zero,
)

from pywgsl import ir
from pywgsl.analysis.uses import synchronizes
from pywgsl.builtins import BUILTINS
from pywgsl.ir import BinaryOp, UnaryOp
from pywgsl.table import Scope
from pywgsl.types import Matrix, Struct, Vector, scalar_of

Run: TypeAlias = Generator[Request, Any, None]


class _BreakLoop(Exception):  # noqa: N818  # flow, not an error
    pass


class _ContinueLoop(Exception):  # noqa: N818
    pass


class _ReturnFrom(Exception):  # noqa: N818
    pass


def run(
    module: ir.Module,
    shape: tuple[int, int, int],
    arguments: Mapping[str, Any],
    order: Random | None = None,
) -> list[str]:
    """Run all invocations of a launch in place, x fastest; return what they print.

    Workgroups whose invocations work together run one after the other. With an `order`, so do
    their invocations after each operation that joins them, each time in another one.
    """
    printed: list[str] = []
    with np.errstate(all="ignore"):
        for group in _groups(module, shape, order):
            shared = {v.name: zero(v.type) for v in module.variables}
            members = [
                _Invocation(module, shape, position, arguments, shared, printed)
                for position in group
            ]
            running = [member.run() for member in members]
            _run_group(running, math.prod(module.workgroup_size), order)
    return printed


def _groups(
    module: ir.Module, shape: tuple[int, int, int], order: Random | None
) -> list[list[tuple[int, int, int]]]:
    """The ids of each workgroup's invocations."""
    sizes, together = module.workgroup_size, synchronizes(module)
    groups: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for z, y, x in itertools.product(*map(range, reversed(shape))):
        group = tuple(p // size for p, size in zip((x, y, z), sizes, strict=True))
        groups.setdefault(group if together else (x, y, z), []).append((x, y, z))
    found = list(groups.values())
    if order:
        order.shuffle(found)
    return found


def _run_group(running: list[Run], size: int, order: Random | None) -> None:
    """Run the invocations of a workgroup until all have returned."""
    inbox: dict[int, Any] = dict.fromkeys(range(len(running)))
    waiting: dict[int, Request] = {}
    while inbox:
        ready = list(inbox)
        if order:
            order.shuffle(ready)
        for member in ready:
            with suppress(StopIteration):
                waiting[member] = running[member].send(inbox[member])
        inbox = answers(waiting, size)
        waiting = {member: request for member, request in waiting.items() if member not in inbox}


def finished(run: Generator[Request, Any, Any]) -> Any:
    """The result of a call that joins no invocations."""
    try:
        request = next(run)
    except StopIteration as end:
        return end.value
    raise AssertionError(f"{request.node.builtin} inside an expression")


class _Invocation:
    def __init__(
        self,
        module: ir.Module,
        shape: tuple[int, int, int],
        position: tuple[int, int, int],
        arguments: Mapping[str, Any],
        shared: dict[str, Any],
        printed: list[str],
    ) -> None:
        self.module = module
        self.shape = shape
        self.position = position
        self.arguments = arguments
        self.printed = printed
        self.functions = {f.name: f for f in module.functions}
        privates = (v for v in module.variables if v.space is ir.Space.PRIVATE)
        self.privates = {v.name: zero(v.type) for v in privates}
        self.shared = shared
        self.uniforms = {u.name: from_numpy(arguments[u.name], u.type) for u in module.uniforms}
        self.locals: dict[str, Any] = {}

    def run(self) -> Run:
        """Run from one operation that joins invocations to the next."""
        with suppress(_ReturnFrom):
            yield from self.block(self.module.body)

    # ------------------------------------------------------------------------- statements

    def block(self, block: ir.Block) -> Run:
        for statement in block:
            yield from self.statement(statement)

    def statement(self, node: ir.Stmt) -> Run:  # noqa: C901
        match node:
            case ir.Let(name=name, value=value):
                self.locals[name] = deepcopy((yield from self.result(value)))
            case ir.Var(name=name, type=type_, value=value):
                start = zero(type_) if value is None else (yield from self.result(value))
                self.locals[name] = deepcopy(start)
            case ir.Assign(target=target, value=value):
                self.assign(target, deepcopy((yield from self.result(value))))
            case ir.Effect(call=call):
                yield from self.result(call)
            case ir.If(condition=condition, body=body, orelse=orelse):
                yield from self.block(body if self.value(condition) else orelse)
            case ir.Switch(selector=selector, cases=cases, default=default):
                chosen = self.value(selector)
                block = next((c.body for c in cases if chosen in c.values), default)
                yield from self.block(block)
            case ir.ForRange():
                yield from self.for_range(node)
            case ir.While():
                yield from self.while_(node)
            case ir.Break():
                raise _BreakLoop
            case ir.Continue():
                raise _ContinueLoop
            case ir.Return(value=value):
                raise _ReturnFrom(None if value is None else (yield from self.result(value)))
            case ir.Assert(condition=condition, message=message):
                assert self.value(condition), message
            case ir.Print(parts=parts, end=end):
                texts = [p if isinstance(p, str) else self.shown(p) for p in parts]
                self.printed.append(" ".join(texts) + end)

    def shown(self, node: ir.Expr) -> str:
        return str(to_numpy_value(self.value(node), ir.type_of(node))[()])

    def for_range(self, node: ir.ForRange) -> Run:
        start, stop, step = (self.value(bound) for bound in (node.start, node.stop, node.step))
        for index in range(start, stop, step) if step else ():
            self.locals[node.index] = index
            try:
                yield from self.block(node.body)
            except _BreakLoop:
                return
            except _ContinueLoop:
                pass

    def while_(self, node: ir.While) -> Run:
        while self.value(node.condition):
            try:
                yield from self.block(node.body)
            except _BreakLoop:
                return
            except _ContinueLoop:
                pass
            yield from self.block(node.continuing)
            if node.break_if is not None and self.value(node.break_if):
                return

    def assign(self, target: ir.Expr, value: Any) -> None:
        match target:
            case ir.Local(name=name):
                self.locals[name] = value
            case ir.Global(name=name, space=space):
                self.memory(space)[name] = value
            case ir.Index(base=ir.Global(space=ir.Space.STORAGE) as buffer, indices=indices):
                array = self.arguments[buffer.name]
                key = tuple(map(self.value, indices))
                if self.inside(key, array.shape):
                    array[key] = to_numpy_value(value, target.type)
            case ir.Index(base=base, indices=(index,)):
                self.assign_part(base, self.value(index), value)
            case ir.Member(base=base, field=name):
                whole = self.value(base)
                if self.in_memory(base):
                    whole[name] = value
                    self.assign(base, whole)
            case ir.Swizzle(base=base, components=component):
                self.assign_part(base, "xyzw".index(component), value)
            case _:
                raise AssertionError(target)

    def assign_part(self, base: ir.Expr, index: int, value: Any) -> None:
        whole = self.value(base)
        if 0 <= index < len(whole) and self.in_memory(base):
            whole[index] = value
            self.assign(base, whole)

    def in_memory(self, place: ir.Expr) -> bool:
        """Whether all indices of a place are in range."""
        while isinstance(place, ir.Index | ir.Member | ir.Swizzle):
            if isinstance(place, ir.Index):
                key = tuple(map(self.value, place.indices))
                if isinstance(place.base, ir.Global) and place.base.space is ir.Space.STORAGE:
                    lengths = self.arguments[place.base.name].shape
                else:
                    lengths = (len(self.value(place.base)),)
                if not self.inside(key, lengths):
                    return False
            place = place.base
        return True

    @staticmethod
    def inside(key: tuple[int, ...], lengths: tuple[int, ...]) -> bool:
        return all(0 <= k < n for k, n in zip(key, lengths, strict=False))

    # ------------------------------------------------------------------------ expressions

    def value(self, node: ir.Expr) -> Any:  # noqa: C901
        match node:
            case ir.Literal(value=value, type=type_):
                return FLOATS[type_](value) if type_ in FLOATS else value
            case ir.Local(name=name):
                return self.locals[name]
            case ir.Global(name=name, space=space):
                return self.memory(space)[name]
            case ir.InvocationId():
                return self.id(node)
            case ir.Shape(array=array, axis=axis):
                return self.arguments[array.name].shape[axis]
            case ir.Unary():
                return self.unary(node)
            case ir.Binary():
                return self.binary(node)
            case ir.Select():
                condition = self.value(node.condition)
                accept, reject = self.value(node.accept), self.value(node.reject)
                if isinstance(condition, list):
                    triples = zip(condition, accept, reject, strict=True)
                    return [a if c else r for c, a, r in triples]
                return accept if condition else reject
            case ir.Call():
                return self.call(node)
            case ir.Invoke():
                return finished(self.invoke(node))
            case ir.Construct():
                return self.construct(node)
            case ir.Convert(operand=operand, type=type_):
                source = ir.type_of(operand)
                return each(lambda v: convert(v, source, type_), self.value(operand))
            case ir.Bitcast(operand=operand, type=type_):
                bits = to_numpy_value(self.value(operand), ir.type_of(operand))
                scalar = scalar_of(type_)
                assert scalar is not None
                flat = np.atleast_1d(bits).view(scalar.dtype)
                return from_numpy(flat if isinstance(type_, Vector) else flat[0], type_)
            case ir.Index():
                return self.element(node)
            case ir.Member(base=base, field=name):
                return self.value(base)[name]
            case ir.Swizzle(base=base, components=components):
                vector = self.value(base)
                parts = [vector["xyzw".index(c)] for c in components]
                return parts if len(parts) > 1 else parts[0]

    def memory(self, space: ir.Space) -> dict[str, Any]:
        match space:
            case ir.Space.UNIFORM:
                return self.uniforms
            case ir.Space.WORKGROUP:
                return self.shared
            case _:
                return self.privates

    @property
    def local(self) -> list[int]:
        return [p % s for p, s in zip(self.position, self.module.workgroup_size, strict=True)]

    @property
    def local_index(self) -> int:
        (x, y, z), size = self.local, self.module.workgroup_size
        return x + size[0] * (y + size[1] * z)

    def id(self, node: ir.InvocationId) -> int:
        size, axis = self.module.workgroup_size, node.axis
        match node.id:
            case ir.Id.GLOBAL:
                return self.position[axis]
            case ir.Id.LOCAL:
                return self.local[axis]
            case ir.Id.WORKGROUP:
                return self.position[axis] // size[axis]
            case ir.Id.NUM_WORKGROUPS:
                return math.ceil(self.shape[axis] / size[axis])
            case ir.Id.LOCAL_INDEX:
                return self.local_index
            case ir.Id.SUBGROUP_SIZE:
                return subgroup_size(math.prod(size))
            case ir.Id.SUBGROUP_INVOCATION:
                return self.local_index % subgroup_size(math.prod(size))
            case ir.Id.SUBGROUP:
                return self.local_index // subgroup_size(math.prod(size))
            case ir.Id.NUM_SUBGROUPS:
                return math.ceil(math.prod(size) / subgroup_size(math.prod(size)))

    def element(self, node: ir.Index) -> Any:
        key = tuple(map(self.value, node.indices))
        if isinstance(node.base, ir.Global) and node.base.space is ir.Space.STORAGE:
            array = self.arguments[node.base.name]
            found = array[key] if self.inside(key, array.shape) else None
            return zero(node.type) if found is None else from_numpy(found, node.type)
        base = self.value(node.base)
        return base[key[0]] if 0 <= key[0] < len(base) else zero(node.type)

    def unary(self, node: ir.Unary) -> Any:
        scalar = scalar_of(ir.type_of(node))
        assert scalar is not None

        def apply(v: Any) -> Any:
            match node.op:
                case UnaryOp.NOT:
                    return not v
                case UnaryOp.BIT_NOT:
                    return wrap(~v, scalar)
                case UnaryOp.NEG:
                    return wrap(-v, scalar) if scalar.is_integer else -v

        return each(apply, self.value(node.operand))

    def binary(self, node: ir.Binary) -> Any:
        left = self.value(node.left)
        if node.op in (BinaryOp.LOGICAL_AND, BinaryOp.LOGICAL_OR) and isinstance(left, bool):
            decided = left is (node.op is BinaryOp.LOGICAL_OR)
            return left if decided else self.value(node.right)
        right = self.value(node.right)
        types = type(node.left.type), type(node.right.type)
        if node.op is BinaryOp.MUL and types in ((Matrix, Vector), (Vector, Matrix), (Matrix,) * 2):
            return product(left, right, *types)
        scalar = scalar_of(ir.type_of(node.left))
        assert scalar is not None
        return each(lambda a, b: operate(node.op, a, b, scalar), left, right)

    def call(self, node: ir.Call) -> Any:
        args = [to_numpy_value(self.value(a), ir.type_of(a)) for a in node.args]
        assert node.type is not None
        return from_numpy(BUILTINS[node.builtin].numpy(*args), node.type)

    def result(self, node: ir.Expr) -> Generator[Request, Any, Any]:
        """The value of an expression that may join invocations."""
        if isinstance(node, ir.Invoke):
            return (yield from self.invoke(node))
        if not isinstance(node, ir.Call) or BUILTINS[node.builtin].scope is None:
            return self.value(node)
        if BUILTINS[node.builtin].scope is Scope.ATOMIC:
            return self.atomic(node)
        return (yield Request(node, tuple(map(self.value, node.args)), self.local_index))

    def atomic(self, node: ir.Call) -> Any:
        place, *operands = node.args
        assert isinstance(place, ir.Index)
        values = list(map(self.value, operands))
        old = self.value(place)
        if node.builtin != "atomic_load":
            self.assign(place, updated(node.builtin, old, values, place.type))
        return old

    def invoke(self, node: ir.Invoke) -> Generator[Request, Any, Any]:
        function = self.functions[node.function]
        args = [deepcopy(self.value(arg)) for arg in node.args]
        outer = self.locals
        self.locals = {p.name: arg for p, arg in zip(function.params, args, strict=True)}
        try:
            yield from self.block(function.body)
        except _ReturnFrom as result:
            return result.args[0]
        finally:
            self.locals = outer
        return None

    def construct(self, node: ir.Construct) -> Any:
        args = [deepcopy(self.value(arg)) for arg in node.args]
        match node.type:
            case _ if not args:
                return zero(node.type)
            case Vector(width=width):
                flat = [c for arg in args for c in (arg if isinstance(arg, list) else [arg])]
                return flat * width if len(flat) == 1 else flat
            case Struct(fields=members):
                return {m.name: arg for m, arg in zip(members, args, strict=True)}
            case _:
                return args

"""What a module means, one invocation and one node at a time: slow, and easy to see to be right.

It shares no code with the NumPy back end but the table of builtins. Integers are Python's, wrapped
after each operation; floats are NumPy scalars; vectors, matrices and arrays are lists, structs
dicts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np

from pywgsl import ir
from pywgsl.builtins import BUILTINS
from pywgsl.ir import BinaryOp, UnaryOp
from pywgsl.types import (
    BOOL,
    F16,
    F32,
    I32,
    FixedArray,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    scalar_of,
)

FLOATS = {F32: np.float32, F16: np.float16}


class _BreakLoop(Exception):  # noqa: N818  # flow, not an error
    pass


class _ContinueLoop(Exception):  # noqa: N818
    pass


class _ReturnFrom(Exception):  # noqa: N818
    pass


def run(module: ir.Module, shape: tuple[int, int, int], arguments: Mapping[str, Any]) -> list[str]:
    """Run all invocations of a launch in place, x fastest; return what they print."""
    printed: list[str] = []
    with np.errstate(all="ignore"):
        for z, y, x in itertools.product(*map(range, reversed(shape))):
            _Invocation(module, shape, (x, y, z), arguments, printed).run()
    return printed


def wrap(value: int, type_: Type) -> int:
    value &= 0xFFFFFFFF
    return value - 2**32 if type_ is I32 and value >= 2**31 else value


def zero(type_: Type) -> Any:
    match type_:
        case Scalar():
            return False if type_ is BOOL else FLOATS[type_](0) if type_.is_float else 0
        case Vector(width=width, scalar=scalar):
            return [zero(scalar) for _ in range(width)]
        case Matrix(columns=columns, column=column):
            return [zero(column) for _ in range(columns)]
        case FixedArray(element=element, length=length):
            return [zero(element) for _ in range(length)]
        case Struct(fields=members):
            return {member.name: zero(member.type) for member in members}
        case _:
            raise AssertionError(type_)


def from_numpy(value: Any, type_: Type) -> Any:
    match type_:
        case Scalar():
            scalar = np.asarray(value)[()]
            return FLOATS[type_](scalar) if type_.is_float else scalar.item()
        case Vector(scalar=scalar):
            return [from_numpy(v, scalar) for v in value]
        case Matrix(column=column):
            return [from_numpy(v, column) for v in value]
        case FixedArray(element=element):
            return [from_numpy(v, element) for v in value]
        case Struct(fields=members):
            return {m.name: from_numpy(value[m.name], m.type) for m in members}
        case _:
            raise AssertionError(type_)


def to_numpy_value(value: Any, type_: Type) -> Any:
    if isinstance(type_, Struct):
        return tuple(to_numpy_value(value[m.name], m.type) for m in type_.fields)
    scalar = scalar_of(type_)
    return np.array(value, None if scalar is None else scalar.dtype)


class _Invocation:
    def __init__(
        self,
        module: ir.Module,
        shape: tuple[int, int, int],
        position: tuple[int, int, int],
        arguments: Mapping[str, Any],
        printed: list[str],
    ) -> None:
        self.module = module
        self.shape = shape
        self.position = position
        self.arguments = arguments
        self.printed = printed
        self.functions = {f.name: f for f in module.functions}
        self.privates = {v.name: zero(v.type) for v in module.variables}
        self.uniforms = {u.name: from_numpy(arguments[u.name], u.type) for u in module.uniforms}
        self.locals: dict[str, Any] = {}

    def run(self) -> None:
        with suppress(_ReturnFrom):
            self.block(self.module.body)

    # ------------------------------------------------------------------------- statements

    def block(self, block: ir.Block) -> None:
        for statement in block:
            self.statement(statement)

    def statement(self, node: ir.Stmt) -> None:  # noqa: C901
        match node:
            case ir.Let(name=name, value=value):
                self.locals[name] = deepcopy(self.value(value))
            case ir.Var(name=name, type=type_, value=value):
                self.locals[name] = zero(type_) if value is None else deepcopy(self.value(value))
            case ir.Assign(target=target, value=value):
                self.assign(target, deepcopy(self.value(value)))
            case ir.Effect(call=call):
                self.value(call)
            case ir.If(condition=condition, body=body, orelse=orelse):
                self.block(body if self.value(condition) else orelse)
            case ir.Switch(selector=selector, cases=cases, default=default):
                chosen = self.value(selector)
                self.block(next((c.body for c in cases if chosen in c.values), default))
            case ir.ForRange():
                self.for_range(node)
            case ir.While():
                self.while_(node)
            case ir.Break():
                raise _BreakLoop
            case ir.Continue():
                raise _ContinueLoop
            case ir.Return(value=value):
                raise _ReturnFrom(None if value is None else self.value(value))
            case ir.Assert(condition=condition, message=message):
                assert self.value(condition), message
            case ir.Print(parts=parts, end=end):
                texts = [p if isinstance(p, str) else self.shown(p) for p in parts]
                self.printed.append(" ".join(texts) + end)

    def shown(self, node: ir.Expr) -> str:
        return str(to_numpy_value(self.value(node), ir.type_of(node))[()])

    def for_range(self, node: ir.ForRange) -> None:
        start, stop, step = (self.value(bound) for bound in (node.start, node.stop, node.step))
        for index in range(start, stop, step) if step else ():
            self.locals[node.index] = index
            try:
                self.block(node.body)
            except _BreakLoop:
                return
            except _ContinueLoop:
                pass

    def while_(self, node: ir.While) -> None:
        while self.value(node.condition):
            try:
                self.block(node.body)
            except _BreakLoop:
                return
            except _ContinueLoop:
                pass
            self.block(node.continuing)
            if node.break_if is not None and self.value(node.break_if):
                return

    def assign(self, target: ir.Expr, value: Any) -> None:
        match target:
            case ir.Local(name=name):
                self.locals[name] = value
            case ir.Global(name=name):
                self.privates[name] = value
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
                return (self.uniforms if space is ir.Space.UNIFORM else self.privates)[name]
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
                return self.invoke(node)
            case ir.Construct():
                return self.construct(node)
            case ir.Convert(operand=operand, type=type_):
                source = ir.type_of(operand)
                return self.each(lambda v: convert(v, source, type_), self.value(operand))
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

    def id(self, node: ir.InvocationId) -> int:
        size, axis = self.module.workgroup_size, node.axis
        local = [p % s for p, s in zip(self.position, size, strict=True)]
        match node.id:
            case ir.Id.GLOBAL:
                return self.position[axis]
            case ir.Id.LOCAL:
                return local[axis]
            case ir.Id.WORKGROUP:
                return self.position[axis] // size[axis]
            case ir.Id.NUM_WORKGROUPS:
                return math.ceil(self.shape[axis] / size[axis])
            case ir.Id.LOCAL_INDEX:
                return local[0] + size[0] * (local[1] + size[1] * local[2])
            case _:
                raise AssertionError(node.id)

    def element(self, node: ir.Index) -> Any:
        key = tuple(map(self.value, node.indices))
        if isinstance(node.base, ir.Global) and node.base.space is ir.Space.STORAGE:
            array = self.arguments[node.base.name]
            found = array[key] if self.inside(key, array.shape) else None
            return zero(node.type) if found is None else from_numpy(found, node.type)
        base = self.value(node.base)
        return base[key[0]] if 0 <= key[0] < len(base) else zero(node.type)

    def each(self, function: Any, *values: Any) -> Any:
        """Apply a function of scalars to the components of values."""
        if not any(isinstance(v, list) for v in values):
            return function(*values)
        length = next(len(v) for v in values if isinstance(v, list))
        spread = [v if isinstance(v, list) else [v] * length for v in values]
        return [self.each(function, *parts) for parts in zip(*spread, strict=True)]

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

        return self.each(apply, self.value(node.operand))

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
        return self.each(lambda a, b: operate(node.op, a, b, scalar), left, right)

    def call(self, node: ir.Call) -> Any:
        args = [to_numpy_value(self.value(a), ir.type_of(a)) for a in node.args]
        assert node.type is not None
        return from_numpy(BUILTINS[node.builtin].numpy(*args), node.type)

    def invoke(self, node: ir.Invoke) -> Any:
        function = self.functions[node.function]
        args = [deepcopy(self.value(arg)) for arg in node.args]
        outer = self.locals
        self.locals = {p.name: arg for p, arg in zip(function.params, args, strict=True)}
        try:
            self.block(function.body)
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


def operate(op: BinaryOp, a: Any, b: Any, scalar: Scalar) -> Any:
    """Return the result of an operator on two scalars of one type."""
    if op in ir.COMPARISONS or scalar is BOOL:
        return _TESTS[op](a, b)
    if op in (BinaryOp.SHL, BinaryOp.SHR):
        count = b & 31
        return wrap(a << count if op is BinaryOp.SHL else a >> count, scalar)
    return _float(op, a, b) if scalar.is_float else wrap(_integer(op, a, b), scalar)


_TESTS: dict[BinaryOp, Any] = {
    BinaryOp.EQ: lambda a, b: bool(a == b),
    BinaryOp.NE: lambda a, b: bool(a != b),
    BinaryOp.LT: lambda a, b: bool(a < b),
    BinaryOp.LE: lambda a, b: bool(a <= b),
    BinaryOp.GT: lambda a, b: bool(a > b),
    BinaryOp.GE: lambda a, b: bool(a >= b),
    BinaryOp.BIT_AND: lambda a, b: a and b,
    BinaryOp.BIT_OR: lambda a, b: a or b,
    BinaryOp.BIT_XOR: lambda a, b: a != b,
    BinaryOp.LOGICAL_AND: lambda a, b: a and b,
    BinaryOp.LOGICAL_OR: lambda a, b: a or b,
}


def _integer(op: BinaryOp, a: int, b: int) -> int:  # noqa: C901
    match op:
        case BinaryOp.ADD:
            return a + b
        case BinaryOp.SUB:
            return a - b
        case BinaryOp.MUL:
            return a * b
        case BinaryOp.FLOOR_DIV:
            return a // b if b else a
        case BinaryOp.FLOOR_MOD:
            return a % b if b else 0
        case BinaryOp.TRUNC_DIV:
            return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else a
        case BinaryOp.TRUNC_REM:
            return (abs(a) % abs(b)) * (-1 if a < 0 else 1) if b else 0
        case BinaryOp.POW:
            return pow(a, b, 2**32) if b >= 0 else 1
        case BinaryOp.BIT_AND:
            return a & b
        case BinaryOp.BIT_OR:
            return a | b
        case BinaryOp.BIT_XOR:
            return a ^ b
        case _:
            raise AssertionError(op)


def _float(op: BinaryOp, a: Any, b: Any) -> Any:
    match op:
        case BinaryOp.ADD:
            return a + b
        case BinaryOp.SUB:
            return a - b
        case BinaryOp.MUL:
            return a * b
        case BinaryOp.DIV:
            return a / b
        case BinaryOp.FLOOR_DIV:
            return np.floor(a / b)
        case BinaryOp.FLOOR_MOD:
            return a - b * np.floor(a / b)
        case BinaryOp.TRUNC_REM:
            return a - b * np.trunc(a / b)
        case BinaryOp.POW:
            whole = {2.0: a * a, 3.0: a * a * a, 4.0: (a * a) * (a * a)}
            return whole.get(float(b), np.power(a, b))
        case _:
            raise AssertionError(op)


def convert(value: Any, source: Type, target: Type) -> Any:
    """Return a scalar as another type."""
    kind, becomes = scalar_of(source), scalar_of(target)
    assert kind is not None
    assert becomes is not None
    if becomes is BOOL:
        return bool(value != 0)
    if becomes.is_float:
        return FLOATS[becomes](value)
    if not kind.is_float:
        return wrap(int(value), becomes)
    if np.isnan(value):
        return 0
    low, high = (-(2**31), 2147483520) if becomes is I32 else (0, 4294967040)
    return int(min(max(float(value), low), high))


def product(left: Any, right: Any, left_type: type, right_type: type) -> Any:
    """Return a product with a matrix, summing from the first term on."""
    if left_type is Vector:
        return [_dot(left, column) for column in right]
    if right_type is Vector:
        return [_dot([column[r] for column in left], right) for r in range(len(left[0]))]
    return [product(left, column, Matrix, Vector) for column in right]


def _dot(a: Any, b: Any) -> Any:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total

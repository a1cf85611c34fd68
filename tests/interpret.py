"""Run a module one invocation at a time, by the book: what `pywgsl.ir` says, and nothing clever."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pywgsl import ir, numerics
from pywgsl.builtins import BUILTINS
from pywgsl.ir import BinaryOp
from pywgsl.types import FixedArray, Matrix, Scalar, Struct, Type, Vector, scalar_of

_BINARY: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.DIV: operator.truediv,
    BinaryOp.FLOOR_DIV: numerics.floor_div,
    BinaryOp.FLOOR_MOD: numerics.floor_mod,
    BinaryOp.TRUNC_DIV: numerics.trunc_div,
    BinaryOp.TRUNC_REM: numerics.trunc_rem,
    BinaryOp.POW: numerics.power,
    BinaryOp.SHL: numerics.shift_left,
    BinaryOp.SHR: numerics.shift_right,
    BinaryOp.BIT_AND: operator.and_,
    BinaryOp.BIT_OR: operator.or_,
    BinaryOp.BIT_XOR: operator.xor,
    BinaryOp.EQ: operator.eq,
    BinaryOp.NE: operator.ne,
    BinaryOp.LT: operator.lt,
    BinaryOp.LE: operator.le,
    BinaryOp.GT: operator.gt,
    BinaryOp.GE: operator.ge,
}


class _Break(Exception):  # noqa: N818
    pass


class _Continue(Exception):  # noqa: N818
    pass


class _Return(Exception):  # noqa: N818
    def __init__(self, value: Any) -> None:
        self.value = value


def run(
    module: ir.Module,
    arguments: Mapping[str, Any],
    shape: tuple[int, ...] = (1,),
) -> list[str]:
    """Run every invocation of a launch, one after the other; return what was printed."""
    printed: list[str] = []
    x, y, z = (*shape, 1, 1)[:3]
    with np.errstate(all="ignore"):
        for k in range(z):
            for j in range(y):
                for i in range(x):
                    machine = _Machine(module, arguments, (i, j, k), printed)
                    machine.function(module.body, {})
    return printed


def zero(type_: Type) -> Any:
    match type_:
        case Scalar():
            return type_.dtype.type(0)
        case Vector(width=width, scalar=scalar):
            return np.zeros(width, scalar.dtype)
        case Matrix(columns=columns, rows=rows, scalar=scalar):
            return np.zeros((columns, rows), scalar.dtype)
        case FixedArray(element=element, length=length):
            return [zero(element) for _ in range(length)]
        case Struct(fields=fields):
            return {f.name: zero(f.type) for f in fields}
    raise AssertionError(type_)


class _Machine:
    """One invocation."""

    def __init__(
        self,
        module: ir.Module,
        arguments: Mapping[str, Any],
        where: tuple[int, int, int],
        printed: list[str],
    ) -> None:
        self.functions = {f.name: f for f in module.functions}
        self.arguments = arguments
        self.where = where
        self.printed = printed
        self.steps = 0

    def function(self, body: ir.Block, local: dict[str, Any]) -> Any:
        try:
            self.block(body, local)
        except _Return as result:
            return result.value
        return None

    # ---------------------------------------------------------------------------- statements

    def block(self, body: ir.Block, local: dict[str, Any]) -> None:
        for statement in body:
            self.steps += 1
            assert self.steps < 1_000_000, "this does not end"
            self.statement(statement, local)

    def statement(self, node: ir.Stmt, local: dict[str, Any]) -> None:  # noqa: C901
        match node:
            case ir.Let(name=name, value=value):
                local[name] = self.value(value, local)
            case ir.Var(name=name, type=type_, value=value):
                local[name] = zero(type_) if value is None else self.value(value, local)
            case ir.Assign(target=target, value=value):
                new = self.value(value, local)
                self.store(target, new, local)
            case ir.Effect(call=call):
                self.value(call, local)
            case ir.If(condition=condition, body=body, orelse=orelse):
                self.block(body if self.value(condition, local) else orelse, local)
            case ir.ForRange(index=index, body=body):
                bounds = [self.value(b, local) for b in (node.start, node.stop, node.step)]
                if int(bounds[2]) == 0:
                    return
                for number in range(*(int(b) for b in bounds)):
                    local[index] = type(bounds[0])(number)
                    if not self.trip(body, local):
                        return
            case ir.While():
                while self.value(node.condition, local) and self.trip(node.body, local):
                    self.block(node.continuing, local)
                    if node.break_if is not None and self.value(node.break_if, local):
                        return
            case ir.Switch(selector=selector, cases=cases, default=default):
                number = int(self.value(selector, local))
                chosen = [case.body for case in cases if number in case.values]
                self.block(chosen[0] if chosen else default, local)
            case ir.Break():
                raise _Break
            case ir.Continue():
                raise _Continue
            case ir.Return(value=value):
                raise _Return(None if value is None else self.value(value, local))
            case ir.Assert(condition=condition, message=message):
                assert self.value(condition, local), message
            case ir.Print(parts=parts, end=end):
                texts = [p if isinstance(p, str) else str(self.value(p, local)) for p in parts]
                self.printed.append(" ".join(texts) + end)

    def trip(self, body: ir.Block, local: dict[str, Any]) -> bool:
        """Run a loop's body once; return whether the loop goes on."""
        self.steps += 1
        assert self.steps < 1_000_000, "this does not end"
        try:
            self.block(body, local)
        except _Break:
            return False
        except _Continue:
            pass
        return True

    def store(self, target: ir.Expr, new: Any, local: dict[str, Any]) -> None:
        match target:
            case ir.Local(name=name):
                assert name in local, f"{name} is not declared"
                local[name] = new
            case ir.Index(base=ir.Global(name=name) as base, indices=indices):
                position = tuple(int(self.value(i, local)) for i in indices)
                array = self.arguments[name]
                if _inside(position, array.shape):
                    array[position] = new
                assert base.space is ir.Space.STORAGE
            case ir.Index(base=base, indices=(index,)):
                at = int(self.value(index, local))
                whole = copy.deepcopy(self.value(base, local))
                whole[at] = new
                self.store(base, whole, local)
            case ir.Swizzle(base=base, components=letter):
                whole = copy.deepcopy(self.value(base, local))
                whole["xyzw".index(letter)] = new
                self.store(base, whole, local)
            case ir.Member(base=base, field=field):
                whole = copy.deepcopy(self.value(base, local))
                whole[field] = new
                self.store(base, whole, local)
            case _:
                raise AssertionError(target)

    # --------------------------------------------------------------------------- expressions

    def value(self, node: ir.Expr, local: dict[str, Any]) -> Any:  # noqa: C901
        def at(expr: ir.Expr) -> Any:
            return self.value(expr, local)

        match node:
            case ir.Literal(value=value, type=Scalar() as type_):
                return type_.dtype.type(value)
            case ir.Local(name=name):
                return local[name]
            case ir.Global(name=name):
                return self.arguments[name]
            case ir.InvocationId(axis=axis):
                return np.int32(self.where[axis] if node.id is ir.Id.GLOBAL else 0)
            case ir.Shape(array=array, axis=axis):
                return np.int32(self.arguments[array.name].shape[axis])
            case ir.Unary(op=op, operand=operand):
                value = at(operand)
                if op is ir.UnaryOp.NEG:
                    return np.negative(value)
                return np.logical_not(value) if op is ir.UnaryOp.NOT else np.invert(value)
            case ir.Binary():
                return self.binary(node, local)
            case ir.Select(condition=condition, accept=accept, reject=reject):
                return at(accept) if at(condition) else at(reject)
            case ir.Call(builtin=name, args=args, type=type_):
                assert type_ is not None
                scalar = scalar_of(type_)
                assert scalar is not None
                return np.asarray(BUILTINS[name].numpy(*(at(a) for a in args)), scalar.dtype)[()]
            case ir.Invoke(function=name, args=args):
                called = self.functions[name]
                names = [p.name for p in called.params]
                values = [copy.deepcopy(at(a)) for a in args]
                return self.function(called.body, dict(zip(names, values, strict=True)))
            case ir.Construct(type=type_, args=args):
                return self.construct(type_, [at(a) for a in args])
            case ir.Convert(operand=operand, type=type_):
                target = scalar_of(type_)
                assert target is not None
                value = at(operand)
                return (
                    value != 0 if target is Scalar.BOOL else numerics.convert(value, target.dtype)
                )
            case ir.Bitcast(operand=operand, type=type_):
                target = scalar_of(type_)
                assert target is not None
                return at(operand).view(target.dtype)
            case ir.Index(base=ir.Global(name=name), indices=indices):
                position = tuple(int(at(i)) for i in indices)
                array = self.arguments[name]
                return array[position] if _inside(position, array.shape) else array.dtype.type(0)
            case ir.Index(base=base, indices=(index,)):
                return copy.deepcopy(at(base)[int(at(index))])
            case ir.Member(base=base, field=field):
                return copy.deepcopy(at(base)[field])
            case ir.Swizzle(base=base, components=letters):
                picked = at(base)[["xyzw".index(c) for c in letters]]
                return picked[0] if len(letters) == 1 else picked
        raise AssertionError(node)

    def binary(self, node: ir.Binary, local: dict[str, Any]) -> Any:
        left = self.value(node.left, local)
        if node.op is BinaryOp.LOGICAL_AND:
            return left and self.value(node.right, local)
        if node.op is BinaryOp.LOGICAL_OR:
            return left or self.value(node.right, local)
        right = self.value(node.right, local)
        if node.op is BinaryOp.MUL:
            match node.left.type, node.right.type:
                case Matrix(), Matrix():
                    return numerics.matrix_matrix(left, right)
                case Matrix(), Vector():
                    return numerics.matrix_vector(left, right)
                case Vector(), Matrix():
                    return numerics.vector_matrix(left, right)
        return _BINARY[node.op](left, right)

    def construct(self, type_: Type, parts: list[Any]) -> Any:
        if not parts:
            return zero(type_)
        match type_:
            case Vector(width=width, scalar=scalar):
                flat = np.concatenate([np.atleast_1d(p) for p in parts])
                return np.resize(flat, width).astype(scalar.dtype)
            case Matrix():
                return np.stack(parts)
            case FixedArray():
                return copy.deepcopy(parts)
            case Struct(fields=fields):
                return {f.name: p for f, p in zip(fields, parts, strict=True)}
        raise AssertionError(type_)


def _inside(position: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(0 <= i < n for i, n in zip(position, shape, strict=False))

"""Short ways to write the intermediate representation by hand."""

from __future__ import annotations

from collections.abc import Sequence

from pywgsl import ir
from pywgsl.ir import Access, BinaryOp, Block, Expr, Id, Space
from pywgsl.types import BOOL, F32, I32, U32, RuntimeArray, Scalar, Type, with_scalar

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def literal(value: bool | int | float, type_: Type | None = None) -> ir.Literal:
    if type_ is None:
        kinds: dict[type, Scalar] = {bool: BOOL, int: I32, float: F32}
        type_ = kinds[type(value)]
    return ir.Literal(value, type_)


def local(name: str, type_: Type = I32) -> ir.Local:
    return ir.Local(name, type_)


def buffer(name: str, element: Type = F32, ndim: int = 1) -> ir.Global:
    return ir.Global(name, RuntimeArray(element, ndim), Space.STORAGE)


def uniform(name: str, type_: Type = F32) -> ir.Global:
    return ir.Global(name, type_, Space.UNIFORM)


def shared(name: str, type_: Type) -> ir.Global:
    return ir.Global(name, type_, Space.WORKGROUP)


def at(base: ir.Global, *indices: Expr) -> ir.Index:
    assert isinstance(base.type, RuntimeArray)
    return ir.Index(base, indices, base.type.element)


def binary(left: Expr, op: str, right: Expr, type_: Type | None = None) -> ir.Binary:
    if type_ is None:
        type_ = ir.type_of(left)
        if op in _COMPARISONS:
            type_ = with_scalar(type_, BOOL)
    return ir.Binary(BinaryOp(op), left, right, type_)


def add(left: Expr, right: Expr) -> ir.Binary:
    return binary(left, "+", right)


def id_(axis: int = 0, kind: Id = Id.GLOBAL) -> ir.InvocationId:
    return ir.InvocationId(kind, axis, I32)


def call(name: str, *args: Expr, type_: Type | None = F32) -> ir.Call:
    return ir.Call(name, args, type_)


def length(array: ir.Global, axis: int = 0) -> ir.Shape:
    return ir.Shape(array, axis, I32)


def module(
    *body: ir.Stmt,
    reads: Sequence[ir.Global] = (),
    writes: Sequence[ir.Global] = (),
    uniforms: Sequence[ir.Global] = (),
    size: tuple[int, int, int] = (64, 1, 1),
    name: str = "kernel",
    structs: Sequence[Type] = (),
    variables: Sequence[ir.Global] = (),
    functions: Sequence[ir.Function] = (),
    checked: bool = False,
) -> ir.Module:
    """A module whose parameters are buffers that it reads, buffers that it writes, and uniforms."""
    return ir.Module(
        name,
        (
            *(ir.Buffer(b.name, b.type, Access.READ) for b in reads),
            *(ir.Buffer(b.name, b.type, Access.READ_WRITE) for b in writes),
            *(ir.Uniform(u.name, u.type) for u in uniforms),
        ),
        body,
        size,
        structs=tuple(structs),  # type: ignore[arg-type]  # the caller's are structs
        variables=tuple(ir.Variable(v.name, v.type, v.space) for v in variables),
        functions=tuple(functions),
        checked=checked,
    )


def function(
    name: str, params: dict[str, Type], result: Type | None, *body: ir.Stmt
) -> ir.Function:
    return ir.Function(name, tuple(ir.Param(n, t) for n, t in params.items()), result, body)


def each(value: Expr, out: ir.Global, **kwargs: object) -> ir.Module:
    """A module that stores a value, which may use the local `i`, in each element of `out`."""
    body: Block = (ir.Let("i", id_()), ir.Assign(at(out, local("i")), value))
    return module(*body, writes=[out], **kwargs)  # type: ignore[arg-type]  # as module takes


U = U32

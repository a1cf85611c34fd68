"""Expressions of the intermediate representation as NumPy.

A value's text is of the right dtype even where it is one number, since NumPy 1 widens scalars.
Beside a value that surely is an array a literal is written plainly: `1.0 - y`.
"""

from __future__ import annotations

from typing import Any, assert_never

import numpy as np

from pywgsl import ir, numerics
from pywgsl.analysis.axes import UNIFORM, Axes
from pywgsl.builtins import BUILTINS
from pywgsl.codegen.numpy_collectives import Collectives
from pywgsl.codegen.numpy_scope import (
    AND,
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMPARISON,
    CONDITIONAL,
    OR,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    Mask,
    Value,
    depth_of,
    dtype_text,
    inner_shape,
)
from pywgsl.ir import BinaryOp, UnaryOp, type_of
from pywgsl.types import (
    BOOL,
    F16,
    I32,
    U32,
    FixedArray,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    scalar_of,
)

_INFIX: dict[BinaryOp, tuple[str, int]] = {
    BinaryOp.ADD: ("+", SUM),
    BinaryOp.SUB: ("-", SUM),
    BinaryOp.MUL: ("*", PRODUCT),
    BinaryOp.DIV: ("/", PRODUCT),
    BinaryOp.BIT_AND: ("&", BIT_AND),
    BinaryOp.BIT_OR: ("|", BIT_OR),
    BinaryOp.BIT_XOR: ("^", BIT_XOR),
    **{op: (op.value, COMPARISON) for op in ir.COMPARISONS},
}
_FUNCTIONS: dict[BinaryOp, str] = {
    BinaryOp.FLOOR_DIV: "numerics.floor_div",
    BinaryOp.FLOOR_MOD: "numerics.floor_mod",
    BinaryOp.TRUNC_DIV: "numerics.trunc_div",
    BinaryOp.TRUNC_REM: "numerics.trunc_rem",
    BinaryOp.POW: "numerics.power",
    BinaryOp.SHL: "numerics.shift_left",
    BinaryOp.SHR: "numerics.shift_right",
}
# What these functions are for integers where the right side is a literal that is no special case.
_SIMPLE_INTEGER: dict[BinaryOp, tuple[str, int]] = {
    BinaryOp.FLOOR_DIV: ("//", PRODUCT),
    BinaryOp.SHL: ("<<", SHIFT),
    BinaryOp.SHR: (">>", SHIFT),
}
_SIMPLE_UNSIGNED = _SIMPLE_INTEGER | {BinaryOp.TRUNC_DIV: ("//", PRODUCT)}
# What returns a view of its argument.
_VIEWING = ("splat", "numerics.transpose")
_SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
_PREFIX: dict[UnaryOp, str] = {UnaryOp.NEG: "-", UnaryOp.NOT: "~", UnaryOp.BIT_NOT: "~"}
_AXIS_NAMES = "xyz"


class Expressions(Collectives):
    """Writes the expressions of one function."""

    def value(self, node: ir.Expr) -> Value:  # noqa: C901
        """Return what an expression is in Python; an index may be an `Affine`."""
        match node:
            case ir.Literal():
                return self._literal(node.value, node.type)
            case ir.Local():
                return self.variable(node).value
            case ir.Global():
                return self._global(node)
            case ir.InvocationId():
                return self._id(node)
            case ir.Shape(array=array, axis=axis):
                length = f"{self.module.globals[array.name].text}.shape[{axis}]"
                return Value(f"np.int32({length})", plain=length)
            case ir.Unary():
                return self._unary(node)
            case ir.Binary():
                return self._binary(node)
            case ir.Select():
                return self._select(node)
            case ir.Call():
                return self._call(node)
            case ir.Invoke():
                return self._invoke(node)
            case ir.Construct():
                return self._construct(node)
            case ir.Convert():
                return self._convert(node)
            case ir.Bitcast():
                return self._bitcast(node)
            case ir.Swizzle(components=components) if len(components) > 1:
                return self._swizzle(node)
            case ir.Index() | ir.Member() | ir.Swizzle():
                return self.place(node)
            case _:
                assert_never(node)

    def array(self, node: ir.Expr) -> Value:
        """Return an expression as a NumPy value."""
        return self.as_array(self.value(node), node.type)

    def as_array(self, value: Value, type_: Type | None) -> Value:
        """Return a value as NumPy's own: the numbers of an `Affine`."""
        if not value.even:
            return value
        bits = ".view(np.uint32)" if type_ is U32 else ""
        return Value(f"{value.at(ATOM)}.lanes{bits}", axes=value.axes, spread=True)

    # ------------------------------------------------------------------------------ leaves

    def _literal(self, number: bool | int | float, type_: Type) -> Value:
        if type_ is BOOL:
            return Value(f"np.{bool(number)}_")
        dtype = dtype_text(type_, self.module.structs)
        if isinstance(type_, Scalar) and type_.is_float:
            if not np.isfinite(number):
                return Value(f"{dtype}({str(number)!r})" if number == number else f"{dtype}('nan')")
            shortest = float(str(np.float16(number) if type_ is F16 else np.float32(number)))
            return Value(f"{dtype}({shortest!r})", plain=repr(shortest))
        return Value(f"{dtype}({number})", plain=str(number))

    def zero(self, type_: Type) -> Value:
        """Return the zero value of a type."""
        if isinstance(type_, Scalar):
            return self._literal(False if type_ is BOOL else 0, type_)
        return Value(f"np.zeros({inner_shape(type_)}, {dtype_text(type_, self.module.structs)})")

    def _global(self, node: ir.Global) -> Value:
        if node.space is ir.Space.PRIVATE:
            return self.variable(node).value
        if node.space is ir.Space.WORKGROUP:
            return self.place(node)
        return self.module.globals[node.name]

    def _id(self, node: ir.InvocationId) -> Value:
        axes = self.module.axes.order.of_id(node)
        ids, axis = self.ids, node.axis
        match node.id:
            case ir.Id.NUM_WORKGROUPS:
                return Value(f"{ids}.num_workgroups({axis})")
            case ir.Id.SUBGROUP_SIZE | ir.Id.NUM_SUBGROUPS:
                return Value(f"{ids}.{node.id.value}")
            case _ if axes == UNIFORM:
                # The workgroup has one invocation along the axis.
                return self._literal(0, I32)
            case ir.Id.GLOBAL:
                text = f"{ids}.{_AXIS_NAMES[axis]}"
            case ir.Id.LOCAL:
                text = f"{ids}.local({axis})"
            case ir.Id.WORKGROUP:
                text = f"{ids}.workgroup({axis})"
            case ir.Id.LOCAL_INDEX:
                text = f"{ids}.local_index"
            case ir.Id.SUBGROUP_INVOCATION | ir.Id.SUBGROUP:
                return Value(f"{ids}.{node.id.value}", axes=axes, spread=True)
            case _:
                assert_never(node.id)
        return Value(text, axes=axes, spread=True, even=True)

    # --------------------------------------------------------------------------- operators

    def _unary(self, node: ir.Unary) -> Value:
        operand = self.value(node.operand)
        if operand.even and node.op is UnaryOp.NEG:
            return Value(f"-{operand.at(UNARY)}", UNARY, operand.axes, spread=True, even=True)
        operand = self.as_array(operand, node.operand.type)
        text = _PREFIX[node.op] + operand.at(UNARY)
        return Value(text, UNARY, operand.axes, operand.spread)

    def _binary(self, node: ir.Binary) -> Value:
        if node.op in (BinaryOp.LOGICAL_AND, BinaryOp.LOGICAL_OR):
            return self._logical(node)
        left, right = self.value(node.left), self.value(node.right)
        if left.even or right.even:
            even = _even(node, left, right)
            if even is not None:
                return even
        left, right = self.as_array(left, node.left.type), self.as_array(right, node.right.type)
        types = type_of(node.left), type_of(node.right)
        product = _matrix_product(*types) if node.op is BinaryOp.MUL else None
        if product is not None:
            return _call(product, left, right)
        left, right = self._aligned((left, right), types)
        infix = _INFIX.get(node.op)
        if infix is None:
            infix = _simple_infix(node)
            if infix is not None and node.op in _SHIFTS:
                # Beside a u32 NumPy would widen an i32.
                right = self._literal(int(right.plain), type_of(node.left))
        if infix is not None:
            return _infix(left, *infix, right)
        if node.op is BinaryOp.POW:
            return _power(node, left, right)
        if _is_masking(node):
            mask = self._literal(int(right.plain) - 1, type_of(node.right))
            return _infix(left, "&", BIT_AND, mask)
        return _call(_FUNCTIONS[node.op], left, right)

    def _logical(self, node: ir.Binary) -> Value:
        both = node.op is BinaryOp.LOGICAL_AND
        left = self.array(node.left)
        if left.axes == UNIFORM and not isinstance(node.left.type, Vector):
            right = self.array(node.right)
            # A host's `and` skips the right side, whatever that depends on.
            word, level = ("and", AND) if both else ("or", OR)
            text = f"{left.at(level)} {word} {right.at(level + 1)}"
            return Value(text, level, right.axes)
        if any(isinstance(part, ir.Invoke) for part in ir.walk(node.right)):
            return self._logical_call(left, node.right, both)
        right = self.array(node.right)
        return _infix(left, "&" if both else "|", BIT_AND if both else BIT_OR, right)

    def _logical_call(self, left: Value, node: ir.Expr, both: bool) -> Value:
        """A right side that calls a function runs only in the lanes that need it."""
        outer = self.mask
        test, mask = self.names.new("test"), self.names.new("mask")
        self.out.line(f"{test} = {left.text}")
        narrow = "narrowed" if both else "without"
        self.out.line(f"{mask} = {narrow}({outer.text}, {test})")
        self.mask = Mask(mask, outer.axes | left.axes, outer)
        right = self.array(node)
        self.mask = outer
        text = f"{right.at(OR)} if {mask} is not False else {test}"
        token, level = ("&", BIT_AND) if both else ("|", BIT_OR)
        return Value(f"{test} {token} ({text})", level, left.axes | right.axes)

    def _select(self, node: ir.Select) -> Value:
        condition = self.array(node.condition)
        accept, reject = self.array(node.accept), self.array(node.reject)
        axes = accept.axes | reject.axes
        view = accept.view or reject.view
        if condition.axes == UNIFORM and isinstance(node.condition.type, Scalar):
            text = f"{accept.at(OR)} if {condition.at(OR)} else {reject.at(CONDITIONAL)}"
            return Value(text, CONDITIONAL, axes, accept.spread and reject.spread, view=view)
        types = tuple(map(type_of, (node.condition, node.accept, node.reject)))
        parts = self._aligned((condition, accept, reject), types)
        return _call("numerics.where", *parts)

    def _aligned(self, values: tuple[Value, ...], types: tuple[Type, ...]) -> tuple[Value, ...]:
        """Give scalars beside vectors or matrices axes for the components."""
        depth = max(map(depth_of, types))
        return tuple(
            v if v.axes == UNIFORM or depth_of(t) == depth else _deepened(v, depth - depth_of(t))
            for v, t in zip(values, types, strict=True)
        )

    # ------------------------------------------------------------------------------- calls

    def _call(self, node: ir.Call) -> Value:
        row = BUILTINS[node.builtin]
        if row.effect:
            return self.collective(node, row)
        types = tuple(map(type_of, node.args))
        parts = self._aligned(tuple(map(self.array, node.args)), types)
        # Unlike the table's function, the compiler knows a number in each lane from a vector.
        if node.builtin == "length" and isinstance(types[0], Scalar):
            return _call("np.abs", *parts)
        return _call(_function_text(row.numpy), *parts)

    def _invoke(self, node: ir.Invoke) -> Value:
        function = self.module.functions[node.function]
        self.module.called.add(function.name)
        args = []
        for param, arg in zip(function.params, node.args, strict=True):
            # A function's own branches are on parts of the whole block.
            value = self.value(arg) if self.ids == "ids" else self.array(arg)
            self.module.even_params.setdefault((node.function, param.name), set()).add(value.even)
            args.append(self.kept(value).text)
        name = self.module.function_names[node.function]
        text = f"{name}({', '.join([self.mask.text, *args])})"
        return Value(text, axes=self.module.axes.result(node.function))

    def kept(self, value: Value) -> Value:
        """Return a value that a later store cannot change."""
        if not value.view:
            return value
        return Value(f"{value.at(ATOM)}.copy()", axes=value.axes, spread=value.spread)

    # ------------------------------------------------------------------ composites and bits

    def _construct(self, node: ir.Construct) -> Value:
        if not node.args:
            return self.zero(node.type)
        args = [self.array(arg) for arg in node.args]
        match node.type:
            case Vector(width=width) if len(args) == 1 and isinstance(node.args[0].type, Scalar):
                return _call("splat", args[0], extra=f", {width}")
            case Vector():
                if len(args) == 1:
                    return args[0]
                parts = map(self._components, args, node.args)
                return _call("stacked", *parts)
            case Struct():
                dtype = Value(self.module.structs[node.type])
                return _call("record", dtype, *args)
            case Matrix() | FixedArray():
                depth = depth_of(node.type) - 1
                extra = f", depth={depth}" if depth else ""
                return _call("stacked", *args, extra=extra)
            case _:
                return args[0]

    def _components(self, value: Value, node: ir.Expr) -> Value:
        """Return the arguments that a vector's components are, or the one that a scalar is."""
        if not isinstance(node.type, Vector):
            return value
        text = f"*components({value.text})"
        return Value(text, axes=value.axes, spread=value.spread)

    def _convert(self, node: ir.Convert) -> Value:
        operand = self.value(node.operand)
        source, target = scalar_of(type_of(node.operand)), scalar_of(node.type)
        assert source is not None
        assert target is not None
        if operand.even and target.is_integer:
            return operand
        operand = self.as_array(operand, node.operand.type)
        dtype = dtype_text(node.type, self.module.structs)
        if target is BOOL:
            return _infix(operand, "!=", COMPARISON, self._literal(0, source))
        if source.is_float and target.is_integer:
            return _call("numerics.convert", operand, extra=f", {dtype}")
        if isinstance(node.operand, ir.Shape):
            return Value(f"{dtype}({operand.plain})")
        text = f"{operand.at(ATOM)}.astype({dtype})"
        return Value(text, axes=operand.axes, spread=operand.spread)

    def _bitcast(self, node: ir.Bitcast) -> Value:
        operand = self.array(node.operand)
        dtype = dtype_text(node.type, self.module.structs)
        source, target = scalar_of(type_of(node.operand)), scalar_of(node.type)
        assert source is not None
        assert target is not None
        if source.size != target.size:
            was, becomes = (isinstance(t, Vector) for t in (node.operand.type, node.type))
            return _call("numerics.bitcast", operand, extra=f", {dtype}, {was}, {becomes}")
        text = f"{operand.at(ATOM)}.view({dtype})"
        return Value(text, axes=operand.axes, spread=operand.spread, view=operand.view)

    def _swizzle(self, node: ir.Swizzle) -> Value:
        base = self.array(node.base)
        order = ["xyzw".index(component) for component in node.components]
        if order == list(range(order[0], order[0] + len(order))):
            key, view = f"{order[0]}:{order[-1] + 1}", base.view
        else:
            key, view = str(order), False
        return Value(f"{base.at(ATOM)}[..., {key}]", axes=base.axes, spread=base.spread, view=view)


def _infix(left: Value, token: str, level: int, right: Value) -> Value:
    """Return `left token right`; a literal beside an array is a plain number."""
    axes = left.axes | right.axes
    spread = left.spread or right.spread
    first = left.plain if left.plain and right.spread else left.at(level + (level == COMPARISON))
    second = right.plain if right.plain and left.spread else right.at(level + 1)
    return Value(f"{first} {token} {second}", level, axes, spread)


def _call(function: str, *args: Value, extra: str = "") -> Value:
    axes: Axes = UNIFORM
    for arg in args:
        axes |= arg.axes
    text = f"{function}({', '.join(arg.text for arg in args)}{extra})"
    view = function in _VIEWING and any(arg.view for arg in args)
    return Value(text, axes=axes, spread=any(arg.spread for arg in args), view=view)


def _deepened(value: Value, depth: int) -> Value:
    key = ", ".join(["...", *["None"] * depth])
    return Value(f"{value.at(ATOM)}[{key}]", axes=value.axes, spread=value.spread)


def _even(node: ir.Binary, left: Value, right: Value) -> Value | None:
    """Return an `Affine` if the operator makes one of its operands."""
    if not isinstance(node.type, Scalar):
        return None
    first, second = left.plain or left.at(PRODUCT), right.plain or right.at(UNARY)
    axes = left.axes | right.axes
    uniform = left.axes == UNIFORM or right.axes == UNIFORM
    if node.op is BinaryOp.MUL and uniform:
        return Value(f"{first} * {second}", PRODUCT, axes, spread=True, even=True)
    if node.op in (BinaryOp.ADD, BinaryOp.SUB) and (uniform or (left.even and right.even)):
        first, second = left.plain or left.at(SUM), right.plain or right.at(PRODUCT)
        return Value(f"{first} {node.op.value} {second}", SUM, axes, spread=True, even=True)
    return None


def _matrix_product(left: Type, right: Type) -> str | None:
    match left, right:
        case Matrix(), Matrix():
            return "numerics.matrix_matrix"
        case Matrix(), Vector():
            return "numerics.matrix_vector"
        case Vector(), Matrix():
            return "numerics.vector_matrix"
        case _:
            return None


def _simple_infix(node: ir.Binary) -> tuple[str, int] | None:
    """The operator of Python for integers beside a literal, where it needs no care."""
    scalar = scalar_of(type_of(node.left))
    if not isinstance(node.right, ir.Literal) or scalar not in (I32, U32):
        return None
    largest = 31 if node.op in _SHIFTS else 2**31 - 1
    if not 0 < node.right.value <= largest:
        return None
    return (_SIMPLE_UNSIGNED if scalar is U32 else _SIMPLE_INTEGER).get(node.op)


def _is_masking(node: ir.Binary) -> bool:
    """Whether this is a remainder by a power of two: the low bits, which is much faster."""
    by = node.right.value if isinstance(node.right, ir.Literal) else 0
    if not isinstance(by, int) or by <= 0 or by & (by - 1) or node.type not in (I32, U32):
        return False
    return node.op is BinaryOp.FLOOR_MOD or (node.op is BinaryOp.TRUNC_REM and node.type is U32)


def _power(node: ir.Binary, left: Value, right: Value) -> Value:
    exponent = node.right.value if isinstance(node.right, ir.Literal) else None
    if exponent == 2:
        return _call("np.square", left)
    if exponent in (3, 4):
        return _call("numerics.whole_power", left, extra=f", {int(exponent)}")
    return _call("numerics.power", left, right)


def _function_text(function: Any) -> str:
    """Return how a program names a function of the table."""
    name: str = function.__name__
    return f"numerics.{name}" if getattr(numerics, name, None) is function else f"np.{name}"

"""Expressions of the intermediate representation as WGSL text."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import assert_never

from pywgsl import ir
from pywgsl.builtins import BUILTINS
from pywgsl.codegen.layout import AxisLength, stored
from pywgsl.codegen.scope import FunctionScope
from pywgsl.codegen.wgsl_collectives import atomic_load, joint_call
from pywgsl.codegen.wgsl_literals import literal
from pywgsl.codegen.wgsl_places import (
    NO_END,
    is_carried,
    is_constant,
    is_simple,
    length_of,
)
from pywgsl.codegen.writer import PRODUCT, SUM, Code, call, infix, postfix, prefix
from pywgsl.ir import BinaryOp, UnaryOp, type_of
from pywgsl.types import (
    BOOL,
    F16,
    F32,
    I32,
    U32,
    Atomic,
    FixedArray,
    RuntimeArray,
    Scalar,
    Struct,
    Type,
    Vector,
    scalar_of,
    with_scalar,
)

#: Both compilers take far deeper nesting, but readers do not.
MAX_DEPTH = 40

_ARITHMETIC = {BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV}
_DIVISIONS = {BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD, BinaryOp.TRUNC_DIV, BinaryOp.TRUNC_REM}
_SHIFTS = {BinaryOp.SHL, BinaryOp.SHR}
_MAX_PRODUCT = 4
_OPPOSITE = {
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.GT,
}


class TooDeepError(Exception):
    """An expression nests deeper than `MAX_DEPTH`; its statement must be split."""


class Expressions:
    """Writes the expressions of one function.

    What an expression needs before its statement (constants that the compilers must not fold) is
    left in `before`, as lines.
    """

    def __init__(self, scope: FunctionScope) -> None:
        self._scope = scope
        self._module = scope.module
        self._depth = 0
        self.before: list[str] = []

    def take_before(self) -> list[str]:
        """Return the lines that must precede the statement, and forget them."""
        lines, self.before = self.before, []
        return lines

    def text(self, node: ir.Expr) -> str:
        """Return an expression's text where nothing surrounds it."""
        return self.code(node).text

    def code(self, node: ir.Expr) -> Code:
        """Return an expression's text and how tightly it binds."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._depth = 0
            raise TooDeepError
        code = self._dispatch(node)
        self._depth -= 1
        return code

    def _dispatch(self, node: ir.Expr) -> Code:  # noqa: C901
        match node:
            case ir.Literal():
                return self._literal(node)
            case ir.Local(name=name):
                return Code(self._scope.names[name])
            case ir.Global() | ir.Index() | ir.Member() | ir.Swizzle():
                return self._load(node)
            case ir.InvocationId(id=id_, axis=axis):
                return Code(self._scope.ids[id_, axis])
            case ir.Shape(array=array, axis=axis):
                return Code(self._module.uniform(AxisLength(array.name, axis)))
            case ir.Unary():
                return self._unary(node)
            case ir.Binary():
                return self._binary(node)
            case ir.Select():
                return self._select(node)
            case ir.Call():
                return self._call(node)
            case ir.Invoke(function=name, args=args):
                return self.invoke(name, args)
            case ir.Construct():
                return self._construct(node)
            case ir.Convert():
                return self._convert(node)
            case ir.Bitcast(operand=operand, type=type_):
                return call(f"bitcast<{type_}>", self._hidden(operand))
            case _:
                assert_never(node)

    # --------------------------------------------------------------------------- constants

    def _literal(self, node: ir.Literal, *, suffix: bool = False) -> Code:
        code = literal(node, suffix=suffix)
        if code is not None:
            return code
        prelude, value = self._module.prelude, float(node.value)
        if value == 0.0:
            code = call("f16", Code(self._hide("bitcast<f32>(0x80000000u)")))
        else:
            code = call(prelude.use("nan" if value != value else "inf"))
            code = call("f16", code) if node.type is F16 else code
        return prefix("-", code) if value < 0.0 else code

    def _hidden(self, node: ir.Expr) -> Code:
        """An operand; a constant goes through a variable, so that the compilers do not fold it."""
        return Code(self._hide(self.text(node))) if is_constant(node) else self.code(node)

    def _hide(self, text: str) -> str:
        name = self._scope.declare("constant")
        self.before.append(f"var {name} = {text};")
        return name

    def _operands(self, *operands: ir.Expr) -> list[Code]:
        """The operands of an operation, which must not be constant altogether."""
        first, *rest = operands
        constant = all(is_constant(operand) for operand in operands)
        return [self._hidden(first) if constant else self.code(first), *map(self.code, rest)]

    # --------------------------------------------------------------------------- operators

    def _unary(self, node: ir.Unary) -> Code:
        operand, type_ = node.operand, node.type
        if node.op is UnaryOp.NEG and scalar_of(type_) is U32:
            return infix(self.splat(ir.Literal(0, U32), type_), "-", self._hidden(operand))
        if node.op is UnaryOp.NOT:
            return self.negation(operand)
        return prefix(node.op.value, self._hidden(operand))

    def negation(self, node: ir.Expr) -> Code:
        """Return the opposite of a condition; comparisons of floats have none, because of nan."""
        if isinstance(node, ir.Binary) and node.op in _OPPOSITE:
            operand = type_of(node.left)
            if isinstance(operand, Scalar) and not operand.is_float:
                return self.code(replace(node, op=_OPPOSITE[node.op]))
        return prefix("!", self._hidden(node))

    def _binary(self, node: ir.Binary) -> Code:
        op = node.op
        if op in _ARITHMETIC:
            left, right = self._operands(node.left, node.right)
            return infix(left, op.value, right)
        if op in _DIVISIONS:
            return self._division(node)
        if op in _SHIFTS:
            return self._shift(node)
        if op is BinaryOp.POW:
            return self._power(node)
        if op in (BinaryOp.LOGICAL_AND, BinaryOp.LOGICAL_OR):
            return infix(self.code(node.left), op.value, self.code(node.right))
        return self._componentwise(node)

    def _componentwise(self, node: ir.Binary) -> Code:
        """Comparisons and bit operators, for which WGSL does not widen a scalar to a vector."""
        left, right = self._operands(node.left, node.right)
        left_type, right_type = node.left.type, node.right.type
        if isinstance(left_type, Vector) and isinstance(right_type, Scalar):
            right = call(str(left_type), right)
        elif isinstance(right_type, Vector) and isinstance(left_type, Scalar):
            left = call(str(right_type), left)
        scalar = scalar_of(type_of(node.left))
        if node.op is BinaryOp.NE and scalar in (F32, F16):
            # Drivers fold `x != x` to false; its opposite they leave alone.
            return prefix("!", infix(left, "==", right))
        token = "!=" if node.op is BinaryOp.BIT_XOR and scalar is BOOL else node.op.value
        return infix(left, token, right)

    def _division(self, node: ir.Binary) -> Code:
        scalar = scalar_of(node.type)
        if scalar in (F32, F16):
            return self._float_division(node)
        token = "/" if node.op in (BinaryOp.FLOOR_DIV, BinaryOp.TRUNC_DIV) else "%"
        if self._is_plain(node):
            left, right = self._operands(node.left, node.right)
            if is_constant(node.right) and not getattr(node.right, "value", 0):
                # Tint refuses to divide by a constant zero.
                right = self._hidden(node.right)
            return infix(left, token, right)
        if node.op is BinaryOp.TRUNC_REM:
            return self._helper("trunc_rem", node.left, node.right)
        divisor = int(node.right.value) if isinstance(node.right, ir.Literal) else 0
        if divisor > 0 and divisor & (divisor - 1) == 0 and isinstance(node.left.type, Scalar):
            # The shift rounds down too, and the mask is never negative.
            if token == "/":
                count = divisor.bit_length() - 1
                return infix(self._hidden(node.left), ">>", Code(f"{count}u"))
            return infix(self._hidden(node.left), "&", Code(str(divisor - 1)))
        name = "floor_div" if token == "/" else "floor_mod"
        return self._helper(name, node.left, node.right)

    def _is_plain(self, node: ir.Binary) -> bool:
        """Whether WGSL's operator is what an integer division means, on every driver."""
        if node.op is BinaryOp.TRUNC_DIV or scalar_of(node.type) is U32:
            return True
        return isinstance(node.type, Scalar) and all(
            self._module.ranges.is_non_negative(operand, self._scope.function)
            for operand in (node.right, node.left)
        )

    def _float_division(self, node: ir.Binary) -> Code:
        if node.op is BinaryOp.FLOOR_DIV:
            left, right = self._operands(node.left, node.right)
            return call("floor", infix(left, "/", right))
        function = "floor" if node.op is BinaryOp.FLOOR_MOD else "trunc"
        if not (is_simple(node.left) and is_simple(node.right)) or (
            is_constant(node.left) and is_constant(node.right)
        ):
            name = "floor_mod" if function == "floor" else "trunc_rem"
            return self._helper(name, node.left, node.right)
        left, right = self.code(node.left), self.code(node.right)
        whole = call(function, infix(left, "/", right))
        return infix(left, "-", infix(right, "*", whole))

    def _shift(self, node: ir.Binary) -> Code:
        left = self._hidden(node.left) if is_constant(node.right) else self.typed(node.left)
        count = node.right
        if isinstance(count, ir.Literal):
            code = Code(f"{int(count.value) & 31}u")
        else:
            code = self.code(count)
            known = isinstance(count.type, Scalar) and (
                self._module.ranges.interval(count, self._scope.function).high < 32
            )
            if not known:
                code = infix(code, "&", self.splat(ir.Literal(31, U32), type_of(count)))
        if isinstance(node.type, Vector) and isinstance(count.type, Scalar):
            code = call(str(with_scalar(node.type, U32)), code)
        return infix(left, node.op.value, code)

    def typed(self, node: ir.Expr) -> Code:
        """Return an operand whose type nothing beside it tells."""
        return self._literal(node, suffix=True) if isinstance(node, ir.Literal) else self.code(node)

    def _power(self, node: ir.Binary) -> Code:
        base, exponent = node.left, node.right
        power = exponent.value if isinstance(exponent, ir.Literal) else 0
        if is_constant(base) or power not in range(2, _MAX_PRODUCT + 1):
            return self._helper("pow", base, exponent)
        if is_simple(base):
            factor = self.code(base)
            product = factor
            for _ in range(int(power) - 1):
                product = infix(product, "*", factor)
            return product
        if scalar_of(type_of(base)) not in (F32, F16):
            return self._helper("pow", base, exponent)
        if power == _MAX_PRODUCT - 1:
            return self._helper("cube", base)
        code = self._helper("square", base)
        if power == _MAX_PRODUCT:
            code = call(self._module.prelude.use("square", type_of(base)), code)
        return code

    def _select(self, node: ir.Select) -> Code:
        reject, accept = self.code(node.reject), self.code(node.accept)
        if isinstance(node.reject, ir.Literal) and isinstance(node.accept, ir.Literal):
            reject, accept = self.typed(node.reject), self.typed(node.accept)
        return call("select", reject, accept, self.code(node.condition))

    # ------------------------------------------------------------------- calls and values

    def _helper(self, name: str, *args: ir.Expr) -> Code:
        function = self._module.prelude.use(name, *(type_of(arg) for arg in args))
        return call(function, *(self.code(arg) for arg in args))

    def _call(self, node: ir.Call) -> Code:
        row = BUILTINS[node.builtin]
        if row.scope is not None:
            return joint_call(node, row.scope, self, self._scope)
        if row.wgsl is not None:
            return call(row.wgsl, *(self._operands(*node.args) if node.args else ()))
        args = node.args
        integer = scalar_of(type_of(args[0])) in (I32, U32)
        match row.name:
            case "min" | "max" if integer:
                return call(row.name, *self._operands(*args))
            case "clamp" if integer:
                x, low, high = self._operands(*args)
                return call("min", call("max", x, low), high)
            case "trunc_div" | "trunc_rem":
                op = BinaryOp.TRUNC_DIV if row.name == "trunc_div" else BinaryOp.TRUNC_REM
                assert node.type is not None
                return self._division(ir.Binary(op, args[0], args[1], node.type))
            case "length":
                function = "abs" if isinstance(args[0].type, Scalar) else "length"
                return call(function, *self._operands(*args))
            case _:
                return self._helper(row.name, *args)

    def invoke(self, name: str, args: tuple[ir.Expr, ...]) -> Code:
        """Return a call of one of the module's functions; ids that it uses are passed too."""
        ids = (Code(self._scope.ids[key]) for key in self._module.ids_of[name])
        return call(self._module.functions[name], *map(self.code, args), *ids)

    def splat(self, node: ir.Literal, type_: Type) -> Code:
        """Return a constant as a value of a scalar or vector type."""
        code = self._literal(node)
        return call(str(type_), code) if isinstance(type_, Vector) else code

    def _construct(self, node: ir.Construct) -> Code:
        name = self._module.spell(node.type)
        if isinstance(node.type, FixedArray | Struct):
            return call(name, *(Code(self.carried(arg)) for arg in node.args))
        return call(name, *map(self.code, node.args))

    def carried(self, node: ir.Expr) -> str:
        """Return the text of a value as it is kept in a buffer, an array or a struct."""
        type_ = stored(type_of(node))
        return self.text(node) if type_ == node.type else call(str(type_), self.code(node)).text

    def _convert(self, node: ir.Convert) -> Code:
        operand = node.operand
        source, target = scalar_of(type_of(operand)), scalar_of(node.type)
        if source is target:
            return self.code(operand)
        code = self._hidden(operand)
        if target is BOOL:
            if source in (F32, F16):
                return self._convert_by("to_bool", operand, code)
            assert source is not None
            return infix(code, "!=", self.splat(ir.Literal(0, source), type_of(operand)))
        if source in (F32, F16) and target in (I32, U32):
            return self._convert_by(f"to_{target}", operand, code)
        if source is U32 and target in (F32, F16) and not self._fits_i32(operand):
            code, source = self._convert_by("to_f32", operand, code), F32
        if source in (I32, U32) and target is F16:
            # By way of f32, which is exact up to the largest f16, and inf beyond.
            code, source = call(str(with_scalar(node.type, F32)), code), F32
        return code if source is target else call(str(node.type), code)

    def _convert_by(self, name: str, operand: ir.Expr, code: Code) -> Code:
        return call(self._module.prelude.use(name, type_of(operand)), code)

    def _fits_i32(self, node: ir.Expr) -> bool:
        interval = self._module.ranges.interval(node, self._scope.function)
        return isinstance(node.type, Scalar) and interval.high < 2**31

    # ------------------------------------------------------------------------------ memory

    def _load(self, node: ir.Global | ir.Index | ir.Member | ir.Swizzle) -> Code:
        if self.is_atomic(node) and not self._has_loader(node):
            code = atomic_load(self.place(node), type_of(node))
        else:
            code = self._raw(node, target=False)
        if is_carried(node):
            scalar_zero = ir.Literal(0, U32)
            code = infix(code, "!=", self.splat(scalar_zero, stored(node.type)))
        if self._module.module.checked and isinstance(node.type, Scalar | Vector):
            return self._or_zero(node, code)
        return code

    def _has_loader(self, node: ir.Expr) -> bool:
        """Whether a function reads this element of a buffer."""
        return (
            self._module.module.checked
            and isinstance(node, ir.Index)
            and isinstance(node.base.type, RuntimeArray)
        )

    def _or_zero(self, node: ir.Expr, code: Code) -> Code:
        """Zero where an index is outside of a value; buffers have functions for that."""
        inside: list[Code] = []
        part = node
        while isinstance(part, ir.Index | ir.Member | ir.Swizzle):
            if isinstance(part, ir.Index) and not isinstance(part.base.type, RuntimeArray):
                inside += self.limits(part)
            part = part.base
        if not inside:
            return code
        zero = Code(self._module.zero(type_of(node)))
        return call("select", zero, code, functools.reduce(_both, inside))

    def limits(self, node: ir.Index) -> list[Code]:
        """The conditions under which indices are inside; none for one that surely is."""
        if isinstance(node.base, ir.Global) and isinstance(node.base.type, RuntimeArray):
            name = node.base.name
            ends = [
                call("u32", Code(self._module.uniform(AxisLength(name, axis))))
                for axis in range(len(node.indices))
            ]
        else:
            end = length_of(type_of(node.base))
            found = self._module.ranges.interval(node.indices[0], self._scope.function)
            if found.low >= 0 and found.high < end:
                return []
            ends = [Code(f"{end}u")]
        pairs = zip(node.indices, ends, strict=True)
        return [infix(self.unsigned(index), "<", end) for index, end in pairs]

    def place(self, node: ir.Expr) -> Code:
        """Return the text of a place to store into."""
        return self._raw(node, target=True)

    def _raw(self, node: ir.Expr, *, target: bool) -> Code:
        """A place, or a part of a value, as it is kept: a bool that is carried is still a u32."""
        if (parameter := self._module.parameter(node)) is not None:
            return Code(parameter)
        match node:
            case ir.Global(name=name):
                return Code(self._module.globals[name])
            case ir.Member(base=base, field=name):
                assert isinstance(base.type, Struct)
                field = self._module.field(base.type, name)
                return postfix(self._raw(base, target=target), f".{field}")
            case ir.Swizzle(base=base, components=components):
                return postfix(self._raw(base, target=target), f".{components}")
            case ir.Index():
                return self._element(node, target=target)
            case _:
                return self.code(node)

    def _element(self, node: ir.Index, *, target: bool) -> Code:
        base = node.base
        if isinstance(base, ir.Global) and isinstance(base.type, RuntimeArray):
            if self._has_loader(node) and not target:
                loader = self._module.loader(base.name)
                return call(loader, *(self.unsigned(index) for index in node.indices))
            return postfix(Code(self._module.globals[base.name]), f"[{self.offset(node)}]")
        (index,) = node.indices
        text = self._index(index, length_of(type_of(base)))
        return postfix(self._raw(base, target=target), f"[{text}]")

    def _index(self, index: ir.Expr, end: int) -> str:
        """Naga sees through `let`, and refuses a constant index that is out of range."""
        text = self.text(index)
        value = self._scope.known_integer(index)
        return text if value is None or 0 <= value < end else self._hide(text)

    def offset(self, node: ir.Index) -> str:
        """Return the index into a row-major buffer: `(i * shape_1 + j) * shape_2 + k`."""
        assert isinstance(node.base, ir.Global)
        if len(node.indices) == 1:
            return self._index(node.indices[0], NO_END)
        offset = self._signed(node.indices[0])
        for axis, index in enumerate(node.indices[1:], start=1):
            length = Code(self._module.uniform(AxisLength(node.base.name, axis)))
            row = infix(offset, "*", length)
            code = self._signed(index)
            # Sums of integers wrap, so their order is free: `row + (i + 1)` needs no parentheses.
            term = Code(code.text, max(code.level, PRODUCT)) if code.level == SUM else code
            offset = row if code.text == "0" else infix(row, "+", term)
        return offset.text

    def _signed(self, index: ir.Expr) -> Code:
        if isinstance(index, ir.Literal):
            value = (int(index.value) + 2**31) % 2**32 - 2**31
            return Code(str(value)) if value >= 0 else self.code(ir.Literal(value, I32))
        return self.code(index if index.type is I32 else ir.Convert(index, I32))

    def unsigned(self, index: ir.Expr) -> Code:
        """Return an index as u32, so that one comparison checks both ends."""
        if isinstance(index, ir.Literal):
            return Code(f"{int(index.value) % 2**32}u")
        return self.code(index if index.type is U32 else ir.Convert(index, U32))

    def is_atomic(self, node: ir.Expr) -> bool:
        """Whether an expression denotes memory that invocations change together."""
        if isinstance(node.type, Atomic):
            return True
        if not self._module.atomics or not isinstance(node.type, Scalar):
            return False
        root = ir.root(node)
        return isinstance(root, ir.Global) and root.name in self._module.atomics


def _both(left: Code, right: Code) -> Code:
    return infix(left, "&&", right)

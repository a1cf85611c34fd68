"""What a kernel's text means, one invocation at a time: plain Python over scalars of 32 bits.

It shares no code with the package. Integers are Python's, wrapped; floats are NumPy's float32
scalars. A literal stays a Python number until it meets a typed one or is stored, as in the
language. A rewrite makes plain Python do the rest: what is assigned becomes typed, and is a copy.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from scalar_values import (
    F32,
    I32,
    U32,
    VECTORS,
    Buffer,
    Fixed,
    Scalar,
    Vector,
    binary,
    coerce,
    common,
    each,
    vector_type,
)

# -------------------------------------------------------------------------------- functions


def own(value: Any, integer: type[Scalar] = I32) -> Any:
    """What a variable holds after it is assigned: a typed number, or a copy."""
    if isinstance(value, tuple):
        return tuple(own(item) for item in value)
    if isinstance(value, Vector | Fixed):
        return value.copy()
    if isinstance(value, int) and not isinstance(value, builtins.bool):
        return integer(value)
    return F32(value) if isinstance(value, float) else value


def function(body: Any) -> Any:
    """A helper: arguments are typed and copied, and so are results."""
    signature = inspect.signature(body)

    def call(*args: Any, **named: Any) -> Any:
        given = signature.bind(*args, **named)
        given.apply_defaults()
        kinds = {getattr(v, "kind", type(v)) for v in given.arguments.values()}
        integer = U32 if U32 in kinds and I32 not in kinds else I32
        for name, value in given.arguments.items():
            wanted = body.__annotations__.get(name)
            typed = isinstance(wanted, type) and issubclass(wanted, Scalar)
            given.arguments[name] = coerce(wanted, value) if typed else own(value, integer)
        return own(body(*given.args, **given.kwargs))

    return call


def _range(*bounds: Any) -> list[Any]:
    kind = U32 if any(isinstance(bound, U32) for bound in bounds) else I32
    numbers = [int(kind(bound).value) for bound in bounds]
    if len(numbers) == 3 and numbers[2] == 0:
        return []
    return [kind(number) for number in builtins.range(*numbers)]


def _pick(name: str) -> Any:
    """`min` and `max`, of two or more."""

    def pick(a: Any, b: Any, *more: Any) -> Any:
        def two(x: Any, y: Any) -> Any:
            typed = isinstance(x, Scalar) or isinstance(y, Scalar)
            kind = common(x, y) if typed else F32 if float in (type(x), type(y)) else I32
            x, y = kind(x), kind(y)
            return y if (y < x if name == "min" else y > x) else x

        result = each(two, a, b)
        for item in more:
            result = each(two, result, item)
        return result

    return pick


_min, _max = _pick("min"), _pick("max")


def _rounding(numpy: Any) -> Any:
    return lambda a: each(lambda x: F32(numpy(F32(x).value)), a)


def _abs(a: Any) -> Any:
    return each(lambda x: type(x)(builtins.abs(x.value)), own(a))


def _sign(a: Any) -> Any:
    return each(lambda x: type(x)(int(x.value > 0) - int(x.value < 0)), own(a))


def _select(no: Any, yes: Any, test: Any) -> Any:
    return each(lambda n, y, t: y if t else n, own(no), own(yes), test)


def _trunc(pick: Any) -> Any:
    """WGSL's division and remainder of integers, out of Python's on their sizes."""

    def compute(a: Any, b: Any) -> Any:
        kind = common(a, b)
        x, y = kind(a).value, kind(b).value
        if y == 0:
            return kind(pick(x, 0))
        quotient, remainder = divmod(builtins.abs(x), builtins.abs(y))
        quotient = -quotient if (x < 0) != (y < 0) else quotient
        return kind(pick(quotient, -remainder if x < 0 else remainder))

    return lambda a, b: each(compute, a, b)


def _bits(text: Any) -> Any:
    """A function of the 32 bits of an integer, as text from the highest."""
    return lambda a: type(a)(text(f"{a.value % 2**32:032b}"))


def _truth(x: Any) -> bool:
    return x if isinstance(x, builtins.bool) else binary("ne", x, 0)


def _local_array(kind: Any, length: int) -> Fixed:
    return Fixed(kind, [kind(0) for _ in builtins.range(length)])


def _bitcast(kind: Any, value: Any) -> Any:
    dtypes = {I32: np.int32, U32: np.uint32, F32: np.float32}
    raw = np.array(value.value, dtypes[type(value)])
    return kind(raw.view(dtypes[kind])[()])


class _Subscripted:
    """`Array[f32]`, `Const[int]` and the like: only said, and `array[f32, 3](…)`."""

    def __getitem__(self, item: Any) -> Any:
        if not isinstance(item, tuple):
            return None
        return lambda *args: Fixed(item[0], list(args)) if args else _local_array(*item)


# ---------------------------------------------------------------------------------- running


class _Rewrite(ast.NodeTransformer):
    """Makes assignments give types and copy, in functions only."""

    def __init__(self, merged: dict[str, str]) -> None:
        self.merged = merged

    def _typed(self, target: ast.expr, value: ast.expr) -> ast.expr:
        if isinstance(target, ast.Name) and target.id in self.merged:
            return _call("_coerce", ast.Name(self.merged[target.id], ast.Load()), value)
        return _call("_own", value)

    def visit_Module(self, node: ast.Module) -> ast.Module:
        functions = [self.visit(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return ast.fix_missing_locations(ast.Module(functions, []))

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return ast.Assign(node.targets, self._typed(node.targets[0], value))
        shared = ast.Name("_common", ast.Store())
        reads = [self._typed(t, ast.Name("_common", ast.Load())) for t in node.targets]
        each = [ast.Assign([t], v) for t, v in zip(node.targets, reads, strict=True)]
        return [ast.Assign([shared], _call("_own", value)), *each]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        old = ast.Name(node.target.id, ast.Load())
        new = ast.BinOp(old, node.op, node.value)
        return ast.Assign([node.target], self._typed(node.target, new))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        assert node.value is not None
        value = _call("_coerce", node.annotation, self.visit(node.value))
        return ast.Assign([node.target], value)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _language() -> dict[str, Any]:
    names: dict[str, Any] = {"i32": I32, "u32": U32, "f32": F32}
    for (kind, letter), width in itertools.product(VECTORS.items(), (2, 3, 4)):
        names[f"vec{width}{letter}"] = vector_type(width, kind)
    for name in ("floor", "ceil", "trunc", "sqrt"):
        names[name] = _rounding(getattr(np, name))
    names |= {name: _Subscripted() for name in ("Array", "Array2D", "Const", "array")}
    names |= {"function": function, "min": _min, "max": _max, "abs": _abs, "sign": _sign}
    names |= {
        "kernel": lambda body=None, **options: body or (lambda f: f),
        "clamp": lambda x, low, high: _min(_max(x, low), high),
        "select": lambda no, yes, test: each(
            lambda n, y, t: y if t else n, own(no), own(yes), test
        ),
        "all": lambda v: builtins.all(v.items),
        "any": lambda v: builtins.any(v.items),
        "isnan": lambda x: math.isnan(x.value),
        "isinf": lambda x: math.isinf(x.value),
        "round": _rounding(np.rint),
        "fract": lambda a: each(lambda x: x - F32(np.floor(x.value)), a),
        "static_range": _range,
        "local_array": _local_array,
        "bitcast": _bitcast,
        "trunc_div": _trunc(lambda quotient, remainder: quotient),
        "trunc_rem": _trunc(lambda quotient, remainder: remainder),
        "count_one_bits": _bits(lambda text: text.count("1")),
        "count_leading_zeros": _bits(lambda text: len(text) - len(text.lstrip("0"))),
        "count_trailing_zeros": _bits(lambda text: len(text) - len(text.rstrip("0"))),
        "reverse_bits": _bits(lambda text: int(text[::-1], 2)),
    }
    return names


def run(
    text: str,
    name: str,
    arguments: dict[str, Any],
    launch: tuple[int, int],
    *,
    group: tuple[int, int],
    vectors: dict[str, int],
    merged: dict[str, str],
) -> None:
    """Run a kernel's text, writing into its arrays.

    Args:
        text: The source, as `pw.kernel_from_source` takes it.
        name: The kernel in it.
        arguments: Arrays, which are changed, and numbers, by parameter.
        launch: How many invocations there are along x and y.
        group: The workgroup's size along x and y.
        vectors: How many components the elements have, for arrays of vectors.
        merged: Variables whose type the first assignment does not tell, with the name of it.
    """
    language = _language()
    ids = {n: SimpleNamespace(x=I32(0), y=I32(0), z=I32(0)) for n in ("global_id", "local_id")}
    ids["workgroup_id"] = SimpleNamespace(x=I32(0), y=I32(0), z=I32(0))
    pw = SimpleNamespace(**language, **ids, local_index=I32(0))
    names = {**language, "pw": pw, "_own": own, "_coerce": coerce, "range": _range}
    names |= {"float": F32, "int": I32, "bool": _truth}
    names |= {"len": lambda a: I32(a.lengths[0] if isinstance(a, Buffer) else len(a))}
    names["math"] = SimpleNamespace(**language, inf=math.inf, nan=math.nan, pi=math.pi)
    tree = _Rewrite(merged).visit(ast.parse(text))
    exec(compile(tree, f"<{name}>", "exec"), names)
    given = {key: _argument(value, vectors.get(key, 1)) for key, value in arguments.items()}
    with np.errstate(all="ignore"):
        for y, x in itertools.product(*map(builtins.range, reversed(launch))):
            _place(pw, (x, y), group)
            names[name](**given)
    for value in given.values():
        if isinstance(value, Buffer):
            value.store()


def _argument(value: Any, width: int) -> Any:
    if isinstance(value, np.ndarray):
        return Buffer(value, width)
    kinds = {np.int32: I32, np.uint32: U32, np.float32: F32}
    if isinstance(value, tuple):
        kind = kinds[type(value[0])]
        return Vector(kind, [kind(part) for part in value])
    return kinds[type(value)](value) if type(value) in kinds else value


def _place(pw: Any, at: tuple[int, int], group: tuple[int, int]) -> None:
    for axis, (where, size) in enumerate(zip(at, group, strict=True)):
        letter = "xy"[axis]
        setattr(pw.global_id, letter, I32(where))
        setattr(pw.local_id, letter, I32(where % size))
        setattr(pw.workgroup_id, letter, I32(where // size))
    pw.local_index = I32(at[1] % group[1] * group[0] + at[0] % group[0])

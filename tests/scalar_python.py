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

# ----------------------------------------------------------------------------------- scalars


class Scalar:
    """A typed number. Two of one type meet in `_operate`; what else meets is converted first."""

    __slots__ = ("value",)

    def __init__(self, value: Any = 0) -> None:
        self.value = self.converted(value.value if isinstance(value, Scalar) else value)

    def __bool__(self) -> bool:
        raise TypeError("a number is not a condition")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"

    __hash__ = None  # type: ignore[assignment]  # compared by value, and mutable in effect


class I32(Scalar):
    __slots__ = ()

    @staticmethod
    def converted(value: Any) -> int:
        if isinstance(value, float | np.floating):
            value = _truncated(float(value), -2147483648.0, 2147483520.0)
        return (int(value) + 2**31) % 2**32 - 2**31


class U32(Scalar):
    __slots__ = ()

    @staticmethod
    def converted(value: Any) -> int:
        if isinstance(value, float | np.floating):
            value = _truncated(float(value), 0.0, 4294967040.0)
        return int(value) % 2**32


class F32(Scalar):
    __slots__ = ()

    @staticmethod
    def converted(value: Any) -> np.float32:
        return np.float32(value)


def _truncated(value: float, low: float, high: float) -> int:
    return 0 if math.isnan(value) else math.trunc(builtins.min(builtins.max(value, low), high))


def _common(a: Any, b: Any) -> type[Scalar]:
    """The type of `a op b` for operands of which at least one is typed."""
    kinds = {type(a), type(b)}
    if not kinds <= {I32, U32, F32, int, float} or {I32, U32} <= kinds:
        raise TypeError(f"{a!r} does not meet {b!r}")
    if kinds & {F32, float}:
        return F32
    return I32 if I32 in kinds else U32


def coerce(kind: Any, value: Any) -> Any:
    """Return a value as a type that it becomes by itself."""
    if isinstance(value, Vector | Fixed):
        assert value.kind is kind or kind in (VECTORS[value.kind], None)
        return value.copy()
    if type(value) is kind:
        return value
    if kind is builtins.bool or isinstance(value, builtins.bool):
        assert kind is builtins.bool, (kind, value)
        return value
    if _common(kind(0), value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return kind(value)


def _power(kind: type[Scalar], a: Any, b: Any) -> Any:
    if kind is not F32:
        return pow(a, b) if b >= 0 else 1
    square = a * a
    return {2: square, 3: square * a, 4: square * square}[int(b)]


def _floor_div(kind: type[Scalar], a: Any, b: Any) -> Any:
    if kind is F32:
        return np.floor(a / b)
    return a if b == 0 else a // b


def _modulo(kind: type[Scalar], a: Any, b: Any) -> Any:
    if kind is F32:
        return a - b * np.floor(a / b)
    return 0 if b == 0 else a % b


_OPERATORS = {
    "add": lambda kind, a, b: a + b,
    "sub": lambda kind, a, b: a - b,
    "mul": lambda kind, a, b: a * b,
    "floordiv": _floor_div,
    "mod": _modulo,
    "pow": _power,
    "and": lambda kind, a, b: a & b,
    "or": lambda kind, a, b: a | b,
    "xor": lambda kind, a, b: a ^ b,
}
_COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _binary(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, Vector) or isinstance(b, Vector):
        return _spread(lambda x, y: _binary(name, x, y), a, b)
    if name in ("lshift", "rshift"):
        kind = I32 if isinstance(a, int) else type(a)
        value, count = kind(a).value, int(U32(b).value) & 31
        return kind(value << count if name == "lshift" else value >> count)
    if name == "truediv":
        return F32(F32(a).value / F32(b).value)
    kind = _common(a, b)
    x, y = kind(a).value, kind(b).value
    if name in _COMPARISONS:
        return builtins.bool(_COMPARISONS[name](x, y))
    return kind(_OPERATORS[name](kind, x, y))


def _install(kind: type) -> None:
    for name in (*_OPERATORS, "lshift", "rshift", "truediv"):
        setattr(kind, f"__{name}__", lambda a, b, name=name: _binary(name, a, b))
        setattr(kind, f"__r{name}__", lambda a, b, name=name: _binary(name, b, a))
    for name in _COMPARISONS:
        setattr(kind, f"__{name}__", lambda a, b, name=name: _binary(name, a, b))
    kind.__neg__ = lambda a: _each(lambda x: type(x)(-x.value), a)  # type: ignore[attr-defined]
    kind.__invert__ = lambda a: _each(lambda x: type(x)(~x.value), a)  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------- vectors


class Vector:
    """A vector of typed scalars, or of bools."""

    def __init__(self, kind: Any, items: list[Any]) -> None:
        self.__dict__.update(kind=kind, items=[coerce(kind, item) for item in items])

    def copy(self) -> Vector:
        return Vector(self.kind, self.items)

    def __getattr__(self, name: str) -> Any:
        if not name or set(name) - set("xyzw"):
            raise AttributeError(name)
        picked = [self.items["xyzw".index(letter)] for letter in name]
        return picked[0] if len(picked) == 1 else Vector(self.kind, picked)

    def __setattr__(self, name: str, value: Any) -> None:
        new = value.copy().items if len(name) > 1 else [value]
        for letter, item in zip(name, new, strict=True):
            self.items["xyzw".index(letter)] = coerce(self.kind, item)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        position = _position(index, len(self.items))
        return self.kind(0) if position is None else self.items[position]

    def __setitem__(self, index: Any, value: Any) -> None:
        position = _position(index, len(self.items))
        if position is not None:
            self.items[position] = coerce(self.kind, value)

    __hash__ = None  # type: ignore[assignment]


VECTORS: dict[Any, str] = {F32: "f", I32: "i", U32: "u", bool: "b"}

for _kind in (I32, U32, F32, Vector):
    _install(_kind)


def _spread(function: Any, *args: Any) -> Any:
    """Apply a function of scalars component by component; scalars go with every component."""
    width = next(len(arg.items) for arg in args if isinstance(arg, Vector))
    rows = [arg.items if isinstance(arg, Vector) else [arg] * width for arg in args]
    results = [function(*row) for row in zip(*rows, strict=True)]
    return Vector(type(results[0]), results)


def _each(function: Any, *args: Any) -> Any:
    return (
        _spread(function, *args)
        if any(isinstance(arg, Vector) for arg in args)
        else function(*args)
    )


def _vector_type(width: int, kind: Any) -> Any:
    def construct(*args: Any) -> Vector:
        if len(args) == 1 and isinstance(args[0], Vector):
            return Vector(kind, [kind(item) for item in args[0].items])
        items: list[Any] = []
        for arg in args or (0,):
            items += arg.items if isinstance(arg, Vector) else [arg]
        return Vector(kind, items * width if len(items) == 1 else items)

    return construct


# ----------------------------------------------------------------------------------- memory


def _position(index: Any, length: int) -> int | None:
    """An index in range, or None. A constant (a Python number) may count from the end."""
    if isinstance(index, int) and index < 0:
        index += length
    value = index.value if isinstance(index, Scalar) else index
    return value if 0 <= value < length else None


class Fixed:
    """A local array: a value, like a number."""

    def __init__(self, kind: Any, items: list[Any]) -> None:
        self.kind, self.items = kind, [coerce(kind, item) for item in items]

    def copy(self) -> Fixed:
        return Fixed(self.kind, self.items)

    def __len__(self) -> int:
        return len(self.items)

    __getitem__ = Vector.__getitem__
    __setitem__ = Vector.__setitem__


class Buffer:
    """A storage buffer: elements are typed scalars or vectors."""

    def __init__(self, array: np.ndarray[Any, Any], width: int) -> None:
        self.kind = {"i": I32, "u": U32, "f": F32, "b": builtins.bool}[array.dtype.kind]
        self.width, self.array = width, array
        lengths = array.shape if width == 1 else array.shape[:-1]
        self.lengths, self.shape = lengths, tuple(I32(n) for n in lengths)
        self.size = I32(math.prod(lengths))
        self.items: dict[tuple[int, ...], Any] = {
            at: self._element(array[at]) for at in itertools.product(*map(builtins.range, lengths))
        }

    def _element(self, value: Any) -> Any:
        if self.width > 1:
            return Vector(self.kind, [self.kind(part) for part in value])
        return self.kind(value)

    def _at(self, index: Any) -> tuple[int, ...] | None:
        indices = index if isinstance(index, tuple) else (index,)
        found = [_position(i, n) for i, n in zip(indices, self.lengths, strict=True)]
        return None if None in found else tuple(found)  # type: ignore[arg-type]

    def __getitem__(self, index: Any) -> Any:
        at = self._at(index)
        return (
            self._element([0] * self.width if self.width > 1 else 0)
            if at is None
            else (self.items[at])
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        at = self._at(index)
        if at is not None:
            self.items[at] = value.copy() if self.width > 1 else coerce(self.kind, value)

    def store(self) -> None:
        """Write the elements back into the array."""
        for at, item in self.items.items():
            if self.width > 1:
                self.array[at] = [part.value for part in item.items]
            else:
                self.array[at] = item.value if isinstance(item, Scalar) else item


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
            kind = _common(x, y) if typed else F32 if float in (type(x), type(y)) else I32
            x, y = kind(x), kind(y)
            return y if (y < x if name == "min" else y > x) else x

        result = _each(two, a, b)
        for item in more:
            result = _each(two, result, item)
        return result

    return pick


_min, _max = _pick("min"), _pick("max")


def _rounding(numpy: Any) -> Any:
    return lambda a: _each(lambda x: F32(numpy(F32(x).value)), a)


def _abs(a: Any) -> Any:
    return _each(lambda x: type(x)(builtins.abs(x.value)), own(a))


def _sign(a: Any) -> Any:
    return _each(lambda x: type(x)(int(x.value > 0) - int(x.value < 0)), own(a))


def _select(no: Any, yes: Any, test: Any) -> Any:
    return _each(lambda n, y, t: y if t else n, own(no), own(yes), test)


def _trunc(pick: Any) -> Any:
    """WGSL's division and remainder of integers, out of Python's on their sizes."""

    def compute(a: Any, b: Any) -> Any:
        kind = _common(a, b)
        x, y = kind(a).value, kind(b).value
        if y == 0:
            return kind(pick(x, 0))
        quotient, remainder = divmod(builtins.abs(x), builtins.abs(y))
        quotient = -quotient if (x < 0) != (y < 0) else quotient
        return kind(pick(quotient, -remainder if x < 0 else remainder))

    return lambda a, b: _each(compute, a, b)


def _bits(text: Any) -> Any:
    """A function of the 32 bits of an integer, as text from the highest."""
    return lambda a: type(a)(text(f"{a.value % 2**32:032b}"))


def _truth(x: Any) -> bool:
    return x if isinstance(x, builtins.bool) else _binary("ne", x, 0)


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
        common = ast.Name("_common", ast.Store())
        reads = [self._typed(t, ast.Name("_common", ast.Load())) for t in node.targets]
        each = [ast.Assign([t], v) for t, v in zip(node.targets, reads, strict=True)]
        return [ast.Assign([common], _call("_own", value)), *each]

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
        names[f"vec{width}{letter}"] = _vector_type(width, kind)
    for name in ("floor", "ceil", "trunc", "sqrt"):
        names[name] = _rounding(getattr(np, name))
    names |= {name: _Subscripted() for name in ("Array", "Array2D", "Const", "array")}
    names |= {"function": function, "min": _min, "max": _max, "abs": _abs, "sign": _sign}
    names |= {
        "kernel": lambda body=None, **options: body or (lambda f: f),
        "clamp": lambda x, low, high: _min(_max(x, low), high),
        "select": lambda no, yes, test: _each(
            lambda n, y, t: y if t else n, own(no), own(yes), test
        ),
        "all": lambda v: builtins.all(v.items),
        "any": lambda v: builtins.any(v.items),
        "isnan": lambda x: math.isnan(x.value),
        "isinf": lambda x: math.isinf(x.value),
        "round": _rounding(np.rint),
        "fract": lambda a: _each(lambda x: x - F32(np.floor(x.value)), a),
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
    return kinds[type(value)](value) if type(value) in kinds else value


def _place(pw: Any, at: tuple[int, int], group: tuple[int, int]) -> None:
    for axis, (where, size) in enumerate(zip(at, group, strict=True)):
        letter = "xy"[axis]
        setattr(pw.global_id, letter, I32(where))
        setattr(pw.local_id, letter, I32(where % size))
        setattr(pw.workgroup_id, letter, I32(where // size))
    pw.local_index = I32(at[1] % group[1] * group[0] + at[0] % group[0])

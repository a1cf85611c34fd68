"""Typed numbers, vectors and arrays with Python's operators, for `scalar_python`.

Integers are Python's, wrapped; floats are NumPy's float32 scalars. A literal is a Python number
until it meets a typed one.
"""

from __future__ import annotations

import builtins
import itertools
import math
from typing import Any

import numpy as np

# ----------------------------------------------------------------------------------- scalars


class Scalar:
    """A typed number. Two of one type meet in `binary`; what else meets is converted first."""

    __slots__ = ("value",)
    value: Any

    @staticmethod
    def converted(value: Any) -> Any:
        """The value of a number of this type that is made of another number."""
        raise NotImplementedError

    def __init__(self, value: Any = 0) -> None:
        self.value = self.converted(value.value if isinstance(value, Scalar) else value)

    def __bool__(self) -> bool:
        raise TypeError("a number is not a condition")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"

    __hash__ = None  # type: ignore[assignment]  # compared by value


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


def common(a: Any, b: Any) -> type[Scalar]:
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
    if common(kind(0), value) is not kind:
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


_OPERATORS: dict[str, Any] = {
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
_COMPARISONS: dict[str, Any] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def binary(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, Vector) or isinstance(b, Vector):
        return _spread(lambda x, y: binary(name, x, y), a, b)
    if name in ("lshift", "rshift"):
        kind = I32 if isinstance(a, int) else type(a)
        value, count = kind(a).value, int(U32(b).value) & 31
        return kind(value << count if name == "lshift" else value >> count)
    if name == "truediv":
        return F32(F32(a).value / F32(b).value)
    kind = common(a, b)
    x, y = kind(a).value, kind(b).value
    if name in _COMPARISONS:
        return builtins.bool(_COMPARISONS[name](x, y))
    return kind(_OPERATORS[name](kind, x, y))


def _install(kind: Any) -> None:
    for name in (*_OPERATORS, "lshift", "rshift", "truediv"):
        setattr(kind, f"__{name}__", lambda a, b, name=name: binary(name, a, b))
        setattr(kind, f"__r{name}__", lambda a, b, name=name: binary(name, b, a))
    for name in _COMPARISONS:
        setattr(kind, f"__{name}__", lambda a, b, name=name: binary(name, a, b))
    kind.__neg__ = lambda a: each(lambda x: type(x)(-x.value), a)
    kind.__invert__ = lambda a: each(lambda x: type(x)(~x.value), a)


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


def each(function: Any, *args: Any) -> Any:
    return (
        _spread(function, *args)
        if any(isinstance(arg, Vector) for arg in args)
        else function(*args)
    )


def vector_type(width: int, kind: Any) -> Any:
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

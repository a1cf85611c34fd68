"""Random well-typed expressions, as text.

In an *exact* program every float is a multiple of a power of two and small enough that no
operation rounds, so that a device which reorders or cancels still has one right answer: a
`Piece` carries how many bits its value can have before and after the point. Other programs have
any floats, nan and infinities too.
"""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

SCALARS = ("i32", "u32", "f32")
LETTERS = {"f": "f32", "i": "i32", "u": "u32"}
VECTORS = tuple(f"vec{width}{letter}" for width in (2, 3, 4) for letter in LETTERS)

#: Exact floats in variables and buffers are below 2**WHOLE and multiples of 2**-PART.
WHOLE, PART, MANTISSA = 5, 2, 24

_INTEGERS = (0, 1, 2, 3, 5, 7, 31, 100, 65535, 2147483647)
_FLOATS = ("0.1", "0.5", "3.0", "-1.25", "1e10", "1e-10", "16777217.0", "3e38", "-0.0", "1e-40")
_SPECIAL = ("math.inf", "-math.inf", "math.nan")


@dataclass(frozen=True)
class Piece:
    """An expression's text. A constant one has no type yet, as a literal."""

    text: str
    constant: bool = False
    whole: int = WHOLE
    part: int = PART


@dataclass(frozen=True)
class Buffer:
    """A buffer that may be read: how it may be indexed follows from its lengths."""

    name: str
    element: str
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class Helper:
    """A function that may be called. A generic one takes and gives any one type."""

    name: str
    params: tuple[str, ...]
    results: tuple[str, ...]
    names: tuple[str, ...] = ()
    generic: bool = False


@dataclass
class Scope:
    """What an expression may use, by name."""

    variables: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    helpers: list[Helper] = field(default_factory=list)
    lanes: tuple[str, ...] = ()  # text of ids; the first is in range of every buffer
    effect: str = ""  # a call that stores and gives an i32, with {} for a number


def width_of(type_: str) -> int:
    return int(type_[3]) if type_.startswith("vec") else 1


def scalar_of(type_: str) -> str:
    return LETTERS[type_[4]] if type_.startswith("vec") else type_


def array_of(type_: str) -> tuple[str, int] | None:
    """The element and length of a local array's type."""
    found = re.fullmatch(r"array\[(\w+), (\d+)\]", type_)
    return (found[1], int(found[2])) if found else None


class Numbers(ABC):
    """Writes scalar numbers of a wanted type over a scope; `Expressions` adds bools and vectors."""

    def __init__(self, rng: random.Random, exact: bool, bounded: bool) -> None:
        self.rng, self.exact, self.bounded = rng, exact, bounded
        self.scope = Scope()

    @abstractmethod
    def truth(self, depth: int) -> Piece:
        """A bool."""

    @abstractmethod
    def vector(self, type_: str, depth: int) -> Piece:
        """A vector."""

    def pick(self, options: Sequence[T]) -> T:
        return options[self.rng.randint(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.rng.randint(1, 100) > 100 - percent

    def expression(self, type_: str, depth: int = 3) -> Piece:
        """An expression; one of a type that is not i32 or f32 never is a bare literal."""
        if type_ == "bool":
            return self.truth(depth)
        if type_.startswith("vec"):
            return self.vector(type_, depth)
        if type_ == "f32":
            return self.real(depth)
        found = self.integer(type_, depth)
        return found if type_ == "i32" else self.typed(type_, found)

    def value(self, type_: str, depth: int = 3) -> str:
        """The text of what a variable or element of a type is assigned."""
        return self.fit(type_, self.expression(type_, depth)).text

    def typed(self, type_: str, piece: Piece) -> Piece:
        if not piece.constant:
            return piece
        return Piece(f"{type_}({piece.text})", False, piece.whole, piece.part)

    def fit(self, type_: str, piece: Piece) -> Piece:
        """An expression whose floats may be stored in an exact program."""
        if not self.exact or scalar_of(type_) != "f32":
            return piece
        if piece.whole <= WHOLE and piece.part <= PART:
            return piece
        low, high = ("-16.0", "16.0")
        if type_ != "f32":
            low, high = f"{type_}({low})", f"{type_}({high})"
        return Piece(f"pw.clamp(pw.floor({piece.text}), {low}, {high})", False, 5, 0)

    def try_all(self, options: list[Callable[[], Piece | None]]) -> Piece:
        """What the first of the options, tried from a random one on, gives."""
        start = self.rng.randint(0, len(options) - 1)
        for option in (*options[start:], *options[:start]):
            found = option()
            if found is not None:
                return found
        raise AssertionError("the last option must always work")

    # ------------------------------------------------------------------------------- leaves

    def variable(self, type_: str) -> Piece | None:
        names = [n for n, t in self.scope.variables.items() if t == type_]
        return Piece(self.pick(names)) if names else None

    def component(self, type_: str) -> Piece | None:
        vectors = [(n, t) for n, t in self.scope.variables.items() if t.startswith("vec")]
        vectors = [(n, t) for n, t in vectors if scalar_of(t) == type_]
        if not vectors:
            return None
        name, vector = self.pick(vectors)
        width = width_of(vector)
        if self.chance(30):
            at = self.pick((str(self.rng.randint(-width, width - 1)), self.index(width)))
            return Piece(f"{name}[{at}]")
        return Piece(f"{name}.{'xyzw'[self.rng.randint(0, width - 1)]}")

    def element(self, type_: str) -> Piece | None:
        """A load from a local array."""
        found = [(n, array_of(t)) for n, t in self.scope.variables.items()]
        arrays = [(n, a[1]) for n, a in found if a and a[0] == type_]
        if not arrays:
            return None
        name, length = self.pick(arrays)
        return Piece(f"{name}[{self.index(length)}]")

    def load(self, type_: str) -> Piece | None:
        buffers = [b for b in self.scope.buffers if b.element == type_]
        if not buffers:
            return None
        buffer = self.pick(buffers)
        indices = [
            self.buffer_index(buffer, axis, length) for axis, length in enumerate(buffer.lengths)
        ]
        return Piece(f"{buffer.name}[{', '.join(indices)}]")

    def index(self, length: int) -> str:
        """An index of a local array or vector."""
        kind = self.rng.randint(0, 3 if self.bounded else 4)
        if kind <= 1:
            return str(self.rng.randint(-length, length - 1))
        if kind == 2:
            return f"{self.nonconstant('i32', 1).text} % {length}"
        if kind == 3:
            return f"pw.clamp({self.nonconstant('i32', 1).text}, 0, {length - 1})"
        return self.run_time()

    def buffer_index(self, buffer: Buffer, axis: int, length: int) -> str:
        size = f"{buffer.name}.shape[{axis}]" if len(buffer.lengths) > 1 else f"len({buffer.name})"
        kind = self.rng.randint(0, 6 if self.bounded else 9)
        if kind <= 2 and self.scope.lanes:
            step = self.rng.randint(0, 3)
            return f"{self.scope.lanes[0]} + {step}" if step else self.scope.lanes[0]
        if kind <= 4:
            return str(self.rng.randint(-length, length - 1))
        if kind == 5:
            return f"{self.nonconstant('i32', 1).text} % {size}"
        if kind <= 7 and (kind == 6 or not self.scope.lanes):
            return f"min(max({self.nonconstant('i32', 1).text}, 0), {size} - 1)"
        if kind == 7:
            return f"{self.scope.lanes[0]} - {self.rng.randint(0, 12)}"
        return self.run_time() if kind == 8 else self.nonconstant("u32", 1).text

    def run_time(self) -> str:
        """An i32 that is surely not known when the kernel is compiled."""
        known = [b for b in self.scope.buffers if b.element == "i32" and len(b.lengths) == 1]
        if known and self.chance(50):
            return f"{self.pick(known).name}[{self.rng.randint(0, 5)}]"
        lane = self.pick(self.scope.lanes) if self.scope.lanes else "pw.global_id.x"
        return f"({lane} - {self.rng.randint(0, 9)})"

    def nonconstant(self, type_: str, depth: int) -> Piece:
        return self.typed(type_, self.expression(type_, depth))

    def call(self, type_: str, depth: int) -> Piece | None:
        helpers = [
            h
            for h in self.scope.helpers
            if len(h.results) == 1 and (h.generic or h.results[0] == type_)
        ]
        if not helpers or (type_ == "bool" and not any(not h.generic for h in helpers)):
            return None
        helper = self.pick([h for h in helpers if not (h.generic and type_ == "bool")])
        wanted = [type_ if helper.generic else p for p in helper.params]
        args = [self.argument(p, depth - 1) for p in wanted]
        if not helper.generic and self.chance(25):
            args = [f"{name}={arg}" for name, arg in zip(helper.names, args, strict=True)]
        if helper.generic:
            args[0] = self.fit(type_, self.nonconstant(type_, depth - 1)).text
        piece = Piece(f"{helper.name}({', '.join(args)})")
        return Piece(piece.text, False, 11, 5) if helper.generic else piece

    def argument(self, type_: str, depth: int) -> str:
        """An argument; beside a u32, an untyped parameter would make a literal u32 too."""
        found = self.expression(type_, depth)
        return self.fit(type_, self.typed(type_, found) if type_ == "i32" else found).text

    def conditional(self, type_: str, depth: int) -> Piece:
        test = self.truth(depth - 1)
        yes = self.typed(type_, self.expression(type_, depth - 1))
        no = self.typed(type_, self.expression(type_, depth - 1))
        whole, part = max(yes.whole, no.whole), max(yes.part, no.part)
        if self.chance(20) and not test.constant:
            return Piece(f"pw.select({no.text}, {yes.text}, {test.text})", False, whole, part)
        return Piece(f"({yes.text} if {test.text} else {no.text})", False, whole, part)

    # ----------------------------------------------------------------------------- integers

    def integer(self, type_: str, depth: int) -> Piece:
        """An i32 or u32, which may be a bare literal."""
        if depth <= 0:
            return self.try_all(
                [
                    lambda: self.variable(type_),
                    lambda: self.variable(type_),
                    lambda: self.number(type_),
                    lambda: self.load(type_),
                    lambda: self.load(type_),
                    lambda: self.component(type_),
                    lambda: self.element(type_),
                    lambda: Piece(self.run_time()) if type_ == "i32" else None,
                    lambda: self.number(type_),
                ]
            )
        return self.try_all(
            [
                lambda: self.integer(type_, 0),
                lambda: self.arithmetic(type_, depth),
                lambda: self.division(type_, depth),
                lambda: self.shift(type_, depth),
                lambda: self.integer_call(type_, depth),
                lambda: self.to_integer(type_, depth),
                lambda: self.conditional(type_, depth),
                lambda: self.call(type_, depth),
                lambda: self.effect(type_),
                lambda: self.arithmetic(type_, depth),
            ]
        )

    def number(self, type_: str) -> Piece:
        constants = [n for n, t in self.scope.constants.items() if t == "int"]
        if constants and self.chance(25):
            return Piece(self.pick(constants), constant=True)
        number = self.pick(_INTEGERS)
        if type_ == "i32" and self.chance(30):
            return Piece(f"(-{number})", constant=True)
        return Piece(str(number), constant=True)

    def pair(self, type_: str, depth: int) -> tuple[Piece, Piece]:
        """Two operands, of which at most one is a literal."""
        left, right = self.integer(type_, depth - 1), self.integer(type_, depth - 1)
        if left.constant and right.constant:
            left = self.typed(type_, left)
        return left, right

    def arithmetic(self, type_: str, depth: int) -> Piece:
        if self.chance(15):
            operand = self.typed(type_, self.integer(type_, depth - 1))
            return Piece(f"({self.pick(('-', '~'))}{operand.text})")
        left, right = self.pair(type_, depth)
        op = self.pick(("+", "-", "*", "&", "|", "^"))
        return Piece(f"({left.text} {op} {right.text})")

    def division(self, type_: str, depth: int) -> Piece:
        left, right = self.pair(type_, depth)
        if self.chance(15):
            return Piece(f"pw.trunc_{self.pick(('div', 'rem'))}({left.text}, {right.text})")
        return Piece(f"({left.text} {self.pick(('//', '%'))} {right.text})")

    def shift(self, type_: str, depth: int) -> Piece:
        left = self.typed(type_, self.integer(type_, depth - 1))
        count = self.pick((str(self.rng.randint(0, 31)), self.run_time()))
        if self.chance(20):
            power = self.pick((str(self.rng.randint(0, 5)), f"({self.run_time()} & 7)"))
            power = f"u32({power})" if type_ == "u32" and not power.isdigit() else power
            return Piece(f"({left.text} ** {power})")
        return Piece(f"({left.text} {self.pick(('<<', '>>'))} {count})")

    def integer_call(self, type_: str, depth: int) -> Piece:
        operand = self.typed(type_, self.integer(type_, depth - 1))
        name = self.pick(("min", "max", "abs", "clamp", "bits", "sign"))
        if name in ("min", "max"):
            others = [self.integer(type_, depth - 1).text for _ in range(self.rng.randint(1, 2))]
            return Piece(f"{name}({', '.join((operand.text, *others))})")
        if name == "abs":
            return Piece(f"abs({operand.text})")
        if name == "sign" and type_ == "i32":
            return Piece(f"pw.sign({operand.text})")
        if name == "clamp":
            return Piece(f"pw.clamp({operand.text}, {self.rng.randint(0, 3)}, 9)")
        kinds = ("count_one_bits", "count_leading_zeros", "count_trailing_zeros", "reverse_bits")
        return Piece(f"pw.{self.pick(kinds)}({operand.text})")

    def to_integer(self, type_: str, depth: int) -> Piece:
        source = self.pick(("i32", "u32", "f32", "bool"))
        operand = self.expression(source, depth - 1)
        if source in ("i32", "u32") and self.chance(30):
            return Piece(f"pw.bitcast({type_}, {self.typed(source, operand).text})")
        name = self.pick(("int", "i32")) if type_ == "i32" else "u32"
        if operand.constant:
            operand = Piece(f"{source}({operand.text})" if source != "bool" else operand.text)
        return Piece(f"{name}({operand.text})")

    def effect(self, type_: str) -> Piece | None:
        if type_ != "i32" or not self.scope.effect or not self.chance(50):
            return None
        return Piece(self.scope.effect.format(self.rng.randint(1, 9)))

    # ------------------------------------------------------------------------------- floats

    def real(self, depth: int) -> Piece:
        """An f32, which may be a bare literal."""
        if depth <= 0:
            return self.try_all(
                [
                    lambda: self.variable("f32"),
                    lambda: self.variable("f32"),
                    self.real_number,
                    lambda: self.load("f32"),
                    lambda: self.load("f32"),
                    lambda: self.component("f32"),
                    lambda: self.element("f32"),
                    self.real_number,
                ]
            )
        return self.try_all(
            [
                lambda: self.real(0),
                lambda: self.real_arithmetic(depth),
                lambda: self.quotient(depth),
                lambda: self.real_call(depth),
                lambda: self.to_real(depth),
                lambda: self.conditional("f32", depth),
                lambda: self.call("f32", depth),
                lambda: self.real_arithmetic(depth),
            ]
        )

    def real_number(self) -> Piece:
        constants = [n for n, t in self.scope.constants.items() if t == "float"]
        if constants and self.chance(25):
            return Piece(self.pick(constants), constant=True)
        if self.exact:
            return Piece(f"({self.rng.randint(-12, 12) / 4})", constant=True)
        number = self.pick(_FLOATS) if self.chance(90) else self.pick(_SPECIAL)
        return Piece(f"({number})", constant=True)

    def operand(self, depth: int) -> Piece:
        """An operand of float arithmetic: at times an integer."""
        if self.chance(15):
            return self.small(self.pick(("i32", "u32")), depth)
        return self.real(depth)

    def small(self, type_: str, depth: int) -> Piece:
        """An integer that an exact program may make a float."""
        operand = self.typed(type_, self.integer(type_, depth))
        return Piece(f"({operand.text} & 15)" if self.exact else operand.text, False, 4, 0)

    def real_arithmetic(self, depth: int) -> Piece:
        left = self.typed("f32", self.real(depth - 1))
        right = self.operand(depth - 1)
        if self.chance(10):
            return Piece(f"(-{left.text})", False, left.whole, left.part)
        if self.chance(15):
            power = self.rng.randint(2, 4)
            left = self.within(left, MANTISSA // power)
            text = f"({left.text} ** {self.pick((str(power), f'{power}.0'))})"
            return Piece(text, False, left.whole * power, left.part * power)
        op = self.pick(("+", "-", "*"))
        if op == "*":
            left, right = self.within(left, MANTISSA // 2), self.within(right, MANTISSA // 2)
            whole, part = left.whole + right.whole, left.part + right.part
        else:
            left, right = self.within(left, MANTISSA // 2), self.within(right, MANTISSA // 2)
            whole, part = max(left.whole, right.whole) + 1, max(left.part, right.part)
        left, right = self.pick(((left, right), (right, left)))
        return Piece(f"({left.text} {op} {right.text})", False, whole, part)

    def within(self, piece: Piece, bits: int) -> Piece:
        if not self.exact or piece.whole + piece.part <= bits:
            return piece
        found = self.fit("f32", Piece(piece.text, False, 99, 99))
        if found.whole + found.part <= bits:
            return found
        return self.fit("f32", Piece(f"({piece.text} / 4.0)", False, 99, 99))

    def quotient(self, depth: int) -> Piece:
        left, op = self.within(self.real(depth - 1), 14), self.pick(("/", "//", "%"))
        if not self.exact:
            right = self.typed("f32", self.real(depth - 1))
            if op == "/" and self.chance(30):
                kind = self.pick(("i32", "u32"))
                left, right = self.nonconstant(kind, depth - 1), self.expression(kind, depth - 1)
            return Piece(f"({left.text} {op} {right.text})")
        left = self.typed("f32", left)
        if op == "/":
            by = self.pick(("2.0", "4", "0.5", "-2"))
            return Piece(f"({left.text} / {by})", False, left.whole + 1, left.part + 2)
        by = self.pick(("2.0", "4", "1.5", "-3.0", "-0.5"))
        if op == "//":
            return Piece(f"({left.text} // {by})", False, left.whole + 2, 0)
        return Piece(f"({left.text} % {by})", False, 3, max(left.part, 1))

    def real_call(self, depth: int) -> Piece:
        operand = self.typed("f32", self.real(depth - 1))
        name = self.pick(("floor", "min", "max", "abs", "clamp", "sign", "fract", "sqrt"))
        if name in ("min", "max"):
            other = self.operand(depth - 1)
            whole, part = max(operand.whole, other.whole), max(operand.part, other.part)
            return Piece(f"{name}({operand.text}, {other.text})", False, whole, part)
        if name == "abs":
            return Piece(f"abs({operand.text})", False, operand.whole, operand.part)
        if name == "sign":
            return Piece(f"pw.sign({operand.text})", False, 1, 0)
        if name == "clamp":
            return Piece(f"pw.clamp({operand.text}, -2.5, 6)", False, 3, max(operand.part, 1))
        if name == "fract":
            return Piece(f"pw.fract({operand.text})", False, 1, operand.part)
        if name == "sqrt" and not self.exact:
            return Piece(f"math.sqrt({operand.text})")
        rounding = self.pick(("math.floor", "pw.ceil", "math.trunc", "round", "math.ceil"))
        return Piece(f"{rounding}({operand.text})", False, operand.whole + 1, 0)

    def to_real(self, depth: int) -> Piece:
        name = self.pick(("f32", "float"))
        if self.chance(20):
            return Piece(f"{name}({self.truth(depth - 1).text})", False, 1, 0)
        return Piece(
            f"{name}({self.small(self.pick(('i32', 'u32')), depth - 1).text})", False, 4, 0
        )

"""Random statements over a scope: every form that the language has, ending and free of races."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from strategies_expressions import (
    SCALARS,
    VECTORS,
    Helper,
    Piece,
    array_of,
    scalar_of,
    width_of,
)
from strategies_vectors import Expressions

#: Names that WGSL, HLSL or the generated text itself might want, beside ordinary ones.
NAMES = (
    *("a", "b", "total", "x", "target", "ref", "type", "filter", "_x", "__y", "array", "loop"),
    *("fn", "let", "var", "half", "float4", "this", "main", "mod", "π", "uniforms", "texture"),
    *("f16", "vec3", "atomic", "launch_x", "global_id", "x_1", "self", "virtual", "index", "_"),
    *("left", "kernel", "result", "trips", "chosen", "live", "np", "ids", "load", "lanes"),
)
_SIMPLE = ("i32", "i32", "i32", "f32", "f32", "u32", "bool")


class Statements(Expressions):
    """Writes the body of a function, line by line."""

    lines: list[str]
    fuel: int
    #: Variables that what is being written must not assign.
    locked: set[str]
    #: Variables declared in the innermost block, which alone may change their type there.
    fresh: set[str]
    #: Variables whose type is not that of their first value.
    merged: dict[str, str]
    #: What the function gives back: None in a kernel.
    results: tuple[str, ...] | None
    #: What is written to: text of a place, and its type.
    places: list[tuple[str, str]]
    #: How deep the line being written is, and how many loops are around it.
    level: int
    loops: int
    #: Whether `break` and `continue` may stand here.
    in_loop: bool
    #: Whether the last statement always leaves its block.
    left: bool

    def start(self, results: tuple[str, ...] | None, fuel: int) -> None:
        """Begin a function's body."""
        self.lines, self.fuel, self.results = [], fuel, results
        self.locked, self.fresh, self.places = set(), set(), []
        self.level, self.loops, self.in_loop, self.left = 1, 0, False, False

    def line(self, text: str) -> None:
        self.lines.append("    " * self.level + text)

    def new_name(self) -> str:
        taken = {*self.scope.variables, *self.scope.constants, *self.reserved()}
        free = [name for name in NAMES if name not in taken]
        return self.pick(free) if free else f"v{len(self.lines)}"

    def reserved(self) -> set[str]:
        """Names that stand for something else in the function."""
        named = {b.name for b in self.scope.buffers} | {h.name for h in self.scope.helpers}
        return named | self.locked | self.merged.keys() | {p.split("[")[0] for p, _ in self.places}

    @contextmanager
    def block(self) -> Iterator[None]:
        """An indented block; what it declares is gone after it."""
        before, fresh = dict(self.scope.variables), self.fresh
        self.fresh, self.level, count = set(), self.level + 1, len(self.lines)
        yield
        if len(self.lines) == count:
            self.line("pass")
        changed = {n for n, t in before.items() if self.scope.variables.get(n) != t}
        self.scope.variables = {n: t for n, t in before.items() if n not in changed}
        self.fresh, self.level = fresh, self.level - 1

    def body(self, most: int) -> None:
        for _ in range(self.rng.randint(1, most)):
            if self.fuel <= 0:
                return
            self.fuel -= 1
            self.statement()
            if self.left:
                # Nothing after it would run.
                self.left = False
                return

    def statement(self) -> None:
        """Write one statement."""
        deep = self.level >= 4
        options: list[Callable[[], None]] = [
            self.assign,
            self.assign,
            self.augment,
            self.store,
            self.store,
            self.tuple_assign,
            self.chained,
            self.component_store,
            self.array_declare,
            self.array_store,
            self.unpack_call,
            self.leave,
            self.effect_statement,
        ]
        if not deep:
            options += [self.branch, self.branch, self.for_loop, self.while_loop, self.match]
            options += [self.static_loop, self.merge]
        return self.pick(options)()

    # -------------------------------------------------------------------------- assignments

    def load(self, type_: str) -> Piece | None:
        """A load: at times of what the invocation may have stored before."""
        places = [place for place, t in self.places if t == type_]
        if places and self.chance(30):
            return Piece(self.pick(places))
        return super().load(type_)

    def assignable(self, *types: str) -> list[str]:
        """Variables of one of some types (any without) that may be assigned here."""
        found = self.scope.variables.items()
        return [n for n, t in found if n not in self.locked and (t in types or not types)]

    def bind(self, name: str, type_: str) -> None:
        if name not in self.scope.variables or self.scope.variables[name] != type_:
            self.fresh.add(name)
        self.scope.variables[name] = type_

    def target(self, type_: str) -> str:
        """A variable that may take a value of a type here: one there is, or a new one."""
        own = [n for n in self.assignable() if n in self.fresh and n not in self.merged]
        known = [*self.assignable(type_), *own]
        if known and self.chance(50):
            return self.pick(known)
        return self.new_name()

    def assign(self) -> None:
        type_ = self.pick((*_SIMPLE, *VECTORS)) if self.chance(30) else self.pick(_SIMPLE)
        value = self.value(type_)
        if type_ in SCALARS and self.chance(10):
            name = f"fixed{len(self.merged)}"
            self.merged[name] = type_
            self.line(f"{name}: {type_} = {self.pick((value, '1'))}")
            self.scope.variables[name] = type_
            return
        name = self.target(type_)
        if type_ in ("i32", "f32") and self.chance(15):
            literal = self.rng.randint(0, 9) if type_ == "i32" else self.rng.randint(0, 9) / 4
            value = f"{literal} if {self.truth(2).text} else {value}"
        self.line(f"{name} = {value}")
        self.bind(name, type_)

    def augment(self) -> None:
        names = self.assignable(*SCALARS, *VECTORS)
        if not names:
            self.assign()
            return
        name = self.pick(names)
        self.augment_place(name, self.scope.variables[name])

    def augment_place(self, place: str, type_: str) -> None:
        value = self.value(type_ if self.chance(60) else scalar_of(type_), 2)
        if scalar_of(type_) != "f32":
            ops = ["+", "-", "*", "//", "%", "&", "|", "^"]
            if type_ in SCALARS and self.chance(20):
                ops, value = ["<<", ">>"], str(self.rng.randint(0, 31))
            self.line(f"{place} {self.pick(ops)}= {value}")
        elif not self.exact:
            self.line(f"{place} {self.pick(('+', '-', '*', '/', '//', '%'))}= {value}")
        elif type_ == "f32":
            # Kept small right away: in a loop it would grow.
            op, value = self.pick(
                (("+", value), ("-", value), ("*", "-1"), ("//", "2"), ("%", "3"))
            )
            self.line(f"{place} {op}= {value}")
            self.line(f"{place} = pw.clamp({place}, -16, 16)")

    def tuple_assign(self) -> None:
        pairs = [(a, b) for a in self.assignable() for b in self.assignable() if a < b]
        same = [(a, b) for a, b in pairs if self.scope.variables[a] == self.scope.variables[b]]
        same = [pair for pair in same if not array_of(self.scope.variables[pair[0]])]
        if same and self.chance(60):
            a, b = self.pick(same)
            self.line(f"{a}, {b} = {b}, {a}")
            return
        types = [self.pick(_SIMPLE) for _ in range(self.rng.randint(2, 3))]
        values = [self.value(t, 2) for t in types]
        self.unpack(types, ", ".join(values))

    def unpack(self, types: Sequence[str], values: str) -> None:
        """Assign several values to as many variables."""
        names: list[str] = []
        for type_ in types:
            name = self.target(type_)
            names.append(name if name not in names else f"v{len(self.lines)}_{len(names)}")
        self.line(f"{', '.join(names)} = {values}")
        for name, type_ in zip(names, types, strict=True):
            self.bind(name, type_)

    def chained(self) -> None:
        type_ = self.pick((*_SIMPLE, "vec3f", "vec2i"))
        value = self.value(type_, 2)
        first, second = self.target(type_), self.target(type_)
        places = [place for place, t in self.places if t == type_]
        last = self.pick(places) if places and self.chance(40) else second
        self.line(f"{first} = {last} = {value}")
        self.bind(first, type_)
        if last == second:
            self.bind(second, type_)

    def component_store(self) -> None:
        vectors = [*((n, self.scope.variables[n]) for n in self.assignable(*VECTORS))]
        vectors += [(p, t) for p, t in self.places if t in VECTORS]
        if not vectors:
            self.assign()
            return
        name, type_ = self.pick(vectors)
        width, scalar = width_of(type_), scalar_of(type_)
        if width > 2 and self.chance(30):
            letters = self.pick(("xy", "zx", "yz"))
            self.line(f"{name}.{letters} = {self.value(f'vec2{type_[4]}', 2)}")
            return
        place = f"{name}.{'xyzw'[self.rng.randint(0, width - 1)]}"
        if self.chance(30):
            place = f"{name}[{self.index(width)}]"
        if self.chance(40):
            self.augment_place(place, scalar)
        else:
            self.line(f"{place} = {self.value(scalar, 2)}")

    def store(self) -> None:
        if not self.places:
            self.assign()
            return
        place, type_ = self.pick(self.places)
        if type_ != "bool" and self.chance(35):
            self.augment_place(place, type_)
        else:
            self.line(f"{place} = {self.value(type_)}")

    def array_declare(self) -> None:
        element, length = self.pick(SCALARS), self.rng.randint(1, 4)
        type_ = f"array[{element}, {length}]"
        known = [n for n in self.scope.variables if self.scope.variables[n] == type_]
        name = self.pick(self.assignable(type_) or [self.new_name()])
        if name in known and self.level > 1 and self.chance(50):
            return
        if known and self.chance(30):
            name = self.new_name()
            self.line(f"{name} = {self.pick(known)}")
        elif self.chance(50):
            self.line(f"{name} = pw.local_array({element}, {length})")
        else:
            values = ", ".join(self.value(element, 1) for _ in range(length))
            self.line(f"{name} = pw.array[{element}, {length}]({values})")
        self.bind(name, type_)

    def array_store(self) -> None:
        arrays = [n for n in self.assignable() if array_of(self.scope.variables[n])]
        if not arrays:
            self.array_declare()
            return
        name = self.pick(arrays)
        found = array_of(self.scope.variables[name])
        assert found is not None
        place = f"{name}[{self.index(found[1])}]"
        if self.chance(40):
            self.augment_place(place, found[0])
        else:
            self.line(f"{place} = {self.value(found[0], 2)}")

    def unpack_call(self) -> None:
        helpers = [h for h in self.scope.helpers if len(h.results) > 1]
        if not helpers:
            self.assign()
            return
        helper: Helper = self.pick(helpers)
        args = ", ".join(self.argument(p, 2) for p in helper.params)
        self.unpack(helper.results, f"{helper.name}({args})")

    def effect_statement(self) -> None:
        if not self.scope.effect:
            self.assign()
            return
        self.line(self.scope.effect.format(self.rng.randint(1, 9)))

    def merge(self) -> None:
        """A variable that becomes a float because a later assignment gives one."""
        name = f"merged{len(self.merged)}"
        self.merged[name] = "f32"
        self.line(f"{name} = {self.pick(('0', '1', '-3'))}")
        test = self.truth(2).text
        self.line(f"if {test}:")
        self.line(f"    {name} = {self.value('f32', 1)}")
        self.line("else:")
        self.line(f"    {name} += {self.pick(('0.5', '1', '-0.25'))}")
        # A read of both assignments is what makes them one variable.
        self.line(f"{name} = pw.clamp({name}, -16.0, 16.0)" if self.exact else f"{name} = -{name}")
        self.scope.variables[name] = "f32"

    # --------------------------------------------------------------------------------- flow

    def leave(self) -> None:
        """`break`, `continue` or `return`: at times without a condition."""
        kinds = [*(("break", "continue") if self.in_loop else ()), "return"]
        kind = self.pick(kinds)
        bare = self.level > 1 and self.chance(20)
        if not bare:
            self.line(f"if {self.truth(2).text}:")
            self.level += 1
        self.give() if kind == "return" else self.line(kind)
        if not bare:
            self.level -= 1
        self.left = bare

    def give(self) -> None:
        """Write the `return` of this function."""
        if self.results is None:
            self.line("return")
            return
        values = [self.typed(t, self.fit(t, self.expression(t, 2))).text for t in self.results]
        self.line(f"return {', '.join(values)}")

    def branch(self) -> None:
        self.line(f"if {self.truth(2).text}:")
        with self.block():
            self.body(3)
        for _ in range(self.rng.randint(0, 2)):
            self.line(f"elif {self.truth(2).text}:")
            with self.block():
                self.body(2)
        if self.chance(50):
            self.line("else:")
            with self.block():
                self.body(3)

    def match(self) -> None:
        subject, unsigned = self.nonconstant("i32", 2).text, self.chance(20)
        if unsigned:
            subject = self.nonconstant("u32", 2).text
        self.line(f"match {subject} % 5:")
        self.level += 1
        for number in range(self.rng.randint(1, 3)):
            pattern = self.pick((str(number), f"{number} | {number + 2}"))
            guard = f" if {self.truth(1).text}" if self.chance(25) else ""
            self.line(f"case {pattern}{guard}:")
            with self.block():
                self.body(2)
        if self.chance(70):
            self.line("case _:")
            with self.block():
                self.body(2)
        self.level -= 1

    @contextmanager
    def loop(self, *locked: str) -> Iterator[None]:
        """A loop's body, in which some variables are not assigned."""
        added = {*locked} - self.locked
        before = self.in_loop
        self.locked, self.loops, self.in_loop = self.locked | added, self.loops + 1, True
        with self.block():
            yield
        self.locked, self.loops, self.in_loop = self.locked - added, self.loops - 1, before

    def orelse(self) -> None:
        if self.chance(30):
            self.line("else:")
            with self.block():
                self.body(2)

    def while_loop(self) -> None:
        if self.loops >= 2:
            self.assign()
            return
        name = self.new_name()
        self.line(f"{name} = {self.nonconstant('i32', 1).text} % {self.rng.randint(2, 6)}")
        self.bind(name, "i32")
        form = self.rng.randint(0, 2)
        also = f" and {self.truth(2).text}" if form == 1 else ""
        self.line("while True:" if form == 2 else f"while {name} > 0{also}:")
        with self.loop(name):
            if form == 2:
                self.line(f"if {name} <= 0:")
                self.line("    break")
            self.line(f"{name} -= 1")
            self.body(3)
        self.orelse()

    def trips(self) -> tuple[str, str]:
        """The bounds of a range of few numbers, and what it counts in."""
        stop = f"{self.nonconstant('i32', 1).text} % {self.pick((3, 5))}"
        kind = self.rng.randint(0, 8)
        low, high = self.rng.randint(-3, 3), self.rng.randint(-3, 4)
        if kind <= 1:
            return self.pick((stop, str(high))), "i32"
        if kind == 2:
            return f"{low}, {stop}", "i32"
        if kind == 3:
            return f"{low}, {high}, {self.pick((1, 2, 3, -1, -2))}", "i32"
        if kind == 4:
            return f"{stop}, {low}, -{self.rng.randint(1, 3)}", "i32"
        if kind == 5:
            return f"{low}, {stop}, {self.run_time()} % 3 - 1", "i32"
        if kind == 6:
            return f"2147483640, 2147483647, {self.rng.randint(2, 4)}", "i32"
        if kind == 7:
            return f"{self.nonconstant('u32', 1).text} % 4", "u32"
        return f"-2147483646, -2147483648, -{self.rng.randint(1, 2)}", "i32"

    def for_loop(self) -> None:
        if self.loops >= 2:
            self.assign()
            return
        bounds, kind = self.trips()
        text = f"range({bounds})"
        if kind == "i32" and "% 3 - 1" not in bounds and self.chance(20):
            text = f"reversed({text})"
        name = self.new_name()
        escapes = self.chance(30)
        if escapes:
            # Without a trip the variable is what it was.
            self.line(f"{name} = {self.nonconstant(kind, 1).text}")
            self.bind(name, kind)
        self.line(f"for {name} in {text}:")
        with self.loop(*(() if escapes and self.chance(50) else (name,))):
            self.scope.variables[name] = kind
            self.body(3)
        self.orelse()

    def static_loop(self) -> None:
        if self.loops >= 2:
            self.assign()
            return
        name = self.new_name()
        bounds = self.pick(("3", "1, 4", "4, 0, -2", "0"))
        text = f"pw.static_range({bounds})"
        self.line(f"for {name} in {f'reversed({text})' if self.chance(20) else text}:")
        with self.loop(name):
            self.scope.variables[name] = "i32"
            self.body(2)
        self.orelse()

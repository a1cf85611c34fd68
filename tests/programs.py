"""Random kernels that are also plain Python, to compare the two."""

from __future__ import annotations

import random

_NAMES = ("p", "q", "r", "s", "t")


class Program:
    """Writes one kernel `k(a, n)` on an array of eight integers, and the helpers it calls."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.unrolled = 0
        self.budget = 45
        self.counter = 0
        self.assigned = set[str]()
        self.in_helper = False

    def text(self) -> str:
        self.lines.append("@pw.function")
        self.lines.append("def change(a, v, w=2):")
        self.in_helper = True
        self.assigned = {"v", "w"}
        self.budget = 8
        self.block(1, 2)
        self.line(1, f"a[{self.index()}] = {self.number(1)} % 97")
        self.line(1, f"return {self.number(1)} % 97")
        self.in_helper = False
        self.lines += ["", "def k(a: Array[i32], n: i32):"]
        self.assigned = {"n"}
        self.budget = 45
        for name in _NAMES[: self.random.randint(2, 5)]:
            self.line(1, f"{name} = {self.number(1)} % 97")
            self.assigned.add(name)
        self.block(1, 3)
        for position, name in enumerate(sorted(self.assigned)):
            self.line(1, f"a[{position}] = a[{position}] * 3 % 97 + {name} % 97")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    # ----------------------------------------------------------------------------- statements

    def block(self, depth: int, size: int) -> None:
        for _ in range(self.random.randint(1, size + 1)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        self.budget -= 1
        kinds = [self.assign, self.assign, self.augment, self.store, self.swap, self.chosen]
        if depth < 5 and self.budget > 0:
            kinds += [self.branch, self.branch, self.for_, self.while_, self.match, self.unroll]
        if self.loops:
            kinds += [self.leave]
        self.random.choice(kinds)(depth)

    def target(self) -> str:
        names = sorted(self.assigned)
        return self.random.choice([*names, *_NAMES[:3]])

    def assign(self, depth: int) -> None:
        name, value = self.target(), self.number(2)
        if self.random.random() < 0.2:
            other = self.target()
            self.line(depth, f"{name} = {other} = {value} % 97")
            self.assigned.add(other)
        else:
            self.line(depth, f"{name} = {value} % 97")
        self.assigned.add(name)

    def augment(self, depth: int) -> None:
        if self.random.random() < 0.3:
            self.line(depth, f"a[{self.index()}] += {self.number(1)} % 97")
            return
        name = self.random.choice(sorted(self.assigned))
        op = self.random.choice(("+", "-", "^", "|", "&"))
        self.line(depth, f"{name} {op}= {self.number(2)} % 97")

    def store(self, depth: int) -> None:
        self.line(depth, f"a[{self.index()}] = {self.number(2)} % 97")

    def swap(self, depth: int) -> None:
        first, second = self.target(), self.target()
        self.line(depth, f"{first}, {second} = {self.number(1)} % 97, {self.number(1)} % 97")
        self.assigned |= {first, second}

    def chosen(self, depth: int) -> None:
        name = self.target()
        value = f"{self.number(1)} % 97 if {self.condition(1)} else {self.number(1)} % 97"
        self.line(depth, f"{name} = {value}")
        self.assigned.add(name)

    def inside(self, depth: int, size: int) -> None:
        before = set(self.assigned)
        self.block(depth, size)
        self.assigned = before

    def branch(self, depth: int) -> None:
        self.line(depth, f"if {self.condition(2)}:")
        self.inside(depth + 1, 2)
        if self.random.random() < 0.4:
            self.line(depth, f"elif {self.condition(1)}:")
            self.inside(depth + 1, 1)
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.inside(depth + 1, 2)

    def for_(self, depth: int) -> None:
        ranges = (
            "range(4)",
            "range(a[0] % 5)",
            f"range({self.number(0)} % 6)",
            "range(5, -2, -2)",
            "reversed(range(5))",
            "reversed(range(1, 8, 3))",
            f"range(0, 9, {self.number(0)} % 3 + 1)",
        )
        self.loop(depth, f"for {self.target_of_loop()} in {self.random.choice(ranges)}:")

    def target_of_loop(self) -> str:
        name = self.random.choice(("i", "j", *sorted(self.assigned)))
        self.pending = name
        return name

    def unroll(self, depth: int) -> None:
        if self.unrolled:
            self.assign(depth)
            return
        self.unrolled += 1
        self.loop(
            depth, f"for {self.target_of_loop()} in static_range({self.random.randint(0, 3)}):"
        )
        self.unrolled -= 1

    def while_(self, depth: int) -> None:
        self.counter += 1
        name = f"count_{self.counter}"
        self.line(depth, f"{name} = 0")
        self.pending = ""
        self.loop(depth, f"while {name} < 4 and {self.condition(1)}:", f"{name} += 1")

    def loop(self, depth: int, head: str, first: str | None = None) -> None:
        self.line(depth, head)
        before = set(self.assigned)
        if self.pending:
            self.assigned.add(self.pending)
        if first:
            self.line(depth + 1, first)
        self.loops += 1
        self.block(depth + 1, 2)
        self.loops -= 1
        self.assigned = before
        if self.random.random() < 0.3:
            self.line(depth, "else:")
            self.inside(depth + 1, 1)

    def leave(self, depth: int) -> None:
        word = self.random.choice(("break", "continue", "break"))
        self.line(depth, f"if {self.condition(1)}:")
        self.line(depth + 1, word)

    def match(self, depth: int) -> None:
        self.line(depth, f"match {self.number(1)} % 5:")
        self.line(depth + 1, "case 0 | 3:")
        self.inside(depth + 2, 1)
        if self.random.random() < 0.5:
            self.line(depth + 1, f"case 1 if {self.condition(1)}:")
            self.inside(depth + 2, 1)
        self.line(depth + 1, "case 2:")
        self.inside(depth + 2, 1)
        if self.random.random() < 0.5:
            self.line(depth + 1, "case _:")
            self.inside(depth + 2, 1)

    # ---------------------------------------------------------------------------- expressions

    def index(self) -> str:
        return self.random.choice((str(self.random.randint(0, 7)), f"{self.number(0)} % 8"))

    def number(self, depth: int) -> str:
        choices = [
            lambda: str(self.random.randint(0, 9)),
            lambda: self.random.choice(sorted(self.assigned)),
            lambda: self.random.choice(sorted(self.assigned)),
            lambda: f"a[{self.random.randint(0, 7)}]",
        ]
        if depth > 0:
            choices += [
                lambda: f"({self.number(depth - 1)} + {self.number(depth - 1)})",
                lambda: f"({self.number(depth - 1)} - {self.number(depth - 1)})",
                lambda: f"({self.number(depth - 1)} % 97 * ({self.number(depth - 1)} % 13))",
                lambda: f"({self.number(depth - 1)} // ({self.number(depth - 1)} % 7 + 1))",
                lambda: f"a[{self.index()}]",
                lambda: f"(-{self.number(depth - 1)})",
                lambda: f"min({self.number(depth - 1)}, {self.number(depth - 1)})",
                lambda: (
                    f"({self.number(depth - 1)} if {self.condition(depth - 1)}"
                    f" else {self.number(depth - 1)})"
                ),
            ]
            if not self.in_helper:
                choices += [lambda: f"change(a, {self.number(depth - 1)} % 97)"] * 2
                choices += [lambda: f"change(a, 3, w={self.number(depth - 1)} % 97)"]
        return self.random.choice(choices)()

    def condition(self, depth: int) -> str:
        def compare() -> str:
            op = self.random.choice(("<", "<=", ">", "==", "!="))
            return f"{self.number(depth)} {op} {self.number(depth)}"

        choices = [compare, compare]
        if depth > 0:
            choices += [
                lambda: f"({self.condition(depth - 1)} and {self.condition(depth - 1)})",
                lambda: f"({self.condition(depth - 1)} or {self.condition(depth - 1)})",
                lambda: f"not ({self.condition(depth - 1)})",
                lambda: " < ".join(self.number(depth - 1) for _ in range(3)),
            ]
        return self.random.choice(choices)()

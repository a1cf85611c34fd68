"""Random kernels as Python text, with arguments to launch them with.

Every one compiles, ends, and has no races: an invocation stores only into its own elements, and
reads of what is written only those. `strategies_expressions` says what *exact* means.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies_expressions import VECTORS, Buffer, Helper, Scope, array_of, scalar_of, width_of
from strategies_statements import Statements

_DTYPES = {"i32": np.int32, "u32": np.uint32, "f32": np.float32, "bool": np.bool_}
_RESULTS = ("i32", "u32", "f32", "bool", "vec2f", "vec3i")
#: Stores of one type that an invocation has to itself, in the outputs of scalars.
_OWN = 3

_SPECIAL = {
    "i32": (-(2**31), 2**31 - 1, -1, 0, 1, 7, -13, 46341, 65536),
    "u32": (0, 1, 2**31, 2**32 - 1, 2**31 + 129, 5, 40000),
    "f32": (0.0, -0.0, 1.5, -2.75, 1e10, -3e38, 1e-40, np.inf, -np.inf, np.nan, 2147483648.0, 0.1),
}


@dataclass
class Program:
    """A kernel's text and all that running it takes."""

    text: str
    arguments: dict[str, Any]
    constants: dict[str, Any]
    launch: tuple[int, int]
    group: tuple[int, int]
    vectors: dict[str, int]
    merged: dict[str, str]
    exact: bool
    checked: bool
    name: str = field(default="kernel")

    def copies(self) -> dict[str, Any]:
        """The arguments, with arrays of their own."""
        return {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in self.arguments.items()
        }

    def __repr__(self) -> str:
        return f"{self.text}\n# launch {self.launch}, {self.constants}, {self.arguments}"


def programs(*, exact: bool, checked: bool) -> st.SearchStrategy[Program]:
    """Kernels: exact ones are for devices; checked ones may leave their arrays."""
    return st.randoms(use_true_random=False).map(lambda rng: program(rng, exact, checked))


def program(rng: random.Random, exact: bool, checked: bool) -> Program:
    """One kernel, drawn from `rng`."""
    return _Writer(rng, exact, checked).write()


class _Writer(Statements):
    """Writes a module: constants, helpers and the kernel."""

    def __init__(self, rng: random.Random, exact: bool, checked: bool) -> None:
        # On NumPy, and in checked kernels everywhere, any index has one meaning.
        super().__init__(rng, exact, bounded=exact and not checked)
        self.checked = checked
        self.merged = {}
        self.text: list[str] = []
        self.arguments: dict[str, Any] = {}
        self.vectors: dict[str, int] = {}
        self.globals: dict[str, str] = {}

    def write(self) -> Program:
        self.write_constants()
        helpers: list[Helper] = [self.generic_helper()]
        for number in range(self.rng.randint(0, 3)):
            helpers.append(self.helper(f"helper{number}", helpers))
        self.write_tick()
        self.width = self.rng.randint(1, 7)
        planar = self.chance(35)
        launch = (self.width, self.rng.randint(1, 3)) if planar else (self.width, 1)
        group = self.pick(((4, 1), (64, 1), (2, 2), (8, 4)))
        signature = self.kernel_scope(helpers, launch)
        options = [f"workgroup_size={group}", *(["checked=True"] if self.checked else [])]
        self.text += [f"@pw.kernel({', '.join(options)})", f"def kernel({', '.join(signature)}):"]
        self.start(None, fuel=self.rng.randint(2, 16))
        self.kernel_places(launch)
        self.ids(planar)
        self.body(8)
        self.finish()
        self.text += self.lines
        constants: dict[str, Any] = {}
        for name in {"depth", "choice"} & self.arguments.keys():
            constants[name] = self.arguments.pop(name)
        return Program(
            "\n".join(self.text) + "\n",
            self.arguments,
            constants,
            launch,
            group,
            self.vectors,
            self.merged,
            self.exact,
            self.checked,
        )

    # ------------------------------------------------------------------------------ helpers

    def write_constants(self) -> None:
        number = self.rng.randint(0, 9)
        real = f"{self.rng.randint(-8, 8) / 4}" if self.exact else self.pick(("0.1", "-2.5", "7.0"))
        self.text += [f"GAIN = {number}", f"RATE = {real}", f"DEBUG = {self.chance(50)}", ""]
        self.globals = {"GAIN": "int", "RATE": "float", "DEBUG": "bool"}

    def generic_helper(self) -> Helper:
        """A helper for any type of number or vector."""
        self.text += ["@pw.function", "def blend(a, b):"]
        self.text += self.pick(
            (
                ["    return a * b + a"],
                ["    c = a", "    c -= b", "    return min(c, b)"],
                ["    a, b = b, a", "    return a - max(a, b)"],
                ["    return abs(a) * 2 + b"],
            )
        )
        self.text.append("")
        return Helper("blend", ("", ""), ("",), generic=True)

    def write_tick(self) -> None:
        """A helper that stores and gives a number: in which order such calls run shows."""
        self.text += [
            "@pw.function",
            "def tick(log, at, k):",
            "    log[at] = log[at] * 31 + k",
            "    return log[at]",
            "",
        ]

    def helper(self, name: str, helpers: list[Helper]) -> Helper:
        types = ("i32", "f32", "u32", "bool", "vec2f", "vec3i")
        params = tuple(self.pick(types) for _ in range(self.rng.randint(1, 3)))
        results = tuple(self.pick(_RESULTS) for _ in range(self.rng.randint(1, 2)))
        names = [f"{self.pick(('p', 'in_', 'ref', 'shared'))}{i}" for i in range(len(params))]
        # Unannotated bools and numbers are inferred; a literal for u32 must be told.
        typed = [
            f"{n}: {t}" if t == "u32" or (t in ("i32", "f32") and self.chance(50)) else n
            for n, t in zip(names, params, strict=True)
        ]
        self.scope = Scope(dict(zip(names, params, strict=True)), dict(self.globals))
        self.scope.helpers = list(helpers)
        self.start(results, fuel=self.rng.randint(0, 5))
        # A component of a parameter must not be stored into.
        self.locked = {n for n, t in zip(names, params, strict=True) if t.startswith("vec")}
        self.body(4)
        self.give()
        self.text += ["@pw.function", f"def {name}({', '.join(typed)}):", *self.lines, ""]
        return Helper(name, params, results, tuple(names))

    # ------------------------------------------------------------------------------- kernel

    def kernel_scope(self, helpers: list[Helper], launch: tuple[int, int]) -> list[str]:
        """Draw parameters and arguments; returns the signature."""
        self.scope = Scope(constants=dict(self.globals), helpers=helpers)
        signature = []
        lanes = launch[0] * launch[1]
        vector = self.pick(VECTORS)
        inputs = {"xi": "i32", "target": "f32", "xv": vector}
        inputs |= {self.pick(("xu", "input")): self.pick(("u32", "bool"))}
        for name, element in inputs.items():
            length = self.rng.randint(max(lanes, 6), lanes + 8) if self.chance(80) else lanes + 6
            signature.append(self.parameter(name, element, (max(length, launch[0] + 4),)))
            self.scope.buffers.append(Buffer(name, element, self.arguments[name].shape[:1]))
        if self.chance(40):
            shape = (launch[1] + 8 + self.rng.randint(0, 2), launch[0] + 8)
            element = self.pick(("i32", "f32"))
            signature.append(self.parameter("grid", element, shape))
            self.scope.buffers.append(Buffer("grid", element, shape))
        else:
            signature.append(self.parameter("out_grid", "i32", (launch[1], launch[0])))
        for name, element in (("out_i", "i32"), ("out_f", "f32")):
            signature.append(self.parameter(name, element, (lanes * _OWN,)))
        self.out_vector = self.pick(VECTORS)
        last = ("out_v", self.out_vector) if self.chance(50) else ("out_u", "u32")
        signature.append(self.parameter(*last, (lanes,)))
        return [*signature, *self.numbers()]

    def parameter(self, name: str, element: str, shape: tuple[int, ...]) -> str:
        """A buffer, which the arguments get with random contents."""
        kind = "Array2D" if len(shape) > 1 else "Array"
        width = width_of(element)
        if width > 1:
            self.vectors[name] = width
            shape = (*shape, width)
        count = int(np.prod(shape))
        scalar = scalar_of(element)
        values = [self.content(scalar) for _ in range(count)]
        self.arguments[name] = np.array(values, _DTYPES[scalar]).reshape(shape)
        return f"{name}: {kind}[{element}]"

    def content(self, scalar: str) -> Any:
        if scalar == "bool":
            return self.chance(50)
        if scalar == "f32" and self.exact:
            return self.rng.randint(-32, 32) / 4
        if self.chance(25):
            return self.pick(_SPECIAL[scalar])
        low = 0 if scalar == "u32" else -20
        return self.rng.randint(low, 20) / (1 if scalar != "f32" else 7)

    def numbers(self) -> list[str]:
        """Parameters that are numbers, some of them known when the kernel is compiled."""
        signature = []
        for name, type_ in (("n", "i32"), ("scale", "f32"), ("flag", "bool"), ("_bits", "u32")):
            if self.chance(50):
                value = self.content(type_)
                self.arguments[name] = value if type_ == "bool" else _DTYPES[type_](value)
                self.scope.variables[name] = type_
                signature.append(f"{name}: {type_}")
        if self.chance(30):
            type_ = self.pick(VECTORS)
            parts = [self.content(scalar_of(type_)) for _ in range(width_of(type_))]
            self.arguments["offset"] = tuple(map(_DTYPES[scalar_of(type_)], parts))
            self.scope.variables["offset"] = type_
            signature.append(f"offset: {type_}")
        for name, kind in (("depth", "int"), ("choice", "bool")):
            if self.chance(30):
                self.arguments[name] = self.chance(50) if kind == "bool" else self.rng.randint(0, 4)
                self.scope.constants[name] = kind
                signature.append(f"{name}: pw.Const[{kind}]")
        return signature

    def kernel_places(self, launch: tuple[int, int]) -> None:
        """What the invocation may store into."""
        for number in range(_OWN):
            at = f"lane * {_OWN} + {number}"
            self.places += [(f"out_i[{at}]", "i32"), (f"out_f[{at}]", "f32")]
        # Which element that is depends on what is stored.
        at = f"lane * {_OWN} + (out_i[lane * {_OWN} + 2] & 1)"
        self.places += [(f"out_i[{at}]", "i32"), (f"out_f[{at}]", "f32")]
        if "out_grid" in self.arguments:
            self.places.append(("out_grid[row, column]", "i32"))
        if "out_v" in self.arguments:
            self.places.append(("out_v[lane]", self.out_vector))
        else:
            self.places.append(("out_u[lane]", "u32"))
        if not self.bounded:
            self.places += [("out_i[lane + 1000]", "i32"), ("out_f[-1 - lane]", "f32")]
        self.scope.effect = f"tick(out_i, lane * {_OWN} + 2, {{}})"

    def ids(self, planar: bool) -> None:
        """Name the invocation's place, in variables that nothing else assigns."""
        names = {"row", "column", "lane"}
        # A component of a parameter must not be stored into.
        self.locked |= {"offset"} & self.scope.variables.keys()
        self.line("column, row = pw.global_id.x, pw.global_id.y")
        self.line(f"lane = row * {self.width} + column" if planar else "lane = column")
        local = self.pick(("pw.local_index", "pw.local_id.x", "pw.workgroup_id.x"))
        self.scope.lanes = ("column", "lane", "row", local)
        self.locked |= names
        self.scope.variables |= dict.fromkeys(names, "i32")

    def finish(self) -> None:
        """Store what the variables hold at the end."""
        for number, (name, type_) in enumerate(self.scope.variables.items()):
            found = array_of(type_)
            if type_ == "i32":
                at = f"out_i[lane * {_OWN} + {number % _OWN}]"
                self.line(f"{at} = {at} * 31 + {name}")
            elif type_ == "f32":
                self.line(f"out_f[lane * {_OWN} + {number % _OWN}] = {name}")
            elif type_ == "bool":
                self.line(f"if {name}:")
                self.line(f"    out_i[lane * {_OWN}] += {number}")
            elif found and found[0] == "i32":
                self.line(f"for k in range({found[1]}):")
                self.line(f"    out_i[lane * {_OWN} + 1] += {name}[k] * (k + 1)")

"""What a kernel takes from its surroundings, and whether that is still so."""

import dataclasses
import enum
import types
from typing import Any

import kernels
import numpy as np
import pytest

from pywgsl.codegen.to_wgsl import to_wgsl
from pywgsl.from_source import execute
from pywgsl.frontend.check import check_kernel, define_kernel


class Mode(enum.IntEnum):
    LINEAR = 3


class Level(enum.Enum):
    HIGH = 0.5


@dataclasses.dataclass
class Config:
    scale: float = 2.0


NAMES: dict[str, Any] = {
    "N": 4,
    "FLAG": True,
    "Mode": Mode,
    "Level": Level,
    "CONFIG": Config(),
    "MODULE": types.SimpleNamespace(inner=types.SimpleNamespace(k=7)),
    "PAIR": (2, 3),
    "SCALAR": np.float32(0.25),
    "WEIGHTS": [1.0, 2.0],
    "TABLE": np.array([3.0, 4.0]),
    "T": kernels.namespace()["f32"],
}


def compiled(expression: str, before: str = "") -> tuple[dict[str, Any], Any]:
    space = {**kernels.namespace(), **NAMES, "CONFIG": Config()}
    execute(f"{before}def k(y: Array[f32]):\n    y[0] = {expression}\n", space)
    return space, check_kernel(define_kernel(space["k"]), {})


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("N", "4.0"),
        ("1.0 if FLAG else 2.0", "1.0"),
        ("Mode.LINEAR", "3.0"),
        ("Level.HIGH", "0.5"),
        ("CONFIG.scale", "2.0"),
        ("MODULE.inner.k", "7.0"),
        ("PAIR[1]", "3.0"),
        ("len(PAIR)", "2.0"),
        ("SCALAR", "0.25"),
        ("WEIGHTS[-1]", "2.0"),
        ("TABLE[1]", "4.0"),
        ("T(1)", "1.0"),
        ("np.pi", "3.1415927"),
    ],
)
def test_numbers_are_compiled_in(expression: str, text: str) -> None:
    _, checked = compiled(expression)
    assert f"y[0] = {text};" in to_wgsl(checked.module).text
    assert checked.captures.current()


@pytest.mark.parametrize(
    ("expression", "name", "new"),
    [
        ("N", "N", 5),
        ("N", "N", 4.0),
        ("1.0 if FLAG else 2.0", "FLAG", False),
        ("CONFIG.scale", "CONFIG", Config(3.0)),
        ("MODULE.inner.k", "MODULE", types.SimpleNamespace(inner=None)),
        ("PAIR[1]", "PAIR", (2, 4)),
        ("SCALAR", "SCALAR", np.float32(0.5)),
        ("WEIGHTS[0]", "WEIGHTS", [5.0]),
        ("T(1)", "T", kernels.namespace()["i32"]),
        ("N * 0.0", "N", -4),
    ],
)
def test_a_global_that_changes_is_noticed(expression: str, name: str, new: object) -> None:
    space, checked = compiled(expression)
    assert checked.captures.current()
    space[name] = new
    assert not checked.captures.current()


def test_a_global_that_goes_is_noticed() -> None:
    space, checked = compiled("N")
    del space["N"]
    assert not checked.captures.current()


def test_an_attribute_or_element_that_changes_is_noticed() -> None:
    space, checked = compiled("CONFIG.scale")
    space["CONFIG"].scale = 9.0
    assert not checked.captures.current()
    space, checked = compiled("WEIGHTS[0]")
    weights = space["WEIGHTS"]
    weights[0] = 8.0
    assert not checked.captures.current()
    weights[0] = 1.0


def test_equal_numbers_are_no_change_but_other_zeros_are() -> None:
    space, checked = compiled("N + 0.0")
    space["N"] = int("4")
    assert checked.captures.current()
    space["N"] = 0.0
    checked = check_kernel(define_kernel(space["k"]), {})
    space["N"] = -0.0
    assert not checked.captures.current()


def test_what_decides_a_branch_is_noticed() -> None:
    space = {**kernels.namespace(), "DEBUG": False, "MODE": 1}
    branch = "    if DEBUG:\n        y[1] = 1.0\n"
    match = "    match MODE:\n        case 1:\n            y[0] = 1.0\n"
    execute(f"def k(y: Array[f32]):\n{branch}{match}", space)
    checked = check_kernel(define_kernel(space["k"]), {})
    assert len(checked.module.body) == 1
    for name, new in (("DEBUG", True), ("MODE", 2)):
        old, space[name] = space[name], new
        assert not checked.captures.current()
        space[name] = old
        assert checked.captures.current()


def test_what_a_helper_takes_is_noticed() -> None:
    before = "@pw.function\ndef scaled(v):\n    return v * N\n\n"
    space, checked = compiled("scaled(y[1])", before)
    space["N"] = 9
    assert not checked.captures.current()
    space, checked = compiled("scaled(y[1])", before)
    space["scaled"] = space["pw"].sqrt
    assert not checked.captures.current()

"""Every builtin and operator in every type: both compilers take it, and a device computes it."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from build import at, binary, buffer, call, each, literal, local
from execute import run

from pywgsl import ir, numerics
from pywgsl.builtins import BUILTINS, Builtin
from pywgsl.codegen.to_wgsl import to_wgsl
from pywgsl.types import BOOL, F16, F32, I32, U32, Matrix, Scalar, Type, Vector, scalar_of

I = local("i")  # noqa: E741  # the kernels' own name


def variants(row: Builtin) -> Iterator[tuple[Type, ...]]:
    """The parameter types that a builtin's rules allow: each scalar type, and two widths."""
    for signature in row.signatures:
        sets = {"float": (F32, F16), "integer": (I32, U32), "number": (F32, F16, I32, U32)}
        sets["scalar"] = (F32, F16, I32, U32, BOOL)
        allowed = [sets[kind] for _, kind in signature.sets] or [(F32,)]
        for scalar, n in itertools.product(allowed[0], (2, 3)):
            types = tuple(
                _type(p.kind, p.dimensions, p.scalar, scalar, n) for p in signature.parameters
            )
            if signature.match(types) and (n == 2 or any(not isinstance(t, Scalar) for t in types)):
                yield types


def _type(kind: str, dimensions: tuple[str, ...], name: str, scalar: Scalar, n: int) -> Type:
    fixed = {"f32": F32, "i32": I32, "u32": U32, "bool": BOOL}
    sizes = [int(d) if d.isdigit() else n for d in dimensions]
    of = fixed.get(name, scalar)
    if kind == "vec":
        return Vector(sizes[0], of)
    return Matrix(sizes[0], sizes[1], of) if kind == "mat" else of


PURE = [row for row in BUILTINS.values() if not row.effect]


def _value(type_: Type, name: str) -> ir.Expr:
    """A value of a type from the buffer `name`, which a compiler cannot know."""
    scalar = scalar_of(type_)
    assert scalar is not None
    if isinstance(type_, Matrix):
        return ir.Construct(type_, tuple(_value(type_.column, name) for _ in range(type_.columns)))
    element = at(buffer(name, scalar), I)
    return ir.Construct(type_, (element,)) if isinstance(type_, Vector) else element


@pytest.mark.parametrize("row", PURE, ids=lambda row: row.name)
def test_both_compilers_take_a_builtin_in_every_type(
    row: Builtin, accepted: Callable[[str], None]
) -> None:
    for types in variants(row):
        match = next(m for s in row.signatures if (m := s.match(types)))
        assert match.result is not None
        scalars = {scalar_of(t) for t in types}
        reads = [buffer(f"in_{s}", s) for s in scalars if s is not None]
        out = buffer("out", match.result)
        value = call(
            row.name, *(_value(t, f"in_{scalar_of(t)}") for t in types), type_=match.result
        )
        accepted(to_wgsl(each(value, out, reads=reads)).text)


@pytest.mark.parametrize("row", PURE, ids=lambda row: row.name)
def test_a_builtin_of_constants_is_left_to_the_device(
    row: Builtin, accepted: Callable[[str], None]
) -> None:
    # Each of these would fail in constant evaluation for some builtin.
    for value, types in itertools.product((-1.0, 0.0, 60000.0), variants(row)):
        match = next(m for s in row.signatures if (m := s.match(types)))
        assert match.result is not None
        args = [_constant(t, value) for t in types]
        text = to_wgsl(each(call(row.name, *args, type_=match.result), buffer("out", match.result)))
        accepted(text.text)


def _constant(type_: Type, value: float) -> ir.Expr:
    if isinstance(type_, Matrix):
        column = _constant(type_.column, value)
        return ir.Construct(type_, (column,) * type_.columns)
    if isinstance(type_, Vector):
        return ir.Construct(type_, (_constant(type_.scalar, value),))
    assert isinstance(type_, Scalar)
    if type_ is U32:
        value = abs(value)
    return literal(type_.dtype.type(value).item(), type_)


# ------------------------------------------------------------------------------- on a device

FLOATS = np.fromstring(
    "0 -0.0 1 -1 0.5 -0.5 2 -2 3 -3 2.5 -2.5 1.5 7 -7 0.1 -0.1 1e-3 -1e-3 0.3 -0.3 0.45 0.9 -0.9 "
    "5 -5 11 -11 20.5 100 -100 1e4 -1e4 65504 65519 65520 1e6 1e-6 3e-8 6e-5 6.2e-5 inf -inf nan",
    np.float32,
    sep=" ",
)
INTEGERS = np.array(
    [0, 1, -1, 2, -2, 3, -3, 7, -7, 8, 31, 32, 33, -32, 1000, 2**31 - 1, -(2**31), 2**31 - 7],
    np.int32,
)
SAMPLES = {F32: FLOATS, I32: INTEGERS, U32: INTEGERS.view(np.uint32)}
with np.errstate(over="ignore"):
    SAMPLES[F16] = FLOATS.astype(np.float16)


def evaluate(value: ir.Expr, result: Type, *columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Compute an expression of `a[i]`, `b[i]`, `c[i]` for each row of the columns."""
    kinds = {np.dtype(t.dtype): t for t in (F32, F16, I32, U32)}
    reads = [buffer(n, kinds[c.dtype]) for n, c in zip("abc", columns, strict=False)]
    count = len(columns[0])
    scalar = scalar_of(result)
    assert scalar is not None
    dtype = np.dtype(np.uint32) if scalar is BOOL else scalar.dtype
    arrays = dict(zip("abc", columns, strict=False)) | {"out": np.zeros(count, dtype)}
    out = run(each(value, buffer("out", result), reads=reads), arrays, (count, 1, 1))["out"]
    return out.astype(bool) if scalar is BOOL else out


def element(name: str, scalar: Scalar) -> ir.Expr:
    return at(buffer(name, scalar), I)


def pairs(scalar: Scalar) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    sample = SAMPLES[scalar]
    a, b = np.meshgrid(sample, sample)
    return a.ravel(), b.ravel()


def same(actual: Any, expected: Any, relative: float = 0.0, absolute: float = 0.0) -> None:
    if np.asarray(expected).dtype.kind == "f" and np.asarray(actual).dtype == np.float16:
        relative, absolute = max(relative, 1e-3), max(absolute, 1e-7)
    # Devices may flush numbers below the smallest normal one.
    absolute = max(absolute, 1.2e-38 if np.asarray(expected).dtype == np.float32 else 0.0)
    np.testing.assert_allclose(actual, expected, rtol=relative, atol=absolute)


@pytest.mark.gpu
@pytest.mark.parametrize("row", [r for r in PURE if r.wgsl is None], ids=lambda row: row.name)
def test_a_device_computes_what_numpy_does(row: Builtin) -> None:
    for types in variants(row):
        if not all(isinstance(t, Scalar) for t in types) or len({*types} - {I32, U32}) > 1:
            continue
        columns = _columns(types)
        match = next(m for s in row.signatures if (m := s.match(types)))
        assert match.result is not None
        args = [element(n, t) for n, t in zip("abc", types, strict=False) if isinstance(t, Scalar)]
        if len(args) < len(types):
            continue
        actual = evaluate(call(row.name, *args, type_=match.result), match.result, *columns)
        with np.errstate(all="ignore"):
            expected = row.numpy(*columns)
        if row.name == "length":
            expected = np.abs(columns[0])
        if row.name in ("log10", "log1p"):
            keep = columns[0] > -1 if row.name == "log1p" else columns[0] > 0
            actual, expected = actual[keep], expected[keep]
        same(actual, expected, row.tolerance.relative, row.tolerance.absolute)


def _columns(types: tuple[Type, ...]) -> list[np.ndarray[Any, Any]]:
    samples = [SAMPLES[t] for t in types if isinstance(t, Scalar)]
    return [grid.ravel() for grid in np.meshgrid(*samples)]


OPERATORS = {
    "floor /": numerics.floor_div,
    "floor %": numerics.floor_mod,
    "trunc /": numerics.trunc_div,
    "trunc %": numerics.trunc_rem,
    "**": numerics.power,
}


@pytest.mark.gpu
@pytest.mark.parametrize("scalar", [I32, U32, F32], ids=str)
@pytest.mark.parametrize("op", OPERATORS)
def test_operators_round_as_python_does(op: str, scalar: Scalar) -> None:
    if op == "trunc /" and scalar is F32:
        pytest.skip("floats have no such operator")
    a, b = pairs(scalar)
    actual = evaluate(binary(element("a", scalar), op, element("b", scalar)), scalar, a, b)
    with np.errstate(all="ignore"):
        expected = OPERATORS[op](a, b)
    if op == "**" and scalar is I32:
        expected = np.where(b < 0, 1, expected)
    same(actual, expected, 2e-5 if op == "**" and scalar is F32 else 0.0)


@pytest.mark.gpu
@pytest.mark.parametrize("op", ["floor /", "floor %"])
@pytest.mark.parametrize("divisor", [1, 2, 8, 3, -3, -4, 0, 2**30, -(2**31)])
def test_division_by_a_constant(op: str, divisor: int) -> None:
    value = binary(element("a", I32), op, literal(divisor))
    with np.errstate(all="ignore"):
        expected = OPERATORS[op](INTEGERS, np.int32(divisor))
    same(evaluate(value, I32, INTEGERS), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("source", [I32, U32, F32, F16], ids=str)
@pytest.mark.parametrize("target", [BOOL, I32, U32, F32, F16], ids=str)
def test_conversions(source: Scalar, target: Scalar) -> None:
    sample = SAMPLES[source]
    actual = evaluate(ir.Convert(element("a", source), target), target, sample)
    with np.errstate(all="ignore"):
        same(actual, numerics.convert(sample, target.dtype))


@pytest.mark.gpu
def test_every_float_constant_keeps_its_bits() -> None:
    values = np.fromstring(
        "0 -0.0 1 0.1 -0.1 3.4028235e38 -3.4028235e38 1e-45 1.1754942e-38 1.1754944e-38 inf -inf "
        "nan 16777217 1e10 123456.79 3.4e38 8388608.5 9.999999e-5 3.3e-30",
        np.float32,
        sep=" ",
    )
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 200, dtype=np.uint64).astype(np.uint32)
    values = np.concatenate([values, bits.view(np.float32)])
    values[np.isnan(values)] = np.nan
    out = buffer("out", U32)
    body = [
        ir.Assign(at(out, literal(n)), ir.Bitcast(local(f"v{n}", F32), U32))
        for n in range(len(values))
    ]
    lets = [ir.Var(f"v{n}", F32, literal(float(v), F32)) for n, v in enumerate(values)]
    module = each(literal(0, U32), out)
    module = ir.Module("kernel", module.parameters, (*lets, *body), (1, 1, 1))
    actual = run(module, {"out": np.zeros(len(values), np.uint32)}, (1, 1, 1))["out"]
    np.testing.assert_array_equal(actual, values.view(np.uint32))

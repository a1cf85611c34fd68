"""WGSL's arithmetic on NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pywgsl import numerics
from pywgsl.builtins import BUILTINS

I32, U32, F32, F16 = np.int32, np.uint32, np.float32, np.float16
INT_MIN, INT_MAX = -(2**31), 2**31 - 1
EDGES = [INT_MIN, INT_MIN + 1, -7, -2, -1, 0, 1, 2, 3, 7, 31, INT_MAX]

ints = st.one_of(st.sampled_from(EDGES), st.integers(INT_MIN, INT_MAX))
words = st.integers(0, 2**32 - 1)
floats = st.floats(width=32)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def pairs(dtype: Any) -> tuple[Any, Any]:
    """All pairs of edge cases, as two arrays."""
    edges = np.array(EDGES, np.int64).astype(dtype)
    a, b = np.meshgrid(edges, edges)
    return a.ravel(), b.ravel()


def bits(x: Any) -> Any:
    return np.asarray(x, F32).view(U32)


class TestOperators:
    def test_integer_division_rounds_as_python_does(self) -> None:
        a, b = pairs(I32)
        expected = [wrapped(int(x) // int(y)) if y else int(x) for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(numerics.floor_div(a, b), expected)

    def test_integer_remainders_have_the_sign_of_the_divisor(self) -> None:
        a, b = pairs(I32)
        expected = [int(x) % int(y) if y else 0 for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(numerics.floor_mod(a, b), expected)

    @pytest.mark.parametrize("dtype", [I32, U32])
    def test_one_divisor_for_all_gives_the_same(self, dtype: Any) -> None:
        a, b = pairs(dtype)
        for function in (numerics.floor_mod, numerics.floor_div, numerics.trunc_rem):
            one_by_one = [function(a, dtype(y))[k] for k, y in enumerate(b)]
            np.testing.assert_array_equal(function(a, b), one_by_one)

    def test_truncating_division_rounds_toward_zero(self) -> None:
        a, b = pairs(I32)
        expected = [
            wrapped(int(math.copysign(1, x) * math.copysign(1, y)) * (abs(int(x)) // abs(int(y))))
            if y
            else int(x)
            for x, y in zip(a, b, strict=True)
        ]
        np.testing.assert_array_equal(numerics.trunc_div(a, b), expected)

    def test_truncating_remainders_have_the_sign_of_the_dividend(self) -> None:
        a, b = pairs(I32)
        expected = [int(math.fmod(int(x), int(y))) if y else 0 for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(numerics.trunc_rem(a, b), expected)

    @given(ints, st.integers(-3, 40))
    def test_integer_powers_wrap_and_negative_exponents_give_one(self, x: int, y: int) -> None:
        expected = wrapped(x**y) if y >= 0 else 1
        assert numerics.power(I32(x), I32(y)) == expected
        assert numerics.power(np.array([x], I32), np.array([y], I32))[0] == expected

    @given(ints, words)
    def test_shifts_use_the_low_five_bits_of_the_count(self, x: int, count: int) -> None:
        assert numerics.shift_left(I32(x), U32(count)) == wrapped(x << (count & 31))
        assert numerics.shift_right(I32(x), U32(count)) == x >> (count & 31)

    @given(floats, floats)
    def test_float_division_and_remainder_are_formulas_not_numpys_functions(
        self, x: float, y: float
    ) -> None:
        a, b = F32(x), F32(y)
        assert bits(numerics.floor_div(a, b)) == bits(np.floor(a / b))
        expected = a - b * np.floor(a / b)
        found = numerics.floor_mod(a, b)
        assert bits(found) == bits(expected) or (np.isnan(found) and np.isnan(expected))


class TestChoices:
    @given(floats, floats)
    def test_min_and_max_are_pythons(self, a: float, b: float) -> None:
        for many in (1, 5000):
            x, y = np.full(many, a, F32), np.full(many, b, F32)
            assert bits(numerics.minimum(x, y)[0]) == bits(b if b < a else a)
            assert bits(numerics.maximum(x, y)[0]) == bits(b if b > a else a)
            assert bits(numerics.minimum(x, F32(b))[0]) == bits(b if b < a else a)
            assert bits(numerics.maximum(x, F32(b))[0]) == bits(b if b > a else a)

    @pytest.mark.parametrize("dtype", [np.bool_, I32, U32, F32, F16])
    @pytest.mark.parametrize("size", [3, 5000])
    def test_where_chooses_bit_for_bit(self, dtype: Any, size: int) -> None:
        rng = np.random.default_rng(0)
        test = rng.random(size) < 0.5
        accept, reject = (rng.integers(0, 2, size).astype(dtype) for _ in range(2))
        zero, one = dtype(0), dtype(1)
        for a in (accept, zero, one):
            for r in (reject, zero, one):
                found = numerics.where(test, a, r)
                assert found.dtype == dtype
                np.testing.assert_array_equal(found, np.where(test, a, r))

    def test_where_keeps_nans_and_negative_zeros(self) -> None:
        values = np.tile(np.array([-0.0, np.nan, np.inf, 1.5], F32), 1000)
        found = numerics.where(np.ones(4000, np.bool_), values, F32(0))
        np.testing.assert_array_equal(bits(found), bits(values))

    def test_where_broadcasts(self) -> None:
        test = np.arange(100)[:, None] < 50
        found = numerics.where(test, np.arange(80, dtype=F32), F32(-1))
        assert found.shape == (100, 80)
        assert (found[50:] == -1).all()

    def test_sign_of_nan_and_of_negative_zero_is_zero(self) -> None:
        x = np.array([np.nan, -0.0, -3, 5, np.inf], F32)
        np.testing.assert_array_equal(bits(numerics.sign(x)), bits([0, 0, -1, 1, 1]))

    def test_clamp_keeps_nan(self) -> None:
        assert np.isnan(numerics.clamp(F32(np.nan), F32(-5), F32(7)))


class TestConvert:
    @pytest.mark.parametrize(
        ("value", "dtype", "expected"),
        [
            (2.9, I32, 2),
            (-2.9, I32, -2),
            (1e30, I32, 2147483520),
            (-1e30, I32, INT_MIN),
            (np.inf, U32, 4294967040),
            (-1.0, U32, 0),
            (np.nan, I32, 0),
            (np.nan, U32, 0),
            (np.nan, np.bool_, True),
            (-0.0, np.bool_, False),
        ],
    )
    def test_floats_truncate_and_saturate(self, value: float, dtype: Any, expected: int) -> None:
        assert numerics.convert(F32(value), dtype) == expected
        assert (numerics.convert(np.full(3, value, F32), dtype) == expected).all()

    def test_infinite_halves_saturate(self) -> None:
        assert numerics.convert(F16(np.inf), I32) == 2147483520

    @given(words)
    def test_u32_rounds_to_the_nearest_float(self, x: int) -> None:
        assert numerics.convert(U32(x), F32) == F32(x)

    def test_integers_keep_their_bits(self) -> None:
        assert numerics.convert(I32(-1), U32) == 2**32 - 1
        assert numerics.convert(U32(2**32 - 1), I32) == -1


class TestBits:
    @given(words)
    def test_counts(self, x: int) -> None:
        text = f"{x:032b}"
        assert numerics.count_one_bits(U32(x)) == text.count("1")
        assert numerics.count_leading_zeros(U32(x)) == len(text) - len(text.lstrip("0"))
        assert numerics.count_trailing_zeros(U32(x)) == len(text) - len(text.rstrip("0"))
        assert numerics.reverse_bits(U32(x)) == int(text[::-1], 2)

    @given(ints)
    def test_first_bits(self, x: int) -> None:
        magnitude = ~x if x < 0 else x
        assert numerics.first_leading_bit(I32(x)) == magnitude.bit_length() - 1
        lowest = (x & -x).bit_length() - 1
        assert numerics.first_trailing_bit(I32(x)) == lowest

    @given(words, st.integers(0, 40), st.integers(0, 40))
    def test_extracting_and_inserting(self, x: int, offset: int, count: int) -> None:
        start = min(offset, 32)
        width = min(count, 32 - start)
        low = (1 << width) - 1
        expected = x >> start & low
        assert numerics.extract_bits(U32(x), U32(offset), U32(count)) == expected
        signed = expected - (1 << width) if width and expected >> (width - 1) else expected
        as_int = np.array([x], U32).view(I32)
        assert numerics.extract_bits(as_int, U32(offset), U32(count))[0] == signed
        new = 0xDEADBEEF
        inserted = x & ~(low << start) | (new & low) << start
        assert numerics.insert_bits(U32(x), U32(new), U32(offset), U32(count)) == inserted

    def test_bits_of_halves_are_words(self) -> None:
        halves = np.array([[1.0, -2.0], [0.5, 3.0]], F16)
        packed = numerics.bitcast(halves, U32, True, False)
        np.testing.assert_array_equal(packed, halves.view(U32)[:, 0])
        np.testing.assert_array_equal(numerics.bitcast(packed, F16, False, True), halves)


class TestFunctions:
    def test_erf_and_erfc_match_the_standard_library(self) -> None:
        x = np.linspace(-6, 11, 5001).astype(F32)
        erf = np.array([math.erf(float(v)) for v in x])
        erfc = np.array([math.erfc(float(v)) for v in x])
        np.testing.assert_allclose(numerics.erf(x), erf, rtol=1.5e-7)
        np.testing.assert_allclose(numerics.erfc(x), erfc, rtol=1.5e-7, atol=1e-45)

    def test_infinite_arguments_of_erf(self) -> None:
        x = np.array([-np.inf, np.inf, np.nan], F32)
        np.testing.assert_array_equal(numerics.erf(x), np.array([-1, 1, np.nan], F32))
        np.testing.assert_array_equal(numerics.erfc(x), np.array([2, 0, np.nan], F32))

    def test_packing_round_trips(self) -> None:
        words = np.random.default_rng(0).integers(0, 2**32, 100, dtype=U32)
        unpacked = numerics.unpack4x8unorm(words)
        np.testing.assert_array_equal(numerics.pack4x8unorm(unpacked), words)
        halves = np.array([[1.0, -2.5], [65504.0, 0.0]], F32)
        packed = numerics.pack2x16float(halves)
        np.testing.assert_array_equal(numerics.unpack2x16float(packed), halves)

    def test_packing_saturates(self) -> None:
        v = np.array([2.0, -2.0, np.nan, 0.5], F32)
        assert numerics.pack4x8snorm(v) == 0x7F | 0x81 << 8 | 0 << 16 | 0x40 << 24

    @pytest.mark.parametrize("n", [2, 3, 4])
    def test_determinants(self, n: int) -> None:
        m = np.random.default_rng(n).normal(size=(7, n, n)).astype(F32)
        np.testing.assert_allclose(numerics.determinant(m), np.linalg.det(m), rtol=1e-4, atol=1e-5)

    def test_matrices_multiply_by_columns(self) -> None:
        rng = np.random.default_rng(0)
        m = rng.normal(size=(5, 3, 2)).astype(F32)  # three columns of two rows
        v, w = rng.normal(size=(5, 3)).astype(F32), rng.normal(size=(5, 2)).astype(F32)
        other = rng.normal(size=(5, 4, 3)).astype(F32)
        rows = m.swapaxes(1, 2)
        np.testing.assert_allclose(
            numerics.matrix_vector(m, v), np.einsum("brc,bc->br", rows, v), rtol=1e-5
        )
        np.testing.assert_allclose(
            numerics.vector_matrix(w, m), np.einsum("br,brc->bc", w, rows), rtol=1e-5
        )
        product = np.einsum("brc,bkc->bkr", rows, other)
        np.testing.assert_allclose(numerics.matrix_matrix(m, other), product, rtol=1e-4, atol=1e-6)

    def test_refraction_beyond_the_critical_angle_is_zero(self) -> None:
        v = np.array([[0.9, -0.1, 0.0]], F32)
        normal = np.array([[0.0, 1.0, 0.0]], F32)
        np.testing.assert_array_equal(numerics.refract(v, normal, F32(1.5)), np.zeros((1, 3), F32))


_DTYPES = {"f32": F32, "f16": F16, "i32": I32, "u32": U32, "bool": np.bool_}
_SETS = {"float": ["f32", "f16"], "integer": ["i32", "u32"]}
_SETS["number"] = _SETS["float"] + _SETS["integer"]
_SETS["scalar"] = [*_SETS["number"], "bool"]


def _cases() -> list[Any]:
    """Each type rule of each builtin, with every type that its variable can be."""
    cases = []
    for row in (row for row in BUILTINS.values() if not row.effect):
        for rule in row.signatures:
            if rule.text.startswith("(T)") and row.name == "length":
                continue  # the compiler takes `abs` for it: only types tell numbers from vectors
            variables = dict(rule.sets)
            for scalar in _SETS[variables["T"]] if "T" in variables else [""]:
                cases.append(pytest.param(row, rule, scalar, id=f"{row.name}-{rule.text}-{scalar}"))
    return cases


def test_length_of_a_number_is_its_size() -> None:
    assert BUILTINS["length"](F32(-2)) == 2


@pytest.mark.parametrize(("row", "rule", "scalar"), _cases())
def test_every_builtin_returns_the_type_that_its_rule_says(
    row: Any, rule: Any, scalar: str
) -> None:
    sizes = {"N": 3, "C": 3, "R": 2}
    lanes = (4,)

    def dtype(pattern: Any) -> Any:
        return _DTYPES[scalar if pattern.scalar == "T" else pattern.scalar]

    def inner(pattern: Any) -> tuple[int, ...]:
        return tuple(int(d) if d.isdigit() else sizes[d] for d in pattern.dimensions)

    deepest = max(len(inner(p)) for p in rule.parameters)
    args = [np.ones(lanes + (inner(p) or (1,) * deepest), dtype(p)) for p in rule.parameters]
    found = row.numpy(*args)
    assert found.dtype == dtype(rule.result)
    if deepest or not rule.result.dimensions:
        assert found.shape[:1] == lanes
    if inner(rule.result):
        assert found.shape == lanes + inner(rule.result)


def test_calling_a_builtin_warns_of_nothing() -> None:
    assert BUILTINS["exp"](F32(1000)) == np.inf
    assert np.isnan(BUILTINS["sqrt"](F32(-1)))

"""Random numbers against published vectors and their distributions, and dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pywgsl as pw
from pywgsl import Array, ops
from pywgsl.ops.random import philox

#: Counters, keys and words: the known answers of Random123 for philox4x32 with 10 rounds.
KNOWN = [
    (4 * "00000000 ", 2 * "00000000 ", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (4 * "ffffffff ", 2 * "ffffffff ", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


def words(texts: tuple[str, ...]) -> Any:
    return np.array([[int(word, 16) for word in text.split()] for text in texts], np.uint32)


@pw.kernel
def random_words(counter: Array[pw.vec4u], key: Array[pw.vec2u], random: Array[pw.vec4u]) -> None:
    i = pw.global_id.x
    random[i] = philox(counter[i], key[i])


def test_the_generator_gives_the_known_answers(put: Any) -> None:
    counter, key, expected = map(words, zip(*KNOWN, strict=True))
    random = put(np.zeros_like(expected))
    random_words[3](put(counter), put(key), random)
    np.testing.assert_array_equal(np.asarray(random), expected)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 257])
def test_elements_are_words_of_numbered_blocks(size: int, put: Any) -> None:
    blocks = -(-size // 4)
    counter = np.zeros((blocks, 4), np.uint32)
    counter[:, 0], counter[:, 2] = np.arange(blocks), 7
    key = np.full((blocks, 2), (5, 3), np.uint32)
    random = np.zeros_like(counter)
    random_words[blocks](counter, key, random)
    x = put(np.full(size, -1.0, np.float32))
    ops.uniform_(x, 3 * 2**32 + 5, stream=7)
    expected = (random.T.reshape(-1)[:size] >> 8) / np.float32(2**24)
    np.testing.assert_array_equal(np.asarray(x), expected)


def test_uniform_numbers_are_spread_evenly(put: Any) -> None:
    x = put(np.zeros((100, 1000), np.float32))
    ops.uniform_(x, 1, -2.0, 6.0)
    counts, _ = np.histogram(np.asarray(x), 16, (-2.0, 6.0))
    assert counts.sum() == 100_000
    # Each count has the variance n (1/16) (15/16), so their squares a χ² of 15 degrees: 44 at most.
    assert np.sum((counts - 6250.0) ** 2) / 6250.0 < 44.0


def test_normal_numbers_have_the_moments_of_the_bell(put: Any) -> None:
    x = put(np.zeros(100_001, np.float32))
    ops.normal_(x, 2, 10.0, 2.0)
    z = (np.asarray(x, np.float64) - 10.0) / 2.0
    # Moments, with four times their standard deviations.
    for power, moment, error in ((1, 0.0, 0.013), (2, 1.0, 0.018), (3, 0.0, 0.05), (4, 3.0, 0.13)):
        assert abs(np.mean(z**power) - moment) < error
    # Of each block the first two words, which one angle and radius give.
    blocks = -(-z.size // 4)
    assert abs(np.mean(z[:blocks] * z[blocks : 2 * blocks])) < 4.0 / np.sqrt(blocks)


def test_seeds_and_streams_are_unrelated(put: Any) -> None:
    drawn = []
    for seed, stream in ((0, 0), (1, 0), (2**32, 0), (0, 1), (2**64 - 1, 2**32 - 1)):
        x = put(np.zeros(4000, np.float32))
        ops.uniform_(x, seed, stream=stream)
        drawn.append(np.asarray(x))
    off_diagonal = np.corrcoef(drawn) - np.eye(5)
    assert np.abs(off_diagonal).max() < 0.07


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_drops_its_share_and_keeps_the_mean(p: float, dtype: Any, put: Any) -> None:
    x = put(np.full((50, 401), 2.0, dtype))
    y, mask = ops.dropout(x, p, 11)
    assert y.dtype == dtype
    kept = np.asarray(mask)
    assert abs(kept.mean() - (1.0 - p)) < 4.0 * np.sqrt(p * (1.0 - p) / kept.size)
    np.testing.assert_allclose(np.asarray(y), np.where(kept, 2.0 / (1.0 - p), 0.0), rtol=1e-3)


def test_dropout_is_the_same_everywhere(put: Any) -> None:
    x = np.random.default_rng(0).normal(size=1003).astype(np.float32)
    here, there = ops.dropout(put(x), 0.3, 2**40, stream=1), ops.dropout(x, 0.3, 2**40, stream=1)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_the_gradient_goes_where_the_elements_went(put: Any, close: Any) -> None:
    x = np.random.default_rng(0).normal(size=(7, 9)).astype(np.float32)
    y, mask = ops.dropout(put(x), 0.25, 5)
    close(ops.dropout_backward(put(x), mask, 0.25), np.asarray(y), rtol=0.0, atol=0.0)


def test_all_or_nothing_can_be_dropped(put: Any, close: Any) -> None:
    x = put(np.float32([1.0, -np.inf, np.nan, 4.0, 5.0]))
    y, mask = ops.dropout(x, 1.0, 1)
    close(y, np.zeros(5))
    close(ops.dropout_backward(x, mask, 1.0), np.zeros(5))
    y, mask = ops.dropout(x, 0.0, 1)
    close(y, np.asarray(x))
    close(mask, np.ones(5, np.bool_))


def test_out_takes_the_results(put: Any) -> None:
    x, mask = put(np.ones(5, np.float32)), put(np.zeros(5, np.bool_))
    y = put(np.zeros(5, np.float32))
    assert ops.dropout(x, 0.5, 1, out=(y, mask)) == (y, mask)
    assert ops.dropout_backward(x, mask, 0.5, out=y) is y


X = np.zeros(3, np.float32)

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.dropout(X, 1.5, 0), "dropout: `p` is 0…1, not 1.5"),
    (lambda: ops.dropout(X, 0.5, -1), "dropout: `seed` is 0…2⁶⁴-1, not -1"),
    (lambda: ops.uniform_(X, 0, stream=2**32), "`stream` is 0…2³²-1, not 4294967296"),
    (lambda: ops.normal_(X[::2], 0), "`x` is written, so it has to be contiguous"),
    (lambda: ops.uniform_(X.astype(np.float16), 0), "`x` takes an array of float32"),
    (lambda: ops.dropout_backward(X, X, 0.5), "`mask` takes an array of bool"),
    (lambda: ops.dropout_backward(X, X[:2] > 0, 0.5), "`grad` has the shape (3,) and `mask`"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_reported(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert message in str(caught.value)

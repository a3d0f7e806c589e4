"""Moments: one pass equals the batch formulas, in any order; what cannot be summed is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import DIM, LANGUAGES, moments_of, world

from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.errors import DataError


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 100), st.integers(0, 2**32 - 1))
def test_one_pass_in_any_order_equals_the_batch(size: int, seed: int) -> None:
    texts = world()
    blocks = [
        (name, vectors[start : start + size])
        for name, vectors in texts.items()
        for start in range(0, len(vectors), size)
    ]
    moments = Moments(DIM, LANGUAGES, products=True)
    for place in np.random.default_rng(seed).permutation(len(blocks)):
        name, vectors = blocks[place]
        moments.update(vectors, name)
    for k, vectors in enumerate(texts.values()):
        np.testing.assert_allclose(moments.means()[k], vectors.mean(axis=0), rtol=0, atol=1e-10)
        mean, square = moments.means()[k], moments.squares()[k]
        covariance = np.cov(vectors.T, bias=True)
        np.testing.assert_allclose(square - np.outer(mean, mean), covariance, rtol=0, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 100), st.integers(0, 2**32 - 1))
def test_translations_in_any_order_equal_the_batch(size: int, seed: int) -> None:
    texts = world()
    source, target = texts["de"][:60], texts["ja"][:60]
    pairs = PairMoments(DIM, products=True)
    starts = list(range(0, 60, size))
    for place in np.random.default_rng(seed).permutation(len(starts)):
        rows = slice(starts[place], starts[place] + size)
        pairs.update(source[rows], target[rows], ("de", "ja"))
    expected = np.cov(source.T, target.T, bias=True)[:DIM, DIM:]
    assert pairs.counts == {("de", "ja"): 60}
    np.testing.assert_allclose(pairs.covariance(("de", "ja")), expected, rtol=0, atol=1e-10)


def test_float32_input_is_summed_in_float64() -> None:
    """In float32 the sum stands still at 2 ** 24."""
    moments = Moments(1, ["de"], products=False)
    moments.update(np.full((1, 1), 2.0**24, dtype=np.float32), "de")
    for _ in range(5):
        moments.update(np.ones((1, 1), dtype=np.float32), "de")
    assert moments.sums[0, 0] == 2**24 + 5


def test_a_language_without_sentences_is_refused() -> None:
    moments = Moments(DIM, LANGUAGES, products=True)
    moments.update(world()["de"], "de")
    for value in (moments.means, moments.squares):
        with pytest.raises(DataError, match="no training sentence in en, ja, zh"):
            value()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    vectors = np.ones((3, DIM))
    vectors[1, 2] = bad
    with pytest.raises(DataError, match="a training vector of ja holds a number that is not finite"):
        Moments(DIM, LANGUAGES, products=False).update(vectors, "ja")
    with pytest.raises(DataError, match="a training vector of ja holds a number that is not finite"):
        PairMoments(DIM, products=True).update(np.ones((3, DIM)), vectors, ("en", "ja"))


def test_products_are_kept_where_asked_for() -> None:
    assert moments_of(world()).products is not None
    assert Moments(DIM, LANGUAGES, products=False).products is None


def test_without_gives_the_moments_of_the_others() -> None:
    sides = world()
    blocks = [
        (sides["en"], sides["de"][: len(sides["en"])], ("en", "de")),
        (sides["ja"], sides["zh"], ("ja", "zh")),
    ]
    blocks = [(a[: min(len(a), len(b))], b[: min(len(a), len(b))], pair) for a, b, pair in blocks]

    def gathered(*rows: slice) -> tuple[Moments, PairMoments]:
        moments, pairs = Moments(DIM, LANGUAGES, products=True), PairMoments(DIM, products=True)
        for a, b, pair in blocks:
            for part in rows:
                moments.update(a[part], pair[0])
                moments.update(b[part], pair[1])
                pairs.update(a[part], b[part], pair)
        return moments, pairs

    held = [(a[3:7], b[3:7], pair) for a, b, pair in blocks]
    whole, expected = gathered(slice(None)), gathered(slice(0, 3), slice(7, None))
    moments, pairs = (each.without(held) for each in whole)
    np.testing.assert_array_equal(moments.counts, expected[0].counts)
    np.testing.assert_allclose(moments.sums, expected[0].sums, atol=1e-9)
    np.testing.assert_allclose(moments.squares(), expected[0].squares(), atol=1e-9)
    assert pairs.counts == expected[1].counts
    for pair in pairs.counts:
        np.testing.assert_allclose(pairs.covariance(pair), expected[1].covariance(pair), atol=1e-9)
    # The whole stays as it is, and what was not held out of one pair of languages is all of it.
    np.testing.assert_array_equal(whole[0].counts, gathered(slice(None))[0].counts)
    assert whole[1].without(held[:1]).counts["ja", "zh"] == whole[1].counts["ja", "zh"]

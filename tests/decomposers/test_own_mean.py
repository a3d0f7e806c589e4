"""A text's own mean: by the formula, on vectors of any length, and the same in parts as at once."""

from __future__ import annotations

import numpy as np
import pytest

import orthoglot
from orthoglot.decomposers import own_mean
from orthoglot.decomposers.base import Decomposer, unit
from orthoglot.decomposers.own_mean import BLOCK, WEIGHT, adapted, centred, mean_shift, shifted, sums
from orthoglot.errors import ConfigError, DataError

D = 12


def vectors(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, D)).astype(np.float32)


@pytest.fixture(scope="module")
def fitted() -> Decomposer:
    a = vectors(400)
    split = orthoglot.Decomposer().fit(a + 1, a + 0.3 * vectors(400, 1), "en", "gn")
    return split.decomposer_


def by_hand(decomposer: Decomposer, text: np.ndarray) -> np.ndarray:
    """x - mean - n / (n + 30) (own mean - mean), then the same map."""
    x = text.astype(np.float64) / np.linalg.norm(text, axis=1, keepdims=True)
    mean, n = decomposer.weights["mean"], len(x)
    drawn = mean + n / (n + 30) * (x.mean(axis=0) - mean)
    return (x - drawn) @ decomposer.weights["meaning"] + decomposer.weights["offset"]


@pytest.mark.parametrize("n", [1, 20, 5000])
def test_meaning_parts_are_those_of_the_formula(fitted: Decomposer, n: int) -> None:
    text = 3 * vectors(n, 2) + 2
    expected = by_hand(fitted, text)
    own = adapted(fitted, text)
    np.testing.assert_allclose(own.transform(text, "").meaning, expected, atol=2e-5)
    stored = unit(fitted.transform(text, "").meaning)  # as mining keeps them
    np.testing.assert_allclose(centred(stored, fitted), unit(expected), atol=2e-5)
    # The language part stays: the mean is what it is made of.
    np.testing.assert_array_equal(own.transform(text, "").language, fitted.transform(text, "").language)


def test_the_mean_goes_as_far_as_there_are_sentences(fitted: Decomposer) -> None:
    text = vectors(3000, 3) + 2
    before = fitted.transform(text, "").meaning.mean(axis=0) - fitted.weights["offset"]
    after = adapted(fitted, text).transform(text, "").meaning.mean(axis=0) - fitted.weights["offset"]
    np.testing.assert_allclose(after, before * WEIGHT / (len(text) + WEIGHT), atol=1e-4)
    assert np.abs(before[1:]).max() > 0.1
    assert before[0] == pytest.approx(0, abs=1e-3)  # the constant


def test_parts_give_the_sums_of_the_whole(fitted: Decomposer) -> None:
    text = unit(fitted.transform(vectors(2 * BLOCK + 7, 4) + 1, "").meaning)
    parts = [text[:BLOCK], text[BLOCK:]]
    together = np.concatenate([sums(part, fitted) for part in parts])
    np.testing.assert_array_equal(together, sums(text, fitted))
    by = mean_shift(together, fitted)
    np.testing.assert_array_equal(
        np.concatenate([shifted(part, fitted, by) for part in parts]), centred(text, fitted)
    )


def test_another_text_takes_the_place_of_the_first_one(fitted: Decomposer) -> None:
    first, second = vectors(300, 11) + 2, vectors(200, 12) - 1
    once = adapted(fitted, second)
    for earlier in (first, second):
        again = adapted(adapted(fitted, earlier), second)
        np.testing.assert_allclose(again.weights["offset"], once.weights["offset"], atol=1e-5)
        stored = unit(adapted(fitted, earlier).transform(second, "").meaning)
        np.testing.assert_allclose(
            centred(stored, adapted(fitted, earlier)), unit(once.transform(second, "").meaning), atol=2e-5
        )


def test_blank_sentences_do_not_count(fitted: Decomposer) -> None:
    text = vectors(50, 5) + 1
    gaps = np.insert(text, [0, 20], np.nan, axis=0)
    np.testing.assert_array_equal(
        adapted(fitted, gaps).weights["offset"], adapted(fitted, text).weights["offset"]
    )
    nothing = np.full((3, D), np.nan, dtype=np.float32)
    np.testing.assert_array_equal(adapted(fitted, nothing).weights["offset"], fitted.weights["offset"])


def test_cut_meaning_parts_have_it_too() -> None:
    a, text = vectors(400), vectors(60, 6) + 1
    b = a + 0.3 * vectors(400, 1)
    whole, cut = (orthoglot.Decomposer(dim=dim).fit(a, b, "en", "gn") for dim in (None, 5))
    np.testing.assert_allclose(
        cut.adapted(text).transform(text), whole.adapted(text).transform(text)[:, :5], atol=1e-5
    )


def test_translations_of_another_kind_are_found_again() -> None:
    """Two texts that the training text's mean leaves apart, each with its own offset."""
    a = vectors(400)
    split = orthoglot.Decomposer().fit(a, a + 0.3 * vectors(400, 1), "en", "gn")
    new = vectors(300, 7)
    sides = [new + 2 * vectors(1, 8), new + 0.3 * vectors(300, 9) - 2 * vectors(1, 10)]

    def right(*parts: np.ndarray) -> float:
        x, y = map(unit, parts)
        return float(((x @ y.T).argmax(axis=1) == np.arange(len(x))).mean())

    plain = right(*(split.transform(side) for side in sides))
    own = right(*(split.adapted(side).transform(side) for side in sides))
    assert own > plain + 0.2


def test_only_plda_has_it() -> None:
    a = vectors(100)
    split = orthoglot.Decomposer("leace").fit(a, a + vectors(100, 1), "en", "gn")
    with pytest.raises(ConfigError, match="leace has no meaning part that can have it; plda has"):
        split.adapted(a)
    assert own_mean.adaptable(None, "meaning") is None
    assert own_mean.adaptable(split.decomposer_, "meaning") is None
    with pytest.raises(DataError, match=r"x: row 3 \(from 0\)"):
        orthoglot.Decomposer().fit(a, a + vectors(100, 1), "en", "gn").adapted(
            np.where(np.arange(100)[:, None] == 3, np.inf, a)
        )

"""SHIFT: each language moves onto the pivot by the mean difference of its translations, and the pivot stays."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.architectures import centering, shift
from orthoglot.decomposers.base import Decomposer
from orthoglot.decomposers.closed_forms import compute, gather
from orthoglot.decomposers.cross_validation import Block

DIM = 12


def block(rng: np.random.Generator, pair: tuple[str, str], n: int, difference: np.ndarray) -> Block:
    """n translations whose second side is the first one plus a difference, and noise."""
    source = rng.normal(size=(n, DIM))
    return source, source + difference + 0.1 * rng.normal(size=(n, DIM)), pair


def fit(blocks: list[Block], scale: float = 1) -> dict[str, np.ndarray]:
    """What is taken off each language."""
    languages = sorted({name for *_, pair in blocks for name in pair})
    moments, pairs, _ = gather(shift.ARCHITECTURE, blocks, languages, DIM)
    return dict(zip(languages, shift.fit(moments, pairs, scale)["shifts"], strict=True))


def test_a_known_difference_is_taken_off_and_the_pivot_stays() -> None:
    """Translations (1, 0) -> (3, 1) and (0, 1) -> (2, 4): V = (2, 2), of which a half is taken off."""
    source, target = np.eye(2), np.array([[3.0, 1.0], [2.0, 4.0]])
    blocks = [(source, target, ("en", "de"))] * 2 + [(source, source, ("en", "fr"))]
    weights, _ = compute(shift.ARCHITECTURE, blocks, ["de", "en", "fr"], 2, {"scale": 0.5})
    split = Decomposer("shift", "shift", "toy", "abc", ["de", "en", "fr"], 2, weights, {})
    parts = split.transform(target, "de")
    np.testing.assert_array_equal(parts.meaning, [[2, 0], [1, 3]])
    np.testing.assert_array_equal(parts.language, [[1.5, 1.5], [1.5, 1.5]])
    pivot = split.transform(source, "en")
    np.testing.assert_array_equal(pivot.meaning, source)
    np.testing.assert_array_equal(
        pivot.language, [[0.5, 0.5], [0.5, 0.5]]
    )  # no zero, which no task can score


def test_equals_the_mean_of_differences_in_either_order_and_over_two_corpora() -> None:
    """Eq. 1 of the paper, written out; es - gn has no translations into the pivot and goes through es."""
    rng = np.random.default_rng(0)
    made = [
        block(rng, ("en", "de"), 30, rng.normal(size=DIM)),
        block(rng, ("de", "en"), 20, rng.normal(size=DIM)),
        block(rng, ("es", "en"), 40, rng.normal(size=DIM)),
        block(rng, ("gn", "es"), 10, rng.normal(size=DIM)),
    ]
    shifts = fit(made, 0.6)
    first, second, third, fourth = ([target - source] for source, target, _ in made)
    de = np.concatenate([*first, -second[0]]).mean(axis=0)
    es = -third[0].mean(axis=0)
    for name, expected in {
        "de": de,
        "es": es,
        "gn": es - fourth[0].mean(axis=0),
        "en": np.zeros(DIM),
    }.items():
        np.testing.assert_allclose(shifts[name], 0.6 * expected, atol=1e-12)


def test_differs_from_centering_by_one_vector_on_one_text_and_by_more_where_texts_differ() -> None:
    """On one text, both bring all means together: centering at 0, SHIFT at the pivot's. Other sentences of a language,
    in a pair without the pivot, move its mean and not its translations.
    """
    rng = np.random.default_rng(1)
    source = rng.normal(size=(50, DIM)) + 3
    blocks: list[Block] = [
        (source, source + rng.normal(size=DIM) + rng.normal(size=(50, DIM)), ("en", name))
        for name in ("de", "ja")
    ]

    def both(text: list[Block]) -> np.ndarray:
        moments, pairs, _ = gather(shift.ARCHITECTURE, text, ["de", "en", "ja"], DIM)
        return centering.fit(moments)["means"] - shift.fit(moments, pairs, 1)["shifts"]

    np.testing.assert_allclose(both(blocks), np.tile(source.mean(axis=0), (3, 1)), atol=1e-12)
    further = rng.normal(size=(20, DIM)) - 9
    assert np.ptp(both([*blocks, (further, further, ("de", "ja"))]), axis=0).max() > 1

"""The discriminant of vectors whose languages have been turned towards each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from orthoglot.decomposers.architectures import procrustes
from orthoglot.decomposers.architectures.turned_discriminant import ARCHITECTURE as TURNED_DISCRIMINANT
from orthoglot.decomposers.architectures.turned_discriminant import apply, candidates, fit
from orthoglot.decomposers.base import Languages, Weights
from orthoglot.decomposers.moments import Block, Moments, PairMoments, compute

DIM, MEANING, TRAIN = 12, 6, 500
LANGUAGES = ["de", "en", "zh"]


def texts(turned: bool, *, seed: int, n: int) -> list[Block]:
    """Unit vectors of translations from English: meaning in some directions, noise in all.

    Args:
        turned: whether each language has its own mean, and all but English have meaning in their own directions.
    """
    rng = np.random.default_rng(seed)
    found = []
    for number, name in enumerate(["de", "zh"]):
        own = np.random.default_rng(number)
        skew = turned * 0.15 * own.normal(size=(DIM, DIM))
        turn = scipy.linalg.expm(skew - skew.T)
        offset = turned * 0.3 * own.normal(size=DIM)
        meaning = np.pad(rng.normal(size=(n, MEANING)), ((0, 0), (0, DIM - MEANING)))
        sides = [meaning + 0.3 * rng.normal(size=(n, DIM)) for _ in range(2)]
        sides = [sides[0] + 0.3 * turned, sides[1] @ turn + offset]
        source, target = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
        found.append((source, target, ("en", name)))
    return found


def gathered(blocks: list[Block], languages: list[str] = LANGUAGES) -> tuple[Moments, PairMoments]:
    moments, pairs = Moments(DIM, languages, products=True), PairMoments(DIM, products=True)
    for source, target, pair in blocks:
        moments.update(source, pair[0])
        moments.update(target, pair[1])
        pairs.update(source, target, pair)
    return moments, pairs


def meaning_of(weights: Weights, vectors: np.ndarray, language: str) -> np.ndarray:
    return apply(weights, vectors, Languages([language] * len(vectors), None, LANGUAGES))[0]


def test_a_full_turn_without_the_discriminant_is_procrustes() -> None:
    blocks = texts(True, seed=2, n=TRAIN)
    weights = fit(*gathered(blocks), 1.0, 1.0, 0.0, "language")
    theirs = procrustes.fit(*gathered(blocks))
    for k, (vectors, language) in enumerate(((blocks[0][1], "de"), (blocks[0][0], "en"))):
        found = meaning_of(weights, vectors, language)
        expected = (vectors - theirs["means"][k]) @ theirs["maps"][k]
        scale = np.linalg.norm(found) / np.linalg.norm(expected)
        np.testing.assert_allclose(found @ found.T, scale**2 * expected @ expected.T, rtol=1e-6, atol=1e-8)


def test_a_turn_of_zero_turns_nothing_and_one_as_procrustes() -> None:
    moments, pairs = gathered(texts(True, seed=3, n=TRAIN))
    still, half, full = (procrustes.turns(LANGUAGES, pairs, turn) for turn in (0.0, 0.5, 1.0))
    np.testing.assert_allclose(still, np.broadcast_to(np.eye(DIM), still.shape), atol=1e-10)
    np.testing.assert_array_equal(full, procrustes.fit(moments, pairs)["maps"])
    np.testing.assert_allclose(half @ half.transpose(0, 2, 1), still, atol=1e-10)
    assert np.linalg.norm(half - full) > 0.1


def test_the_language_part_holds_the_language_and_nothing_that_meaning_predicts() -> None:
    blocks = texts(True, seed=4, n=TRAIN)
    weights = fit(*gathered(blocks), 0.9, 0.5, 0.5, "language")
    source, target, _ = blocks[0]
    parts = {
        name: apply(weights, vectors, Languages([name] * TRAIN, None, LANGUAGES))
        for name, vectors in (("en", source), ("de", target))
    }
    offset = parts["en"][1].mean(axis=0) - parts["de"][1].mean(axis=0)
    expected = source.mean(axis=0) - target.mean(axis=0)
    assert np.linalg.norm(offset - expected) < 0.1 * np.linalg.norm(expected)
    assert found(parts["en"][1], parts["de"][1]) < 0.02 < 0.05 < found(source, target)
    assert found(parts["en"][0], parts["de"][0]) > 0.3 + found(source, target)


def found(source: np.ndarray, target: np.ndarray) -> float:
    """P@1 from source to target."""
    return float(np.mean((_unit(source) @ _unit(target).T).argmax(axis=1) == np.arange(len(source))))


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def chosen(turned: bool, given: Mapping[str, Any] = {}) -> dict[str, Any]:
    return compute(TURNED_DISCRIMINANT, texts(turned, seed=5, n=TRAIN), LANGUAGES, DIM, given)[1]


def test_languages_are_turned_where_that_finds_more_translations_and_not_elsewhere() -> None:
    assert chosen(True)["turn"] > 0
    assert chosen(False)["turn"] == 0


def test_given_settings_are_kept_and_the_undivided_vector_is_tried_without_them() -> None:
    assert chosen(True, {"turn": 0.25, "power": 1.0})["turn"] == 0.25
    blocks = texts(False, seed=7, n=50)
    tried = list(candidates(*gathered(blocks), blocks, {}))
    assert tried[0].settings == {"turn": 0.0, "shrinkage": 1.0, "power": 0.0, "centre": "none"}
    assert tried[0].distance == 0 < min(one.distance for one in tried[1:])
    np.testing.assert_array_equal(tried[0].vectors[0][0], blocks[0][0])
    weights = fit(*gathered(blocks), **tried[0].settings)
    meaning = meaning_of(weights, blocks[0][0], "en")
    np.testing.assert_allclose(_unit(meaning) @ _unit(meaning).T, blocks[0][0] @ blocks[0][0].T, atol=1e-9)
    # What is compared is what the fitted weights give.
    last = tried[-1]
    weights = fit(*gathered(blocks), **last.settings)
    meaning, compared = meaning_of(weights, blocks[1][1], "zh"), last.vectors[1][1]
    np.testing.assert_allclose(
        _unit(meaning) @ _unit(meaning).T, _unit(compared) @ _unit(compared).T, atol=1e-4
    )

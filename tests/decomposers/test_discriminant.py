"""Fisher's discriminant with each translation pair as a class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.linalg

from orthoglot.decomposers.base import Languages
from orthoglot.decomposers.discriminant import apply, fit
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.errors import DataError

DIM, MEANING, PAIRS = 16, 8, 400
LANGUAGES = ["en", "de", "zh"]
ANY = Languages([], None, LANGUAGES)


def texts(seed: int = 0, count: int = PAIRS) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Unit vectors of translations from English: meaning in 8 directions, language and noise in all, turned."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(DIM, DIM)))[0]
    offsets = {name: np.random.default_rng(9 + n).normal(size=DIM) for n, name in enumerate(LANGUAGES)}

    def side(meaning: np.ndarray, name: str) -> np.ndarray:
        noise = rng.normal(size=(count, DIM)) * np.where(np.arange(DIM) < MEANING, 0.3, 1.0)
        vectors = (np.pad(meaning, ((0, 0), (0, DIM - MEANING))) + noise + offsets[name]) @ turn
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    found = {}
    for name in ("de", "zh"):
        meaning = rng.normal(size=(count, MEANING))
        found[name] = (side(meaning, "en"), side(meaning, name))
    return found


def fitted(shrinkage: float, power: float) -> dict[str, np.ndarray]:
    moments, pairs = Moments(DIM, LANGUAGES, products=True), PairMoments(DIM, products=True)
    for name, (source, target) in texts().items():
        moments.update(source, "en")
        moments.update(target, name)
        pairs.update(source, target, ("en", name))
    return fit(moments, pairs, shrinkage, power)


def everything() -> Iterator[np.ndarray]:
    for sides in texts().values():
        yield from sides


def retrieval(source: np.ndarray, target: np.ndarray) -> float:
    source, target = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (source, target))
    return float(np.mean((source @ target.T).argmax(axis=1) == np.arange(len(source))))


@pytest.mark.parametrize(("shrinkage", "power"), [(0.0, 1.0), (0.5, 0.5), (0.9, 0.25)])
def test_inner_products_are_those_of_the_generalised_eigenvectors(shrinkage: float, power: float) -> None:
    """Computed from the pairs one by one, as S_b v = w S_w v."""
    mean = np.mean(np.concatenate([*everything()]), axis=0)
    within, between, n = np.zeros((DIM, DIM)), np.zeros((DIM, DIM)), 0
    for source, target in texts().values():
        for a, b in zip(source - mean, target - mean, strict=True):
            within += np.outer(a - b, a - b) / 2
            between += (np.outer(a, b) + np.outer(b, a)) / 2
            n += 1
    within, between = within / n, between / n
    within = (1 - shrinkage) * within + shrinkage * np.diag(within).mean() * np.eye(DIM)
    ratio, vectors = scipy.linalg.eigh(between, within)
    ratio = ratio.clip(0)
    expected = vectors * (ratio / (1 + ratio)) ** (2 * power) @ vectors.T
    weights = fitted(shrinkage, power)
    np.testing.assert_allclose(weights["mean"], mean, atol=1e-12)
    np.testing.assert_allclose(weights["meaning"] @ weights["meaning"].T, expected, rtol=1e-8, atol=1e-8)


def test_full_shrinkage_and_power_0_leave_the_cosines_of_the_centred_vectors() -> None:
    weights, (source, target) = fitted(1.0, 0.0), texts()["de"]
    meanings = [apply(weights, side, ANY)[0] for side in (source, target)]
    centred = [side - weights["mean"] for side in (source, target)]
    ours, plain = (
        (a @ b.T) / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
        for a, b in (meanings, centred)
    )
    np.testing.assert_allclose(ours, plain, atol=1e-10)


def test_meaning_finds_held_out_translations_that_the_vectors_hide_and_language_finds_none() -> None:
    weights = fitted(0.3, 0.5)
    for source, target in texts(seed=5).values():
        parts = [apply(weights, side, ANY) for side in (source, target)]
        plain = retrieval(source, target)
        assert retrieval(parts[0][0], parts[1][0]) > plain + 0.2
        assert plain > 0.02 > retrieval(parts[0][1], parts[1][1])


def test_language_is_not_linearly_predictable_from_the_meaning_of_its_sentence() -> None:
    weights = fitted(0.3, 1.0)
    meaning, language = apply(weights, np.concatenate([*everything()]), ANY)
    assert np.abs(language).max() > 0.1
    np.testing.assert_allclose(meaning.T @ language, 0, atol=1e-9)


def test_the_length_of_a_vector_does_not_matter() -> None:
    weights, (source, _) = fitted(0.3, 0.5), texts()["de"]
    for part, scaled in zip(apply(weights, source, ANY), apply(weights, 7 * source, ANY), strict=True):
        np.testing.assert_allclose(part, scaled, atol=1e-12)


def test_too_few_pairs_need_shrinkage() -> None:
    moments, pairs = Moments(DIM, LANGUAGES, products=True), PairMoments(DIM, products=True)
    source, target = (side[: DIM // 2] for side in texts()["de"])
    moments.update(source, "en")
    moments.update(target, "de")
    pairs.update(source, target, ("en", "de"))
    with pytest.raises(DataError, match="do not fill their 16 dimensions"):
        fit(moments, pairs, 0.0, 0.5)
    assert np.isfinite(fit(moments, pairs, 0.5, 0.5)["meaning"]).all()

"""Procrustes: known rotations come back, maps are orthogonal, languages are linked through others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from worlds import DIM, split

from orthoglot.decomposers.architectures import procrustes
from orthoglot.decomposers.architectures.procrustes import rotation
from orthoglot.decomposers.moments import Moments, PairMoments, gather
from orthoglot.errors import DataError

Pairs = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]


def fit(pairs: Pairs) -> dict[str, np.ndarray]:
    """Weights by language name; the languages are those of the pairs, sorted."""
    languages = sorted({name for pair in pairs for name in pair})
    blocks = [(*sides, pair) for pair, sides in pairs.items()]
    moments, products, _ = gather(procrustes.ARCHITECTURE, blocks, languages, DIM)
    weights = procrustes.fit(moments, products)
    return dict(zip(languages, weights["maps"], strict=True))


def turns(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    return [np.linalg.qr(rng.normal(size=(DIM, DIM)))[0] for _ in range(n)]


def test_recovers_a_known_rotation_and_shift_exactly() -> None:
    rng = np.random.default_rng(0)
    source, (turn,) = rng.normal(size=(50, DIM)), turns(rng, 1)
    target = source @ turn + rng.normal(size=DIM)
    maps = fit({("en", "de"): (source, target)})
    np.testing.assert_allclose(
        maps["de"], np.eye(DIM), atol=1e-10
    )  # de and en have equally many: the first name
    np.testing.assert_allclose(maps["en"], turn, atol=1e-10)


def test_translations_meet_and_parts_add_up() -> None:
    rng = np.random.default_rng(1)
    meanings, (one, two) = rng.normal(size=(80, DIM)), turns(rng, 2)
    texts = {"en": meanings + 3, "de": meanings @ one - 2, "ja": meanings @ two + 1}
    languages = sorted(texts)
    moments, products = Moments(DIM, languages, products=False), PairMoments(DIM, products=True)
    for name, vectors in texts.items():
        moments.update(vectors, name)
    for name in ("de", "ja"):
        products.update(texts["en"], texts[name], ("en", name))
    meaning, language = split(
        "procrustes", procrustes.fit(moments, products), {name: texts[name] for name in languages}
    )
    for name in texts:
        np.testing.assert_allclose(meaning[name], meanings - meanings.mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(meaning[name] + language[name], texts[name], atol=1e-12)


def test_equals_the_library_and_is_orthogonal_where_translations_are_noisy() -> None:
    rng = np.random.default_rng(2)
    source, (turn,) = rng.normal(size=(50, DIM)) + 5, turns(rng, 1)
    target = source @ turn + rng.normal(size=(50, DIM))
    found = fit({("de", "en"): (source, target)})["en"]
    expected = orthogonal_procrustes(target - target.mean(axis=0), source - source.mean(axis=0))[0]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(found @ found.T, np.eye(DIM), atol=1e-12)


def test_a_language_without_translations_into_the_pivot_goes_through_the_closest_one() -> None:
    """gn - es - en, and ay by the larger of its two corpora."""
    rng = np.random.default_rng(3)
    es, gn, ay, wrong = turns(rng, 4)

    def pair(n: int, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        meanings = rng.normal(size=(n, DIM))
        return meanings @ first.T, meanings @ second.T

    maps = fit(
        {
            ("en", "es"): pair(100, np.eye(DIM), es),
            ("es", "gn"): pair(40, es, gn),
            ("en", "ay"): pair(20, np.eye(DIM), wrong),
            ("es", "ay"): pair(30, es, ay),
            ("en", "de"): pair(100, np.eye(DIM), np.eye(DIM)),
        }
    )
    for name, expected in {"en": np.eye(DIM), "es": es, "gn": gn, "ay": ay}.items():
        np.testing.assert_allclose(maps[name], expected, atol=1e-9)


def test_both_orders_of_a_pair_count_together() -> None:
    rng = np.random.default_rng(4)
    source, (turn,) = rng.normal(size=(60, DIM)), turns(rng, 1)
    target = source @ turn + rng.normal(size=(60, DIM))
    maps = fit({("en", "de"): (source[:25], target[:25]), ("de", "en"): (target[25:], source[25:])})
    covariance = (source - source.mean(axis=0)).T @ (target - target.mean(axis=0))
    np.testing.assert_allclose(maps["en"], rotation(covariance), atol=1e-10)
    np.testing.assert_allclose(maps["en"], fit({("en", "de"): (source, target)})["en"], atol=1e-10)


def test_directions_without_translations_are_not_turned_needlessly() -> None:
    """Meanings fill 4 dimensions and are turned among these: the other 8 stay, whichever basis the SVD picks."""
    rng = np.random.default_rng(5)
    (basis,), inner = turns(rng, 1), np.linalg.qr(rng.normal(size=(4, 4)))[0]
    turn = basis[:, 4:] @ basis[:, 4:].T + basis[:, :4] @ inner @ basis[:, :4].T
    meanings = rng.normal(size=(40, 4)) @ basis[:, :4].T
    np.testing.assert_allclose(fit({("en", "de"): (meanings, meanings @ turn)})["en"], turn, atol=1e-9)
    np.testing.assert_allclose(rotation(np.zeros((DIM, DIM))), np.eye(DIM), atol=1e-12)


def test_languages_that_nothing_links_are_refused() -> None:
    rng = np.random.default_rng(6)
    source = rng.normal(size=(30, DIM))
    with pytest.raises(DataError, match="procrustes: no translations link es, gn to de"):
        fit({("en", "de"): (source, source), ("es", "gn"): (source[:9], source[:9])})

"""Procrustes: known rotations come back, maps are orthogonal, languages are linked through others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from worlds import DIM, split

from orthoglot.decomposers.architectures import procrustes
from orthoglot.decomposers.architectures.procrustes import rotation
from orthoglot.decomposers.closed_forms import compute, gather
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.errors import DataError

Pairs = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]


def fit(pairs: Pairs, ridge: float = 0) -> dict[str, np.ndarray]:
    """Maps by language name; the languages are those of the pairs, sorted."""
    languages = sorted({name for pair in pairs for name in pair})
    blocks = [(*sides, pair) for pair, sides in pairs.items()]
    moments, products, _ = gather(procrustes.ARCHITECTURE, blocks, languages, DIM)
    weights = procrustes.fit(moments, products, ridge)
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
        "procrustes", procrustes.fit(moments, products, 0), {name: texts[name] for name in languages}
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
    with pytest.raises(DataError, match="no translations link es, gn to de"):
        fit({("en", "de"): (source, source), ("es", "gn"): (source[:9], source[:9])})


def test_a_ridge_draws_the_rotation_towards_none() -> None:
    rng = np.random.default_rng(7)
    source, (turn,) = rng.normal(size=(40, DIM)), turns(rng, 1)
    target = source + 0.5 * source @ turn + rng.normal(size=(40, DIM))
    pairs: Pairs = {("de", "en"): (source, target)}
    far = [np.linalg.norm(fit(pairs, ridge)["en"] - np.eye(DIM)) for ridge in (0, 0.3, 1, 10, 1e6)]
    assert far == sorted(far, reverse=True)
    assert far[0] > 0.5
    assert far[-1] < 1e-4
    covariance = (target - target.mean(axis=0)).T @ (source - source.mean(axis=0)) / 40
    drawn = covariance + 0.3 * np.trace(covariance) / DIM * np.eye(DIM)
    found = fit(pairs, 0.3)["en"]
    np.testing.assert_allclose(found, orthogonal_procrustes(np.eye(DIM), drawn)[0], atol=1e-9)
    np.testing.assert_allclose(found @ found.T, np.eye(DIM), atol=1e-12)


def found_first(source: np.ndarray, target: np.ndarray) -> float:
    x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (source, target))
    return float(((x @ y.T).argmax(axis=1) == np.arange(len(x))).mean())


@pytest.mark.parametrize(("n", "turned"), [(48, 0.0), (48, 1.0), (2000, 1.0)])
def test_the_ridge_is_chosen_by_pairs_that_are_held_out(n: int, turned: float) -> None:
    """As many pairs as dimensions fit noise; where languages are turned and pairs are many, the rotation stays."""
    rng = np.random.default_rng(8)
    dim, noise = 48, 0.6
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0] if turned else np.eye(dim)
    scales = np.geomspace(3, 0.1, dim)  # as vectors of encoders have
    meanings = rng.normal(size=(n + 300, dim)) * scales
    sides = [
        side + noise * scales * rng.normal(size=side.shape) for side in (meanings, meanings @ turn.T + 2)
    ]
    known, new = ([side[rows] for side in sides] for rows in (slice(n), slice(n, None)))
    blocks = [(known[0], known[1], ("de", "en"))]
    weights, facts = compute(procrustes.ARCHITECTURE, blocks, ["de", "en"], dim, {})
    none, _ = compute(procrustes.ARCHITECTURE, blocks, ["de", "en"], dim, {"ridge": 0.0})

    def p_at_1(of: dict[str, np.ndarray]) -> float:
        return found_first(*((side - of["means"][k]) @ of["maps"][k] for k, side in enumerate(new)))

    centred = found_first(*(side - side.mean(axis=0) for side in new))
    assert facts["ridge"] in procrustes.RIDGES
    assert p_at_1(weights) >= max(p_at_1(none), centred) - 0.03
    if not turned:
        assert facts["ridge"] >= 1
        assert p_at_1(weights) > p_at_1(none) + 0.1
    if n > dim * 10:
        assert p_at_1(weights) > centred + 0.3


def test_a_singular_value_decomposition_that_does_not_converge_is_done_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As LAPACK's fast routine did in one of some hundred fits to vectors of 384 numbers."""
    rng = np.random.default_rng(9)
    covariance = rng.normal(size=(DIM, 5)) @ rng.normal(size=(5, DIM))
    expected = rotation(covariance)
    whole = np.linalg.svd

    def first_fails(matrix: np.ndarray) -> object:
        monkeypatch.setattr(np.linalg, "svd", whole)
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", first_fails)
    np.testing.assert_allclose(rotation(covariance), expected, atol=1e-9)

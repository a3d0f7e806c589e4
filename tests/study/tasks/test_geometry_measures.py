"""Geometry of vectors against closed forms, scikit-learn and loops."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.metrics import calinski_harabasz_score

from orthoglot.study.tasks.kinds.geometry import (
    canonical_form,
    diagonal_divergence,
    full_divergence,
    isotropy,
)


def drawn(languages: int, sentences: int, width: int, seed: int = 0) -> np.ndarray:
    """Vectors of length 1 with a meaning, a language and noise."""
    draw = np.random.default_rng(seed)
    meaning, language = draw.normal(size=(1, sentences, width)), draw.normal(size=(languages, 1, width))
    scale = draw.uniform(0.5, 1.5, size=(languages, 1, width))
    whole = scale * (meaning + 0.4 * language + 0.5 * draw.normal(size=(languages, sentences, width)))
    return whole / np.linalg.norm(whole, axis=2, keepdims=True)


def kl(mean_a: np.ndarray, cov_a: np.ndarray, mean_b: np.ndarray, cov_b: np.ndarray) -> float:
    """KL(a, b) as it is printed."""
    inverse, moved = np.linalg.inv(cov_b), mean_b - mean_a
    logs = np.linalg.slogdet(cov_b)[1] - np.linalg.slogdet(cov_a)[1]
    return float((np.trace(inverse @ cov_a) + moved @ inverse @ moved - len(moved) + logs) / 2)


def test_divergence_is_the_printed_formula() -> None:
    vectors = drawn(4, 60, 5)
    fits = {
        "diagonal": lambda rows: np.diag(rows.var(axis=0)),
        "full": lambda rows: ledoit_wolf(rows)[0],
    }
    expected: dict[str, list[float]] = {kind: [] for kind in fits}
    for a, b in permutations(range(4), 2):
        for kind, fit in fits.items():
            one, other = ((rows.mean(axis=0), fit(rows)) for rows in (vectors[a], vectors[b]))
            expected[kind].append((kl(*one, *other) + kl(*other, *one)) / 2)
    assert diagonal_divergence(vectors) == pytest.approx(np.mean(expected["diagonal"]))
    assert full_divergence(vectors) == pytest.approx(np.mean(expected["full"]))


def test_divergence_of_two_gaussians_by_hand() -> None:
    """One dimension, variances 1 and 4, means 0 and 1: (1/4 + 1/4 - 1 + ln 4) / 2 and (4 + 1 - 1 - ln 4) / 2."""
    rows = np.array([-1.0, 1.0])
    vectors = np.stack([rows, 1 + 2 * rows])[:, :, None]
    both = ((0.25 + 0.25 - 1 + math.log(4)) + (4 + 1 - 1 - math.log(4))) / 2
    assert diagonal_divergence(vectors) == pytest.approx(both / 2)
    assert diagonal_divergence(vectors) == pytest.approx(0.875)
    one, four = np.eye(1), 4 * np.eye(1)
    assert kl(np.zeros(1), one, np.ones(1), four) == pytest.approx(0.443147, abs=1e-6)
    assert kl(np.ones(1), four, np.zeros(1), one) == pytest.approx(1.306853, abs=1e-6)


def test_languages_alike_have_no_divergence_and_a_language_apart_has_more() -> None:
    vectors = drawn(1, 200, 4)
    same = np.repeat(vectors, 3, axis=0)
    assert diagonal_divergence(same) == pytest.approx(0, abs=1e-9)
    assert full_divergence(same) == pytest.approx(0, abs=1e-9)
    moved = same.copy()
    moved[0] += 0.3
    assert diagonal_divergence(moved) > 0.1
    constant = np.ones((2, 5, 3))
    assert np.isfinite(diagonal_divergence(constant))


def test_canonical_form_is_scikit_learns_index_of_sentences() -> None:
    vectors = drawn(5, 30, 6)
    found = canonical_form(vectors)
    labels = np.tile(np.arange(30), 5)
    assert found["ch-i"] == pytest.approx(calinski_harabasz_score(vectors.reshape(-1, 6), labels))
    assert found["ch-i"] / found["ch-i:ratio"] == pytest.approx((5 * 30 - 30) / 29)
    shuffled = np.stack([rows[np.random.default_rng(n).permutation(30)] for n, rows in enumerate(vectors)])
    assert canonical_form(shuffled)["ch-i"] < found["ch-i"] / 3


def test_the_papers_factor() -> None:
    vectors = drawn(204, 3001, 1)
    found = canonical_form(vectors + np.random.default_rng(1).normal(size=vectors.shape))
    assert found["ch-i"] / found["ch-i:ratio"] == pytest.approx(203.07, abs=0.01)


def test_isotropy_of_collapsed_and_of_even_vectors() -> None:
    one = np.zeros((2, 50, 4))
    one[:, :, 0] = 1
    found = isotropy(one)
    assert found["pr:both-signs"] == pytest.approx(math.exp(-2))
    assert found["pr"] == pytest.approx(math.exp(-1))
    even = np.concatenate([np.eye(4), -np.eye(4)])[None]
    assert isotropy(even)["pr:both-signs"] == pytest.approx(1)
    assert 0.8 < isotropy(drawn(3, 2000, 8))["pr:both-signs"] <= 1


def test_isotropy_of_three_rows_by_hand() -> None:
    """Axes x and y: Z(x) = e + 1 / e + 1, Z(y) = 2 + e, Z(-y) = 2 + 1 / e."""
    found = isotropy(np.array([[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]]))
    x, y, back = math.e + 1 / math.e + 1, 2 + math.e, 2 + 1 / math.e
    assert found["pr:both-signs"] == pytest.approx(back / y)
    assert found["pr:both-signs"] == pytest.approx(0.501852, abs=1e-6)
    assert x / y == pytest.approx(0.866027, abs=1e-6)
    # The solver chooses the sign of y.
    assert min(abs(found["pr"] - ratio) for ratio in (x / y, back / x)) < 1e-9


def test_isotropy_of_random_directions_is_nearly_one() -> None:
    rows = np.random.default_rng(0).normal(size=(1, 3000, 200))
    assert isotropy(rows / np.linalg.norm(rows, axis=2, keepdims=True))["pr"] > 0.97


def test_isotropy_over_both_signs_does_not_depend_on_the_solver() -> None:
    rows = drawn(3, 40, 5).reshape(-1, 5)
    _, vectors = np.linalg.eigh(rows.T @ rows)
    sums = [np.exp(sign * (rows @ v)).sum() for v in vectors.T for sign in (1, -1)]
    assert isotropy(rows[None])["pr:both-signs"] == pytest.approx(min(sums) / max(sums))

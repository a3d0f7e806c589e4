"""LEACE: the theorems of its paper, and a dense twin that shares no code with it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from worlds import DIM, LANGUAGES, Texts, labels, moments_of, split, stacked, world

from orthoglot.decomposers.architectures.leace import fit
from orthoglot.errors import DataError

K = len(LANGUAGES)


def dense(texts: Texts) -> np.ndarray:
    """The eraser as in the paper, from covariances with one-hot labels: I - W^+ (W C_xz)(W C_xz)^+ W."""
    x, z = stacked(texts), np.eye(K)[labels(texts)]
    covariance = np.cov(x.T, bias=True)
    crossed = (x - x.mean(axis=0)).T @ (z - z.mean(axis=0)) / len(x)
    sizes, axes = np.linalg.eigh(covariance)
    root = axes * np.where(sizes > 1e-9, np.sqrt(np.abs(sizes)), 0) @ axes.T
    whitening = np.linalg.pinv(root, rcond=1e-9)
    seen = whitening @ crossed
    eraser = np.eye(x.shape[1]) - root @ seen @ np.linalg.pinv(seen, rcond=1e-9) @ whitening
    return x.mean(axis=0) + (x - x.mean(axis=0)) @ eraser.T


def accuracy(x: np.ndarray, y: np.ndarray) -> float:
    """Of the least-squares probe with intercept, on the vectors that it was fitted to."""
    design = np.column_stack([x, np.ones(len(x))])
    scores = design @ np.linalg.lstsq(design, np.eye(K)[y], rcond=1e-10)[0]
    return float((scores.argmax(axis=1) == y).mean())


def test_equals_the_dense_twin() -> None:
    texts = world()
    meaning, _ = split("leace", fit(moments_of(texts)), texts)
    np.testing.assert_allclose(stacked(meaning), dense(texts), atol=1e-9)


def test_directions_without_variance_do_no_harm() -> None:
    rng = np.random.default_rng(4)
    flat = np.column_stack([rng.normal(size=(DIM, DIM + 5)), np.zeros(DIM)])
    texts = {name: vectors @ flat + 1 for name, vectors in world().items()}
    meaning, _ = split("leace", fit(moments_of(texts)), texts)
    # An eigenvector has rounding errors where its entry is 0, which vectors scale up.
    error = (
        np.finfo(np.float64).eps * np.linalg.norm(stacked(texts) - stacked(texts).mean(axis=0), axis=1).max()
    )
    np.testing.assert_allclose(stacked(meaning)[:, -1], 1, rtol=0, atol=error)
    np.testing.assert_allclose(stacked(meaning), dense(texts), atol=1e-6)


def test_languages_get_one_mean_and_the_mean_of_all_stays() -> None:
    texts = world()
    meaning, _ = split("leace", fit(moments_of(texts)), texts)
    means = np.stack([vectors.mean(axis=0) for vectors in meaning.values()])
    np.testing.assert_allclose(means - means[0], 0, atol=1e-10)
    np.testing.assert_allclose(stacked(meaning).mean(axis=0), stacked(texts).mean(axis=0), atol=1e-10)
    before = np.stack([vectors.mean(axis=0) for vectors in texts.values()])
    assert np.abs(before - before[0]).max() > 1


def test_no_linear_probe_beats_the_constant_one_any_more() -> None:
    texts = world()
    meaning, language = split("leace", fit(moments_of(texts)), texts)
    y = labels(texts)
    constant = np.bincount(y).max() / len(y)
    assert accuracy(stacked(texts), y) > 0.9
    assert accuracy(stacked(meaning), y) == constant
    assert accuracy(stacked(language), y) > 0.9
    # At the best linear classifier the loss is that of the shares: its gradient at weights 0 vanishes.
    x = stacked(meaning) - stacked(meaning).mean(axis=0)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(x.T @ (np.eye(K)[y] - shares) / len(y), 0, atol=1e-10)
    probe = LogisticRegression(C=1e6, tol=1e-10, max_iter=1000).fit(x, y)
    assert np.abs(probe.coef_).max() < 1e-5
    assert np.abs(LogisticRegression(C=1e6, max_iter=1000).fit(stacked(texts), y).coef_).max() > 0.05


def test_erasing_twice_changes_nothing() -> None:
    texts = world()
    weights = fit(moments_of(texts))
    meaning, _ = split("leace", weights, texts)
    again, nothing = split("leace", weights, meaning)
    np.testing.assert_allclose(stacked(again), stacked(meaning), atol=1e-10)
    np.testing.assert_allclose(stacked(nothing), 0, atol=1e-10)


def test_the_change_has_a_rank_of_at_most_k_minus_1() -> None:
    texts = world()
    weights = fit(moments_of(texts))
    assert weights["left"].shape == weights["right"].shape == (K - 1, DIM)
    _, language = split("leace", weights, texts)
    assert np.linalg.matrix_rank(stacked(language) - stacked(language).mean(axis=0)) == K - 1


@pytest.mark.parametrize("seed", range(5))
def test_any_other_affine_eraser_moves_the_vectors_more(seed: int) -> None:
    """Others with one mean after: oblique projections along other directions, in a random quadratic norm."""
    rng = np.random.default_rng(seed)
    texts = world(seed)
    x = stacked(texts)
    meaning, _ = split("leace", fit(moments_of(texts)), texts)
    norm = rng.normal(size=(DIM, DIM))
    least = np.square((stacked(meaning) - x) @ norm).sum()
    mean = x.mean(axis=0)
    means = np.stack([vectors.mean(axis=0) - mean for vectors in texts.values()])
    left = np.linalg.svd(means)[2][: K - 1]
    for scale in (0, 0.01, 1):  # 0: the orthogonal eraser
        right = left + scale * rng.normal(size=left.shape)
        other = mean + (x - mean) @ (np.eye(DIM) - right.T @ np.linalg.inv(left @ right.T) @ left)
        others = np.split(other, np.cumsum([len(v) for v in texts.values()])[:-1])
        np.testing.assert_allclose([v.mean(axis=0) - mean for v in others], 0, atol=1e-8)
        assert least < np.square((other - x) @ norm).sum()


def test_where_languages_do_not_differ_nothing_is_removed() -> None:
    rng = np.random.default_rng(1)
    vectors = 10 + rng.normal(size=(500, DIM))
    texts = {name: vectors[rng.permutation(500)] for name in LANGUAGES}
    meaning, _ = split("leace", fit(moments_of(texts)), texts)
    np.testing.assert_array_equal(stacked(meaning), stacked(texts))


def test_one_language_is_refused() -> None:
    with pytest.raises(DataError, match="leace: needs two languages or more, has de"):
        fit(moments_of({"de": world()["de"]}))

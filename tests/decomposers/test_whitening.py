"""Whitening by language: one mean, one covariance, the least turn; and how far shrinkage goes."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import DIM, moments_of, split, world

from orthoglot.decomposers.architectures.whitening import fit
from orthoglot.errors import DataError


def test_equals_the_dense_twin() -> None:
    """The inverse root by the Denman-Beavers iteration, which knows nothing of eigenvalues."""
    texts = world()
    meaning, language = split("whitening", fit(moments_of(texts), 0.3), texts)
    for name, vectors in texts.items():
        covariance = np.cov(vectors.T, bias=True)
        shrunk = 0.7 * covariance + 0.3 * np.diag(covariance).mean() * np.eye(DIM)
        root, inverse = shrunk, np.eye(DIM)
        for _ in range(40):
            root, inverse = (root + np.linalg.inv(inverse)) / 2, (inverse + np.linalg.inv(root)) / 2
        expected = (vectors - vectors.mean(axis=0)) @ inverse
        np.testing.assert_allclose(meaning[name], expected, atol=1e-8)
        np.testing.assert_allclose(meaning[name] + language[name], vectors, atol=1e-12)


def test_without_shrinkage_mean_and_covariance_are_those_of_the_standard_normal() -> None:
    texts = world()
    meaning, _ = split("whitening", fit(moments_of(texts), 0.0), texts)
    for vectors in meaning.values():
        np.testing.assert_allclose(vectors.mean(axis=0), 0, atol=1e-10)
        np.testing.assert_allclose(np.cov(vectors.T, bias=True), np.eye(DIM), atol=1e-9)


def test_full_shrinkage_only_centres_and_scales() -> None:
    texts = world()
    meaning, _ = split("whitening", fit(moments_of(texts), 1.0), texts)
    for name, vectors in texts.items():
        centred = vectors - vectors.mean(axis=0)
        np.testing.assert_allclose(meaning[name], centred / np.sqrt(np.square(centred).mean()), atol=1e-10)


def test_maps_are_symmetric_and_of_all_whitenings_change_the_centred_vectors_least() -> None:
    texts, rng = world(), np.random.default_rng(3)
    weights = fit(moments_of(texts), 0.0)
    for vectors, mean, own in zip(texts.values(), weights["means"], weights["maps"], strict=True):
        np.testing.assert_allclose(own, own.T, atol=1e-12)
        centred = vectors - mean
        for _ in range(10):
            turn = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
            assert np.square(centred @ own - centred).sum() < np.square(centred @ own @ turn - centred).sum()


def test_too_few_sentences_need_shrinkage() -> None:
    texts = {name: vectors[:DIM] for name, vectors in world().items()}
    with pytest.raises(
        DataError, match="vectors of de do not fill their 12 dimensions; more sentences or a shrink"
    ):
        fit(moments_of(texts), 0.0)
    assert np.isfinite(fit(moments_of(texts), 0.1)["maps"]).all()


def test_equal_vectors_cannot_be_whitened_even_with_shrinkage() -> None:
    texts = {name: np.full((20, DIM), 0.1) for name in ("de", "en")}
    with pytest.raises(DataError, match="do not fill their 12 dimensions"):
        fit(moments_of(texts), 0.5)

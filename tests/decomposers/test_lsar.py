"""LSAR: the subspace in which the language means differ, and the paper's own steps as the slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import DIM, LANGUAGES, moments_of, split, world

from orthoglot.decomposers.architectures.lsar import fit
from orthoglot.errors import DataError


def steps_of_the_paper(means: np.ndarray, rank: int) -> np.ndarray:
    """S (D, rank) by Algorithm 1, from means as columns (D, K)."""
    ones = np.ones((means.shape[1], 1))
    average = means @ ones / len(ones)
    u, s, vt = np.linalg.svd(means - average @ ones.T)
    cut = average @ ones.T + u[:, :rank] * s[:rank] @ vt[:rank]
    orthogonal = np.linalg.pinv(cut, rcond=1e-10).T @ ones
    orthogonal /= (orthogonal**2).sum()
    return np.linalg.svd(cut - orthogonal @ ones.T)[0][:, :rank]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_equals_the_steps_of_the_paper(rank: int) -> None:
    texts = world()
    means = np.stack([vectors.mean(axis=0) for vectors in texts.values()], axis=1)
    subspace = steps_of_the_paper(means, rank)
    meaning, _ = split("lsar", fit(moments_of(texts), rank), texts)
    for name, vectors in texts.items():
        np.testing.assert_allclose(meaning[name], vectors - vectors @ subspace @ subspace.T, atol=1e-9)


def test_components_are_orthonormal_and_removing_them_twice_changes_nothing() -> None:
    texts = world()
    weights = fit(moments_of(texts), 2)
    components = weights["components"]
    np.testing.assert_allclose(components @ components.T, np.eye(2), atol=1e-12)
    meaning, language = split("lsar", weights, texts)
    again, _ = split("lsar", weights, meaning)
    for name, vectors in texts.items():
        np.testing.assert_allclose(meaning[name] + language[name], vectors, atol=1e-12)
        np.testing.assert_allclose(again[name], meaning[name], atol=1e-12)


def test_with_full_rank_the_means_of_all_languages_become_one() -> None:
    texts = world()
    weights = fit(moments_of(texts), 50)
    assert weights["components"].shape == (len(LANGUAGES) - 1, DIM)
    meaning, _ = split("lsar", weights, texts)
    means = np.stack([vectors.mean(axis=0) for vectors in meaning.values()])
    np.testing.assert_allclose(means - means[0], 0, atol=1e-10)


def test_of_a_world_of_language_alone_only_what_all_share_is_left() -> None:
    rng = np.random.default_rng(1)
    texts = {name: np.tile(rng.normal(size=DIM), (5, 1)) for name in LANGUAGES}
    meaning, _ = split("lsar", fit(moments_of(texts), 3), texts)
    np.testing.assert_allclose(np.ptp(np.concatenate(list(meaning.values())), axis=0), 0, atol=1e-12)


def test_where_languages_do_not_differ_nothing_is_removed() -> None:
    rng = np.random.default_rng(1)
    vectors = 1000 + rng.normal(size=(500, DIM))
    texts = {name: vectors[rng.permutation(500)] for name in LANGUAGES}
    weights = fit(moments_of(texts), 3)
    assert weights["components"].shape == (0, DIM)
    meaning, language = split("lsar", weights, texts)
    for name in texts:
        np.testing.assert_array_equal(meaning[name], texts[name])
        assert not language[name].any()


def test_one_language_is_refused() -> None:
    with pytest.raises(DataError, match="lsar: needs two languages or more, has de"):
        fit(moments_of({"de": world()["de"]}), 1)

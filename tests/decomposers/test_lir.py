"""LIR: which directions it takes, and what is left."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import DIM, LANGUAGES, moments_of, split, world

from orthoglot.decomposers.architectures.lir import fit
from orthoglot.errors import DataError


@pytest.mark.parametrize("rank", [1, 3, DIM - 1])
def test_equals_the_singular_vectors_of_the_uncentred_vectors(rank: int) -> None:
    texts = world()
    meaning, _ = split("lir", fit(moments_of(texts), rank), texts)
    for name, vectors in texts.items():
        directions = np.linalg.svd(vectors)[2][:rank]
        expected = vectors.copy()
        for direction in directions:
            expected -= np.outer(vectors @ direction, direction)
        np.testing.assert_allclose(meaning[name], expected, atol=1e-9)


def test_components_are_orthonormal_and_removing_them_twice_changes_nothing() -> None:
    texts = world()
    weights = fit(moments_of(texts), 3)
    assert weights["components"].shape == (len(LANGUAGES), 3, DIM)
    for components in weights["components"]:
        np.testing.assert_allclose(components @ components.T, np.eye(3), atol=1e-12)
    meaning, language = split("lir", weights, texts)
    again, nothing = split("lir", weights, meaning)
    for name, vectors in texts.items():
        np.testing.assert_allclose(meaning[name] + language[name], vectors, atol=1e-12)
        np.testing.assert_allclose((meaning[name] * language[name]).sum(axis=1), 0, atol=1e-9)
        np.testing.assert_allclose(again[name], meaning[name], atol=1e-12)
        np.testing.assert_allclose(nothing[name], 0, atol=1e-12)


def test_of_a_world_of_language_alone_nothing_is_left() -> None:
    rng = np.random.default_rng(1)
    texts = {name: np.outer(rng.uniform(1, 2, 30), rng.normal(size=DIM)) for name in LANGUAGES}
    meaning, _ = split("lir", fit(moments_of(texts), 1), texts)
    for vectors in meaning.values():
        np.testing.assert_allclose(vectors, 0, atol=1e-7)


def test_of_all_subspaces_of_its_rank_it_takes_the_most() -> None:
    texts, rng = world(), np.random.default_rng(2)
    meaning, _ = split("lir", fit(moments_of(texts), 2), texts)
    for name, vectors in texts.items():
        for _ in range(20):
            other = np.linalg.qr(rng.normal(size=(DIM, 2)))[0]
            left = vectors - vectors @ other @ other.T
            assert np.square(meaning[name]).sum() < np.square(left).sum()


def test_a_rank_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="rank 12 of vectors of 12 numbers leaves nothing"):
        fit(moments_of(world()), DIM)

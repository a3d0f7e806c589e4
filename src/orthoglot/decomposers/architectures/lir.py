"""LIR (2021): take away the directions in which a language's vectors are longest."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.base import ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.moments import Moments
from orthoglot.errors import DataError
from orthoglot.settings import Count, Settings


class LirSettings(Settings):
    """Its setting."""

    rank: Count
    """Directions that are removed of each language."""


def fit(moments: Moments, rank: int) -> dict[str, np.ndarray]:
    """meaning = e - C C^T e, with C the first right singular vectors of its language's vectors.

    The vectors are not centred, so that the first component is close to the language's mean.

    Returns:
        components: (K, rank, D), the columns of C as rows; orthonormal within a language.
    Raises:
        DataError: The rank is not below D.
    Source: Yang et al., "A Simple and Effective Method To Eliminate the Self Language Bias in Multilingual
        Representations", EMNLP 2021, section 2; docs/papers.md#lir.
    """
    dim = moments.sums.shape[1]
    if rank >= dim:
        raise DataError(f"lir: rank {rank} of vectors of {dim} numbers leaves nothing")
    # The right singular vectors of the vectors are the eigenvectors of their products, which come in rising order.
    directions = np.linalg.eigh(moments.squares())[1]
    return {"components": directions[:, :, : -rank - 1 : -1].transpose(0, 2, 1)}


def apply(weights: Weights, vectors: np.ndarray, languages: Languages) -> Split:
    """Meaning and language of vectors (N, D)."""
    meaning = vectors.copy()
    for k in np.unique(languages.rows):
        in_language, components = languages.rows == k, weights["components"][k]
        meaning[in_language] -= vectors[in_language] @ components.T @ components
    return meaning, vectors - meaning


ARCHITECTURE = ClosedForm(
    fit, apply, {"components": "K R D"}, products=True, settings=LirSettings, by_language=True
)

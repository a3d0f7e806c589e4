"""LSAR (2022): take away one low-rank subspace in which the means of all languages differ."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.base import ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.moments import Moments
from orthoglot.errors import DataError
from orthoglot.settings import Count, Settings


class LsarSettings(Settings):
    """Its setting."""

    rank: Count
    """Directions that are removed of all languages together."""


def fit(moments: Moments, rank: int) -> dict[str, np.ndarray]:
    """meaning = e - S S^T e, with S the language subspace of the matrix of means M = m 1^T + S G^T, m orthogonal to S.

    The paper fits m and S in steps: subtract the average mean, truncate to the rank, find the m orthogonal to
    the rest, truncate again. The last truncation spans what the first did, as moving m along S changes only G: the
    first gives S. Applying it needs no language.

    Returns:
        components: (rank, D), the columns of S as rows, orthonormal; fewer where the means differ in fewer directions.
    Raises:
        DataError: There is only one language.
    Source: Xie et al., "Discovering Low-rank Subspaces for Language-agnostic Multilingual Representations",
        EMNLP 2022, Algorithm 1; docs/papers.md#lsar.
    """
    means = moments.means()
    if len(means) < 2:
        raise DataError(f"lsar: needs two languages or more, has {', '.join(moments.languages)}")
    _, sizes, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    # Equal means differ by rounding alone, which says nothing of languages.
    noise = np.abs(means).max() * means.size * np.finfo(np.float64).eps
    return {"components": directions[:rank][sizes[:rank] > noise]}


def apply(weights: Weights, vectors: np.ndarray, _: Languages) -> Split:
    """Meaning and language of vectors (N, D) of any language."""
    components = weights["components"]
    meaning = vectors - vectors @ components.T @ components
    return meaning, vectors - meaning


ARCHITECTURE = ClosedForm(fit, apply, {"components": "R D"}, settings=LsarSettings)

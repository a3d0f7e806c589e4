"""Whitening by language: every language gets the same mean and the same covariance."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from orthoglot.decomposers.base import ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.moments import Moments
from orthoglot.errors import DataError
from orthoglot.settings import Settings


class WhiteningSettings(Settings):
    """Its setting."""

    shrinkage: Annotated[float, Field(ge=0, le=1)]
    """Share by which a covariance is moved towards a multiple of the identity."""


def fit(moments: Moments, shrinkage: float) -> dict[str, np.ndarray]:
    """meaning = A (e - mean), A = ((1 - s) C + s (tr C / D) I)^(-1/2), with mean and covariance C of its language.

    A is the symmetric root (ZCA): of all whitenings the one that turns the axes least.

    The shrinkage s is in [0, 1]: 0 whitens fully, 1 only divides by the language's spread.

    Returns:
        means: (K, D), maps: (K, D, D) with meaning = (e - mean) @ map.
    Raises:
        DataError: The covariance of a language has no inverse.
    Source: ZCA after Kessy et al., "Optimal Whitening and Decorrelation", 2018; by language our own;
    docs/papers.md#whitening.
    """
    means = moments.means()
    dim = means.shape[1]
    maps = []
    for language, mean, square in zip(moments.languages, means, moments.squares(), strict=True):
        covariance = square - np.outer(mean, mean)
        target = np.trace(covariance) / dim * np.eye(dim)
        sizes, axes = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * target)
        # What float32 vectors leave in a direction without variance.
        if sizes[0] <= np.trace(square) * np.finfo(np.float32).eps ** 2:
            raise DataError(
                f"whitening: the vectors of {language} do not fill their {dim} dimensions; "
                "more sentences or a shrinkage above 0 would"
            )
        maps.append(axes / np.sqrt(sizes) @ axes.T)
    return {"means": means, "maps": np.stack(maps)}


def apply(weights: Weights, vectors: np.ndarray, languages: Languages) -> Split:
    """Meaning and language of vectors (N, D): each language's own affine map. Procrustes shares it."""
    meaning = np.empty_like(vectors)
    for k in np.unique(languages.rows):
        in_language = languages.rows == k
        meaning[in_language] = (vectors[in_language] - weights["means"][k]) @ weights["maps"][k]
    return meaning, vectors - meaning


ARCHITECTURE = ClosedForm(
    fit, apply, {"means": "K D", "maps": "K D D"}, products=True, settings=WhiteningSettings, by_language=True
)

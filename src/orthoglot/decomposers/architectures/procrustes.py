"""Procrustes: turn every language onto the pivot, estimated from translations."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.architectures.whitening import apply
from orthoglot.decomposers.base import ClosedForm
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.errors import DataError


def fit(moments: Moments, pairs: PairMoments) -> dict[str, np.ndarray]:
    """meaning = R (e - mean of its language), with R the rotation that brings translations together.

    R maximises the covariance tr(R C) of turned vectors with their translations, both centred, over orthogonal R:
    R = V U^T for C = U S V^T. The pivot, the language of most sentence pairs, is not turned. A language without
    translations into it goes through the language that it shares most pairs with, and so on.

    Args:
        moments: means of all languages.
        pairs: their translations.
    Returns:
        means: (K, D), maps: (K, D, D), orthogonal, with meaning = (e - mean) @ map.
    Raises:
        DataError: a language that no chain of translations links to the pivot.
    Source: Schoenemann, "A generalized solution of the orthogonal Procrustes problem", 1966; docs/papers.md#procrustes.
    """
    languages = moments.languages
    links: dict[str, dict[str, int]] = {language: {} for language in languages}
    covariances: dict[tuple[str, str], np.ndarray] = {}
    for (first, second), n in pairs.counts.items():
        covariance = pairs.covariance((first, second))
        for a, b, own in ((first, second, covariance), (second, first, covariance.T)):
            links[a][b] = n
            covariances[a, b] = own
    pivot = max(languages, key=lambda language: sum(links[language].values()))
    maps = {pivot: np.eye(pairs.dim)}
    while len(maps) < len(languages):
        open_links = [
            (n, language, known)
            for known in maps
            for language, n in links[known].items()
            if language not in maps
        ]
        if not open_links:
            lost = ", ".join(language for language in languages if language not in maps)
            raise DataError(f"procrustes: no translations link {lost} to {pivot}")
        _, language, known = max(open_links)
        maps[language] = rotation(covariances[language, known]) @ maps[known]
    return {"means": moments.means(), "maps": np.stack([maps[language] for language in languages])}


def rotation(covariance: np.ndarray) -> np.ndarray:
    """The orthogonal Q (D, D) with the largest tr(Q^T C); of several the one nearest to no rotation.

    There are several where fewer translations than dimensions leave directions without covariance.
    Source: docs/papers.md#procrustes.
    """
    u, sizes, vt = np.linalg.svd(covariance)
    free = sizes <= sizes[0] * len(sizes) * np.finfo(np.float64).eps
    if free.any():
        left, _, right = np.linalg.svd(u[:, free].T @ vt[free].T)
        u[:, free] = u[:, free] @ left @ right
    turned: np.ndarray = u @ vt
    return turned


ARCHITECTURE = ClosedForm(
    fit, apply, {"means": "K D", "maps": "K D D"}, pairs=True, pair_products=True, by_language=True
)

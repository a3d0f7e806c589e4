"""Procrustes: turn every language onto the pivot, estimated from translations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

import numpy as np
from pydantic import Field

from orthoglot.decomposers.architectures.whitening import apply
from orthoglot.decomposers.base import Candidate, ClosedForm
from orthoglot.decomposers.chain import chain
from orthoglot.decomposers.cross_validation import Block
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.settings import Settings

# They go from the rotation that fits the translations best to almost none.
RIDGES = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0]


class ProcrustesSettings(Settings):
    """Its setting."""

    ridge: Annotated[float, Field(ge=0)] | None = None
    """How much a rotation is drawn towards none, in means of the covariances of translations; chosen by
    cross-validation if it is null."""


def fit(moments: Moments, pairs: PairMoments, ridge: float) -> dict[str, np.ndarray]:
    """meaning = R (e - mean of its language), with R the rotation that brings translations together.

    R maximises tr(R C) over orthogonal R: R = V U^T for C + t (tr C / D) I = U S V^T, with C the covariance of turned
    vectors with their translations, both centred. The pivot, the language of most sentence pairs, is not turned. A
    language without translations into it goes through the language that it shares most pairs with, and so on.

    The best rotation of few more pairs than dimensions turns other text wrongly. The ridge t draws it towards no
    rotation, which is `centering`. A negative trace counts as 0.

    Returns:
        means: (K, D), maps: (K, D, D), orthogonal, with meaning = (e - mean) @ map.
    Raises:
        DataError: No chain of translations links a language to the pivot.
    Source: Schoenemann, "A generalized solution of the orthogonal Procrustes problem", 1966; docs/papers.md#procrustes.
    """
    maps = _maps(moments.languages, pairs, ridge)
    return {"means": moments.means(), "maps": np.stack([maps[language] for language in moments.languages])}


def candidates(moments: Moments, pairs: PairMoments, blocks: Sequence[Block]) -> Iterator[Candidate]:
    """Meaning vectors of translations with every ridge."""
    means = dict(zip(moments.languages, moments.means(), strict=True))

    def vectors(ridge: float) -> list[tuple[np.ndarray, np.ndarray]]:
        maps = _maps(moments.languages, pairs, ridge)
        return [
            (
                ((source - means[first]) @ maps[first]).astype(np.float32),
                ((target - means[second]) @ maps[second]).astype(np.float32),
            )
            for source, target, (first, second) in blocks
        ]

    for ridge in RIDGES:
        yield Candidate({"ridge": ridge}, partial(vectors, ridge))


def _maps(languages: Sequence[str], pairs: PairMoments, ridge: float) -> dict[str, np.ndarray]:
    """The map (D, D) of each language."""
    (pivot, _), *others = chain(languages, pairs)
    maps = {pivot: np.eye(pairs.dim)}
    for language, known in others:
        if (language, known) in pairs.counts:
            covariance = pairs.covariance((language, known))
        else:
            covariance = pairs.covariance((known, language)).T
        covariance += ridge * max(np.trace(covariance), 0) / pairs.dim * np.eye(pairs.dim)
        maps[language] = rotation(covariance) @ maps[known]
    return maps


def rotation(covariance: np.ndarray) -> np.ndarray:
    """The orthogonal Q (D, D) with the largest tr(Q^T C); of several the one nearest to no rotation.

    There are several where fewer translations than dimensions leave directions without covariance.
    Source: docs/papers.md#procrustes.
    """
    try:
        u, sizes, vt = np.linalg.svd(covariance)
    except np.linalg.LinAlgError:
        # LAPACK's fast routine need not converge where many directions have no covariance; the slow one does.
        # Imported here: it takes half a second of whatever reads params.yaml.
        from scipy.linalg import svd

        u, sizes, vt = svd(covariance, lapack_driver="gesvd")
    free = sizes <= sizes[0] * len(sizes) * np.finfo(np.float64).eps
    if free.any():
        left, _, right = np.linalg.svd(u[:, free].T @ vt[free].T)
        u[:, free] = u[:, free] @ left @ right
    return u @ vt


ARCHITECTURE = ClosedForm(
    fit,
    apply,
    {"means": "K D", "maps": "K D D"},
    pairs=True,
    pair_products=True,
    settings=ProcrustesSettings,
    candidates=candidates,
    by_language=True,
)

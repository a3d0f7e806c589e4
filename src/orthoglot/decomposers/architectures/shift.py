"""SHIFT (2026): every language moved towards the pivot by the mean difference of translations."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from orthoglot.decomposers.base import ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.chain import chain
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.settings import Settings


class ShiftSettings(Settings):
    """Its setting."""

    scale: Annotated[float, Field(gt=0, le=1)]
    """How much of the mean difference of translations `shift` takes off."""


def fit(moments: Moments, pairs: PairMoments, scale: float) -> dict[str, np.ndarray]:
    """meaning = e - scale V, language = mean of the pivot + scale V, with V the mean of e - the pivot's translation.

    The pivot, the language of most sentence pairs, has V = 0: its queries stay as they are. A language without
    translations into it goes through the language that it shares most pairs with, and so on. The authors have no
    language part; this one is the language's mean where all have the same text.

    Returns:
        shifts: scale V (K, D).
        pivot: The mean of the pivot's sentences (D,).
    Raises:
        DataError: No chain of translations links a language to the pivot.
    Source: Jang et al., "SHIFT: Semantic Harmonization via Index-side Feature Transformation", 2026, Eq. 1 and
    Algorithm 1; docs/papers.md#shift.
    """
    (pivot, _), *others = chain(moments.languages, pairs)
    differences = {pivot: np.zeros(pairs.dim)}
    for language, known in others:
        pair, sign = ((known, language), 1) if (known, language) in pairs.counts else ((language, known), -1)
        first, second = pairs.sums[pair]
        differences[language] = differences[known] + sign * (second - first) / pairs.counts[pair]
    shifts = scale * np.stack([differences[language] for language in moments.languages])
    return {"shifts": shifts, "pivot": moments.means()[moments.languages.index(pivot)]}


def apply(weights: Weights, vectors: np.ndarray, languages: Languages) -> Split:
    """Meaning and language of vectors (N, D)."""
    shifts = weights["shifts"][languages.rows]
    return vectors - shifts, weights["pivot"] + shifts


SHAPES = {"shifts": "K D", "pivot": "D"}
ARCHITECTURE = ClosedForm(fit, apply, SHAPES, pairs=True, settings=ShiftSettings, by_language=True)

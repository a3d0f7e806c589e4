"""SHIFT (2026): every language moved towards the pivot by the mean difference of translations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

import numpy as np
from pydantic import Field

from orthoglot.decomposers.architectures.centering import apply
from orthoglot.decomposers.base import Candidate, ClosedForm
from orthoglot.decomposers.cross_validation import Block
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.settings import Settings

# Those that its authors compare.
SCALES = [step / 10 for step in range(1, 11)]


class ShiftSettings(Settings):
    """Its setting."""

    scale: Annotated[float, Field(ge=0, le=1)] | None = None
    """How much of the mean difference of translations `shift` takes off; chosen by cross-validation if it is null."""


def fit(moments: Moments, pairs: PairMoments, scale: float) -> dict[str, np.ndarray]:
    """meaning = e - scale V, language = scale V, with V the language's mean minus the pivot's over translations.

    The pivot, the language of most sentence pairs, has V = 0, so its queries need no change. A language without
    translations into it goes through the language that it shares most pairs with, and so on.

    Returns:
        means: scale V (K, D).
    Raises:
        DataError: No chain of translations links a language to the pivot.
    Source: Jang et al., "SHIFT: Semantic Harmonization via Index-side Feature Transformation", 2026, Eq. 1 and
    Algorithm 1; docs/papers.md#shift.
    """
    return {"means": scale * _differences(moments.languages, pairs)}


def candidates(moments: Moments, pairs: PairMoments, blocks: Sequence[Block]) -> Iterator[Candidate]:
    """Meaning vectors of translations with every scale."""
    differences = dict(zip(moments.languages, _differences(moments.languages, pairs), strict=True))

    def vectors(scale: float) -> list[tuple[np.ndarray, np.ndarray]]:
        return [
            (
                (source - scale * differences[first]).astype(np.float32),
                (target - scale * differences[second]).astype(np.float32),
            )
            for source, target, (first, second) in blocks
        ]

    for scale in SCALES:
        yield Candidate({"scale": scale}, partial(vectors, scale))


def _differences(languages: Sequence[str], pairs: PairMoments) -> np.ndarray:
    """Mean over translations of a language's vector less the pivot's (K, D)."""
    differences: dict[str, np.ndarray] = {}
    for language, known in pairs.chain(languages):
        if language == known:
            differences[language] = np.zeros(pairs.dim)
            continue
        pair, sign = ((known, language), 1) if (known, language) in pairs.counts else ((language, known), -1)
        first, second = pairs.sums[pair]
        differences[language] = differences[known] + sign * (second - first) / pairs.counts[pair]
    return np.stack([differences[language] for language in languages])


ARCHITECTURE = ClosedForm(
    fit,
    apply,
    {"means": "K D"},
    pairs=True,
    settings=ShiftSettings,
    candidates=candidates,
    by_language=True,
)

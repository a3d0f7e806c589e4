"""Mean centering: the language of a sentence is the mean vector of its language."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.base import ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.moments import Moments


def fit(moments: Moments) -> dict[str, np.ndarray]:
    """meaning = e - mean of its language, language = that mean.

    Every training sentence counts as often as it occurs, whatever its pair.

    Returns:
        means: (K, D).
    Source: SEED's baseline, which has no number; docs/papers.md#seed-centering.
    """
    return {"means": moments.means()}


def apply(weights: Weights, vectors: np.ndarray, languages: Languages) -> Split:
    """Meaning and language of vectors (N, D)."""
    language = weights["means"][languages.rows]
    return vectors - language, language


ARCHITECTURE = ClosedForm(fit, apply, {"means": "K D"}, by_language=True)

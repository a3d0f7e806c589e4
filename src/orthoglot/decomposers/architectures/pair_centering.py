"""Mean centering per language pair."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.base import ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.moments import Moments, PairMoments


def fit(moments: Moments, pairs: PairMoments) -> dict[str, np.ndarray]:
    """meaning = e - mean of its language within the pair, language = that mean.

    A pivot language has another mean in each pair: that of the texts which were translated there.

    Returns:
        means: (K, K, D), [k, m] of language k in its pair with m; if the two have no translations, and for k = m, the
        mean of language k over all pairs.
    Source: SEED, which gives it no number; docs/papers.md#seed-centering.
    """
    means = np.repeat(moments.means()[:, None], len(moments.languages), axis=1)
    counts = np.zeros(means.shape[:2])
    sums = np.zeros(means.shape)
    for pair, n in pairs.counts.items():
        first, second = (moments.languages.index(language) for language in pair)
        counts[first, second] += n
        counts[second, first] += n
        sums[first, second] += pairs.sums[pair][0]
        sums[second, first] += pairs.sums[pair][1]
    seen = (counts > 0) & ~np.eye(len(counts), dtype=bool)
    means[seen] = sums[seen] / counts[seen][:, None]
    return {"means": means}


def apply(weights: Weights, vectors: np.ndarray, languages: Languages) -> Split:
    """Meaning and language of vectors (N, D); without a partner language as mean centering."""
    rows, partner = languages.rows, languages.partner
    language = weights["means"][rows, rows if partner is None else partner]
    return vectors - language, language


ARCHITECTURE = ClosedForm(fit, apply, {"means": "K K D"}, pairs=True, by_language=True)

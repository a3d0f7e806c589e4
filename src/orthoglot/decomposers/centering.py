"""Mean centering: the language of a sentence is the mean vector of its language."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.moments import Moments, PairMoments


def centering(moments: Moments) -> dict[str, np.ndarray]:
    """meaning = e - mean of its language, language = that mean.

    Every training sentence counts as often as it occurs, in whatever pair.

    Returns:
        means: (K, D).
    Source: methods 4.5 (SEED's baseline).
    """
    return {"means": moments.means()}


def pair_centering(moments: Moments, pairs: PairMoments) -> dict[str, np.ndarray]:
    """meaning = e - mean of its language within the pair, language = that mean.

    A pivot has another mean in each pair, that of the texts which were translated there.

    Args:
        moments: means of all languages.
        pairs: sums of each language within its pairs.
    Returns:
        means: (K, K, D), of the first language beside the second; where the two have no translations, and on the
        diagonal, the language's mean over all pairs.
    Source: methods 4.5.
    """
    means = np.repeat(moments.means()[:, None], len(moments.languages), axis=1)
    counts = np.zeros(means.shape[:2])
    sums = np.zeros(means.shape)
    for pair, n in pairs.counts.items():
        first, second = (moments.languages.index(language) for language in pair)
        for (one, other), total in zip(((first, second), (second, first)), pairs.sums[pair], strict=True):
            counts[one, other] += n
            sums[one, other] += total
    seen = (counts > 0) & ~np.eye(len(counts), dtype=bool)
    means[seen] = sums[seen] / counts[seen][:, None]
    return {"means": means}

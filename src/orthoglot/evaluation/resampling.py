"""Intervals and paired tests from per-item scores, written once for every metric.

Items come in strata (one per language pair); a mean over strata is unweighted, and each stratum is resampled
on its own. One draw of n items with replacement hits each distinct score a multinomial number of times, so
the bootstrap is drawn exactly from the counts of the distinct scores: a 10,000-fold resample of a thousand
hits and misses takes about a millisecond.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from orthoglot.errors import DataError
from orthoglot.evaluation.base import LEFT_OUT

Strata = Mapping[str, np.ndarray]


class Interval(NamedTuple):
    """A mean with its bootstrap percentile interval, in the unit of the scores; n counts items."""

    value: float
    low: float
    high: float
    n: int


class Comparison(NamedTuple):
    """A paired difference: interval, two-sided p of the paired bootstrap, and of McNemar's exact test."""

    difference: Interval
    p: float
    mcnemar: float


def pool(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Mean over aligned score arrays, item by item; an item that any array left out is left out.

    Args:
        scores: arrays (N,), -1 for left out; e.g. one per seed, or per seed and direction.
    Returns:
        (N,) float in [0, 1], NaN for left out.
    """
    stacked = np.stack(scores).astype(np.float64)
    return np.where((stacked != LEFT_OUT).all(axis=0), stacked.mean(axis=0), np.nan)


def resample(scores: np.ndarray, resamples: int, generator: np.random.Generator) -> np.ndarray:
    """Means of `resamples` draws of n scores with replacement, (resamples,)."""
    # Differences of thirds and sixths that are equal but for a rounding error are one value.
    values, counts = np.unique(np.round(scores, 12), return_counts=True)
    order = np.argsort(-counts, kind="stable")  # frequent ones first: fewer are left to draw for the others
    values, counts = values[order], counts[order]
    if len(values) == 1:
        return np.full(resamples, values[0])
    return generator.multinomial(len(scores), counts / len(scores), size=resamples) @ values / len(scores)


def interval(
    strata: Strata, *, resamples: int, confidence: float, generator: np.random.Generator
) -> Interval:
    """Unweighted mean over strata with a stratified bootstrap percentile interval.

    Args:
        strata: {stratum: (N,) scores, NaN for left out}.
        resamples: bootstrap draws.
        confidence: e.g. 0.95.
        generator: of the draws.
    Raises:
        DataError: a stratum without a single scored item.
    """
    scored = _scored(strata)
    return _interval(scored, _resampled(scored, resamples, generator), confidence)


def compare(
    ours: Strata, theirs: Strata, *, resamples: int, confidence: float, generator: np.random.Generator
) -> Comparison:
    """Paired comparison of two methods on the same items.

    d_i = ours_i - theirs_i over items that both scored. Bootstrap p: share of draws whose mean lies at
    least as far from the observed mean as that mean lies from 0, with the observed one counted in
    (Koehn 2004; the centred form of sacreBLEU). McNemar: exact binomial test of the signs of d_i, which for
    hits and misses of one seed each is McNemar's test itself.

    Source: methods 7.14.
    """
    differences = _scored({name: ours[name] - theirs[name] for name in ours})
    means = _resampled(differences, resamples, generator)
    found = _interval(differences, means, confidence)
    deviations = np.abs(means - found.value)
    # The margin keeps a tie a tie: the same mean summed in another order differs by a rounding error.
    extreme = int((deviations >= abs(found.value) - 1e-12).sum())
    pooled = np.concatenate(list(differences.values()))
    mcnemar = sign_test(int((pooled > 0).sum()), int((pooled < 0).sum()))
    return Comparison(found, (extreme + 1) / (resamples + 1), mcnemar)


def sign_test(wins: int, losses: int) -> float:
    """McNemar's exact two-sided p that wins and losses are equally likely, from their two counts."""
    return float(min(1.0, 2 * binom.cdf(min(wins, losses), wins + losses, 0.5)))


def holm(probabilities: Sequence[float]) -> list[float]:
    """Holm's step-down correction of p values that are looked at together, in the order given."""
    order = np.argsort(probabilities, kind="stable")
    corrected = np.empty(len(order))
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * probabilities[index]))
        corrected[index] = highest
    return corrected.tolist()


def _scored(strata: Strata) -> dict[str, np.ndarray]:
    scored = {name: scores[~np.isnan(scores)] for name, scores in strata.items()}
    for name, scores in scored.items():
        if len(scores) == 0:
            raise DataError(
                f"{name}: n = 0, each of {len(strata[name])} items has a zero or non-finite vector"
            )
    return scored


def _interval(scored: Strata, means: np.ndarray, confidence: float) -> Interval:
    value = float(np.mean([scores.mean() for scores in scored.values()]))
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(value, float(low), float(high), sum(map(len, scored.values())))


def _resampled(strata: Strata, resamples: int, generator: np.random.Generator) -> np.ndarray:
    return np.mean([resample(scores, resamples, generator) for scores in strata.values()], axis=0)

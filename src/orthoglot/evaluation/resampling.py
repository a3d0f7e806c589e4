"""Intervals and paired tests from per-item scores, written once for every metric.

Items come in strata (one per language pair), and a mean over strata is unweighted. Strata share pivot
sentences, so what is drawn with replacement is the distinct pivot sentence, with all its items: U sentences
give weights w ~ multinomial(U, 1/U), the same for every stratum, and a stratum's mean is sum(w s) / sum(w).

Drawing costs more than scoring, so tables of the same sentences (views, seeds, methods) share their draws.
Sentences whose scores agree throughout are of one kind, and a draw hits each kind a multinomial number of
times; so a 10,000-fold resample of a thousand hits and misses takes about a millisecond.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from orthoglot.errors import DataError
from orthoglot.evaluation.base import LEFT_OUT

# Drawn numbers held at once: 32 MiB of int64.
BLOCK_ENTRIES = 1 << 22
# A multinomial number costs about this many single draws.
MULTINOMIAL_COST = 8


class Scores(NamedTuple):
    """Scored items: `values` (N,), hits or means of hits, and `keys` (N,) of their pivot sentences."""

    values: np.ndarray
    keys: np.ndarray


Strata = Mapping[str, Scores]


class Interval(NamedTuple):
    """A mean with its bootstrap percentile interval, in the unit of the scores.

    `n` counts the scored items, `units` the distinct pivot sentences that were resampled.
    """

    value: float
    low: float
    high: float
    n: int
    units: int


class Comparison(NamedTuple):
    """A paired difference: interval, two-sided p of the paired bootstrap, and of the exact sign test."""

    difference: Interval
    p: float
    sign_p: float


def pool(scores: Sequence[Scores]) -> Scores:
    """Mean over aligned hits, item by item; an item that any of them left out is left out.

    Args:
        scores: hits of the same items, -1 for left out; e.g. one per seed, or per seed and direction.
    Returns:
        Values in [0, 1], NaN for left out.
    """
    stacked = np.stack([one.values for one in scores]).astype(np.float64)
    means = np.where((stacked != LEFT_OUT).all(axis=0), stacked.mean(axis=0), np.nan)
    return Scores(means, scores[0].keys)


def subtract(ours: Strata, theirs: Strata) -> dict[str, Scores]:
    """Item by item, ours - theirs; NaN where either left the item out.

    Raises:
        DataError: the two were not scored on the same items.
    """
    for name, one in ours.items():
        if name not in theirs or not np.array_equal(one.keys, theirs[name].keys):
            raise DataError(f"{name}: the evaluations to compare were made on different sentences")
    return {name: Scores(one.values - theirs[name].values, one.keys) for name, one in ours.items()}


def mean(strata: Strata) -> float:
    """Unweighted mean over strata of the mean of each, left-out items aside."""
    return float(np.mean([np.nanmean(one.values) for one in strata.values()]))


def intervals(
    tables: Sequence[Strata], *, resamples: int, confidence: float, generator: np.random.Generator
) -> list[Interval]:
    """Of each table the unweighted mean over strata, with a bootstrap percentile interval over pivot sentences.

    Args:
        tables: {stratum: scores, NaN for left out} each, on the same sentences.
        resamples: bootstrap draws, the same for all tables.
        confidence: e.g. 0.95.
        generator: of the draws.
    Raises:
        DataError: a stratum without a single scored item.
    """
    scored = [_scored(strata) for strata in tables]
    drawn = _resampled(scored, resamples, generator)
    return [_interval(strata, means, confidence) for strata, means in zip(scored, drawn, strict=True)]


def compare(
    contests: Sequence[tuple[Strata, Strata]],
    *,
    resamples: int,
    confidence: float,
    generator: np.random.Generator,
) -> list[Comparison]:
    """Paired comparisons (ours, theirs) on the same items; the models that gave the scores are taken as fixed.

    d_i = ours_i - theirs_i over items that both scored. Bootstrap p: share of draws whose mean lies at
    least as far from the observed mean as that mean lies from 0, with the observed one counted in
    (Koehn 2004; the centred form of sacreBLEU). Sign test: see `sign_test`, on the signs of d_i.

    Source: methods 7.14.
    """
    differences = [_scored(subtract(ours, theirs)) for ours, theirs in contests]
    drawn = _resampled(differences, resamples, generator)
    return [_comparison(strata, means, confidence) for strata, means in zip(differences, drawn, strict=True)]


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided p that wins and losses are equally likely, from their two counts; ties do not count.

    An item wins if its score, a mean over seeds and directions, is higher, by however little. Items count
    as independent and alike, whatever their language pair, unlike in the bootstrap.
    """
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


def _scored(strata: Strata) -> dict[str, Scores]:
    scored = {}
    for name, one in strata.items():
        kept = ~np.isnan(one.values)
        if not kept.any():
            raise DataError(f"{name}: n = 0, each of {len(kept)} items has a zero or non-finite vector")
        scored[name] = Scores(one.values[kept], one.keys[kept])
    return scored


def _interval(scored: Strata, means: np.ndarray, confidence: float) -> Interval:
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    keys = np.concatenate([one.keys for one in scored.values()])
    return Interval(mean(scored), float(low), float(high), len(keys), len(np.unique(keys)))


def _comparison(differences: Strata, means: np.ndarray, confidence: float) -> Comparison:
    found = _interval(differences, means, confidence)
    deviations = np.abs(means - found.value)
    # The margin keeps a tie a tie: the same mean summed in another order differs by a rounding error.
    extreme = int((deviations >= abs(found.value) - 1e-12).sum())
    pooled = np.concatenate([one.values for one in differences.values()])
    sign_p = sign_test(int((pooled > 0).sum()), int((pooled < 0).sum()))
    return Comparison(found, (extreme + 1) / (len(means) + 1), sign_p)


def _resampled(tables: Sequence[Strata], resamples: int, generator: np.random.Generator) -> np.ndarray:
    """Means over strata of `resamples` draws, (tables, resamples)."""
    columns = [one for strata in tables for one in strata.values()]
    sums, sizes, counts = _kinds(columns)
    # Most tables score the same items: each pattern of items is weighed once.
    patterns, pattern = np.unique(sizes, axis=1, return_inverse=True)
    observed = np.array([one.values.mean() for one in columns])
    ends = np.cumsum([len(strata) for strata in tables])[:-1]
    means = np.empty((len(tables), resamples))
    block = max(1, BLOCK_ENTRIES // int(counts.sum()))
    for start in range(0, resamples, block):
        weights = _weights(counts, min(block, resamples - start), generator).astype(np.float64)
        items = (weights @ patterns)[:, pattern]
        # A stratum so small that a draw misses it keeps its mean.
        drawn = np.where(items > 0, weights @ sums / np.maximum(items, 1), observed)
        for row, part in zip(means, np.split(drawn, ends, axis=1), strict=True):
            row[start : start + block] = part.mean(axis=1)
    return means


def _kinds(columns: Sequence[Scores]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kinds of pivot sentences: sums of scores (M, C), numbers of items (M, C), how many of each kind (M,)."""
    keys, places = np.unique(np.concatenate([one.keys for one in columns]), return_inverse=True)
    shape = len(keys), len(columns)
    column = np.repeat(np.arange(len(columns)), [len(one.keys) for one in columns])
    cells = places * len(columns) + column
    values = np.concatenate([one.values for one in columns])
    sums = np.bincount(cells, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
    sizes = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    # Differences of thirds and sixths that are equal but for a rounding error are one value.
    rows = np.round(np.hstack([sums, sizes]), 12) + 0.0
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")  # frequent ones first: fewer are left to draw for the others
    found, items = np.split(kinds[order], 2, axis=1)
    return found, items, counts[order]


def _weights(counts: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
    """How often each kind is hit when as many sentences as there are get drawn, (draws, M)."""
    n, m = int(counts.sum()), len(counts)
    if m * MULTINOMIAL_COST <= n:
        return generator.multinomial(n, counts / n, size=draws)
    kinds = np.repeat(np.arange(m), counts)
    cells = kinds[generator.integers(n, size=(draws, n))] + m * np.arange(draws)[:, None]
    return np.bincount(cells.ravel(), minlength=draws * m).reshape(draws, m)

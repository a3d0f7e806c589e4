"""Intervals and paired tests from per-item scores, written once for every metric.

Items come in strata (one per language pair), and a mean over strata is unweighted. Strata share pivot
sentences, so what is drawn with replacement is the distinct pivot sentence, with all its items: U sentences
give weights w ~ multinomial(U, 1/U), the same for every stratum, and a stratum's mean is sum(w s) / sum(w).

Tables of the same sentences (views, seeds, methods) share their draws. Sentences whose scores agree throughout are
of one kind, and a draw hits each kind a multinomial number of times: few numbers for hits and misses
(docs/benchmarks/resampling.md).

Correlations and other statistics of `statistics` are no sums of scores: `resample` gives each sentence its own
weight, the same for every column, and takes the statistic of the weighted items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from scipy.stats import binom

from orthoglot.errors import DataError
from orthoglot.statistics.records import LEFT_OUT
from orthoglot.statistics.weighted import Ranking, Ranks, Statistic, Sums, ranking

# Drawn numbers held at once: 32 MiB of int64.
BLOCK_ENTRIES = 1 << 22
# Ranks of a column held at once: 1 MiB of float64, which a core's cache holds.
RANK_ENTRIES = 1 << 17
# A multinomial number costs about this many single draws.
MULTINOMIAL_COST = 8


class Scores(NamedTuple):
    """Scored items and `keys` (N,) of their pivot sentences.

    `values` are (N,) hits or means of hits, or (N, C) floats of which a statistic is taken.
    """

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
    """A paired difference: interval, two-sided p of the paired bootstrap, and of the exact sign test.

    `sign_p` is None for correlations, which no single item wins or loses.
    """

    difference: Interval
    p: float
    sign_p: float | None


class Column(NamedTuple):
    """A statistic to take of some items; `name` tells errors whose they are."""

    name: str
    scores: Scores
    statistic: Statistic


class Resampled(NamedTuple):
    """Statistics of C columns: observed, `values` (C,), NaN where there is none; and in R draws, `draws` (C, R)."""

    values: np.ndarray
    draws: np.ndarray


def left_out(values: np.ndarray) -> np.ndarray:
    """(N,) bool: items without a score, -1 among hits, NaN among floats."""
    if np.issubdtype(values.dtype, np.integer):
        return values == LEFT_OUT
    return np.isnan(values.reshape(len(values), -1)).any(axis=1)


def pool(scores: Sequence[Scores]) -> Scores:
    """Mean over aligned hits, item by item; an item that any of them left out is left out.

    Args:
        scores: hits of the same items, -1 for left out; e.g. one per seed, or per seed and direction.
    Returns:
        Values in [0, 1], NaN for left out.
    """
    stacked = np.stack([one.values for one in scores]).astype(np.float64)
    missing = np.any([left_out(one.values) for one in scores], axis=0)
    return Scores(np.where(missing, np.nan, stacked.mean(axis=0)), scores[0].keys)


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


def resample(columns: Sequence[Column], *, resamples: int, generator: np.random.Generator) -> Resampled:
    """The statistic of each column, observed and in draws of pivot sentences that all columns share.

    An item that was left out has no part in its column. A draw in which a column has no statistic, e.g. as all
    its items agree, keeps the observed one.

    Args:
        columns: per-item scores, NaN for left out, and the statistic to take of them.
        resamples: R.
        generator: of the draws.
    Raises:
        DataError: a column without a single scored item.
    """
    kept = [_kept(column) for column in columns]
    units = np.unique(np.concatenate([one.scores.keys for one in kept]))
    groups: dict[bytes, list[int]] = {}
    for place, one in enumerate(kept):
        groups.setdefault(one.scores.keys.tobytes(), []).append(place)
    shared = [_Group.of(places, [kept[place] for place in places], units) for places in groups.values()]
    values = np.empty(len(columns))
    draws = np.empty((len(columns), resamples))
    for group in shared:
        values[group.places] = group.statistics(np.ones((len(units), 1)))[:, 0]
    block = max(1, BLOCK_ENTRIES // len(units))
    for start in range(0, resamples, block):
        weights = _unit_weights(len(units), min(block, resamples - start), generator)
        for group in shared:
            draws[group.places, start : start + block] = group.statistics(weights)
    return Resampled(values, np.where(np.isnan(draws), values[:, None], draws))


class _Group(NamedTuple):
    """Columns of the very same items: `places` among all columns.

    `rows` are the items' sentences among those that are drawn, `item_of` says which of them each item has.
    `sums` holds, for each statistic of sums, its place in the group and its moments by sentence; `ranks`, by the
    bytes of y (gold scores are ranked once), how y is ranked and the statistics: place, how x is ranked.
    """

    places: list[int]
    rows: np.ndarray
    item_of: np.ndarray
    sums: list[tuple[int, Sums, np.ndarray]]
    ranks: dict[bytes, tuple[Ranking, list[tuple[int, Ranks, Ranking]]]]

    @classmethod
    def of(cls, places: list[int], columns: Sequence[Column], units: np.ndarray) -> Self:
        keys, item_of = np.unique(columns[0].scores.keys, return_inverse=True)
        sums: list[tuple[int, Sums, np.ndarray]] = []
        ranks: dict[bytes, tuple[Ranking, list[tuple[int, Ranks, Ranking]]]] = {}
        for row, (_, scores, statistic) in enumerate(columns):
            values = scores.values.reshape(len(scores.values), -1)
            if isinstance(statistic, Sums):
                moments = statistic.moments(values)
                by_unit = [np.bincount(item_of, weights=moment, minlength=len(keys)) for moment in moments.T]
                sums.append((row, statistic, np.stack(by_unit)))
                continue
            x, y = values.T
            if y.tobytes() not in ranks:
                ranks[y.tobytes()] = ranking(y), []
            ranks[y.tobytes()][1].append((row, statistic, ranking(x)))
        return cls(places, np.searchsorted(units, keys), item_of, sums, ranks)

    def statistics(self, weights: np.ndarray) -> np.ndarray:
        """(columns of the group, B) from the weights of all sentences (U, B)."""
        own = weights[self.rows]
        found = np.empty((len(self.places), weights.shape[1]))
        if self.sums:
            stacked = np.concatenate([moments for _, _, moments in self.sums]) @ own
            ends = np.cumsum([len(moments) for _, _, moments in self.sums])[:-1]
            for (row, statistic, _), part in zip(self.sums, np.split(stacked, ends), strict=True):
                found[row] = statistic.finish(part)
        if self.ranks:
            width = max(1, RANK_ENTRIES // len(self.item_of))
            for start in range(0, weights.shape[1], width):
                items = own[self.item_of, start : start + width]
                for ranked, members in self.ranks.values():
                    y = ranked(items)
                    for row, correlation, x_ranked in members:
                        found[row, start : start + width] = correlation.finish(items, x_ranked(items), y)
        return found


def interval(value: float, draws: np.ndarray, *, confidence: float, keys: Sequence[np.ndarray]) -> Interval:
    """A statistic with its percentile interval; `keys` are those of the items of each stratum."""
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    counted = np.concatenate(keys)
    return Interval(value, float(low), float(high), len(counted), len(np.unique(counted)))


def bootstrap_p(value: float, draws: np.ndarray) -> float:
    """Share of draws at least as far from the observed value as that is from 0, the observed one counted in."""
    # The margin keeps a tie a tie: the same mean summed in another order differs by a rounding error.
    extreme = int((np.abs(draws - value) >= abs(value) - 1e-12).sum())
    return (extreme + 1) / (len(draws) + 1)


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


def _kept(column: Column) -> Column:
    name, scores, statistic = column
    kept = ~left_out(scores.values)
    if not kept.any():
        raise DataError(f"{name}: n = 0, each of {len(kept)} items has a zero or non-finite vector")
    return Column(name, Scores(scores.values[kept], scores.keys[kept]), statistic)


def _interval(scored: Strata, means: np.ndarray, confidence: float) -> Interval:
    keys = [one.keys for one in scored.values()]
    return interval(mean(scored), means, confidence=confidence, keys=keys)


def _comparison(differences: Strata, means: np.ndarray, confidence: float) -> Comparison:
    found = _interval(differences, means, confidence)
    pooled = np.concatenate([one.values for one in differences.values()])
    sign_p = sign_test(int((pooled > 0).sum()), int((pooled < 0).sum()))
    return Comparison(found, bootstrap_p(found.value, means), sign_p)


def _resampled(tables: Sequence[Strata], resamples: int, generator: np.random.Generator) -> np.ndarray:
    """Means over strata of `resamples` draws, (tables, resamples)."""
    columns = [one for strata in tables for one in strata.values()]
    sums, sizes, counts = _kinds(columns)
    # Most tables score the same items: each pattern of items is weighed once.
    patterns, pattern = np.unique(sizes, axis=1, return_inverse=True)
    observed = np.array([one.values.mean() for one in columns])
    ends = np.cumsum([len(strata) for strata in tables])[:-1]
    means = np.empty((len(tables), resamples))
    block = max(1, BLOCK_ENTRIES // max(int(counts.sum()), len(columns)))
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


def _unit_weights(n: int, draws: int, generator: np.random.Generator) -> np.ndarray:
    """How often each of n sentences is hit when n get drawn, (n, draws)."""
    hit = generator.integers(n, size=(draws, n))
    return np.stack([np.bincount(row, minlength=n) for row in hit]).T.astype(np.float64, order="C")


def _weights(counts: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
    """How often each kind is hit when as many sentences as there are get drawn, (draws, M)."""
    n, m = int(counts.sum()), len(counts)
    if m * MULTINOMIAL_COST <= n:
        return generator.multinomial(n, counts / n, size=draws)
    kinds = np.repeat(np.arange(m), counts)
    cells = kinds[generator.integers(n, size=(draws, n))] + m * np.arange(draws)[:, None]
    return np.bincount(cells.ravel(), minlength=draws * m).reshape(draws, m)

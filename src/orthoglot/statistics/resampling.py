"""The bootstrap over pivot sentences: statistics of per-item scores in draws that all columns share.

A draw takes U of the U distinct pivot sentences with replacement, each with all its items, so that a sentence has one
weight in every language pair, view, seed and method. Each draw's statistics are taken of the weighted items
(`orthoglot.statistics.weighted`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, Self

import numpy as np

from orthoglot.errors import DataError
from orthoglot.statistics.records import LEFT_OUT
from orthoglot.statistics.weighted import Groups, Metric, Spearman, Statistic, Sums, grouped

# Drawn numbers held at once: 32 MiB of int64.
BLOCK_ENTRIES = 1 << 22
# Ranks held at once: 4 MiB of float64.
RANK_ENTRIES = 1 << 19


class Scores(NamedTuple):
    """Scored items."""

    values: np.ndarray  # (N,) hits or means of hits, or (N, C) floats of which a statistic is taken
    keys: np.ndarray  # (N,) of their pivot sentences


class Column(NamedTuple):
    """A statistic to take of some items."""

    name: str  # for messages
    scores: Scores
    statistic: Statistic


class Resampled(NamedTuple):
    """Statistics of C columns."""

    values: np.ndarray  # (C,) observed, NaN where there is none
    draws: np.ndarray  # (C, R) in R draws


def left_out(values: np.ndarray) -> np.ndarray:
    """(N,) bool: items without a score, -1 among hits, NaN among floats."""
    if np.issubdtype(values.dtype, np.integer):
        return values == LEFT_OUT
    return np.isnan(values.reshape(len(values), -1)).any(axis=1)


def pool(scores: Sequence[Scores]) -> Scores:
    """Mean over aligned hits, item by item; an item that any of them left out is left out.

    Args:
        scores: Hits of the same items, -1 for left out; e.g. one per seed, or per seed and direction.
    Returns:
        Values in [0, 1], NaN for left out.

    >>> import numpy as np
    >>> from orthoglot.statistics.resampling import Scores, pool
    >>> keys = np.arange(4)
    >>> pool([Scores(np.array([1, 1, 0, -1]), keys), Scores(np.array([1, 0, 0, 1]), keys)]).values.tolist()
    [1.0, 0.5, 0.0, nan]
    """
    stacked = np.stack([hits.values for hits in scores]).astype(np.float64)
    missing = np.any([left_out(hits.values) for hits in scores], axis=0)
    return Scores(np.where(missing, np.nan, stacked.mean(axis=0)), scores[0].keys)


class SharedColumns:
    """Columns to resample together; equal scores under one metric are one column, however often they are added."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self._numbers: dict[tuple[bytes, bytes, str], int] = {}

    def add(self, name: str, scores: Scores, metric: Metric) -> int:
        """The number of the column of these scores and this metric."""
        digests = [blake2b(array.tobytes(), digest_size=16).digest() for array in scores]
        number = self._numbers.setdefault((digests[0], digests[1], metric.name), len(self.columns))
        if number == len(self.columns):
            self.columns.append(Column(name, scores, metric.statistic))
        return number

    def keys(self, numbers: Sequence[int]) -> np.ndarray:
        """The keys of the items that are scored in all of some columns of the same items."""
        scores = [self.columns[number].scores for number in dict.fromkeys(numbers)]
        missing = np.any([left_out(column.values) for column in scores], axis=0)
        return scores[0].keys[~missing]


def mean_of(
    resampled: Resampled, members: Mapping[str, Sequence[int]]
) -> tuple[float, np.ndarray | None, int]:
    """Unweighted mean over language pairs of the mean over columns.

    Args:
        resampled: All columns.
        members: {language pair: its columns, e.g. one per seed}.
    Returns:
        The observed mean, its draws (R,), and the number of columns without a statistic. These are left out of the
        mean; the draws are None if no column has a statistic.
    """
    pairs = [np.array(numbers) for numbers in members.values()]
    defined = [numbers[~np.isnan(resampled.values[numbers])] for numbers in pairs]
    undefined = sum(map(len, pairs)) - sum(map(len, defined))
    defined = [numbers for numbers in defined if len(numbers)]
    if not defined:
        return np.nan, None, undefined
    value = float(np.mean([resampled.values[numbers].mean() for numbers in defined]))
    draws = np.mean([resampled.draws[numbers].mean(axis=0) for numbers in defined], axis=0)
    return value, draws, undefined


def resample(columns: Sequence[Column], *, resamples: int, generator: np.random.Generator) -> Resampled:
    """The statistic of each column, observed and in draws of pivot sentences that all columns share.

    Left-out items have no part in their column. In a draw in which a column has no statistic, e.g. as all its items
    agree, the observed one is kept.

    Args:
        columns: Per-item scores, NaN for left out, and the statistic to take of them.
        resamples: The number of draws, R.
        generator: The source of the draws.
    Raises:
        DataError: a column without a scored item.

    Does a method that finds 90 of 100 translations find more than one that finds 75 of them?

    >>> import numpy as np
    >>> from orthoglot.statistics.intervals import percentile
    >>> from orthoglot.statistics.resampling import Column, Scores, resample
    >>> from orthoglot.statistics.weighted import mean
    >>> keys = np.arange(100)
    >>> first, second = (Scores((keys % n > 0).astype(float), keys) for n in (10, 4))
    >>> columns = [Column("first", first, mean()), Column("second", second, mean())]
    >>> values, draws = resample(columns, resamples=1000, generator=np.random.default_rng(1))
    >>> gain = percentile(values[0] - values[1], draws[0] - draws[1], confidence=0.95, keys=[keys])
    >>> [round(float(number), 2) for number in gain[:3]]
    [0.15, 0.06, 0.24]
    """
    scored = [_scored(column) for column in columns]
    units = np.unique(np.concatenate([column.scores.keys for column in scored]))
    groups: dict[bytes, list[int]] = {}
    for number, column in enumerate(scored):
        groups.setdefault(column.scores.keys.tobytes(), []).append(number)
    shared_groups = [
        _Group.of(numbers, [scored[number] for number in numbers], units) for numbers in groups.values()
    ]
    values = np.empty(len(columns))
    draws = np.empty((len(columns), resamples))
    for group in shared_groups:
        values[group.numbers] = group.statistics(np.ones((len(units), 1)))[:, 0]
    block = max(1, BLOCK_ENTRIES // len(units))
    for start in range(0, resamples, block):
        weights = _weights(len(units), min(block, resamples - start), generator)
        for group in shared_groups:
            draws[group.numbers, start : start + block] = group.statistics(weights)
    return Resampled(values, np.where(np.isnan(draws), values[:, None], draws))


class _Group(NamedTuple):
    """Columns of the same items: `numbers` among all columns."""

    numbers: list[int]
    rows: np.ndarray  # the items' sentences among those that are drawn
    item_of: np.ndarray  # which of these sentences each item has
    sums: list[tuple[int, Sums, np.ndarray]]  # row in the group, statistic and its moments by sentence
    # {bytes of y: (`grouped` y, rows of its correlations, `grouped` x of each)}: gold scores are ranked once
    ranks: dict[bytes, tuple[Groups, list[int], list[Groups]]]

    @classmethod
    def of(cls, numbers: list[int], columns: Sequence[Column], units: np.ndarray) -> Self:
        keys, item_of = np.unique(columns[0].scores.keys, return_inverse=True)
        sums: list[tuple[int, Sums, np.ndarray]] = []
        ranks: dict[bytes, tuple[Groups, list[int], list[Groups]]] = {}
        for row, (_, scores, statistic) in enumerate(columns):
            values = scores.values.reshape(len(scores.values), -1)
            if isinstance(statistic, Sums):
                moments = statistic.moments(values)
                by_unit = [np.bincount(item_of, weights=moment, minlength=len(keys)) for moment in moments.T]
                sums.append((row, statistic, np.stack(by_unit)))
                continue
            x, y = values.T
            if y.tobytes() not in ranks:
                ranks[y.tobytes()] = grouped(y), [], []
            _, its_rows, xs = ranks[y.tobytes()]
            its_rows.append(row)
            xs.append(grouped(x))
        return cls(numbers, np.searchsorted(units, keys), item_of, sums, ranks)

    def statistics(self, weights: np.ndarray) -> np.ndarray:
        """(columns of the group, B) from the weights of all sentences (U, B)."""
        item_weights = weights[self.rows]
        values = np.empty((len(self.numbers), weights.shape[1]))
        if self.sums:
            stacked = np.concatenate([moments for _, _, moments in self.sums]) @ item_weights
            ends = np.cumsum([len(moments) for _, _, moments in self.sums])[:-1]
            for (row, statistic, _), part in zip(self.sums, np.split(stacked, ends), strict=True):
                values[row] = statistic.finish(part)
        if self.ranks:
            width = max(1, RANK_ENTRIES // len(self.item_of))
            for start in range(0, weights.shape[1], width):
                items = item_weights[self.item_of, start : start + width]
                for y, its_rows, xs in self.ranks.values():
                    values[its_rows, start : start + width] = Spearman.finish(items, xs, y)
        return values


def _scored(column: Column) -> Column:
    name, scores, statistic = column
    scored = ~left_out(scores.values)
    if not scored.any():
        raise DataError(f"{name}: n = 0, each of {len(scored)} items has a zero or non-finite vector")
    return Column(name, Scores(scores.values[scored], scores.keys[scored]), statistic)


def _weights(n: int, draws: int, generator: np.random.Generator) -> np.ndarray:
    """How often each of n sentences is drawn in n draws with replacement, (n, draws)."""
    hit = generator.integers(n, size=(draws, n))
    return np.stack([np.bincount(row, minlength=n) for row in hit]).T.astype(np.float64, order="C")

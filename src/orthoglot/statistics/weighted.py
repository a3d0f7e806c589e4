"""Statistics of weighted items: what a bootstrap draw makes of means, ratios and correlations.

A draw gives item i the weight w_i, how often it was drawn; with w_i = 1 a statistic is the ordinary one, and with
whole numbers it is that of the items repeated w_i times. Most statistics are functions of a few weighted sums, so
all draws of all of them are one matrix product. Spearman's ranks change with the draw and are added up for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from orthoglot.statistics.records import ACCURACY, MAE, MRP, P_AT_1

# Values that differ by less are one value: what rounding leaves of a constant.
CONSTANT = 1e-12

# Rows by rising value; rows of equal values are one group.
Groups = Sequence[list[int]]


class Sums(NamedTuple):
    """A statistic of weighted sums."""

    moments: Callable[[np.ndarray], np.ndarray]  # (N, C) values -> (N, M) summands, the first of them 1
    finish: Callable[[np.ndarray], np.ndarray]  # (M, B) sums -> (B,) statistics, NaN where there is none


class Spearman:
    """Spearman's correlation of (N, 2) values (x, y): Pearson's of the mid-ranks, in [-1, 1].

    NaN for a constant x or y.

    If rows are in rising order of x, g are groups of equal x, and r the mid-ranks of y less their mean, the sums are

    sum(w r_x r_y) = sum_g (C_g - T_g / 2) R_g,  R_g = sum_g(w r), T_g = sum_g(w), C_g = T_1 + ... + T_g
    sum(w r_x^2)   = (n^3 - sum_g T_g^3) / 12

    so no column's ranks are stored. T_g R_g and T_g^3 of a group of one row do not depend on the order.
    """

    @staticmethod
    def finish(weights: np.ndarray, xs: Sequence[Groups], y: Groups) -> np.ndarray:
        """(len(xs), B) correlations under weights (N, B), of the `grouped` values of some x and one y."""
        ranks = mid_ranks(weights, y)
        weighted = weights * ranks
        y_spread = np.einsum("nb,nb->b", weighted, ranks)
        n, squared = weights.sum(axis=0), np.einsum("nb,nb->b", weights, weighted)
        cubed = np.einsum("nb,nb,nb->b", weights, weights, weights)
        # Two distinct ranks are at least 1/2 apart: anything less is rounding.
        floor = np.full(len(n), 1e-6)
        correlations = np.empty((len(xs), len(n)))
        total, scratch = np.empty_like(n), np.empty_like(n)
        for row, groups in enumerate(xs):
            total.fill(0)
            product, halves, cubes = np.zeros_like(n), squared.copy(), cubed.copy()
            for rows in groups:
                if len(rows) == 1:
                    count, part = weights[rows[0]], weighted[rows[0]]
                else:
                    count, part = weights[rows].sum(axis=0), weighted[rows].sum(axis=0)
                    halves += count * part - (weights[rows] * weighted[rows]).sum(axis=0)
                    cubes += count**3 - (weights[rows] ** 3).sum(axis=0)
                total += count
                np.multiply(total, part, out=scratch)
                product += scratch
            correlations[row] = _correlation(product - halves / 2, (n**3 - cubes) / 12, y_spread, floor=floor)
        return correlations


Statistic = Sums | Spearman


class Metric(NamedTuple):
    """A statistic under the name and on the scale of its records."""

    name: str
    statistic: Statistic
    scale: float = 100


def column(number: int) -> Sums:
    """sum(w v) / sum(w) of one column v of (N, C) values."""
    return Sums(lambda values: _with_ones(values[:, [number]]), lambda sums: _divided(sums[1], sums[0]))


def mean() -> Sums:
    """sum(w v) / sum(w) of (N, 1) values v."""
    return column(0)


def skewness(number: int) -> Sums:
    """Third central moment over the standard deviation cubed of one column of (N, C) values; NaN of a constant."""

    def moments(values: np.ndarray) -> np.ndarray:
        centred = values[:, [number]] - values[:, number].mean()  # keeps the sums exact
        return _with_ones(centred, centred**2, centred**3)

    def finish(sums: np.ndarray) -> np.ndarray:
        one, two, three = (_divided(part, sums[0]) for part in sums[1:])
        variance = two - one**2
        there = variance > CONSTANT
        third = three - 3 * one * two + 2 * one**3
        return np.where(there, third / np.where(there, variance, 1) ** 1.5, np.nan)

    return Sums(moments, finish)


def spread() -> Sums:
    """sqrt(sum(w (v - m)^2) / sum(w)), m the weighted mean: the standard deviation of (N, 1) values v."""

    def finish(sums: np.ndarray) -> np.ndarray:
        centre = _divided(sums[1], sums[0])
        return np.sqrt(np.maximum(_divided(sums[2], sums[0]) - centre**2, 0))

    return Sums(lambda values: _with_ones(values, values**2), finish)


def ratio() -> Sums:
    """sum(w a) / sum(w b) of (N, 2) values (a, b), b not negative."""
    return Sums(_with_ones, lambda sums: _divided(sums[1], sums[2]))


def share_of(above: Sequence[tuple[int, float]], below: Sequence[int]) -> Sums:
    """sum(w a) / sum(w b) of (N, C) counts: a the sum of columns times factors, b the sum of columns; 0 for 0 / 0."""

    def moments(values: np.ndarray) -> np.ndarray:
        counted = sum(factor * values[:, column] for column, factor in above)
        return _with_ones(np.asarray(counted), values[:, list(below)].sum(axis=1))

    return Sums(moments, lambda sums: np.where(sums[2] > 0, sums[1] / np.where(sums[2] > 0, sums[2], 1), 0))


def explained() -> Sums:
    """1 - sum(w r) / sum(w t) of (N, 2) squared residuals r and squared deviations t: at most 1, maybe negative."""
    return Sums(_with_ones, lambda sums: 1 - _divided(sums[1], sums[2]))


def pearson(first: int = 0, second: int = 1) -> Sums:
    """Pearson's correlation of two columns x, y of (N, C) values: cov_w(x, y) / sqrt(var_w(x) var_w(y)), in [-1, 1].

    NaN for a constant x or y.
    """

    def moments(values: np.ndarray) -> np.ndarray:
        # Neither origin nor scale matters; centred values of spread 1 keep the sums exact.
        values = np.ascontiguousarray(values[:, [first, second]])
        centred = values - values.mean(axis=0)
        scale = np.sqrt((centred**2).mean(axis=0))
        constant = _is_constant(values)
        x, y = np.where(constant, 0, centred / np.where(constant, 1, scale)).T
        return np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])

    def finish(sums: np.ndarray) -> np.ndarray:
        n, x, y, xx, yy, xy = sums
        return _correlation(n * xy - x * y, n * xx - x * x, n * yy - y * y, floor=CONSTANT * n * n)

    return Sums(moments, finish)


def partial_correlation(given: Sequence[int]) -> Sums:
    """Pearson's correlation of what a linear regression on the columns `given` leaves of columns 0 and 1.

    It is the correlation of C_aa - C_ab C_bb^+ C_ba, where C are the covariances, a columns 0 and 1 and b the given
    ones; in [-1, 1], NaN where nothing is left of column 0 or 1.
    """
    columns = [0, 1, *given]
    size = len(columns)

    def moments(values: np.ndarray) -> np.ndarray:
        standardised = values[:, columns] - values[:, columns].mean(axis=0)
        scale = standardised.std(axis=0)
        standardised = np.where(scale > CONSTANT, standardised / np.where(scale > CONSTANT, scale, 1), 0)
        return _with_ones(
            standardised, (standardised[:, :, None] * standardised[:, None, :]).reshape(len(standardised), -1)
        )

    def finish(sums: np.ndarray) -> np.ndarray:
        means, products = (_divided(part, sums[:1]).T for part in (sums[1 : 1 + size], sums[1 + size :]))
        covariance = products.reshape(-1, size, size) - means[:, :, None] * means[:, None, :]
        across = covariance[:, :2, 2:]
        # The pseudo-inverse takes each direction once, also of two given columns that are one, or of a constant one.
        inverse = np.linalg.pinv(covariance[:, 2:, 2:], rcond=1e-9, hermitian=True)
        left = covariance[:, :2, :2] - across @ inverse @ across.transpose(0, 2, 1)
        return _correlation(left[:, 0, 1], left[:, 0, 0], left[:, 1, 1], floor=np.full(len(left), 1e-9))

    return Sums(moments, finish)


def between() -> Sums:
    """1 - (mean of a b) / cov(x, y) of (N, 4) values (x, y, a, b), a and b being x and y less their groups' means.

    The share of a covariance that lies between groups, NaN where the covariance is not above 0. It is above 1 where
    the covariance within groups is negative, below 0 where that between them is. A draw keeps the groups' means.
    """

    def moments(values: np.ndarray) -> np.ndarray:
        scale = np.where(_is_constant(values[:, :2]), 1, values[:, :2].std(axis=0))
        x, y = ((values[:, :2] - values[:, :2].mean(axis=0)) / scale).T
        a, b = (values[:, 2:] / scale).T
        return _with_ones(x, y, x * y, a * b)

    def finish(sums: np.ndarray) -> np.ndarray:
        x, y, product, within = (_divided(part, sums[0]) for part in sums[1:])
        covariance = product - x * y
        there = covariance > CONSTANT
        return np.where(there, 1 - within / np.where(there, covariance, 1), np.nan)

    return Sums(moments, finish)


def grouped(values: np.ndarray) -> Groups:
    """The rows of (N,) values in rising order, those of equal values together; all together if they are constant."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > 0 if np.ptp(values) > CONSTANT else np.zeros(len(values) - 1, dtype=bool)
    ends = [0, *(np.flatnonzero(steps) + 1).tolist(), len(values)]
    rows = order.tolist()
    return [rows[start:end] for start, end in pairwise(ends)]


def mid_ranks(weights: np.ndarray, groups: Groups) -> np.ndarray:
    """(N, B) mid-ranks of the `grouped` values under weights (N, B), minus their mean (n + 1) / 2, n = sum(w).

    The mid-rank of a value v is sum(w [x < v]) + (sum(w [x = v]) + 1) / 2, the mean position of its copies.
    """
    below = weights.sum(axis=0) / -2
    ranks = np.empty_like(weights)
    for rows in groups:
        count = weights[rows].sum(axis=0)
        ranks[rows] = below + count / 2
        below += count
    return ranks


def _is_constant(values: np.ndarray) -> np.ndarray:
    return np.ptp(values, axis=0) <= CONSTANT


def _correlation(product: np.ndarray, x: np.ndarray, y: np.ndarray, *, floor: np.ndarray) -> np.ndarray:
    """product / sqrt(x y) within [-1, 1], NaN where x or y is not above `floor`."""
    there = (x > floor) & (y > floor)
    length = np.sqrt(np.where(there, x, 1)) * np.sqrt(np.where(there, y, 1))
    return np.where(there, np.clip(product / length, -1, 1), np.nan)


def _divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(b > 0, a / np.where(b > 0, b, 1), np.nan)


def _with_ones(*columns: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(columns[0])), *columns])


# What is kept of each item, and the records that are made of it; a task may have measures of its own.
MEASURES: dict[str, tuple[Metric, ...]] = {
    P_AT_1: (Metric(P_AT_1, mean()),),
    ACCURACY: (Metric(ACCURACY, mean()),),
    MAE: (Metric(MAE, mean()),),
    MRP: (Metric(MRP, mean()),),
    "correlation": (Metric("pearson", pearson()), Metric("spearman", Spearman())),
}

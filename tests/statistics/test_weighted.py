"""Statistics of weighted items are those of the items written out as often as their weights say."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orthoglot.statistics.weighted import (
    Spearman,
    Statistic,
    between,
    column,
    explained,
    grouped,
    mean,
    mid_ranks,
    partial_correlation,
    pearson,
    ratio,
    share_of,
    skewness,
    spread,
)
from orthoglot.study.tasks.registry import measures
from orthoglot.study.tasks.registry import names as registry_names


def taken(statistic: Statistic, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(B,) statistics of (N, C) values under weights (N, B)."""
    if isinstance(statistic, Spearman):
        x, y = map(grouped, values.T)
        return statistic.finish(weights, [x], y)[0]
    return statistic.finish(statistic.moments(values).T @ weights)


def plain(statistic: Statistic, values: list[tuple[float, ...]]) -> float:
    table = np.array(values, dtype=float)
    return float(taken(statistic, table, np.ones((len(table), 1)))[0])


CASES: list[tuple[Statistic, int, Callable[..., float]]] = [
    (mean(), 1, lambda v: v.mean()),
    (spread(), 1, lambda v: v.std()),
    (ratio(), 2, lambda a, b: a.sum() / b.sum()),
    (explained(), 2, lambda r, t: 1 - r.sum() / t.sum()),
    (pearson(), 2, lambda x, y: stats.pearsonr(x, y)[0]),
    (Spearman(), 2, lambda x, y: stats.spearmanr(x, y)[0]),
]


@pytest.mark.parametrize(("statistic", "columns", "slow"), CASES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), levels=st.integers(2, 40))
def test_weights_are_repetitions(
    statistic: Statistic, columns: int, slow: Callable[..., float], seed: int, n: int, levels: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(1, levels + 1, size=(n, columns)) / 4  # many ties
    weights = rng.multinomial(n, np.ones(n) / n, size=5).T.astype(float)
    found = taken(statistic, values, weights)
    for draw, one in zip(weights.T, found, strict=True):
        repeated = np.repeat(values, draw.astype(int), axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy's word for a constant side is a warning and NaN
            expected = slow(*repeated.T) if len(repeated) > 1 else np.nan
        if statistic.finish in (CASES[4][0].finish, CASES[5][0].finish) and np.isnan(expected):
            assert np.isnan(one)
        elif len(repeated) > 1:
            assert one == pytest.approx(expected, abs=1e-9)


def _residuals(x: np.ndarray, y: np.ndarray, *given: np.ndarray) -> list[np.ndarray]:
    known = np.column_stack([np.ones(len(x)), *given])
    return [side - known @ np.linalg.lstsq(known, side, rcond=None)[0] for side in (x, y)]


def _share(x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    return float(1 - (a * b).mean() / np.cov(x, y, bias=True)[0, 1])


@pytest.mark.parametrize(
    ("statistic", "slow"),
    [
        (pearson(3, 0), lambda x, y, a, b: stats.pearsonr(x, b)[0]),
        (partial_correlation([2, 3]), lambda *columns: stats.pearsonr(*_residuals(*columns))[0]),
        (between(), _share),
    ],
)
def test_statistics_of_four_columns_are_those_of_repeated_items(
    statistic: Statistic, slow: Callable[..., float]
) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(60, 4)) @ rng.uniform(0.2, 1, size=(4, 4)) * [1e-3, 1, 80, 5] + [
        0.9,
        0,
        200,
        -1,
    ]
    weights = rng.multinomial(60, np.ones(60) / 60, size=7).T.astype(float)
    expected = [slow(*np.repeat(values, draw.astype(int), axis=0).T) for draw in weights.T]
    np.testing.assert_allclose(taken(statistic, values, weights), expected, atol=1e-9)


def test_a_partial_correlation_of_what_the_given_columns_explain_or_do_not_vary() -> None:
    rng = np.random.default_rng(5)
    x, y, z = rng.normal(size=(3, 40))
    constant = np.full(40, 7.0)

    def partial(*columns: np.ndarray) -> float:
        return plain(partial_correlation([2, 3]), list(zip(*columns, strict=True)))

    assert partial(x, y, constant, constant) == pytest.approx(stats.pearsonr(x, y)[0])
    assert partial(x, y, z, z) == pytest.approx(stats.pearsonr(*_residuals(x, y, z))[0])
    assert np.isnan(partial(3 * z - 1, y, z, x))


def test_a_covariance_that_is_not_above_0_has_no_share_between_groups() -> None:
    deviations = [(-1.0, 1.0), (1.0, -1.0)]
    assert np.isnan(plain(between(), [(a, b, a, b) for a, b in deviations]))
    # Two groups whose means are all that x and y share: 100 %; and none of it where the means are the same.
    apart = [
        (m + a, m + b, a, b)
        for m in (0.0, 10.0)
        for a, b in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
    ]
    assert plain(between(), apart) == pytest.approx(1)
    assert plain(between(), [(a, 2 * a, a, 2 * a) for a in (-1.0, 0.0, 1.0)]) == pytest.approx(0)


def test_oracle_v5() -> None:
    values = list(zip((0.1, 0.4, 0.35, 0.8), (1, 2, 3, 5), strict=True))
    assert plain(pearson(), values) == pytest.approx(0.951463, abs=1e-6)
    assert plain(Spearman(), values) == pytest.approx(0.8)


def test_mid_ranks_by_hand() -> None:
    # 3 once, 1 twice, 2 three times, and 2 again: 1 1 2 2 2 2 3, ranks 1.5, 4.5, 7, mean 4.
    ranks = mid_ranks(np.array([[1.0], [2.0], [3.0], [1.0]]), grouped(np.array([3.0, 1.0, 2.0, 2.0])))
    assert ranks[:, 0].tolist() == [3, -2.5, 0.5, 0.5]


@pytest.mark.parametrize("statistic", [pearson(), Spearman()])
def test_correlations_know_neither_scale_nor_origin_and_both_ends(statistic: Statistic) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50))
    one = plain(statistic, list(zip(x, y, strict=True)))
    assert plain(statistic, list(zip(1e-6 * x + 0.9, 1e5 * y - 7, strict=True))) == pytest.approx(
        one, abs=1e-8
    )
    assert plain(statistic, list(zip(y, x, strict=True))) == pytest.approx(one)
    assert plain(statistic, list(zip(x, 3 * x, strict=True))) == pytest.approx(1)
    assert plain(statistic, list(zip(x, -x, strict=True))) == pytest.approx(-1)


@pytest.mark.parametrize("statistic", [pearson(), Spearman()])
def test_a_constant_has_no_correlation_however_it_is_rounded(statistic: Statistic) -> None:
    gold = [1.0, 2.0, 3.0]
    assert np.isnan(plain(statistic, [(0.7, y) for y in gold]))
    assert np.isnan(plain(statistic, [(x, 0.7) for x in gold]))
    noisy = [(0.7, 1.0), (np.nextafter(0.7, 1), 2.0), (0.7, 3.0)]
    assert np.isnan(plain(statistic, noisy))


def test_shares_of_counts_and_nothing_of_nothing() -> None:
    # Correct, mined, gold: 3 correct of 4 mined, 5 gold pairs.
    values = np.array([[1, 1, 1], [1, 2, 2], [1, 1, 1], [0, 0, 1]], dtype=float)
    f1, precision, recall = share_of([(0, 2)], [1, 2]), share_of([(0, 1)], [1]), share_of([(0, 1)], [2])
    ones = np.ones((4, 1))
    assert taken(f1, values, ones) == pytest.approx(6 / 9)
    assert taken(precision, values, ones) == pytest.approx(3 / 4)
    assert taken(recall, values, ones) == pytest.approx(3 / 5)
    # A draw that has only the last row twice mines nothing.
    assert taken(precision, values, np.array([[0], [0], [0], [2]])) == 0
    weights = np.array([[2], [0], [1], [3]])
    repeated = np.repeat(values, weights[:, 0], axis=0)
    assert taken(f1, values, weights) == pytest.approx(taken(f1, repeated, np.ones((6, 1))))


def test_skewness_is_scipys_whatever_the_weights() -> None:
    rng = np.random.default_rng(1)
    values, weights = rng.exponential(size=(50, 3)) + 1000, rng.integers(0, 4, size=(50, 1))
    repeated = np.repeat(values[:, 1], weights[:, 0])
    assert taken(skewness(1), values, weights) == pytest.approx(stats.skew(repeated))
    assert np.isnan(taken(skewness(0), np.ones((5, 1)), np.ones((5, 1))))
    assert taken(column(1), values, weights) == pytest.approx(repeated.mean())


def test_a_ratio_over_nothing_is_none() -> None:
    assert np.isnan(plain(ratio(), [(1.0, 0.0), (2.0, 0.0)]))
    assert np.isnan(plain(explained(), [(1.0, 0.0)]))


def test_every_metric_has_a_name_of_its_own() -> None:
    names = [metric.name for metrics in measures(registry_names()).values() for metric in metrics]
    assert len(set(names)) == len(names)

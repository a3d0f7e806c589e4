from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from orthoglot.errors import DataError
from orthoglot.statistics.resampling import Column, Scores, SharedColumns, mean_of, pool, resample
from orthoglot.statistics.weighted import MEASURES, Spearman, Statistic, mean, pearson


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def items(values: np.ndarray, first: int = 0) -> Scores:
    """Scores of pivot sentences number `first` and on."""
    return Scores(np.asarray(values), np.arange(first, first + len(values), dtype=np.uint64))


def graded(n: int, seed: int, first: int = 0) -> Scores:
    x, y = rng(seed).normal(size=(2, n))
    return items(np.column_stack([x + y, np.round(y, 1)]), first)


@pytest.mark.parametrize(
    ("statistic", "slow"),
    [(mean(), None), (pearson(), stats.pearsonr), (Spearman(), stats.spearmanr)],
)
def test_an_interval_agrees_with_scipy(statistic: Statistic, slow: Any) -> None:
    scores = graded(80, 1) if slow else items(rng(1).integers(2, size=80) / 1.0)
    found = resample([Column("a", scores, statistic)], resamples=5000, generator=rng())
    one = slow and (lambda x, y: slow(x, y)[0])
    columns = tuple(scores.values.T) if slow else (scores.values,)
    golden = stats.bootstrap(
        columns,
        one or np.mean,
        n_resamples=2000,
        paired=bool(slow),
        vectorized=False,
        method="percentile",
        rng=rng(2),
    ).confidence_interval
    assert found.values[0] == pytest.approx(one(*columns) if one else scores.values.mean())
    assert np.quantile(found.draws[0], [0.025, 0.975]) == pytest.approx((golden.low, golden.high), abs=0.02)


def test_columns_share_their_draws_and_items_of_one_sentence_stay_together() -> None:
    scores = graded(60, 2)
    twice = Scores(np.tile(scores.values, (2, 1)), np.tile(scores.keys, 2))
    turned = Scores(scores.values[::-1], scores.keys[::-1])
    columns = [
        Column(name, one, statistic)
        for statistic in (pearson(), Spearman())
        for name, one in (("once", scores), ("twice", twice), ("turned", turned))
    ]
    found = resample(columns, resamples=300, generator=rng())
    for draws in (found.draws[:3], found.draws[3:]):
        np.testing.assert_allclose(draws[1], draws[0], atol=1e-9)
        np.testing.assert_allclose(draws[2], draws[0], atol=1e-9)
    assert np.abs(found.draws[0] - found.draws[3]).max() > 0.01


def test_left_out_items_change_nothing_but_their_own_column() -> None:
    scores = graded(60, 3)
    holes = Scores(scores.values.copy(), scores.keys)
    holes.values[[3, 20], 0] = np.nan
    kept = np.isfinite(holes.values).all(axis=1)
    columns = [Column("whole", scores, Spearman()), Column("holes", holes, Spearman())]
    found = resample(columns, resamples=50, generator=rng())
    assert found.values[1] == pytest.approx(stats.spearmanr(*holes.values[kept].T)[0])
    assert found.values[0] == pytest.approx(stats.spearmanr(*scores.values.T)[0])
    assert np.isfinite(found.draws).all()
    holes.values[:] = np.nan
    with pytest.raises(DataError, match="holes: n = 0, each of 60"):
        resample(columns, resamples=5, generator=rng())


def test_a_draw_without_a_correlation_keeps_the_observed_one() -> None:
    scores = items(np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]]))
    found = resample([Column("a", scores, pearson())], resamples=500, generator=rng())
    # One draw in nine takes a single sentence three times.
    assert (found.draws[0] == found.values[0]).mean() == pytest.approx(1 / 9 + 6 / 27, abs=0.08)


def test_a_draw_takes_as_many_sentences_as_there_are() -> None:
    found = resample([Column("a", items(np.eye(5)[0]), mean())], resamples=2000, generator=rng())
    np.testing.assert_allclose(5 * found.draws, np.round(5 * found.draws), atol=1e-9)
    # The first of five sentences is drawn in 1 - .8^5 of the draws.
    assert (found.draws > 0).mean() == pytest.approx(1 - 0.8**5, abs=0.04)


def test_columns_of_other_sentences_are_drawn_independently() -> None:
    one = graded(100, 5)
    other = Scores(one.values, one.keys + 100)
    columns = [Column("a", one, pearson()), Column("b", other, pearson()), Column("c", one, Spearman())]
    found = resample(columns, resamples=2000, generator=rng())
    assert abs(np.corrcoef(found.draws[0], found.draws[1])[0, 1]) < 0.1
    assert np.corrcoef(found.draws[0], found.draws[2])[0, 1] > 0.5
    # The draws' spread is that of the correlation itself, (1 - r^2) / sqrt(n) for normal scores.
    r = found.values[0]
    assert found.draws[:2].std(axis=1) == pytest.approx((1 - r**2) / 10, rel=0.3)


def test_strata_of_the_same_sentences_are_no_more_than_one() -> None:
    scores, columns = items(rng(1).integers(2, size=300).astype(float)), SharedColumns()
    (metric,) = MEASURES["P@1"]
    members = {pair: [columns.add(pair, scores, metric)] for pair in "abcde"}
    assert len(columns.columns) == 1
    found = resample(columns.columns, resamples=300, generator=rng())
    value, draws, undefined = mean_of(found, members)
    assert (value, undefined) == (pytest.approx(scores.values.mean()), 0)
    np.testing.assert_allclose(draws, found.draws[0])


def test_a_mean_over_pairs_is_unweighted_and_leaves_out_what_is_undefined() -> None:
    columns = [
        Column("big", items(np.repeat([1.0, 0.0], [900, 0])), mean()),
        Column("small", items(np.tile([0.0, 1.0], 50), 900), mean()),
        Column("constant", items(np.column_stack([np.ones(9), np.arange(9)])), pearson()),
    ]
    found = resample(columns, resamples=2000, generator=rng())
    value, draws, undefined = mean_of(found, {"big": [0], "small": [1, 2], "constant": [2]})
    assert (value, undefined) == (0.75, 2)
    assert draws is not None
    # sd = sqrt(0 + .25 / 100) / 2 = .025
    assert draws.std() == pytest.approx(0.025, rel=0.1)
    assert mean_of(found, {"constant": [2]})[1] is None


def test_pool_means_seeds_and_leaves_out_what_any_left_out() -> None:
    seeds = [np.array(row, dtype=np.int8) for row in ([1, 0, -1, 1], [1, 1, 1, 0])]
    found = pool([items(one) for one in seeds])
    np.testing.assert_array_equal(found.values, [1, 0.5, np.nan, 0.5])

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from orthoglot.errors import DataError
from orthoglot.statistics import resampling
from orthoglot.statistics.resampling import (
    Column,
    Comparison,
    Interval,
    Scores,
    Strata,
    compare,
    holm,
    intervals,
    pool,
    resample,
    sign_test,
)
from orthoglot.statistics.weighted import Statistic, mean, pearson, spearman

HOW = {"resamples": 4000, "confidence": 0.95}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def items(values: np.ndarray, first: int = 0) -> Scores:
    """Scores of pivot sentences number `first` and on."""
    return Scores(np.asarray(values), np.arange(first, first + len(values), dtype=np.uint64))


def interval(strata: Strata, **how: Any) -> Interval:
    (found,) = intervals([strata], **how)
    return found


def contest(ours: Strata, theirs: Strata, **how: Any) -> Comparison:
    (found,) = compare([(ours, theirs)], **how)
    return found


@pytest.mark.parametrize("levels", [2, 4, 60])
def test_interval_agrees_with_scipy(levels: int) -> None:
    scores = rng(1).integers(levels, size=60) / (levels - 1)
    found = interval({"pair": items(scores)}, resamples=40_000, confidence=0.9, generator=rng())
    golden = stats.bootstrap(
        (scores,), np.mean, n_resamples=40_000, confidence_level=0.9, method="percentile", rng=rng(2)
    ).confidence_interval
    assert found.value == pytest.approx(scores.mean())
    # Two exact bootstraps may differ by one step of the mean, and by what 40,000 draws leave open.
    step = 1 / (60 * (levels - 1))
    assert (found.low, found.high) == pytest.approx((golden.low, golden.high), abs=step + 0.002)


def test_strata_of_the_same_sentences_are_no_more_than_one() -> None:
    scores = items(rng(1).integers(2, size=300).astype(float))
    one = interval({"a": scores}, generator=rng(), **HOW)
    five = interval(dict.fromkeys("abcde", scores), generator=rng(), **HOW)
    assert five[:3] == pytest.approx(one[:3])
    assert (five.n, five.units) == (1500, 300)


def test_strata_of_other_sentences_are_independent() -> None:
    strata = {str(k): items(rng(k).integers(2, size=400).astype(float), 1000 * k) for k in range(5)}
    found = interval(strata, generator=rng(), **HOW)
    # The stratified one: sd = sqrt(sum of var_k / n_k) / 5.
    sd = np.sqrt(sum(one.values.var() / 400 for one in strata.values())) / 5
    assert found.high - found.low == pytest.approx(2 * 1.96 * sd, rel=0.06)
    assert found.units == 2000


def test_drawing_single_sentences_and_drawing_kinds_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = {str(k): items(rng(k).integers(3, size=500) / 2, 250 * k) for k in range(3)}
    found = []
    for cost in (0, 10**9):  # always kinds, never kinds
        monkeypatch.setattr(resampling, "MULTINOMIAL_COST", cost)
        found.append(interval(strata, resamples=20_000, confidence=0.95, generator=rng(cost)))
    assert found[0][:3] == pytest.approx(found[1][:3], abs=0.002)


def test_a_table_among_others_has_the_interval_that_it_has_alone() -> None:
    tables: list[Strata] = [
        {str(k): items(rng(10 * t + k).integers(t + 2, size=300) / (t + 1), 150 * k) for k in range(3)}
        for t in range(4)
    ]
    tables[1]["0"].values[:100] = np.nan  # left out of one table, not of the others
    how = {"resamples": 20_000, "confidence": 0.95}
    together = intervals(tables, generator=rng(), **how)
    alone = [interval(table, generator=rng(t), **how) for t, table in enumerate(tables)]
    for one, other in zip(together, alone, strict=True):
        assert one[:3] == pytest.approx(other[:3], abs=0.003)
        assert (one.n, one.units) == (other.n, other.units)
    assert [one.n for one in together] == [900, 800, 900, 900]


def test_contests_together_are_judged_as_alone() -> None:
    sides: list[Strata] = [{"pair": items(rng(seed).integers(2, size=300) / 1.0)} for seed in range(3)]
    contests = [(sides[0], sides[1]), (sides[1], sides[2]), (sides[2], sides[2])]
    together = compare(contests, resamples=20_000, confidence=0.95, generator=rng())
    for one, sides_of_one in zip(together, contests, strict=True):
        other = contest(*sides_of_one, resamples=20_000, confidence=0.95, generator=rng(1))
        assert one.difference[:3] == pytest.approx(other.difference[:3], abs=0.005)
        assert one.p == pytest.approx(other.p, abs=0.02)
        assert one.sign_p == other.sign_p


def test_a_sentence_that_occurs_twice_is_drawn_with_both() -> None:
    values = rng(2).integers(2, size=200).astype(float)
    twice = Scores(np.tile(values, 2), np.tile(np.arange(200, dtype=np.uint64), 2))
    once = interval({"a": items(values)}, generator=rng(), **HOW)
    assert interval({"a": twice}, generator=rng(), **HOW)[:3] == pytest.approx(once[:3])


def test_mean_over_pairs_is_unweighted() -> None:
    strata = {"big": items(np.ones(900)), "small": items(np.tile([0.0, 1.0], 50), 900)}
    found = interval(strata, generator=rng(), **HOW)
    assert found.value == 0.75
    assert found.n == 1000
    # sd = sqrt(0 + .25 / 100) / 2 = .025
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.025, rel=0.1)


def test_pool_means_seeds_and_leaves_out_what_any_left_out() -> None:
    seeds = [np.array(row, dtype=np.int8) for row in ([1, 0, -1, 1], [1, 1, 1, 0])]
    found = pool([items(one) for one in seeds])
    np.testing.assert_array_equal(found.values, [1, 0.5, np.nan, 0.5])


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(DataError, match="de-en: n = 0"):
        interval({"de-en": items(np.array([np.nan, np.nan]))}, generator=rng(), **HOW)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_the_binomial_test_of_wins_and_losses(wins: int, losses: int) -> None:
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses) == pytest.approx(expected)


def test_equal_methods_do_not_differ() -> None:
    scores = {"pair": items(rng(3).integers(2, size=300).astype(float))}
    found = contest(scores, scores, generator=rng(), **HOW)
    assert found.difference[:3] == (0, 0, 0)
    assert found.p == found.sign_p == 1


def test_a_clear_difference_is_significant_and_has_the_sign_of_ours_minus_theirs() -> None:
    theirs = {"pair": items(np.repeat([0.0, 1.0], 150))}
    ours = {"pair": items(np.r_[np.repeat([1.0, 0.0], [40, 110]), np.repeat([0.0, 1.0], [10, 140])])}
    found = contest(ours, theirs, generator=rng(), **HOW)
    assert found.difference.value == pytest.approx(30 / 300)
    assert 0 < found.difference.low < 0.1 < found.difference.high
    assert found.p < 0.001
    assert found.sign_p == pytest.approx(stats.binomtest(40, 50).pvalue)
    back = contest(theirs, ours, generator=rng(), **HOW)
    assert back.difference.value == pytest.approx(-0.1)
    assert back.p < 0.001


def test_methods_scored_on_other_sentences_are_not_compared() -> None:
    with pytest.raises(DataError, match=r"pair: .* different sentences"):
        contest({"pair": items(np.ones(3))}, {"pair": items(np.ones(3), 1)}, generator=rng(), **HOW)


def test_the_test_keeps_its_level() -> None:
    # Two methods of equal worth: about 5 % of tables are "significant" at 0.05.
    found = [
        contest(
            {"pair": items(rng(seed).integers(2, size=200).astype(float))},
            {"pair": items(rng(seed + 9999).integers(2, size=200).astype(float))},
            resamples=400,
            confidence=0.95,
            generator=rng(seed),
        ).p
        for seed in range(400)
    ]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.035)


def test_holm_by_hand() -> None:
    # sorted .01 * 4, .02 * 3, .03 * 2 (kept at .06), .5
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


def graded(n: int, seed: int, first: int = 0) -> Scores:
    x, y = rng(seed).normal(size=(2, n))
    return Scores(np.column_stack([x + y, np.round(y, 1)]), np.arange(first, first + n, dtype=np.uint64))


@pytest.mark.parametrize(("statistic", "slow"), [(pearson(), stats.pearsonr), (spearman(), stats.spearmanr)])
def test_an_interval_of_a_correlation_agrees_with_scipy(statistic: Statistic, slow: Any) -> None:
    scores = graded(80, 1)
    found = resample([Column("a", scores, statistic)], resamples=5000, generator=rng())
    golden = stats.bootstrap(
        tuple(scores.values.T),
        lambda x, y: slow(x, y)[0],
        n_resamples=2000,
        paired=True,
        vectorized=False,
        method="percentile",
        rng=rng(2),
    ).confidence_interval
    assert found.values[0] == pytest.approx(slow(*scores.values.T)[0])
    assert np.quantile(found.draws[0], [0.025, 0.975]) == pytest.approx((golden.low, golden.high), abs=0.02)


def test_columns_share_their_draws_and_items_of_one_sentence_stay_together() -> None:
    scores = graded(60, 2)
    twice = Scores(np.tile(scores.values, (2, 1)), np.tile(scores.keys, 2))
    turned = Scores(scores.values[::-1], scores.keys[::-1])
    columns = [
        Column(name, one, statistic)
        for statistic in (pearson(), spearman())
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
    columns = [Column("whole", scores, spearman()), Column("holes", holes, spearman())]
    found = resample(columns, resamples=50, generator=rng())
    assert found.values[1] == pytest.approx(stats.spearmanr(*holes.values[kept].T)[0])
    assert found.values[0] == pytest.approx(stats.spearmanr(*scores.values.T)[0])
    assert np.isfinite(found.draws).all()
    holes.values[:] = np.nan
    with pytest.raises(DataError, match="holes: n = 0, each of 60"):
        resample(columns, resamples=5, generator=rng())


def test_a_mean_resampled_as_a_statistic_is_the_mean_resampled_as_scores() -> None:
    values = rng(4).integers(3, size=200) / 2
    scores = items(values)
    found = resample([Column("a", scores, mean())], resamples=20_000, generator=rng())
    other = interval({"a": scores}, resamples=20_000, confidence=0.95, generator=rng(1))
    assert found.values[0] == pytest.approx(other.value)
    assert np.quantile(found.draws[0], [0.025, 0.975]) == pytest.approx((other.low, other.high), abs=0.004)


def test_a_draw_without_a_correlation_keeps_the_observed_one() -> None:
    scores = Scores(np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]]), np.arange(3, dtype=np.uint64))
    found = resample([Column("a", scores, pearson())], resamples=500, generator=rng())
    # One draw in nine takes a single sentence three times.
    assert (found.draws[0] == found.values[0]).mean() == pytest.approx(1 / 9 + 6 / 27, abs=0.08)


def test_columns_of_other_sentences_are_drawn_independently() -> None:
    one = graded(100, 5)
    other = Scores(one.values, one.keys + 100)
    columns = [Column("a", one, pearson()), Column("b", other, pearson()), Column("c", one, spearman())]
    found = resample(columns, resamples=2000, generator=rng())
    assert abs(np.corrcoef(found.draws[0], found.draws[1])[0, 1]) < 0.1
    assert np.corrcoef(found.draws[0], found.draws[2])[0, 1] > 0.5
    # The draws' spread is that of the correlation itself, (1 - r^2) / sqrt(n) for normal scores.
    r = found.values[0]
    assert found.draws[:2].std(axis=1) == pytest.approx((1 - r**2) / 10, rel=0.3)

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from orthoglot.errors import DataError
from orthoglot.evaluation.resampling import compare, holm, interval, pool, resample, sign_test

HOW = {"resamples": 4000, "confidence": 0.95}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("levels", [2, 4, 60])
def test_interval_agrees_with_scipy(levels: int) -> None:
    scores = rng(1).integers(levels, size=60) / (levels - 1)
    found = interval({"pair": scores}, resamples=40_000, confidence=0.9, generator=rng())
    golden = stats.bootstrap(
        (scores,), np.mean, n_resamples=40_000, confidence_level=0.9, method="percentile", rng=rng(2)
    ).confidence_interval
    assert found.value == pytest.approx(scores.mean())
    # Two exact bootstraps may differ by one step of the mean, and by what 40,000 draws leave open.
    step = 1 / (60 * (levels - 1))
    assert (found.low, found.high) == pytest.approx((golden.low, golden.high), abs=step + 0.002)


def test_draws_have_the_bootstrap_mean_and_variance() -> None:
    scores = np.array([0, 0, 0, 1, 1, 0.5, 0.25, 1])
    means = resample(scores, 200_000, rng())
    assert means.mean() == pytest.approx(scores.mean(), abs=1e-3)
    assert means.var() == pytest.approx(scores.var() / len(scores), rel=0.02)


def test_mean_over_pairs_is_unweighted_and_each_is_resampled_alone() -> None:
    strata = {"big": np.ones(900), "small": np.tile([0.0, 1.0], 50)}
    found = interval(strata, generator=rng(), **HOW)
    assert found.value == 0.75
    assert found.n == 1000
    # sd = sqrt(0 + .25 / 100) / 2 = .025
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.025, rel=0.1)


def test_pool_means_seeds_and_leaves_out_what_any_left_out() -> None:
    seeds = [np.array(row, dtype=np.int8) for row in ([1, 0, -1, 1], [1, 1, 1, 0])]
    np.testing.assert_array_equal(pool(seeds), [1, 0.5, np.nan, 0.5])


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(DataError, match="de-en: n = 0"):
        interval({"de-en": np.array([np.nan, np.nan])}, generator=rng(), **HOW)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_the_discordant_pairs(wins: int, losses: int) -> None:
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses) == pytest.approx(expected)


def test_equal_methods_do_not_differ() -> None:
    scores = {"pair": rng(3).integers(2, size=300).astype(float)}
    found = compare(scores, scores, generator=rng(), **HOW)
    assert found.difference[:3] == (0, 0, 0)
    assert found.p == found.mcnemar == 1


def test_a_clear_difference_is_significant_and_has_the_sign_of_ours_minus_theirs() -> None:
    theirs = {"pair": np.repeat([0.0, 1.0], 150)}
    ours = {"pair": np.r_[np.repeat([1.0, 0.0], [40, 110]), np.repeat([0.0, 1.0], [10, 140])]}
    found = compare(ours, theirs, generator=rng(), **HOW)
    assert found.difference.value == pytest.approx(30 / 300)
    assert 0 < found.difference.low < 0.1 < found.difference.high
    assert found.p < 0.001
    assert found.mcnemar == pytest.approx(stats.binomtest(40, 50).pvalue)
    back = compare(theirs, ours, generator=rng(), **HOW)
    assert back.difference.value == pytest.approx(-0.1)
    assert back.p < 0.001


def test_the_test_keeps_its_level() -> None:
    # Two methods of equal worth: about 5 % of tables are "significant" at 0.05.
    found = [
        compare(
            {"pair": rng(seed).integers(2, size=200).astype(float)},
            {"pair": rng(seed + 9999).integers(2, size=200).astype(float)},
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


def test_a_thousand_intervals_take_seconds() -> None:
    scores = {"pair": rng(4).integers(2, size=1000).astype(float)}
    started = time.perf_counter()
    for _ in range(100):
        interval(scores, resamples=10_000, confidence=0.95, generator=rng())
    assert time.perf_counter() - started < 2

"""Correlations are compared draw by draw on the same items, as accuracies are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from orthoglot.errors import DataError
from orthoglot.statistics.records import Record
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.summary import Key, Scored
from orthoglot.study.report.comparisons import compare_methods
from orthoglot.study.tasks.settings import EvaluationSettings

N, PAIRS, SEEDS = 150, ("en-de", "en-zh"), (1, 2)
KEYS = np.arange(N, dtype=np.uint64)
GOLD = np.round(np.random.default_rng(0).uniform(0, 5, size=(2, N)), 1)


def predictions(view: str, noise: float, seeds: tuple[int, ...] = SEEDS, draw: int = 1) -> Scored:
    """Gold plus noise, for each pair and seed."""
    rng = np.random.default_rng(draw)
    return {
        Key("sts", "b", pair, view, seed, "correlation"): Scores(
            np.column_stack([gold + noise * rng.normal(size=N), gold]), KEYS
        )
        for seed in seeds
        for pair, gold in zip(PAIRS, GOLD, strict=True)
    }


def compared(
    settings: EvaluationSettings, ours: Scored, theirs: Scored
) -> dict[tuple[str, int | None], Record]:
    found = compare_methods({("e", "original"): theirs, ("e", "dream"): ours}, settings, {}, hosts={})
    return {(record.metric, record.seed): record for record in found}


def mean_correlation(scored: Scored, golden: object) -> float:
    return 100 * float(np.mean([golden(*one.values.T)[0] for one in scored.values()]))  # type: ignore[operator]


def test_a_better_prediction_wins_by_the_difference_of_the_means(settings: EvaluationSettings) -> None:
    ours, theirs = predictions("meaning", 1.0), predictions("sentence", 3.0, (0,), draw=2)
    found = compared(settings, ours, theirs)
    for metric, golden in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        record = found[f"difference-{metric}:original", None]
        expected = mean_correlation(ours, golden) - mean_correlation(theirs, golden)
        assert record.value == pytest.approx(expected, abs=1e-5)
        assert record.low is not None
        assert 0 < record.low < record.value
        assert (record.n, record.facts["units"]) == (2 * N, str(N))
        assert found[f"p-{metric}:original", None].value == pytest.approx(1 / 501)
        by_seed = [found[f"difference-{metric}:original", seed].value for seed in SEEDS]
        assert np.mean(by_seed) == pytest.approx(record.value, abs=1e-5)
    assert len(found) == 2 * (1 + len(SEEDS) + 1)


def test_an_interval_of_a_difference_is_that_of_the_same_draws_on_both_sides(
    settings: EvaluationSettings,
) -> None:
    """Methods that agree on nearly every sentence differ by little in every draw."""
    rng = np.random.default_rng(3)
    theirs = rng.integers(2, size=400)
    ours = theirs.copy()
    ours[np.flatnonzero(theirs == 0)[:20]] = 1
    keys = np.arange(400, dtype=np.uint64)

    def scored(view: str, hits: np.ndarray) -> Scored:
        return {Key("tatoeba", "t", "en-de", view, 1, "P@1"): Scores(hits, keys)}

    found = compared(settings, scored("meaning", ours), scored("sentence", theirs))
    record = found["difference-P@1:original", None]
    golden = stats.bootstrap(
        (ours, theirs),
        lambda one, two: np.mean(one) - np.mean(two),
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=rng,
    ).confidence_interval
    assert record.value == pytest.approx(5)
    assert record.low is not None
    assert record.high is not None
    assert (record.low, record.high) == pytest.approx((100 * golden.low, 100 * golden.high), abs=0.6)


def test_equals_do_not_differ(settings: EvaluationSettings) -> None:
    ours, theirs = predictions("meaning", 1.0, (1,)), predictions("sentence", 1.0, (0,))
    found = compared(settings, ours, theirs)
    assert found["difference-spearman:original", None].value == 0
    assert found["p-spearman:original", None].value == 1


def test_both_sides_are_taken_on_the_items_that_both_scored(settings: EvaluationSettings) -> None:
    ours, theirs = predictions("meaning", 1.0), predictions("sentence", 2.0, (0,), draw=2)
    holes = next(iter(ours))
    ours[holes].values[:20, 0] = np.nan
    found = compared(settings, ours, theirs)
    kept = slice(20, None)

    def corrected(scored: Scored) -> float:
        return mean_correlation(
            {
                key: Scores(one.values[kept], KEYS[kept]) if key.subset == holes.subset else one
                for key, one in scored.items()
            },
            stats.spearmanr,
        )

    record = found["difference-spearman:original", None]
    assert record.value == pytest.approx(corrected(ours) - corrected(theirs), abs=1e-5)
    assert record.n == 2 * N - 20


def test_a_pair_without_a_correlation_is_compared_by_neither(settings: EvaluationSettings) -> None:
    ours, theirs = predictions("meaning", 1.0, (1,)), predictions("sentence", 2.0, (0,), draw=2)
    first, second = ours
    ours[first].values[:, 0] = 0.5
    record = compared(settings, ours, theirs)["difference-pearson:original", None]
    base = next(one for key, one in theirs.items() if key.subset == second.subset)
    expected = stats.pearsonr(*ours[second].values.T)[0] - stats.pearsonr(*base.values.T)[0]
    assert record.value == pytest.approx(100 * expected, abs=1e-5)
    assert record.n == N
    ours[second].values[:, 0] = 0.5
    assert compared(settings, ours, theirs) == {}


def test_other_sentences_are_not_compared(settings: EvaluationSettings) -> None:
    ours, theirs = predictions("meaning", 1.0), predictions("sentence", 2.0, (0,))
    key = next(iter(theirs))
    theirs[key] = Scores(theirs[key].values, KEYS + 1)
    with pytest.raises(DataError, match="different sentences"):
        compared(settings, ours, theirs)


def test_a_host_is_what_the_mapping_says_whatever_the_names(settings: EvaluationSettings) -> None:
    scored = {("e", "plain"): predictions("language", 1.0), ("e", "x"): predictions("language", 3.0, draw=2)}
    found = compare_methods(scored, settings, {}, hosts={"x": "plain", "plain": None})
    assert {(one.method, one.view) for one in found} == {("x", "language")}
    assert compare_methods(scored, settings, {}, hosts={"x": "not-in-this-run"}) == []


def test_sizes_of_language_correlations_are_compared_draw_by_draw(settings: EvaluationSettings) -> None:
    """From -60 to 40: the difference is 100, and the size falls by 20."""
    theirs, ours = predictions("language", 1.9), predictions("language", 3.2, draw=2)
    for one in theirs.values():
        one.values[:, 0] *= -1
    records = compare_methods({("e", "h"): theirs, ("e", "m"): ours}, settings, {}, hosts={"m": "h"})
    found = {(one.metric, one.seed): one for one in records}
    plain, size = (found[f"difference-{name}:h", None] for name in ("spearman", "abs-spearman"))
    mine, other = (mean_correlation(one, stats.spearmanr) for one in (ours, theirs))
    assert other < -40 < 0 < mine
    assert plain.value == pytest.approx(mine - other, abs=1e-5)
    assert size.value == pytest.approx(abs(mine) - abs(other), abs=1e-5)
    assert size.low is not None
    assert size.high is not None
    assert size.low < size.value < size.high < 60 < plain.value
    assert np.mean([found["difference-abs-spearman:h", s].value for s in SEEDS]) == pytest.approx(size.value)

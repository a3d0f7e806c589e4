from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import distance

from orthoglot.search.pair_cosines import cosines, merged
from orthoglot.statistics.resampling import Column, Scores, resample
from orthoglot.statistics.weighted import Spearman, pearson
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.tasks.graded_pairs import Grading
from orthoglot.text.keys import keys_of

GRADED = PairSet(
    "b", "en", "de", ["a", "b", "c"], ["x", "y", "z"], gold=[0.0, 2.5, 5.0], items=["1", "2", "1"]
)
TASK = Grading("sts", GRADED)


def test_the_prediction_is_the_cosine_and_the_gold_score_stands_beside_it() -> None:
    x = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]], dtype=np.float32)
    y = np.array([[4.0, 3.0], [0.0, 5.0], [0.0, -1.0]], dtype=np.float32)
    found = TASK.score({"source": x, "target": y}).scores
    assert list(found) == ["en-de"]
    np.testing.assert_allclose(found["en-de"], [[0.96, 0], [0, 2.5], [-1, 5]], atol=1e-7)
    assert TASK.facts("en-de")["chance"] == 0
    assert TASK.keys().tolist() == keys_of(["1", "2", "1"]).tolist()


def test_a_pair_without_direction_is_left_out_not_scored() -> None:
    x, y = np.ones((3, 2)), np.ones((3, 2))
    x[0], y[2] = 0, np.inf
    assert np.isnan(TASK.score({"source": x, "target": y}).scores["en-de"][:, 0]).tolist() == [
        True,
        False,
        True,
    ]


def test_golden_cosines_of_scipy_at_any_scale() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 40, 6))
    expected = [1 - distance.cosine(a, b) for a, b in zip(x, y, strict=True)]
    assert cosines(x, y) == pytest.approx(expected)
    assert cosines(1e-20 * x, 1e20 * y) == pytest.approx(expected)


def test_cosines_that_differ_by_rounding_are_one_value() -> None:
    values = np.array([0.5, 0.7 + 4e-7, 0.7 - 4e-7, np.nan, 0.5 + 2e-6, -0.2])
    expected = [0.5, 0.7 - 4e-7, 0.7 - 4e-7, np.nan, 0.5 + 2e-6, -0.2]
    np.testing.assert_array_equal(merged(values), expected)
    # A group is never wider than 1e-6, so that values do not join one by one.
    assert len(set(merged(np.arange(100) * 4e-7))) > 30


def test_a_view_of_one_direction_per_language_has_no_correlation() -> None:
    """The language view of LIR: float32 multiples of one vector, whose cosines are 1 but for rounding."""
    rng = np.random.default_rng(0)
    x, y = ((rng.uniform(0.1, 9, size=(80, 1)) * rng.normal(size=48)).astype(np.float32) for _ in range(2))
    gold = rng.uniform(0, 5, size=80)
    items = [str(i) for i in range(80)]
    task = Grading("sts", PairSet("b", "en", "de", items, items, gold=gold.tolist(), items=items))
    assert 1 < len(set(cosines(x, y))) <= 80
    scores = Scores(task.score({"source": x, "target": y}).scores["en-de"], task.keys())
    columns = [Column("a", scores, statistic) for statistic in (pearson(), Spearman())]
    assert np.isnan(resample(columns, resamples=5, generator=rng).values).all()

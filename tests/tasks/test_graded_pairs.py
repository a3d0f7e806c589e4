from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import distance

from orthoglot.tasks.base import keys_of
from orthoglot.tasks.graded_pairs import Grading, cosines

TASK = Grading("sts", "b", "en", "de", ["a", "b", "c"], ["x", "y", "z"], [0.0, 2.5, 5.0], ["1", "2", "1"])


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

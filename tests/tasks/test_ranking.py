"""Scores of ranked lists: values by hand, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from orthoglot.tasks.ranking import average_precision


def test_average_precision_by_hand() -> None:
    assert average_precision(np.array([True, False, True, False]), k=20) == pytest.approx(0.833333, abs=1e-6)
    for rank in (1, 2, 7, 20):
        assert average_precision(np.arange(1, 31) == rank, k=20) == pytest.approx(1 / rank)
    assert average_precision(np.arange(1, 31) == 21, k=20) == 0


def test_average_precision_over_all_candidates_is_scikit_learns() -> None:
    relevant = np.random.default_rng(1).random(40) < 0.3
    expected = average_precision_score(relevant, -np.arange(40))
    assert average_precision(relevant, k=40) == pytest.approx(expected)


def test_without_a_relevant_candidate_it_is_undefined() -> None:
    with pytest.raises(ValueError, match="relevant"):
        average_precision(np.zeros(3, dtype=bool), k=2)

"""Scores of ranked lists: values by hand, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from orthoglot.tasks.ranking import average_precision, ranks


def by_list(relevant: np.ndarray, k: int) -> float:
    """The definition, candidate by candidate, best first."""
    total = found = 0.0
    for rank, hit in enumerate(relevant[:k].tolist(), 1):
        if hit:
            found += 1
            total += found / rank
    return total / min(k, relevant.sum())


def test_oracle_v4_by_hand() -> None:
    # tests/worked-examples.md#worked-evaluation-4
    assert average_precision(np.array([3, 1]), k=20) == pytest.approx(0.833333, abs=1e-6)
    for rank in (1, 2, 7, 20):
        assert average_precision(np.array([rank]), k=20) == pytest.approx(1 / rank)
    assert average_precision(np.array([21]), k=20) == 0


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_is_the_definition_and_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = rng.normal(size=60)
    relevant = rng.permutation(60)[: 3 + 6 * seed]
    hits = np.isin(np.argsort(-similarity), relevant)
    at = ranks(similarity, relevant)
    assert at.tolist() == (np.flatnonzero(hits) + 1).tolist()
    assert average_precision(at, 20) == pytest.approx(by_list(hits, 20))
    expected = average_precision_score(np.isin(np.arange(60), relevant), similarity)
    assert average_precision(at) == pytest.approx(expected)


def test_of_equal_cosines_half_count_as_better() -> None:
    similarity = np.array([0.5, 0.5 + 1e-8, 0.5, 0.5, 0.9, 0.1])
    assert ranks(similarity, np.array([0])).tolist() == [1 + 1 + 3 / 2]
    assert ranks(similarity, np.array([0, 1])).tolist() == [1 + 1 + 1, 2 + 1 + 1]
    assert ranks(np.ones(101), np.array([7])).tolist() == [51]


def test_without_a_relevant_candidate_it_is_undefined() -> None:
    with pytest.raises(ValueError, match="relevant"):
        average_precision(np.empty(0), k=2)

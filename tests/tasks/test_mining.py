"""Mining scores: values by hand, and definitions written as loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from orthoglot.tasks.mining import average_precision, best_threshold, margins


def test_margin_by_hand_chooses_another_pair_than_the_cosine() -> None:
    cosines = np.array([[0.9, 0.5], [0.8, 0.75]])
    found = margins(cosines, k=2)
    np.testing.assert_allclose(found, [[1.161290, 0.754717], [0.984615, 1.071429]], atol=1e-6)
    assert cosines[1].argmax() == 0
    assert found[1].argmax() == 1


@pytest.mark.parametrize("k", [1, 3, 4, 9])
def test_margin_is_the_definition(k: int) -> None:
    cosines = np.random.default_rng(0).uniform(0.1, 1, size=(5, 4))
    found = margins(cosines, k)
    for i in range(5):
        for j in range(4):
            of_source = np.mean(sorted(cosines[i])[-k:])
            of_target = np.mean(sorted(cosines[:, j])[-k:])
            assert found[i, j] == pytest.approx(cosines[i, j] / (of_source / 2 + of_target / 2))


def test_threshold_by_hand() -> None:
    found = best_threshold(np.array([1.05, 1.3, 1.1, 1.2]), np.array([False, True, False, True]), gold=3)
    assert found.f1 == pytest.approx(0.8)
    assert found.value == pytest.approx(1.15)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 3),
)
def test_no_other_threshold_is_better(pairs: list[tuple[int, bool]], missed: int) -> None:
    scores = np.array([score for score, _ in pairs], dtype=float)
    correct = np.array([hit for _, hit in pairs])
    gold = int(correct.sum()) + missed
    if gold == 0:
        with pytest.raises(ValueError, match="0 gold"):
            best_threshold(scores, correct, gold)
        return

    def f1(threshold: float) -> float:
        kept = scores >= threshold
        return 2 * (kept & correct).sum() / (kept.sum() + gold)

    found = best_threshold(scores, correct, gold)
    assert found.f1 == pytest.approx(max(map(f1, scores)))
    assert f1(found.value) == pytest.approx(found.f1)


def test_average_precision_by_hand() -> None:
    assert average_precision(np.array([True, False, True, False]), k=20) == pytest.approx(0.833333, abs=1e-6)
    for rank in (1, 2, 7, 20):
        assert average_precision(np.arange(1, 31) == rank, k=20) == pytest.approx(1 / rank)
    assert average_precision(np.arange(1, 31) == 21, k=20) == 0


def test_average_precision_over_all_candidates_is_scikit_learns() -> None:
    relevant = np.random.default_rng(1).random(40) < 0.3
    expected = average_precision_score(relevant, -np.arange(40))
    assert average_precision(relevant, k=40) == pytest.approx(expected)


def test_what_is_undefined_is_refused() -> None:
    with pytest.raises(ValueError, match="relevant"):
        average_precision(np.zeros(3, dtype=bool), k=2)
    with pytest.raises(ValueError, match="0 pairs"):
        best_threshold(np.zeros(0), np.zeros(0, dtype=bool), gold=1)

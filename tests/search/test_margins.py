"""Mining scores: values by hand, and definitions written as loops."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_recall_curve

from orthoglot.search.margins import Margin, Strategy, best_threshold, curve, mine
from orthoglot.search.neighbours import nearest


def of_length_one(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_oracle_v2_margin_chooses_another_pair_than_the_cosine() -> None:
    # tests/worked-examples.md#worked-evaluation-2; the rows of x are cosines with the unit vectors.
    x, y = np.array([[0.9, 0.5], [0.8, 0.75]], dtype=np.float32), np.eye(2, dtype=np.float32)
    found = nearest(x, y, 2)
    assert found.forward[:, 0].tolist() == [0, 0]
    pairs = mine(x, y, found, strategy="forward")
    assert list(zip(pairs.sources, pairs.targets, strict=True)) == [(0, 0), (1, 1)]
    np.testing.assert_allclose(pairs.margins, [1.161290, 1.071429], atol=1e-6)


def by_loops(
    x: np.ndarray, y: np.ndarray, k: int, margin: str, strategy: str
) -> list[tuple[int, int, float]]:
    """The definition, sentence by sentence."""
    cosine = (x.astype(np.float64) @ y.T.astype(np.float64)).tolist()
    columns = [list(column) for column in zip(*cosine, strict=True)]
    near_x = [np.mean(sorted(row)[-k:]) for row in cosine]
    near_y = [np.mean(sorted(column)[-k:]) for column in columns]

    def score(i: int, j: int) -> float:
        near = (near_x[i] + near_y[j]) / 2
        return {"ratio": cosine[i][j] / near, "distance": cosine[i][j] - near, "absolute": cosine[i][j]}[
            margin
        ]

    def proposal(own: list[float], value: Any) -> int:
        return max(sorted(range(len(own)), key=lambda one: -own[one])[:k], key=value)

    ahead = [(i, proposal(row, lambda j, i=i: score(i, j))) for i, row in enumerate(cosine)]
    back = [(proposal(column, lambda i, j=j: score(i, j)), j) for j, column in enumerate(columns)]
    chosen = {"forward": ahead, "backward": back, "intersection": [one for one in ahead if one in back]}.get(
        strategy
    )
    if chosen is None:
        chosen = []
        for i, j in sorted({*ahead, *back}, key=lambda one: -score(*one)):
            if all(i != a and j != b for a, b in chosen):
                chosen.append((i, j))
    return sorted((i, j, score(i, j)) for i, j in chosen)


@pytest.mark.parametrize("strategy", ["forward", "backward", "max", "intersection"])
@pytest.mark.parametrize("margin", ["ratio", "distance", "absolute"])
@pytest.mark.parametrize("k", [1, 4, 30])
def test_pairs_are_the_definition(margin: Margin, strategy: Strategy, k: int) -> None:
    rng = np.random.default_rng(7)
    shared = rng.normal(size=(20, 12))
    x, y = (of_length_one(shared[:rows] + 2 + rng.normal(size=(rows, 12))) for rows in (20, 15))
    pairs = mine(x, y, nearest(x, y, k), margin, strategy)
    expected = by_loops(x, y, k, margin, strategy)
    assert len(expected) > 3
    assert sorted(zip(pairs.sources, pairs.targets, strict=True)) == [one[:2] for one in expected]
    np.testing.assert_allclose(np.sort(pairs.margins), np.sort([one[2] for one in expected]), atol=1e-6)
    assert (np.diff(pairs.margins) <= 0).all()


@pytest.mark.parametrize("form", ["ratio", "distance", "absolute"])
def test_golden_same_pairs_as_the_script_of_sentence_transformers(form: Margin) -> None:
    """Its `bitext_mining_utils.py`, written out: faiss finds, `max` pools and takes each sentence once."""
    rng = np.random.default_rng(8)
    shared = rng.normal(size=(300, 16))
    x = of_length_one(shared + 1 + 0.8 * rng.normal(size=shared.shape))
    y = of_length_one(shared[rng.permutation(300)][:250] + 1 + 0.8 * rng.normal(size=(250, 16)))
    margin = {"ratio": lambda a, b: a / b, "distance": lambda a, b: a - b, "absolute": lambda a, b: a}[form]

    def neighbours(queries: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        return index.search(queries, 4)

    def candidates(
        a: np.ndarray, b: np.ndarray, inds: np.ndarray, fwd: np.ndarray, bwd: np.ndarray
    ) -> np.ndarray:
        scores = np.zeros(inds.shape)
        for i in range(scores.shape[0]):
            for j in range(scores.shape[1]):
                k = inds[i, j]
                scores[i, j] = margin(a[i].dot(b[k]), (fwd[i] + bwd[k]) / 2)
        return scores

    x2y_sim, x2y_ind = neighbours(x, y)
    y2x_sim, y2x_ind = neighbours(y, x)
    x2y_mean, y2x_mean = x2y_sim.mean(axis=1), y2x_sim.mean(axis=1)
    fwd_scores = candidates(x, y, x2y_ind, x2y_mean, y2x_mean)
    bwd_scores = candidates(y, x, y2x_ind, y2x_mean, x2y_mean)
    fwd_best = x2y_ind[np.arange(len(x)), fwd_scores.argmax(axis=1)]
    bwd_best = y2x_ind[np.arange(len(y)), bwd_scores.argmax(axis=1)]
    indices = np.stack(
        [np.concatenate([np.arange(len(x)), bwd_best]), np.concatenate([fwd_best, np.arange(len(y))])], axis=1
    )
    scores = np.concatenate([fwd_scores.max(axis=1), bwd_scores.max(axis=1)])
    seen_src: set[int] = set()
    seen_trg: set[int] = set()
    expected = {}
    for i in np.argsort(-scores):
        src_ind, trg_ind = map(int, indices[i])
        if src_ind not in seen_src and trg_ind not in seen_trg:
            seen_src.add(src_ind)
            seen_trg.add(trg_ind)
            expected[src_ind, trg_ind] = scores[i]
    pairs = mine(x, y, nearest(x, y, 4), form)
    ours = dict(
        zip(zip(pairs.sources.tolist(), pairs.targets.tolist(), strict=True), pairs.margins, strict=True)
    )
    assert ours.keys() == expected.keys()
    assert len(ours) > 200
    np.testing.assert_allclose([ours[one] for one in expected], list(expected.values()), atol=1e-5)


def test_a_pair_whose_neighbours_are_opposite_has_no_ratio() -> None:
    x = of_length_one(np.array([[1.0, 0.0]]))
    y = of_length_one(np.array([[-1.0, 0.1], [-1.0, 0.2]]))
    found = nearest(x, y, 2)
    assert len(mine(x, y, found).sources) == 0
    assert len(mine(x, y, found, "distance").sources) == 1


def test_oracle_v3_curve_of_thresholds() -> None:
    # tests/worked-examples.md#worked-evaluation-3
    found = curve(np.array([1.05, 1.3, 1.1, 1.2]), np.array([False, True, False, True]), gold=3)
    np.testing.assert_allclose(found.f1, [0.5, 0.8, 0.6667, 0.5714], atol=1e-4)
    np.testing.assert_allclose(found.thresholds, [1.25, 1.15, 1.075, 1.05])
    np.testing.assert_allclose(found.precision, [1, 1, 2 / 3, 0.5])
    np.testing.assert_allclose(found.recall, [1 / 3, 2 / 3, 2 / 3, 2 / 3])


def test_golden_curve_is_scikit_learns() -> None:
    rng = np.random.default_rng(9)
    scores, correct = rng.integers(40, size=200) / 10, rng.random(200) < 0.4
    found = curve(scores, correct, gold=int(correct.sum()))
    precision, recall, _ = precision_recall_curve(correct, scores)
    np.testing.assert_allclose(found.precision[::-1], precision[:-1])
    np.testing.assert_allclose(found.recall[::-1], recall[:-1])
    expected = [f1_score(correct, scores >= threshold) for threshold in found.thresholds]
    np.testing.assert_allclose(found.f1, expected)


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


def test_what_is_undefined_is_refused() -> None:
    with pytest.raises(ValueError, match="0 pairs"):
        best_threshold(np.zeros(0), np.zeros(0, dtype=bool), gold=1)

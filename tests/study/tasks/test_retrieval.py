from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from orthoglot.errors import DataError
from orthoglot.search.hits import hits
from orthoglot.search.neighbours import nearest
from orthoglot.statistics.records import LEFT_OUT
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.retrieval import Retrieval
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.bitext import SentencePair
from orthoglot.text.held_out import UnseenPairs


def test_oracle_v12_random_vectors_retrieve_at_chance() -> None:
    rng = np.random.default_rng(1)
    shares = [np.mean(hits(*rng.normal(size=(2, 1000, 64)).astype(np.float32))) for _ in range(5)]
    # 10,000 queries at p = 0.001: mean 10 hits, sd 3.2.
    assert 0 <= np.mean(shares) <= 0.0025


def test_golden_same_neighbours_as_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(150, 12))
    y = x + 1.2 * rng.normal(size=x.shape)
    forward, backward = hits(x, y)
    for found, queries, candidates in ((forward, x, y), (backward, y, x)):
        golden = NearestNeighbors(n_neighbors=1, metric="cosine").fit(candidates)
        expected = golden.kneighbors(queries, return_distance=False)[:, 0] == np.arange(150)
        assert 10 < expected.sum() < 140
        assert (found == expected).all()


def of_length_one(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_a_view_that_is_constant_up_to_rounding_finds_the_first_row() -> None:
    rng = np.random.default_rng(4)
    direction = rng.normal(size=64)
    x, y = (of_length_one(rng.uniform(0.1, 9, size=(60, 1)) * direction) for _ in range(2))
    found = nearest(x, y)
    assert set(found.forward.ravel()) == set(found.backward.ravel()) == {0}
    assert [side.sum() for side in hits(x, y)] == [1, 1]


def test_directions_are_named_query_to_candidate() -> None:
    # All x point to y_0; y_0 and y_1 find x_0 and x_1: forward 1 of 2, backward 2 of 2.
    x = np.array([[1.0, 0.1], [1.0, 0.4]])
    y = np.array([[1.0, 0.0], [0.0, 1.0]])
    task = Retrieval("heldout", PairSet("test", "de", "en", ["a", "b"], ["c", "d"]))
    found = task.score({"source": x, "target": y}).scores
    assert found["de->en"].tolist() == [1, 0]
    assert found["en->de"].tolist() == [1, 1]


def test_a_pivot_sentence_has_one_key_whatever_the_pair_and_the_side() -> None:
    held_out = Retrieval("heldout", PairSet("test", "en", "de", ["Hello.", "Bye!"], ["Hallo.", "Tschüs!"]))
    benchmark = Retrieval("tatoeba", PairSet("b", "gn", "en", ["x", "y"], ["bye", "hello"]), pivot="target")
    assert held_out.keys().tolist() == benchmark.keys().tolist()[::-1]
    assert len(set(held_out.keys().tolist())) == 2


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_pair_without_direction_is_left_out_on_both_sides(bad: float) -> None:
    x, y = np.eye(4), np.eye(4)
    y[2] = bad
    forward, backward = hits(x, y)
    assert forward.tolist() == backward.tolist() == [1, 1, LEFT_OUT, 1]


def test_unaligned_or_empty_sides_are_refused() -> None:
    with pytest.raises(DataError, match="2 source and 1 target"):
        Retrieval("heldout", PairSet("test", "de", "en", ["a", "b"], ["c"]))
    with pytest.raises(DataError, match="0 source and 0 target"):
        Retrieval("heldout", PairSet("test", "de", "en", [], []))


def test_repeated_texts_are_dropped_and_counted() -> None:
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("c", "z"), ("d", "w")]
    unseen = UnseenPairs([SentencePair(*pair) for pair in pairs], seen_dropped=3)
    data = TaskData(EvaluationSettings(tasks=["heldout"]), {"en-de": unseen}, [])

    def left(limit: int | None) -> tuple[PairSet, dict[str, int]]:
        ((texts, dropped),) = data.held_out_sets(limit)
        return texts, dropped

    whole = PairSet("test", "en", "de", ["a", "c", "d"], ["x", "z", "w"])
    assert left(None) == left(10) == (whole, {"duplicates_dropped": 2, "seen_dropped": 3})
    two = PairSet("test", "en", "de", ["a", "c"], ["x", "z"])
    assert left(2) == (two, {"duplicates_dropped": 2, "seen_dropped": 3})
    assert left(1) == (
        PairSet("test", "en", "de", ["a"], ["x"]),
        {"duplicates_dropped": 0, "seen_dropped": 3},
    )


def test_further_sentences_can_be_found_and_query_nothing() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0]])
    y = np.array([[0.9, 0.4], [0.1, 1.0]])
    assert [found.tolist() for found in hits(x, y)] == [[1, 1], [1, 1]]
    # Nearer to x_0 than its translation is, in one direction alone; a row without a direction is no candidate.
    near = np.vstack([y, [[1.0, 0.1], [0.0, 0.0]]])
    assert [found.tolist() for found in hits(x, near, n=2)] == [[0, 1], [1, 1]]

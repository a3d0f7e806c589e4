"""Settings chosen on validation pairs: the nearest to the undivided vector that is within a standard error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from orthoglot.decomposers.choice import Candidate, both_directions, choose
from orthoglot.errors import DataError


def sides(n: int, missed: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """n pairs that find each other, but those missed, which nothing finds and which find a wrong one."""
    source, target = np.eye(n + 1)[:n], np.eye(n + 1)[:n]
    found = next(i for i in range(n) if i not in missed)
    for i in missed:
        source[i] = 0.5 * np.eye(n + 1)[found] + 0.1 * np.eye(n + 1)[n]
        target[i] = 0.5 * np.eye(n + 1)[found] - 0.2 * np.eye(n + 1)[n]
    return source, target


def candidate(name: str, distance: float, *found: tuple[np.ndarray, np.ndarray]) -> Candidate:
    return Candidate({"name": name}, distance, found)


def test_hits_count_both_directions_by_cosine() -> None:
    source = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    target = np.array([[5.0, 0.1], [0.1, 1.0], [3.0, 0.0]])
    # The third source is nearest to the second target; the third target to the first source, which prefers it.
    np.testing.assert_array_equal(both_directions(source, target, 3), [0.5, 1.0, 0.0])
    np.testing.assert_array_equal(both_directions(9 * source, target, 3), [0.5, 1.0, 0.0])
    assert both_directions(*sides(50, [3, 4]), 50).tolist() == [
        0.0 if i in (3, 4) else 1.0 for i in range(50)
    ]


def test_pairs_that_do_not_query_are_candidates_all_the_same() -> None:
    source, target = np.eye(3), np.array([[1.0, 0, 0], [0, 1, 0], [0, 0.5, 1]])
    target[2], target[1] = source[1], source[1] + [0, 0, 0.1]
    np.testing.assert_array_equal(both_directions(source, target, 2), [1.0, 0.5])
    np.testing.assert_array_equal(both_directions(source[:2], target[:2], 2), [1.0, 1.0])


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ([], "near"),
        ([7], "near"),  # 1 in 100: the deficit of 0.01 is its standard error of 0.01
        ([7, 8], "far"),  # 0.02 against 0.0141
        ([7, 8, 9, 10], "far"),  # 0.04 against 0.0197
    ],
)
def test_the_nearest_within_one_standard_error_of_the_best(missed: list[int], expected: str) -> None:
    found = [candidate("far", 3, sides(100)), candidate("near", 1, sides(100, missed))]
    for order in (found, found[::-1]):
        settings, scores = choose(order, [100])
        assert settings == {"name": expected}
        assert scores["highest"] == 100.0
        assert scores["nearest"] == 100.0 - len(missed)
        assert scores["chosen"] == (100.0 if expected == "far" else 100.0 - len(missed))


def test_equally_near_ones_the_best_then_the_first() -> None:
    worse, good, same = (
        candidate(name, 1, sides(100, missed)) for name, missed in (("a", [5]), ("b", []), ("c", []))
    )
    assert choose([worse, good, same], [100])[0] == {"name": "b"}


def test_the_difference_is_taken_on_the_same_pairs() -> None:
    """Many misses are no noise where both miss the same: 4 more are more than a standard error."""
    common = list(range(20, 60))
    best = candidate("best", 2, sides(100, common))
    assert choose([candidate("near", 1, sides(100, [*common, 1, 2, 3, 4])), best], [100])[0] == {
        "name": "best"
    }


def test_language_pairs_count_alike_whatever_their_size() -> None:
    """0.5 of 4 pairs and nothing of 400 is a mean loss of 0.25."""
    best = candidate("best", 2, sides(400), sides(4))
    _, scores = choose([candidate("near", 0, sides(400), sides(4, [2, 3])), best], [400, 4])
    assert scores["nearest"] == 75.0


def test_without_pairs_nothing_is_chosen() -> None:
    nothing: Any = [Candidate({"name": "a"}, 0, [])]
    with pytest.raises(DataError, match="no validation pair"):
        choose(nothing, [])

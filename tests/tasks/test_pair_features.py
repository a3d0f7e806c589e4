"""Features of texts, pairs and choices."""

from __future__ import annotations

import numpy as np
import pytest

from orthoglot.tasks.pair_features import features

U, V = np.array([[3.0, 4.0]], dtype=np.float32), np.array([[0.0, 2.0]], dtype=np.float32)


def test_known_answers() -> None:
    assert features([U]) == pytest.approx(np.array([[0.6, 0.8]]))
    pair = [0.6, 0.8, 0, 1, 0.6, 0.2, 0, 0.8 * 2**0.5]
    assert features([U, V])[0] == pytest.approx(pair)
    assert features([U, V]).dtype == np.float64


def test_only_the_first_half_of_a_pair_knows_the_order() -> None:
    one, other = features([U, V])[0], features([V, U])[0]
    assert one[4:] == pytest.approx(other[4:])
    assert one[:2] == pytest.approx(other[2:4])


def test_alternatives_that_change_places_change_the_sign_and_equal_ones_give_nothing() -> None:
    rng = np.random.default_rng(1)
    four = list(rng.normal(size=(4, 5, 3)))
    assert features([*four[2:], *four[:2]]) == pytest.approx(-features(four))
    assert features(four) == pytest.approx(features(four[:2]) - features(four[2:]))
    assert not features([*four[:2], *four[:2]]).any()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_length_does_not_matter(count: int) -> None:
    vectors = list(np.random.default_rng(1).normal(size=(count, 5, 3)))
    assert features([7 * one for one in vectors]) == pytest.approx(features(vectors))


def test_entries_of_all_parts_are_of_one_size() -> None:
    found = features(list(np.random.default_rng(1).normal(size=(2, 200, 400))))
    spread = [part.std() * 20 for part in np.split(found, 4, axis=1)]
    assert 0.7 < min(spread) < max(spread) < 1.1

"""Exact search below a size, an index with measured recall above it."""

from __future__ import annotations

import numpy as np
import pytest

from orthoglot.tasks.neighbours import nearest
from orthoglot.tasks.search import search


def sides() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    topics = rng.normal(size=(60, 32))
    x = topics[rng.integers(60, size=1500)] + 0.7 * rng.normal(size=(1500, 32))
    y = np.concatenate([x[:1000] + 0.2 * rng.normal(size=(1000, 32)), rng.normal(size=(1200, 32))])
    return tuple((one / np.linalg.norm(one, axis=1, keepdims=True)).astype(np.float32) for one in (x, y))


def test_up_to_the_size_the_search_is_exact() -> None:
    x, y = sides()
    found = search(x, y, 3, exact_up_to=len(x) * len(y))
    assert found.facts == {"search": "exact"}
    assert all((a == b).all() for a, b in zip(found.nearest, nearest(x, y, 3), strict=True))


def test_beyond_it_the_recall_is_measured_and_stated() -> None:
    x, y = sides()
    found = search(x, y, 3, exact_up_to=len(x) * len(y) - 1)
    exact = nearest(x, y, 3)
    shares = [
        np.mean([len({*a} & {*b}) / 3 for a, b in zip(ours, theirs, strict=True)])
        for ours, theirs in zip(found.nearest, exact, strict=True)
    ]
    assert found.facts["search"] == "ivf-pq"
    # Of samples of 1,000 of the 1,500 and the 2,200.
    assert found.facts["recall"] == pytest.approx(np.mean(shares), abs=0.02)
    assert 0.8 < np.mean(shares) < 1
    # The best neighbour is found before others, and no row twice.
    assert (found.nearest.forward[:, 0] == exact.forward[:, 0]).mean() > 0.9
    assert all(len({*row}) == 3 for row in found.nearest.backward.tolist())
    again = search(x, y, 3, exact_up_to=0)
    assert all((a == b).all() for a, b in zip(found.nearest, again.nearest, strict=True))


def test_few_vectors_have_no_index_that_lacks_neighbours() -> None:
    x, y = (side[:300] for side in sides())
    found = search(x, y, 4, exact_up_to=0)
    assert found.nearest.forward.shape == (300, 4)
    assert found.nearest.forward.min() >= 0

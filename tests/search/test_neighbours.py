"""The search against definitions written as loops, scikit-learn and faiss, whatever the tiles."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors
from torch.utils._python_dispatch import TorchDispatchMode

from orthoglot.search import neighbours
from orthoglot.search.neighbours import GRID, candidates, cosines, nearest

TILES = ((16, 16), (32, 48), (4096, 8192))


def of_length_one(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def exact(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.rint(x * 2.0**26) @ np.rint(y.T.astype(np.float64) * 2.0**26) / 2.0**52


def by_definition(similarity: np.ndarray, k: int) -> list[list[int]]:
    """The lowest index within 1e-6 of the highest; then the same of the rest."""
    found = []
    for row in similarity.tolist():
        left = dict(enumerate(row))
        own: list[int] = []
        while left and len(own) < k:
            highest = max(left.values())
            own.append(min(place for place, value in left.items() if value >= highest - 1e-6))
            del left[own[-1]]
        found.append(own)
    return found


def sides(kind: str, n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    match kind:
        case "different":
            return of_length_one(rng.normal(size=(n, d))), of_length_one(rng.normal(size=(m, d)))
        case "repeated":  # a matrix product rounds the same cosine differently, by its place
            few = of_length_one(rng.normal(size=(20, d)))
            return few[rng.integers(20, size=n)], few[rng.integers(20, size=m)]
    direction = rng.normal(size=d)
    return tuple(of_length_one(rng.uniform(0.1, 9, size=(size, 1)) * direction) for size in (n, m))


@pytest.mark.parametrize("kind", ["different", "repeated", "constant"])
@pytest.mark.parametrize(
    ("n", "m", "d", "k"), [(97, 61, 3, 4), (130, 90, 50, 5), (5, 3, 8, 4), (40, 200, 129, 1), (1, 1, 2, 4)]
)
def test_neighbours_are_the_definition(kind: str, n: int, m: int, d: int, k: int) -> None:
    x, y = sides(kind, n, m, d)
    similarity = exact(x, y)
    forward, backward = by_definition(similarity, k), by_definition(similarity.T, k)
    for tile in TILES:
        found = nearest(x, y, k, tile=tile)
        assert found.forward.tolist() == forward
        assert found.backward.tolist() == backward


@pytest.mark.parametrize("kind", ["different", "repeated", "constant"])
@pytest.mark.parametrize("tile", [*TILES, (48, 16)])
def test_neighbours_in_the_list_itself_are_those_in_a_copy_of_it(kind: str, tile: tuple[int, int]) -> None:
    x, _ = sides(kind, 130, 1, 50)
    own, twin = nearest(x, x, 5, tile=tile), nearest(x, x.copy(), 5)
    assert own.forward.tolist() == twin.forward.tolist() == by_definition(exact(x, x), 5)
    assert own.backward.tolist() == twin.backward.tolist()


def test_oracle_v1_lowest_index_wins_the_tie() -> None:
    # tests/worked-examples.md#worked-evaluation-1: rows find 0, 2, 2; in column 1 (0-based) rows 1 and 2 tie at .2.
    similarity = np.array([[0.9, 0.1, 0.2], [0.3, 0.2, 0.8], [0.1, 0.2, 0.7]])
    found = nearest(similarity, np.eye(3))
    assert found.forward.ravel().tolist() == [0, 2, 2]
    assert found.backward.ravel().tolist() == [0, 1, 1]
    own = np.arange(3)
    assert (found.forward[:, 0] == own).mean() == pytest.approx(2 / 3)
    assert (found.backward[:, 0] == own).mean() == pytest.approx(2 / 3)


def test_golden_same_neighbours_as_scikit_learn_and_faiss() -> None:
    x, y = sides("different", 700, 900, 24)
    found = nearest(x, y, 4, tile=(128, 256))
    for queries, rows, ours in ((x, y, found.forward), (y, x, found.backward)):
        golden = NearestNeighbors(n_neighbors=4, metric="cosine", algorithm="brute").fit(rows)
        assert (ours == golden.kneighbors(queries, return_distance=False)).all()
        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        similarity, numbers = index.search(queries, 4)
        assert (ours == numbers).all()
        np.testing.assert_allclose(cosines(queries, rows, ours), similarity, atol=1e-6)


def test_cosines_are_exact_wherever_they_stand() -> None:
    x, y = sides("repeated", 60, 40, 33)
    rows = np.random.default_rng(1).integers(40, size=(60, 3))
    assert (cosines(x, y, rows) == np.take_along_axis(exact(x, y), rows, axis=1)).all()


def test_a_short_list_of_candidates_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty equal candidates: the rows are looked up among all, and without that the wrong ones are found."""
    rng = np.random.default_rng(5)
    y = of_length_one(rng.normal(size=(200, 16)))
    y[50:100] = y[7]
    x = y[[7]]
    for tile in ((1, 64), TILES[-1]):
        assert nearest(x, y, 3, tile=tile).forward.tolist() == [[7, 50, 51]]
    monkeypatch.setattr(neighbours, "NOISE", -1.0)
    assert nearest(x, y, 3, tile=(1, 64)).forward.tolist() != [[7, 50, 51]]


class Largest(TorchDispatchMode):
    """The entries of the largest tensor that was made."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self.entries = max(self.entries, made.numel())
        return made


def test_no_array_grows_with_the_number_of_similarities() -> None:
    x, y = sides("different", 3000, 2500, 8)
    with Largest() as seen:
        candidates(x, y, 6, tile=(64, 128))
    # A tile, or the lists of all rows, which have 6 columns.
    assert seen.entries <= max(64 * 128, 3000 * 6)
    assert seen.entries < len(x) * len(y) / 100


def test_on_the_grid_products_do_not_depend_on_the_order_of_addition() -> None:
    x, y = sides("different", 50, 50, 700)
    order = np.random.default_rng(2).permutation(700)
    whole = np.arange(50)[None].repeat(50, axis=0)
    assert (cosines(x, y, whole) == cosines(x[:, order], y[:, order], whole)).all()
    assert GRID == 2.0**26


@pytest.mark.parametrize("kind", ["different", "repeated", "constant"])
def test_groups_of_columns_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long rows are searched by the maxima of their groups; the list is that of all columns."""
    x, y = sides(kind, 160, 256, 20)
    plain = nearest(x, y, 2, tile=(64, 128))
    seen = []
    best = neighbours._best

    def watched(products: torch.Tensor, keep: int) -> tuple[torch.Tensor, torch.Tensor]:
        seen.append(products.shape[1] > keep * neighbours.GROUP)
        values, columns = best(products, keep)
        assert torch.equal(values.sort(dim=1).values, products.topk(keep, dim=1).values.sort(dim=1).values)
        assert torch.equal(products.gather(1, columns), values)
        assert all(len({*row}) == keep for row in columns.tolist())
        return values, columns

    monkeypatch.setattr(neighbours, "GROUP", 8)
    monkeypatch.setattr(neighbours, "_best", watched)
    grouped = nearest(x, y, 2, tile=(64, 128))
    assert sum(seen) >= 6
    assert grouped.forward.tolist() == plain.forward.tolist()
    assert grouped.backward.tolist() == plain.backward.tolist()

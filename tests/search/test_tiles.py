"""A search in tiles that are merged gives what one search of the whole gives, to the bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from orthoglot.search import neighbours, tiles
from orthoglot.search.neighbours import Nearest, cosines, nearest
from orthoglot.search.tiles import merged, search_tile


def of_length_one(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def sides(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """131 and 89 rows."""
    rng = np.random.default_rng(3)
    x, y = (of_length_one(rng.normal(size=(size, 12))) for size in (131, 89))
    match kind:
        case "repeated":  # more equal rows than a tile keeps candidates
            return x[rng.integers(5, size=131)], x[rng.integers(5, size=89)]
        case "close":  # cosines on both sides of the 1e-6 within which they are equal
            centre = np.eye(12, dtype=np.float32)[0]
            return of_length_one(centre + 1e-3 * x), of_length_one(centre + 1e-3 * y)
        case "zero":
            x[40:60] = y[3:50] = 0
    return x, y


def in_tiles(x: np.ndarray, y: np.ndarray, k: int, cuts: tuple[list[int], list[int]]) -> list[np.ndarray]:
    """Neighbours and cosines of x, and of y, by tiles between these cuts."""
    parts = [[*pairwise(own)] for own in cuts]
    found = [[search_tile(x[slice(*a)], y[slice(*b)], k, exact=True)[:2] for b in parts[1]] for a in parts[0]]
    merges = []
    for side, (own, others) in enumerate((parts, parts[::-1])):
        blocks = []
        for number, (start, stop) in enumerate(own):
            row = [tile[0] for tile in found[number]] if side == 0 else [tile[number][1] for tile in found]
            limit = min(k, others[-1][1])
            blocks += merged(row, [begin for begin, _ in others], stop - start, limit)
        merges += [np.concatenate(column) for column in zip(*blocks, strict=True)]
    return merges


@pytest.mark.parametrize("kind", ["different", "repeated", "close", "zero"])
@pytest.mark.parametrize("k", [1, 4, 100])
@pytest.mark.parametrize(
    "cuts",
    [
        ([0, 131], [0, 89]),
        ([0, 66, 131], [0, 30, 89]),
        ([0, 1, 2, 130, 131], [0, 3, 3, 3, 80, 89]),  # parts of one row and of none
        ([0, 0, 131], [*range(90)]),
    ],
)
def test_tiles_are_merged_to_the_neighbours_in_the_whole(
    kind: str, k: int, cuts: tuple[list[int], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "BLOCK", 17)
    monkeypatch.setattr(tiles, "EXACT_ENTRIES", 200)
    x, y = sides(kind)
    expected = nearest(x, y, k)
    values = Nearest(cosines(x, y, expected.forward), cosines(y, x, expected.backward))
    ahead, ahead_values, back, back_values = in_tiles(x, y, k, cuts)
    assert ahead.tolist() == expected.forward.tolist()
    assert back.tolist() == expected.backward.tolist()
    assert ahead_values.tobytes() == values.forward.tobytes()
    assert back_values.tobytes() == values.backward.tobytes()


def test_a_tile_keeps_few_entries_of_rows_that_are_equal() -> None:
    x, y = sides("repeated")
    forward, _, _ = search_tile(x, y, 4, exact=True)
    # The four first of each of five rows at most, but not a fifth of all 89.
    assert np.bincount(forward["row"]).max() == 4
    x[:], y[:] = x[0], x[0]
    forward, _, _ = search_tile(x, y, 4, exact=True)
    assert forward["other"].reshape(-1, 4).tolist() == [[0, 1, 2, 3]] * len(x)


def test_most_rows_have_no_more_entries_than_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = sides("different")
    monkeypatch.setattr(neighbours, "similarities", None)
    monkeypatch.setattr(tiles, "similarities", None)  # no row is compared with all
    forward, backward, facts = search_tile(x, y, 4, exact=True)
    assert facts == {"search": "exact"}
    assert (len(forward), len(backward)) == (4 * 131, 4 * 89)

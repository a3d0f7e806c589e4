"""Nearest neighbours of two lists that are cut into parts: each pair of parts, a tile, is searched alone.

A tile gives all rows that may be among the k neighbours in the whole lists, with their exact cosines. What is chosen
among these is what `nearest` chooses among all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from orthoglot.search.exact_or_cells import search
from orthoglot.search.neighbours import (
    EQUAL,
    EXACT_ENTRIES,
    GPU_TILE,
    GRID,
    NOISE,
    SPARE,
    TILE,
    candidates,
    cosines,
    greedy,
    similarities,
)

# What a tile gives: a row of one part, a row of the other one, their cosine; ordered by both rows.
ENTRY = np.dtype([("row", "<i4"), ("other", "<i4"), ("cosine", "<f8")])
# Rows that are merged at once.
BLOCK = 4096


def search_tile(
    x: np.ndarray,
    y: np.ndarray,
    k: int,
    *,
    exact: bool,
    device: str = "cpu",
    threads: int = 1,
    memory: float = 1.0,
) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    """The entries of the rows of x, of those of y, and how they were searched.

    Args:
        x: (n, D), rows of length 1.
        y: (m, D), rows of length 1.
        k: neighbours, at least 1.
        exact: whether to give all rows that may be among the neighbours. If not, it is the k that `search` finds by
            cells; the other arguments are its own.
    """
    if not len(x) or not len(y):
        return np.empty(0, ENTRY), np.empty(0, ENTRY), {}
    x, y = (np.ascontiguousarray(side, dtype=np.float32) for side in (x, y))
    if exact:
        tile = TILE if device == "cpu" else GPU_TILE
        forward, backward = candidates(x, y, k + k // 2 + SPARE, device, tile)
        return _possible(*forward, x, y, k), _possible(*backward, y, x, k), {"search": "exact"}
    found, facts = search(x, y, k, device=device, threads=threads, memory=memory, exact_up_to=0)
    ahead, back = found
    every = (_entries(ahead, cosines(x, y, ahead)), _entries(back, cosines(y, x, back)))
    return *every, facts


def merged(
    tiles: Sequence[np.ndarray], starts: Sequence[int], rows: int, k: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The neighbours of the rows of a part (b, k), the nearest first, and their cosines, block by block.

    Args:
        tiles: entries of the rows with each part of the other list; may be mapped from files.
        starts: the first row of each of these parts.
        rows: of this part.
        k: neighbours, at most as many as the other list has rows.
    """
    cuts = [*range(0, rows, BLOCK), rows]
    bounds = [np.searchsorted(tile["row"], cuts) for tile in tiles]
    for block, first in enumerate(cuts[:-1]):
        pieces = [tile[own[block] : own[block + 1]] for tile, own in zip(tiles, bounds, strict=True)]
        row = np.concatenate([piece["row"] for piece in pieces]) - first
        other = np.concatenate(
            [start + piece["other"].astype(np.int64) for start, piece in zip(starts, pieces, strict=True)]
        )
        cosine = np.concatenate([piece["cosine"] for piece in pieces])
        order = np.argsort(row, kind="stable")
        row, other, cosine = row[order], other[order], cosine[order]
        begin = np.searchsorted(row, np.arange(cuts[block + 1] - first))
        place = np.arange(len(row)) - begin[row]
        similarity = np.full((len(begin), place.max() + 1), -np.inf)
        similarity[row, place] = cosine * GRID**2
        chosen = begin[:, None] + greedy(similarity, k)
        yield other[chosen], cosine[chosen]


def _possible(numbers: np.ndarray, products: np.ndarray, x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Entries of all rows of y that may be among the k neighbours of a row of x, whatever other parts hold.

    Arguments as of `settle`. With the k-th highest cosine here, or a higher one elsewhere, no row is chosen that lies
    more than `EQUAL` below it.
    """
    cosine = np.where(np.isneginf(products), -np.inf, cosines(x, y, numbers))
    least = _least(cosine, k)
    entries = _entries(np.where(cosine >= least, numbers, -1), cosine)
    if numbers.shape[1] >= len(y):
        return entries
    # Rounding may have left out some.
    short = np.flatnonzero(least[:, 0] + EQUAL - cosine.min(axis=1) <= 2 * NOISE)
    parts = [entries[~np.isin(entries["row"], short)]]
    step = max(1, EXACT_ENTRIES // len(y))
    for start in range(0, len(short), step):
        own = short[start : start + step]
        every = similarities(x[own], y) / GRID**2
        row, other = np.nonzero(every >= _least(every, k))
        value = every[row, other]
        # Of equal cosines, no more than the first k are chosen.
        order = np.lexsort((other, value, row))
        same = (np.diff(row[order]) == 0) & (np.diff(value[order]) == 0)
        place = np.arange(len(row))
        first = np.maximum.accumulate(np.where(np.append(False, same), 0, place))
        kept = np.sort(order[place - first < k])
        parts.append(_as_entries(own[row[kept]], other[kept], value[kept]))
    every_part = np.concatenate(parts)
    return every_part[np.argsort(every_part["row"], kind="stable")]


def _least(cosine: np.ndarray, k: int) -> np.ndarray:
    """The k-th highest of each row less `EQUAL` (n, 1); -inf where there are fewer."""
    if cosine.shape[1] < k:
        return np.full((len(cosine), 1), -np.inf)
    return -np.partition(-cosine, k - 1, axis=1)[:, [k - 1]] - EQUAL


def _entries(numbers: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Of rows with some of their neighbours (n, c), -1 for none."""
    order = np.argsort(numbers, axis=1)
    numbers, cosine = (np.take_along_axis(one, order, axis=1) for one in (numbers, cosine))
    row, place = np.nonzero(numbers >= 0)
    return _as_entries(row, numbers[row, place], cosine[row, place])


def _as_entries(row: np.ndarray, other: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    found = np.empty(len(row), ENTRY)
    found["row"], found["other"], found["cosine"] = row, other, cosine
    return found

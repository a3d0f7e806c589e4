"""The cheapest alignment of two documents whose sentences come in the same order, by dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orthoglot.decomposers.base import unit

# Cells of an exact search, a byte each; beyond them a search at half the length says where to look.
CELLS = 10**8
BAND = 64
ROWS = 256
NEAR_ZERO = 1e-6
SKIP_SOURCE, SKIP_TARGET, KINDS = 1, 2, 3  # what the search notes for a cell; from KINDS on, its kind


class Texts(NamedTuple):
    """One side of a document.

    Attributes:
        vectors: at a - 1, (n - a + 1, D) of length 1: of sentence i joined with the a - 1 after it.
        far: at a - 1, (n - a + 1,): mean of 1 - cosine with the sentences of the other side.
    """

    vectors: Sequence[np.ndarray]
    far: Sequence[np.ndarray]


class Link(NamedTuple):
    """Sentences `source` to `source + a - 1` translate `target` to `target + b - 1`; both numbers from 0."""

    source: int
    target: int
    a: int
    b: int


def texts(vectors: Sequence[np.ndarray], others: np.ndarray) -> Texts:
    """One side, with its distance from the mean of the other side's sentences `others` (m, D), of length 1."""
    mean = others.mean(axis=0, dtype=np.float64).astype(np.float32)
    return Texts(vectors, [np.maximum(1 - one @ mean, NEAR_ZERO) for one in vectors])


def distances(x: Texts, y: Texts, a: int, b: int, rows: slice, columns: slice) -> np.ndarray:
    """1 - margin of joined sentences: about 1 for any two, 0 for the same vector.

    (1 - cosine) / (mean of both sides' mean distances). Source: docs/papers.md#protocol-alignment.
    """
    cosine = x.vectors[a - 1][rows] @ y.vectors[b - 1][columns].T
    near = (x.far[a - 1][rows, None] + y.far[b - 1][columns]) / 2
    return (1 - cosine) / near


def align(
    x: Texts,
    y: Texts,
    skip: float,
    *,
    cells: int = CELLS,
    band: int = BAND,
) -> list[Link]:
    """The alignment of least cost, in order and without the sentences that are left out.

    The cost of a link is a * b times the distance of its two texts, and that of a sentence that is left out is `skip`.
    a + b is at most the number of vectors' sizes plus 1, so that of two sizes there are 1-1, 1-2, 2-1.

    Args:
        x: n sentences.
        y: m sentences.
        skip: cost of a sentence without translation.
        cells: of the search, (n + 1) * (m + 1); of longer documents the alignment of halves (means of two neighbours)
            is sought first, by the same rule, and the search is within `band` columns of it.
        band: columns on each side.
    Source: docs/papers.md#protocol-alignment.
    """
    n, m = len(x.vectors[0]), len(y.vectors[0])
    if (n + 1) * (m + 1) <= cells or min(n, m) < 2:
        low, high = np.zeros(n + 1, dtype=int), np.full(n + 1, m)
    else:
        halves = [_halved(side.vectors[0]) for side in (x, y)]
        rough = align(
            texts(halves[:1], halves[1]), texts(halves[1:], halves[0]), skip, cells=cells, band=band
        )
        low, high = _around(rough, n, m, band)
    return _search(x, y, skip, low, high)


def _search(x: Texts, y: Texts, skip: float, low: np.ndarray, high: np.ndarray) -> list[Link]:
    """The cheapest path from (0, 0) to (n, m) through columns low[i] to high[i] of each row i."""
    n, m, sizes = len(low) - 1, int(high[-1]), len(x.vectors)
    kinds = [(a, b) for a in range(1, sizes + 1) for b in range(1, sizes + 2 - a)]
    # Rows of totals, by row number modulo their count; outside the band a total is infinite.
    totals = np.full((sizes + 1, m + 1), np.inf)
    notes = []
    height = int(np.clip(2**22 // (m + 1), 1, ROWS))
    for start in range(0, n + 1, height):
        stop = min(start + height, n + 1)
        left, right = int(low[start]), int(high[stop - 1])
        blocks = {
            (a, b): a * b * distances(x, y, a, b, _starts(start, stop, a), _starts(left, right + 1, b))
            for a, b in kinds
        }
        for i in range(start, stop):
            first, last = int(low[i]), int(high[i])
            row = totals[i % (sizes + 1)]
            row[low[max(i - sizes - 1, 0)] : last + 1] = np.inf
            here = row[first : last + 1]
            note = np.full(len(here), SKIP_SOURCE, dtype=np.uint8)
            if i:
                here[:] = totals[(i - 1) % (sizes + 1), first : last + 1] + skip
            else:
                here[0] = 0
            for number, (a, b) in enumerate(kinds, KINDS):
                begin = max(first, b)
                if i < a or begin > last:
                    continue
                costs = blocks[a, b][i - a - max(start - a, 0)][begin - b - max(left - b, 0) :][
                    : len(here) + first - begin
                ]
                total = totals[(i - a) % (sizes + 1), begin - b : last + 1 - b] + costs[: last + 1 - begin]
                better = total < here[begin - first :]
                here[begin - first :][better] = total[better]
                note[begin - first :][better] = number
            # A run of targets left out: the least total before it plus `skip` for each.
            along = skip * np.arange(len(here))
            least = np.minimum.accumulate(here - along)
            note[least < here - along] = SKIP_TARGET
            here[:] = least + along
            notes.append(note)
    return _back(notes, low, kinds, m)


def _starts(start: int, stop: int, size: int) -> slice:
    """Of texts of `size` sentences that end before the positions start to stop - 1: their first sentences."""
    return slice(max(start - size, 0), max(stop - size, 0))


def _back(
    notes: Sequence[np.ndarray], low: np.ndarray, kinds: Sequence[tuple[int, int]], m: int
) -> list[Link]:
    i, j, links = len(notes) - 1, m, []
    while i or j:
        note = notes[i][j - low[i]]
        if note >= KINDS:
            a, b = kinds[note - KINDS]
            i, j = i - a, j - b
            links.append(Link(i, j, a, b))
        elif note == SKIP_SOURCE:
            i -= 1
        else:
            j -= 1
    return links[::-1]


def _halved(vectors: np.ndarray) -> np.ndarray:
    """Means of two neighbours, of length 1; the last of an odd number stays."""
    even = vectors[: len(vectors) // 2 * 2]
    return unit(np.concatenate([even[::2] + even[1::2], vectors[len(even) :]]))


def _around(links: Sequence[Link], n: int, m: int, band: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last column of each row of an (n + 1, m + 1) search, `band` around links of documents half as long."""
    half_n, half_m = (n + 1) // 2, (m + 1) // 2
    first, last = np.full(half_n + 1, half_m), np.zeros(half_n + 1, dtype=int)
    i = j = 0
    for link in [*links, Link(half_n, half_m, 0, 0)]:
        # Straight through the sentences that are left out before this link.
        rows = link.source - i
        columns = j + (link.target - j) * np.arange(rows + 1) // max(rows, 1)
        first[i : link.source + 1] = np.minimum(first[i : link.source + 1], columns)
        last[i : link.source + 1] = [*columns[1:], link.target]
        i, j = link.source + link.a, link.target + link.b
    row = np.arange(n + 1)
    low = np.maximum(2 * first[row // 2] - band, 0)
    high = np.minimum(2 * last[(row + 1) // 2] + band, m)
    return low, high

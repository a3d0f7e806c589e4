"""The best alignment of two documents whose sentences come in the same order, by dynamic programming over margins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import MARGINS, Margin
from orthoglot.search.neighbours import Nearest, cosines
from orthoglot.usable_vectors import not_finite

# The margin of a sentence with its neighbours as a whole.
NEUTRAL = {"ratio": 1.0, "distance": 0.0}
# Cells of an exact search, a byte each; beyond them an alignment at half the length says where to look.
CELLS = 10**8
BAND = 64
ROWS = 256  # whose margins are computed at once
# Sentences that are nearest to each other, from which the ratio of lengths is taken.
FEWEST = 5
# What the search notes for a cell; from KINDS on, which kind of link.
SKIP_SOURCE, SKIP_TARGET, KINDS = 0, 1, 2


class Link(NamedTuple):
    """Sentences `source` to `source + a - 1` translate `target` to `target + b - 1`, numbered from 0."""

    source: int
    target: int
    a: int
    b: int
    margin: float


class Texts(NamedTuple):
    """One side of a document; item a - 1 of each list is of each sentence joined with the a - 1 after it."""

    vectors: Sequence[np.ndarray]  # (n - a + 1, D)
    near: Sequence[np.ndarray]  # (n - a + 1,): mean cosine with the nearest sentences of the other side
    lengths: Sequence[np.ndarray] | None  # (n - a + 1,), in one unit for both sides; None without lengths

    def between(self, start: int, stop: int) -> Texts:
        """The texts of sentences start to stop - 1."""

        def part(sizes: Sequence[np.ndarray]) -> list[np.ndarray]:
            return [rows[start : max(stop - joined, start)] for joined, rows in enumerate(sizes)]

        return Texts(part(self.vectors), part(self.near), self.lengths and part(self.lengths))


def align(
    x: Sequence[np.ndarray],
    y: Sequence[np.ndarray],
    *,
    lengths: tuple[np.ndarray, np.ndarray] | None = None,
    margin: Margin = "ratio",
    neighborhood: int = 8,
    threshold: float | None = None,
    cells: int = CELLS,
    band: int = BAND,
    device: str = "cpu",
    threads: int = 1,
    paragraphs: tuple[Sequence[int], Sequence[int]] = ((0,), (0,)),
) -> list[Link]:
    """Links in the order of both documents that maximise the sum of q * (margin - threshold).

    A link joins a sentences with b, a + b at most one more than the sizes of x: of two sizes, 1-1, 1-2 and 2-1. It
    counts once, whatever its size, so that joining must raise the margin. Other sentences are left out. The neighbours
    are single sentences of the same document. Paragraph p of x is linked with paragraph p of y alone.

    q = log2(1 + s / l) in (0, 1] is lower the more the texts' lengths differ: s is the shorter, l the longer. Lengths
    of y are first multiplied by r, the median of the ratios of lengths, x over y, of the sentences that are nearest to
    each other. q = 1 if there are no lengths, or fewer than `FEWEST` such sentences.

    Args:
        x: At a - 1, (n - a + 1, D), rows of length 1: each sentence joined with the a - 1 after it; n at least 1.
        y: The same of m sentences, in as many sizes.
        lengths: The lengths of the sentences of either side, (n,) and (m,), above 0, e.g. bytes.
        margin: "ratio", "distance" or "absolute".
        neighborhood: k, the neighbours whose mean cosine a cosine is compared with.
        threshold: A link has a higher margin; None is 1 for "ratio" and 0 for "distance". Two documents of one sentence
            are linked unless it is higher.
        cells: (n + 1) * (m + 1) up to which the search is exact. Above, means of two neighbours are aligned first, by
            their ratios alone, and the search is within `band` columns of that path.
        band: Columns on each side.
        device: The device of the search for neighbours.
        threads: The threads of that search on a CPU.
        paragraphs: The first sentence of each, the same number of both sides, rising from 0.
    Raises:
        ConfigError: "absolute" without a threshold.
        DataError: a vector is not finite.

    >>> import numpy as np
    >>> from orthoglot.apply.align import align
    >>> x = np.eye(4, dtype=np.float32)  # four sentences; of their translations the third is missing
    >>> for link in align([x], [x[[0, 1, 3]]]):
    ...     print(link.source, link.target, round(link.margin, 2))
    0 0 3.43
    1 1 3.43
    3 2 3.43

    Source: docs/papers.md#protocol-alignment.
    """
    threshold = NEUTRAL.get(margin) if threshold is None else threshold
    if threshold is None:
        raise ConfigError(f"margin {margin} needs a threshold here")
    for name, side in (("x", x), ("y", y)):
        for size, vectors in enumerate(side, 1):
            if len(wrong := not_finite(vectors)):
                raise DataError(
                    f"{name}: vector {wrong[0]} (from 0) of {size} joined sentences is not finite"
                )
    if len(x[0]) == len(y[0]) == 1 and margin in NEUTRAL:
        # Each is the other's only neighbour, so the margin is neutral whatever they say: the documents' names decide.
        return [Link(0, 0, 1, 1, NEUTRAL[margin])] if threshold <= NEUTRAL[margin] else []
    first = search(x[0], y[0], neighborhood, device=device, threads=threads)[0]
    joined = _joined(len(x), first, lengths) if lengths else (None, None)
    sides = (
        Texts(x, _near(x, y[0], first.forward, device, threads), joined[0]),
        Texts(y, _near(y, x[0], first.backward, device, threads), joined[1]),
    )
    links = []
    edges = (pairwise([*starts, len(side[0])]) for starts, side in zip(paragraphs, (x, y), strict=True))
    for (i, k), (j, last) in zip(*edges, strict=True):
        n, m = k - i, last - j
        part = sides[0].between(i, k), sides[1].between(j, last)
        if (n + 1) * (m + 1) <= cells or min(n, m) < 2:
            low, high = np.zeros(n + 1, dtype=int), np.full(n + 1, m)
        else:
            halves = [[_halved(side.vectors[0])] for side in part]
            rough = align(
                *halves, neighborhood=neighborhood, cells=cells, band=band, device=device, threads=threads
            )
            low, high = _around(rough, n, m, band)
        for link in _search(*part, margin, threshold, low, high):
            links.append(link._replace(source=i + link.source, target=j + link.target))
    return links


def margins(x: Texts, y: Texts, margin: Margin, a: int, b: int, rows: slice, columns: slice) -> np.ndarray:
    """Margins of joined sentences, a row for each of `rows` of x, a column for each of `columns` of y."""
    cosine = x.vectors[a - 1][rows] @ y.vectors[b - 1][columns].T
    return MARGINS[margin](cosine, (x.near[a - 1][rows, None] + y.near[b - 1][columns]) / 2)


def _agreement(x: Texts, y: Texts, a: int, b: int, rows: slice, columns: slice) -> np.ndarray | float:
    """q of the same texts as `margins`."""
    if x.lengths is None or y.lengths is None:
        return 1.0
    ours, theirs = x.lengths[a - 1][rows, None], y.lengths[b - 1][columns]
    return np.log2(1 + np.minimum(ours, theirs) / np.maximum(ours, theirs))


def _near(
    side: Sequence[np.ndarray], other: np.ndarray, first: np.ndarray, device: str, threads: int
) -> list[np.ndarray]:
    """See `Texts`; `first` (n, k) are the nearest of its single sentences."""
    near = []
    for size, vectors in enumerate(side, 1):
        rows = first
        if size > 1 and len(vectors):
            rows = search(vectors, other, first.shape[1], device=device, threads=threads)[0].forward
        means = cosines(vectors, other, rows).mean(axis=1) if len(vectors) else np.empty(0)
        near.append(means.astype(np.float32))
    return near


def _joined(
    sizes: int, first: Nearest, lengths: tuple[np.ndarray, np.ndarray]
) -> tuple[list[np.ndarray] | None, list[np.ndarray] | None]:
    """Lengths of the texts of each size, those of y in the unit of x; None where too few sentences tell the unit."""
    forward, backward = first.forward[:, 0], first.backward[:, 0]
    mutual = np.flatnonzero(backward[forward] == np.arange(len(forward)))
    if len(mutual) < FEWEST:
        return None, None
    ratio = np.median(lengths[0][mutual] / lengths[1][forward[mutual]])
    ends = [np.concatenate([[0.0], np.cumsum(side)]) for side in (lengths[0], ratio * lengths[1])]
    of_x, of_y = (
        [side_ends[a:] - side_ends[: max(len(side_ends) - a, 0)] for a in range(1, sizes + 1)]
        for side_ends in ends
    )
    return of_x, of_y


def _search(
    x: Texts, y: Texts, margin: Margin, threshold: float, low: np.ndarray, high: np.ndarray
) -> list[Link]:
    """The best path from (0, 0) to (n, m) through the columns low[i] to high[i] of each row i."""
    n, m, sizes = len(low) - 1, int(high[-1]), len(x.vectors)
    kinds = [(a, b) for a in range(1, sizes + 1) for b in range(1, sizes + 2 - a)]
    # The last rows of totals, at the row number modulo their count; -inf outside the band.
    totals = np.full((sizes + 1, m + 1), -np.inf)
    notes: list[np.ndarray] = []
    height = int(np.clip(2**22 // (m + 1), 1, ROWS))
    for start in range(0, n + 1, height):
        stop = min(start + height, n + 1)
        left, right = int(low[start]), int(high[stop - 1])
        gains = {}
        for a, b in kinds:
            texts = a, b, _starts(start, stop, a), _starts(left, right + 1, b)
            excess = margins(x, y, margin, *texts) - threshold
            gains[a, b] = _agreement(x, y, *texts) * excess
        for i in range(start, stop):
            first, last = int(low[i]), int(high[i])
            row = totals[i % (sizes + 1)]
            row[low[max(i - sizes - 1, 0)] : last + 1] = -np.inf
            here = row[first : last + 1]
            here[:] = totals[(i - 1) % (sizes + 1), first : last + 1] if i else [0, *[-np.inf] * last]
            note = np.full(len(here), SKIP_SOURCE, dtype=np.uint8)
            for number, (a, b) in enumerate(kinds, KINDS):
                begin = max(first, b)
                if i < a or begin > last:
                    continue
                gain = gains[a, b][i - a - max(start - a, 0), begin - b - max(left - b, 0) :]
                total = totals[(i - a) % (sizes + 1), begin - b : last + 1 - b] + gain[: last + 1 - begin]
                better = total > here[begin - first :]
                here[begin - first :][better] = total[better]
                note[begin - first :][better] = number
            best = np.maximum.accumulate(here)
            note[best > here] = SKIP_TARGET
            here[:] = best
            notes.append(note)
    i, j, links = n, m, []
    while i or j:
        step = int(notes[i][j - low[i]])
        if step < KINDS:
            i, j = i - (step == SKIP_SOURCE), j - (step == SKIP_TARGET)
            continue
        a, b = kinds[step - KINDS]
        i, j = i - a, j - b
        link_margin = margins(x, y, margin, a, b, slice(i, i + 1), slice(j, j + 1))
        links.append(Link(i, j, a, b, float(link_margin[0, 0])))
    return links[::-1]


def _starts(start: int, stop: int, size: int) -> slice:
    """First sentences of the texts of `size` sentences that end before positions start to stop - 1."""
    return slice(max(start - size, 0), max(stop - size, 0))


def _halved(vectors: np.ndarray) -> np.ndarray:
    """Means of two neighbours, scaled to length 1; the last of an odd number stays."""
    even = vectors[: len(vectors) // 2 * 2]
    return unit(np.concatenate([even[::2] + even[1::2], vectors[len(even) :]]))


def _around(links: Sequence[Link], n: int, m: int, band: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last column of each of n + 1 rows, `band` around links between documents half as long."""
    ends = (n + 1) // 2, (m + 1) // 2
    first, last = np.full(ends[0] + 1, ends[1]), np.zeros(ends[0] + 1, dtype=int)
    i = j = 0
    for source, target, a, b, _ in [*links, Link(*ends, 0, 0, 0.0)]:
        # Straight through the sentences that are left out before this link.
        rows = source - i
        columns = j + (target - j) * np.arange(rows + 1) // max(rows, 1)
        first[i : source + 1] = np.minimum(first[i : source + 1], columns)
        last[i : source + 1] = [*columns[1:], target]
        i, j = source + a, target + b
    row = np.arange(n + 1)
    return np.maximum(2 * first[row // 2] - band, 0), np.minimum(2 * last[(row + 1) // 2] + band, m)

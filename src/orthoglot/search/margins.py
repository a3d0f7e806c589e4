"""Bitext mining: margins of cosines over those of neighbours, pairs by margin, thresholds by F1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from orthoglot.search.neighbours import Nearest, cosines

Margin = Literal["ratio", "distance", "absolute"]
Strategy = Literal["forward", "backward", "max", "intersection"]
# Functions of a cosine and the mean of both sentences' mean cosines with their neighbours.
MARGINS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ratio": lambda cosine, near: np.where(near > 0, cosine / np.where(near > 0, near, 1), -np.inf),
    "distance": lambda cosine, near: cosine - near,
    "absolute": lambda cosine, near: cosine,
}
# Sentences whose margins are computed, or pairs that are taken, at once.
BLOCK = 1 << 16


class Mined(NamedTuple):
    """Pairs of rows of x and of y, (P,) each, by falling margin; of equal ones, by row of x, then of y."""

    sources: np.ndarray
    targets: np.ndarray
    margins: np.ndarray


class Curve(NamedTuple):
    """What each threshold that tells pairs apart would keep, from the highest on; shares in [0, 1]."""

    # halfway between the last margin kept and the first one dropped; the last margin if none is
    thresholds: np.ndarray
    precision: np.ndarray  # correct pairs among those kept
    recall: np.ndarray  # correct pairs kept among the gold pairs
    f1: np.ndarray  # their harmonic mean


class Threshold(NamedTuple):
    """The cut of a ranked list that has the best F1, see `Curve`."""

    value: float
    f1: float


def mine(
    x: np.ndarray, y: np.ndarray, neighbours: Nearest, margin: Margin = "ratio", strategy: Strategy = "max"
) -> Mined:
    """Pairs of translations among the neighbours of sentences.

    A pair (i, j) has the cosine c and b = (mean cosine of x_i with its k neighbours + that of y_j with its own) / 2.
    Its margin is c / b (ratio; none where b <= 0), c - b (distance) or c (absolute). Each sentence proposes the
    neighbour with the highest margin; of equal margins, the nearest.

    Args:
        x, y: (n, D) and (m, D), rows of length 1.
        neighbours: The k neighbours of each row.
        strategy: "forward" takes what x proposes, "backward" what y proposes, "intersection" what both propose, "max"
            all proposals by falling margin whose sentences are in no pair yet.
    Source: docs/papers.md#protocol-margin.
    """
    return mine_neighbours(neighbours, both_cosines(x, y, neighbours), margin, strategy)


def mine_neighbours(
    neighbours: Nearest, cosine: Nearest, margin: Margin = "ratio", strategy: Strategy = "max"
) -> Mined:
    """`mine` without vectors, by the cosines with the neighbours: all may be mapped from files."""
    from_x = _proposed(
        neighbours.forward, _margins(neighbours.forward, cosine.forward, cosine.backward, margin)
    )
    back = _proposed(
        neighbours.backward, _margins(neighbours.backward, cosine.backward, cosine.forward, margin)
    )
    from_y = Mined(back.targets, back.sources, back.margins)
    match strategy:
        case "forward":
            return _sorted(from_x)
        case "backward":
            return _sorted(from_y)
        case "intersection":
            agreed = from_y.sources[from_x.targets] == from_x.sources
            return _sorted(Mined(*(column[agreed] for column in from_x)))
    pairs = _sorted(Mined(*(np.concatenate(both) for both in zip(from_x, from_y, strict=True))))
    return _one_to_one(pairs, len(neighbours.forward), len(neighbours.backward))


def candidates(neighbours: Nearest, cosine: Nearest, margin: Margin = "ratio", best: int = 1) -> Mined:
    """The `best` neighbours of each row of x with the highest margins, row by row, whatever other rows propose.

    Rows of x in their order, each with its pairs by falling margin; for the arguments see `mine_neighbours`.
    """
    margins = _margins(neighbours.forward, cosine.forward, cosine.backward, margin)
    pairs = _proposed(neighbours.forward, margins, best)
    return Mined(*(column[np.isfinite(pairs.margins)] for column in pairs))


def both_cosines(x: np.ndarray, y: np.ndarray, neighbours: Nearest) -> Nearest:
    """The cosines of rows with their neighbours, float64."""
    return Nearest(cosines(x, y, neighbours.forward), cosines(y, x, neighbours.backward))


def curve(margins: np.ndarray, correct: np.ndarray, gold: int) -> Curve:
    """Precision, recall and F1 of every threshold; a ValueError without a pair or without a gold pair.

    Args:
        margins: Of the mined pairs (P,), in any order.
        correct: Whether each of them is a gold pair (P,).
        gold: How many gold pairs there are, found or not.
    Source: docs/papers.md#protocol-bucc.
    """
    if not len(margins) or gold < 1:
        raise ValueError(f"{len(margins)} pairs and {gold} gold pairs: nothing to find a threshold for")
    order = np.argsort(-np.asarray(margins), kind="stable")
    ranked = np.asarray(margins, dtype=np.float64)[order]
    hits, counts = np.cumsum(np.asarray(correct, dtype=bool)[order]), np.arange(1, len(order) + 1)
    # A threshold keeps all pairs of one margin or none of them.
    cuts = np.append(ranked[:-1] != ranked[1:], True)
    thresholds = np.append((ranked[:-1] + ranked[1:]) / 2, ranked[-1])
    return Curve(
        thresholds[cuts], (hits / counts)[cuts], (hits / gold)[cuts], (2 * hits / (counts + gold))[cuts]
    )


def best_threshold(margins: np.ndarray, correct: np.ndarray, gold: int) -> Threshold:
    """The threshold with the best F1, the highest of equal ones; for arguments and errors see `curve`."""
    points = curve(margins, correct, gold)
    best = int(points.f1.argmax())
    return Threshold(float(points.thresholds[best]), float(points.f1[best]))


def _margins(
    neighbours: np.ndarray, cosine: np.ndarray, of_others: np.ndarray, margin: Margin
) -> Iterator[np.ndarray]:
    """The margins of rows with their k neighbours, block by block."""
    near, near_others = cosine.mean(axis=1), of_others.mean(axis=1)
    for start in range(0, len(neighbours), BLOCK):
        part = slice(start, start + BLOCK)
        yield MARGINS[margin](cosine[part], (near[part, None] + near_others[neighbours[part]]) / 2)


def _proposed(neighbours: np.ndarray, margins: Iterator[np.ndarray], best: int = 1) -> Mined:
    """The neighbours with the `best` highest margins of each row, in the order of rows; of equal ones the nearest."""
    best = min(best, neighbours.shape[1])
    targets, values = np.empty((len(neighbours), best), dtype=np.int64), np.empty((len(neighbours), best))
    for start, block_margins in zip(range(0, len(neighbours), BLOCK), margins, strict=True):
        part = slice(start, start + BLOCK)
        order = np.argsort(-block_margins, axis=1, kind="stable")[:, :best]
        targets[part] = np.take_along_axis(neighbours[part], order, axis=1)
        values[part] = np.take_along_axis(block_margins, order, axis=1)
    return Mined(np.repeat(np.arange(len(neighbours)), best), targets.ravel(), values.ravel())


def _sorted(pairs: Mined) -> Mined:
    """The pairs by falling margin, without those that have none."""
    order = np.lexsort((pairs.targets, pairs.sources, -pairs.margins))
    order = order[np.isfinite(pairs.margins[order])]
    return Mined(*(column[order] for column in pairs))


def _one_to_one(pairs: Mined, n: int, m: int) -> Mined:
    """The pairs, in their order, whose rows, of n and of m, are in none before."""
    taken = bytearray(n), bytearray(m)
    chosen = np.zeros(len(pairs.margins), dtype=bool)
    for start in range(0, len(chosen), BLOCK):
        columns = (column[start : start + BLOCK].tolist() for column in pairs[:2])
        for place, (source, target) in enumerate(zip(*columns, strict=True), start):
            if not taken[0][source] and not taken[1][target]:
                taken[0][source] = taken[1][target] = chosen[place] = True
    return Mined(*(column[chosen] for column in pairs))

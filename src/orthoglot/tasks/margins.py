"""Bitext mining: margins of cosines over those of neighbours, pairs by margin, thresholds by F1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from orthoglot.tasks.neighbours import Nearest, cosines

Margin = Literal["ratio", "distance", "absolute"]
Strategy = Literal["forward", "backward", "max", "intersection"]
# Of a cosine and the mean of both sentences' mean cosines with their neighbours.
MARGINS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ratio": lambda cosine, near: np.where(near > 0, cosine / np.where(near > 0, near, 1), -np.inf),
    "distance": lambda cosine, near: cosine - near,
    "absolute": lambda cosine, near: cosine,
}


class Mined(NamedTuple):
    """Pairs of rows of x and of y, (P,) each, by falling margin; of equal ones, by row of x, then of y."""

    sources: np.ndarray
    targets: np.ndarray
    margins: np.ndarray


class Curve(NamedTuple):
    """What each threshold that tells pairs apart would keep, from the highest on; shares in [0, 1].

    Attributes:
        thresholds: halfway between the last margin kept and the first one dropped; the last margin if none is.
        precision: correct pairs among those kept.
        recall: correct pairs kept among the gold pairs.
        f1: their harmonic mean.
    """

    thresholds: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


class Threshold(NamedTuple):
    """The cut of a ranked list that has the best F1, see `Curve`."""

    value: float
    f1: float


def mine(
    x: np.ndarray, y: np.ndarray, found: Nearest, margin: Margin = "ratio", strategy: Strategy = "max"
) -> Mined:
    """Pairs of translations among the neighbours of sentences.

    A pair (i, j) has the cosine c and b = (mean cosine of x_i with its k neighbours + that of y_j with its own) / 2.
    Its margin is c / b (ratio; none where b <= 0), c - b (distance) or c (absolute). Each sentence proposes the
    neighbour with the highest margin; of equal margins, the nearest.

    Args:
        x: (n, D), rows of length 1.
        y: (m, D), rows of length 1.
        found: the k neighbours of each row.
        margin: which margin.
        strategy: "forward" takes what x proposes, "backward" what y proposes, "intersection" what both propose, "max"
            all proposals by falling margin whose sentences are in no pair yet.
    Source: docs/papers.md#protocol-margin.
    """
    forward, backward = _margins(x, y, found, margin)
    ahead, back = _best(found.forward, forward), _best(found.backward, backward)
    from_x = Mined(np.arange(len(x)), *ahead)
    from_y = Mined(back[0], np.arange(len(y)), back[1])
    match strategy:
        case "forward":
            return _sorted(from_x)
        case "backward":
            return _sorted(from_y)
        case "intersection":
            agreed = from_y.sources[from_x.targets] == from_x.sources
            return _sorted(Mined(*(column[agreed] for column in from_x)))
    return _one_to_one(_sorted(Mined(*(np.concatenate(both) for both in zip(from_x, from_y, strict=True)))))


def candidates(
    x: np.ndarray, y: np.ndarray, found: Nearest, margin: Margin = "ratio", best: int = 1
) -> Mined:
    """The `best` neighbours of each row of x with the highest margins, row by row, whatever other rows propose.

    Rows of x in their order, each with its pairs by falling margin; arguments as of `mine`.
    """
    margins, _ = _margins(x, y, found, margin)
    order = np.argsort(-margins, axis=1, kind="stable")[:, :best]
    rows = np.repeat(np.arange(len(x)), order.shape[1])
    chosen = (np.take_along_axis(one, order, axis=1).ravel() for one in (found.forward, margins))
    pairs = Mined(rows, *chosen)
    return Mined(*(column[np.isfinite(pairs.margins)] for column in pairs))


def curve(margins: np.ndarray, correct: np.ndarray, gold: int) -> Curve:
    """Precision, recall and F1 of every threshold.

    Args:
        margins: of the mined pairs (P,), in any order.
        correct: whether each of them is a gold pair (P,).
        gold: number of gold pairs, found or not.
    Raises:
        ValueError: no pair, or no gold pair.
    Source: docs/papers.md#protocol-bucc.
    """
    if not len(margins) or gold < 1:
        raise ValueError(f"{len(margins)} pairs and {gold} gold pairs: nothing to find a threshold for")
    order = np.argsort(-np.asarray(margins), kind="stable")
    ranked = np.asarray(margins, dtype=np.float64)[order]
    hits, kept = np.cumsum(np.asarray(correct, dtype=bool)[order]), np.arange(1, len(order) + 1)
    # A threshold keeps all pairs of one margin or none of them.
    cuts = np.append(ranked[:-1] != ranked[1:], True)
    thresholds = np.append((ranked[:-1] + ranked[1:]) / 2, ranked[-1])
    return Curve(thresholds[cuts], (hits / kept)[cuts], (hits / gold)[cuts], (2 * hits / (kept + gold))[cuts])


def best_threshold(margins: np.ndarray, correct: np.ndarray, gold: int) -> Threshold:
    """The threshold with the best F1, the highest of equal ones; arguments and errors as of `curve`."""
    found = curve(margins, correct, gold)
    best = int(found.f1.argmax())
    return Threshold(float(found.thresholds[best]), float(found.f1[best]))


def _margins(x: np.ndarray, y: np.ndarray, found: Nearest, margin: Margin) -> tuple[np.ndarray, np.ndarray]:
    """Of each row of x with its neighbours (n, k), and of each row of y with its own (m, k)."""
    forward, backward = cosines(x, y, found.forward), cosines(y, x, found.backward)
    near_x, near_y = forward.mean(axis=1), backward.mean(axis=1)
    chosen = MARGINS[margin]
    return (
        chosen(forward, (near_x[:, None] + near_y[found.forward]) / 2),
        chosen(backward, (near_y[:, None] + near_x[found.backward]) / 2),
    )


def _best(rows: np.ndarray, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The neighbour with the highest margin of each row, and that margin."""
    place = margins.argmax(axis=1)[:, None]
    return np.take_along_axis(rows, place, axis=1)[:, 0], np.take_along_axis(margins, place, axis=1)[:, 0]


def _sorted(pairs: Mined) -> Mined:
    """By falling margin, without pairs that have none."""
    order = np.lexsort((pairs.targets, pairs.sources, -pairs.margins))
    order = order[np.isfinite(pairs.margins[order])]
    return Mined(*(column[order] for column in pairs))


def _one_to_one(pairs: Mined) -> Mined:
    kept = []
    sources: set[int] = set()
    targets: set[int] = set()
    for place, (source, target) in enumerate(
        zip(pairs.sources.tolist(), pairs.targets.tolist(), strict=True)
    ):
        if source not in sources and target not in targets:
            kept.append(place)
            sources.add(source)
            targets.add(target)
    return Mined(*(column[kept] for column in pairs))

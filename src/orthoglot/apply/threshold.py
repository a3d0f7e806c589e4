"""A threshold for mined pairs without known translations, and how many pairs thresholds keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthoglot.search.margins import MARGINS, Margin, Mined
from orthoglot.search.neighbours import Nearest

# Share of wrong pairs that is expected above the suggested threshold; the fewest pairs above it.
WRONG, FEWEST = 0.05, 10
# Pairs that are looked at, and thresholds that are tried, evenly by rank.
PAIRS, TRIED = 100_000, 200
# Shares of the pairs that the thresholds of a table keep.
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


def suggest(found: Nearest, cosine: Nearest, pairs: Mined, margin: Margin) -> float | None:
    """The lowest threshold above which about 5 % of the pairs are wrong; None if there is none.

    A sentence has one translation at most, so the margin with its best neighbour other than its partner is that of a
    wrong pair. Let u_i be this margin of the source of pair i, with the partner left out of the mean of its neighbours,
    v_i that of the target, n and m the sentences, and C(t) the pairs with a margin of t or more. The sentences that are
    in none of these pairs propose wrong pairs as often as those in one would without their translation: expected are

        W(t) = (n - C(t)) mean_i [u_i >= t] + (m - C(t)) mean_i [v_i >= t]

    wrong pairs, i over the C(t) pairs. The threshold is the lowest t with W(t) <= 0.05 C(t) and C(t) >= 10.

    It is no promise: on FLORES-200 in four languages, 94 to 100 % of the pairs were right where 30 % of the sentences
    or more had a translation, and 76 to 93 % where 10 % had one (measurements/mining/README.md).

    Args:
        found: the k neighbours of each row.
        cosine: those with them.
        pairs: that were mined among them, by falling margin, one of each row.
        margin: which margin.
    """
    if found.forward.shape[1] < 2 or found.backward.shape[1] < 2 or len(pairs.margins) < FEWEST:
        return None
    total = len(pairs.margins)
    ranks = np.unique(np.linspace(0, total - 1, min(total, PAIRS)).round().astype(np.int64))
    sources, targets, margins = (column[ranks] for column in pairs)
    ours = margins_of_others(found.forward, cosine.forward, cosine.backward, sources, targets, margin)
    theirs = margins_of_others(found.backward, cosine.backward, cosine.forward, targets, sources, margin)
    n, m = len(found.forward), len(found.backward)
    lowest = None
    for last in np.unique(np.linspace(0, len(ranks) - 1, TRIED).round().astype(np.int64)):
        count, value = ranks[last] + 1, margins[last]
        wrong = max(0, n - count) * (ours[: last + 1] >= value).mean()
        wrong += max(0, m - count) * (theirs[: last + 1] >= value).mean()
        if count >= FEWEST and wrong <= WRONG * count:
            lowest = float(value)
    return lowest


def kept_by(margins: np.ndarray, suggested: float | None) -> list[Sequence[str]]:
    """A table of thresholds, the highest first, and how many pairs each keeps; the suggested one is marked.

    Args:
        margins: of the pairs (P,), falling.
        suggested: another threshold of the table.
    """
    ranks = {max(0, round(share * len(margins)) - 1) for share in SHARES}
    values = {float(margins[rank]) for rank in ranks} if len(margins) else set()
    if suggested is not None:
        values.add(suggested)
    return [
        (f"{value:.4f}", str(int((margins >= value).sum())), "suggested" if value == suggested else "")
        for value in sorted(values, reverse=True)
    ]


def margins_of_others(
    found: np.ndarray,
    cosine: np.ndarray,
    of_others: np.ndarray,
    rows: np.ndarray,
    partners: np.ndarray,
    margin: Margin,
) -> np.ndarray:
    """The highest margin of each row with a neighbour other than its partner, which is left out of the row's mean."""
    neighbours, cosines = found[rows], cosine[rows]
    others = neighbours != partners[:, None]
    mean = np.where(others, cosines, 0).sum(axis=1) / others.sum(axis=1)
    near = (mean[:, None] + of_others.mean(axis=1)[neighbours]) / 2
    return np.where(others, MARGINS[margin](cosines, near), -np.inf).max(axis=1)

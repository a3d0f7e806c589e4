"""Retrieval of translations: which sentences have their own translation as nearest neighbour."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.search.neighbours import nearest
from orthoglot.statistics.records import LEFT_OUT
from orthoglot.usable_vectors import usable


def hits(
    source: np.ndarray, target: np.ndarray, device: str = "cpu", n: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows find their own translation.

    hit_i = [argmax_j cos(x_i, y_j) = i], ties to the lowest j, for x = source and for x = target.

    Args:
        source: (N + A, D).
        target: (N + B, D), row i < N translates row i of `source`; the rows behind are candidates and query nothing.
        n: N; None if every row is of a pair.
    Returns:
        Two (N,) int8: 1 hit, 0 miss, -1 left out, as a side of the pair is zero or not finite (such a pair
        is no candidate either).
    Source: docs/papers.md#protocol-retrieval, docs/papers.md#worked-evaluation-1.
    """
    n = len(source) if n is None else n
    usable_rows = usable(source[:n]) & usable(target[:n])
    forward = np.full(n, LEFT_OUT, dtype=np.int8)
    backward = forward.copy()
    if usable_rows.any():
        x, y = (unit(side[:n][usable_rows]) for side in (source, target))
        more = [unit(side[n:][usable(side[n:])]) for side in (source, target)]
        rows = np.arange(len(x))
        if len(more[0]) == len(more[1]) == 0:
            neighbours = nearest(x, y, device=device)
            there, back = neighbours.forward, neighbours.backward
        else:
            there = nearest(x, np.concatenate([y, more[1]]), device=device).forward
            back = nearest(y, np.concatenate([x, more[0]]), device=device).forward
        forward[usable_rows], backward[usable_rows] = there[:, 0] == rows, back[:, 0] == rows
    return forward, backward


def facts(direction: str, candidates: int, dropped: Mapping[str, int]) -> dict[str, object]:
    """What a record of P@1 states, with the chance level in percent.

    Args:
        direction: "gn->en".
        candidates: Sentences that a query can find.
        dropped: How many pairs were left out, by reason.
    """
    return {
        "similarity": "cosine",
        "direction": direction,
        "candidates": candidates,
        "ties": "lowest-index",
        **dropped,
        "chance": round(100 / candidates, 6),
    }

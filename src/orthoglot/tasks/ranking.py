"""Scores of ranked lists."""

from __future__ import annotations

import numpy as np

from orthoglot.tasks.base import EQUAL


def average_precision(ranks: np.ndarray, k: int | None = None) -> float:
    """AP@k of one query: the mean of the precision at the rank of each relevant candidate.

    AP@k = sum_(i, r_i <= k) i / r_i / min(k, R), r_1 <= ... <= r_R the ranks of the R relevant candidates

    Args:
        ranks: of the relevant candidates (R,), from 1 on, in any order.
        k: candidates that count; None for all.
    Returns:
        In [0, 1]; 1 / r for one relevant candidate at rank r.
    Raises:
        ValueError: no candidate is relevant.
    Source: docs/papers.md#protocol-lareqa.
    """
    if not len(ranks):
        raise ValueError("no candidate is relevant: average precision is undefined")
    ordered = np.sort(ranks)
    limit = np.inf if k is None else k
    precision = np.arange(1, len(ordered) + 1) / ordered
    return float(precision[ordered <= limit].sum() / min(limit, len(ordered)))


def ranks(similarity: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Ranks of the relevant candidates of one query (R,), from 1 on, the best first.

    Candidates whose cosines differ by at most 1e-6 are equal. Of equal ones, half of those that are not relevant
    count as better: the rank that chance gives on average.

    Args:
        similarity: of all candidates (N,).
        relevant: numbers of the relevant ones (R,).
    """
    own = np.sort(similarity[relevant])[::-1]
    all_sorted = np.sort(similarity)

    def above(values: np.ndarray) -> np.ndarray:
        """How many irrelevant candidates are above each value."""
        every = len(similarity) - np.searchsorted(all_sorted, values, side="right")
        return every - (len(own) - np.searchsorted(own[::-1], values, side="right"))

    better, equal_or_better = above(own + EQUAL), above(own - EQUAL)
    return np.arange(1, len(own) + 1) + (better + equal_or_better) / 2

"""Scores of ranked lists."""

from __future__ import annotations

import numpy as np


def average_precision(relevant: np.ndarray, k: int) -> float:
    """AP@k of one query: the mean of the precision at the rank of each relevant candidate.

    AP@k = sum_(r <= k, r relevant) (relevant among the first r) / r / min(k, relevant in all)

    Args:
        relevant: whether each candidate is relevant, best candidate first (N,).
        k: candidates that count.
    Returns:
        In [0, 1]; 1 / r for one relevant candidate at rank r.
    Raises:
        ValueError: no candidate is relevant.
    """
    hits = np.asarray(relevant, dtype=bool)
    if not hits.any():
        raise ValueError("no candidate is relevant: average precision is undefined")
    first = hits[:k]
    precision = np.cumsum(first) / np.arange(1, len(first) + 1)
    return float(precision[first].sum() / min(k, hits.sum()))

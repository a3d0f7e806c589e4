"""Scores of bitext mining: margin of a cosine over its neighbours, best threshold by F1, average precision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Threshold(NamedTuple):
    """The cut of a ranked list that has the best F1.

    Attributes:
        value: halfway between the last score kept and the first one dropped; the last score if none is dropped.
        f1: 2 P R / (P + R), in [0, 1].
    """

    value: float
    f1: float


def margins(cosines: np.ndarray, k: int) -> np.ndarray:
    """Ratio margin of every pair of sentences.

    margin(x, y) = cos(x, y) / [ sum_(z in NN_k(x)) cos(x, z) / 2k + sum_(z in NN_k(y)) cos(y, z) / 2k ]

    Args:
        cosines: of sources and targets, (N, M).
        k: nearest neighbours on the other side, at most N or M of them.
    Returns:
        (N, M), higher is better; 1 where a pair is as close as its neighbours are.
    Source: Artetxe and Schwenk 2019, Margin-based Parallel Corpus Mining, Eq. 3.
    """
    rows = _mean_of_largest(cosines, k, axis=1)
    columns = _mean_of_largest(cosines, k, axis=0)
    return cosines / ((rows + columns) / 2)


def best_threshold(scores: np.ndarray, correct: np.ndarray, gold: int) -> Threshold:
    """The threshold on the scores of mined pairs with the best F1, as in BUCC.

    Args:
        scores: of the pairs found (N,), in any order.
        correct: whether each of them is a gold pair (N,).
        gold: number of gold pairs, found or not.
    Raises:
        ValueError: no pair, or no gold pair.
    """
    if not len(scores) or gold < 1:
        raise ValueError(f"{len(scores)} pairs and {gold} gold pairs: nothing to find a threshold for")
    order = np.argsort(-np.asarray(scores), kind="stable")
    ranked = np.asarray(scores, dtype=np.float64)[order]
    f1 = 2 * np.cumsum(np.asarray(correct, dtype=bool)[order]) / (np.arange(1, len(order) + 1) + gold)
    # A threshold keeps all pairs of one score or none of them.
    f1[:-1][ranked[:-1] == ranked[1:]] = -1
    best = int(f1.argmax())
    return Threshold(float(ranked[best : best + 2].mean()), float(f1[best]))


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


def _mean_of_largest(cosines: np.ndarray, k: int, axis: int) -> np.ndarray:
    """Mean of the k largest along an axis, which stays with length 1."""
    size = cosines.shape[axis]
    k = min(k, size)
    largest = np.partition(cosines, size - k, axis=axis).take(range(size - k, size), axis=axis)
    return largest.mean(axis=axis, keepdims=True)

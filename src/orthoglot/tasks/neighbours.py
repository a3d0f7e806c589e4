"""Exact nearest neighbours by cosine, in blocks, both directions in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orthoglot.tasks.base import EQUAL

# Similarities held at once: 64 MiB of float32, and as much for the candidates.
BLOCK_ENTRIES = 1 << 24
# More than rounding may move a float32 cosine, and more than `EQUAL`.
NOISE = 1e-5
# On multiples of 2^-26, products of rows of length 1 are sums of multiples of 2^-52, which float64 adds up exactly.
GRID = 2.0**26


class Nearest(NamedTuple):
    """Row numbers of nearest neighbours.

    Attributes:
        forward: (n,) for each row of x the row of y.
        backward: (m,) for each row of y the row of x.
    """

    forward: np.ndarray
    backward: np.ndarray


def nearest(x: np.ndarray, y: np.ndarray, *, block: int | None = None) -> Nearest:
    """Nearest neighbours by cosine; of all rows within 1e-6 of the highest cosine, the lowest index is the nearest.

    A matrix product rounds differently with another number of rows. Rows with more than one candidate near the
    highest are therefore looked up again in exact arithmetic, so that the result does not depend on `block`.

    Args:
        x: (n, D), rows of length 1.
        y: (m, D), rows of length 1.
        block: rows of x at once; None keeps a block of similarities within 64 MiB.
    Source: docs/papers.md#protocol-retrieval.
    """
    block = block or max(1, BLOCK_ENTRIES // len(y))
    forward = np.empty(len(x), dtype=np.int64)
    unsure = np.empty(len(x), dtype=bool)
    backward = np.zeros(len(y), dtype=np.int64)
    unsure_back = np.zeros(len(y), dtype=bool)
    highest = np.full(len(y), -np.inf)
    for start in range(0, len(x), block):
        similarity = x[start : start + block] @ y.T
        rows = slice(start, start + len(similarity))
        forward[rows] = similarity.argmax(axis=1)
        unsure[rows] = (similarity >= similarity.max(axis=1, keepdims=True) - NOISE).sum(axis=1) > 1
        # Of columns with one candidate, the sum of the candidates' rows is its row; np.argmax over rows is slow.
        values = similarity.max(axis=0)
        near = (similarity >= values - NOISE).astype(np.float32)
        candidates, row = np.stack([np.ones(len(near)), np.arange(len(near))]).astype(np.float32) @ near
        unsure_back |= (candidates > 1) | (np.abs(values - highest) <= NOISE)
        better = values > highest
        backward[better] = row[better] + start
        highest[better] = values[better]
    _look_up(forward, np.flatnonzero(unsure), x, y, block)
    _look_up(backward, np.flatnonzero(unsure_back), y, x, block)
    return Nearest(forward, backward)


def _look_up(found: np.ndarray, rows: np.ndarray, x: np.ndarray, y: np.ndarray, block: int) -> None:
    """Write the nearest rows of y to some rows of x into `found`, whatever the rounding."""
    if not len(rows):
        return
    candidates = np.rint(y.T.astype(np.float64) * GRID)
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        similarity = np.rint(x[part].astype(np.float64) * GRID) @ candidates
        found[part] = (similarity >= similarity.max(axis=1, keepdims=True) - EQUAL * GRID**2).argmax(axis=1)

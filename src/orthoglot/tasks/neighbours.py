"""Exact nearest neighbours, in blocks, both directions in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Similarities held at once: 128 MiB of float32.
BLOCK_ENTRIES = 1 << 25


class Nearest(NamedTuple):
    """Row numbers of nearest neighbours.

    Attributes:
        forward: (n,) for each row of x the row of y.
        backward: (m,) for each row of y the row of x.
    """

    forward: np.ndarray
    backward: np.ndarray


def nearest(x: np.ndarray, y: np.ndarray, *, block: int | None = None) -> Nearest:
    """Nearest neighbours by inner product (cosine, for rows of length 1); ties go to the lowest index.

    Args:
        x: (n, D).
        y: (m, D).
        block: rows of x at once; None keeps a block of similarities within 128 MiB.
    Source: methods 7.1.
    """
    block = block or max(1, BLOCK_ENTRIES // len(y))
    forward = np.empty(len(x), dtype=np.int64)
    backward = np.zeros(len(y), dtype=np.int64)
    highest = np.full(len(y), -np.inf)
    columns = np.arange(len(y))
    for start in range(0, len(x), block):
        similarity = x[start : start + block] @ y.T
        forward[start : start + block] = similarity.argmax(axis=1)
        rows = similarity.argmax(axis=0)
        values = similarity[rows, columns]
        better = values > highest  # strictly, so that an earlier block keeps a tie
        backward[better] = rows[better] + start
        highest[better] = values[better]
    return Nearest(forward, backward)

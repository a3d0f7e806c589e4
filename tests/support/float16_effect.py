"""What is lost when vectors are stored as float16: for the tests and `measurements/speed-of-encoding/encode.py`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoglot.embeddings.store import MOST, as_stored
from orthoglot.errors import DataError


@dataclass(frozen=True)
class Effect:
    """What storing as float16 changes.

    Attributes:
        cosine: largest change of a cosine between a row of one set and a row of the other, 0 to 2.
        accuracy: P@1 of finding row i of the second set from row i of the first, with float32; 0 to 1.
        change: that of float16 minus that of float32, -1 to 1.
        moved: share of rows whose nearest neighbour is another one, 0 to 1.
    """

    cosine: float
    accuracy: float
    change: float
    moved: float


def effect(first: np.ndarray, second: np.ndarray) -> Effect:
    """Compare cosines and cross-set retrieval before and after rounding to float16.

    Args:
        first, second: (n, D) float32, row i of one belongs to row i of the other.
    Raises:
        DataError: float16 does not hold a row to 2^-10 of its length.
    """
    halves = []
    for side in (first, second):
        cast, bad = as_stored(side, np.dtype(np.float16))
        if len(bad):
            raise DataError(f"float16 does not hold row {bad[0]} to {MOST:.1g} of its length")
        halves.append(cast)
    before, after = _cosines(first, second), _cosines(*halves)
    own = np.arange(len(first))
    nearest, nearest_after = before.argmax(axis=1), after.argmax(axis=1)
    accuracy = float((nearest == own).mean())
    return Effect(
        cosine=float(np.abs(after - before).max()),
        accuracy=accuracy,
        change=float((nearest_after == own).mean()) - accuracy,
        moved=float((nearest != nearest_after).mean()),
    )


def _cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n, D), (m, D) -> (n, m) in float64: what is compared is the storage, not the sum."""
    a, b = (side.astype(np.float64) for side in (first, second))
    a, b = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (a, b))
    return a @ b.T

"""Vectors that are no numbers: found in one pass, so that they can be refused wherever vectors are made or read."""

from __future__ import annotations

import numpy as np


def blank(vectors: np.ndarray) -> np.ndarray:
    """The rows of (N, D) that are NaN alone, in order: those of blank sentences."""
    rows = not_finite(vectors)
    return rows[np.isnan(vectors[rows]).all(axis=1)]


def not_finite(vectors: np.ndarray) -> np.ndarray:
    """The rows of (N, D) that hold NaN or an infinite number, in order."""
    # A sum is finite only if all its numbers are; the rows where it is not are few, and it may itself be too large.
    with np.errstate(all="ignore"):
        rows = np.flatnonzero(~np.isfinite(vectors.sum(axis=1)))
    return rows[~np.isfinite(vectors[rows]).all(axis=1)]


def usable(vectors: np.ndarray) -> np.ndarray:
    """(N,) bool: rows that have a direction, i.e. are finite and not zero."""
    return np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1)

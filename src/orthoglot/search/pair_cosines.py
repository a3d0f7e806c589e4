"""Cosines of pairs, row by row, and which of them are equal."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.search.neighbours import EQUAL
from orthoglot.usable_vectors import usable


def cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(N,) float64 cosines of the rows of x and y, (N, D) each; NaN where either is zero or not finite."""
    usable_rows = usable(x) & usable(y)
    values = np.full(len(x), np.nan)
    ours, theirs = (unit(side[usable_rows].astype(np.float64)) for side in (x, y))
    values[usable_rows] = np.einsum("nd,nd->n", ours, theirs)
    return values


def merged(values: np.ndarray) -> np.ndarray:
    """Values (N,) of which those that differ by rounding are one; NaN stays.

    Values are taken in increasing order: one joins the lowest value of its group if it is at most `EQUAL` above that.
    """
    joined = values.copy()
    order = np.argsort(values)[: np.isfinite(values).sum()]
    ordered = values[order]
    start = 0
    while start < len(ordered):
        end = int(np.searchsorted(ordered, ordered[start] + EQUAL, side="right"))
        joined[order[start:end]] = ordered[start]
        start = end
    return joined

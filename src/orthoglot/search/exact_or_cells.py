"""Which search to use: exact up to a number of similarities, cells of k-means beyond it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orthoglot.search.cells import check_faiss, nearest_in_cells
from orthoglot.search.neighbours import EQUAL, Nearest, nearest

# Similarities of 300,000 by 300,000 sentences: half an hour of two cores with 768 dimensions.
EXACT_UP_TO = 10**11
# A GPU's limit is 5,500,000 by 5,500,000 sentences, 27 minutes of an H100 by the rate of a million by a million.
GPU_EXACT_UP_TO = 3 * 10**13
# Queries whose neighbours are found exactly as well, to measure the recall.
SAMPLE = 1000
SEED = 1


class Neighbours(NamedTuple):
    """Neighbours, and how they were found, for the record."""

    nearest: Nearest
    facts: dict[str, object]


def limit(device: str) -> int:
    """Similarities up to which a search on a device is exact."""
    return GPU_EXACT_UP_TO if device.startswith("cuda") else EXACT_UP_TO


def check_search(n: int, m: int, device: str = "cpu") -> None:
    """Check that n by m sentences can be searched on a device; beyond its `limit`, a ConfigError without faiss."""
    if n * m > limit(device):
        check_faiss()


def search(
    x: np.ndarray,
    y: np.ndarray,
    k: int,
    *,
    device: str = "cpu",
    threads: int = 1,
    memory: float = 1.0,
    exact_up_to: int | None = None,
) -> Neighbours:
    """The k nearest neighbours both ways, exactly if there are few similarities.

    `nearest_in_cells` searches among more. The facts state its recall: the share of the exact neighbours of 1,000
    sentences of either side that it finds.

    Args:
        x, y: (n, D) and (m, D), rows of length 1; they may be mapped from a file.
        k: Neighbours, at least 1.
        device: Of the exact search, and of cells where faiss is built for a GPU.
        threads: Of a search that is not exact on a CPU; PyTorch has its own number of threads for an exact one.
        memory: GiB of queries at once of a search that is not exact.
        exact_up_to: Similarities up to which the search is exact; None for `limit`.
    Raises:
        ConfigError: See `check_search`.
    Source: docs/papers.md#protocol-search.
    """
    if len(x) * len(y) <= (limit(device) if exact_up_to is None else exact_up_to):
        return Neighbours(nearest(x, y, k, device=device), {"search": "exact"})
    sides = (x, y), (y, x)
    neighbours = [_approximate(*side, k, device, threads, memory) for side in sides]
    recalls = [_recall(*side, rows, device) for side, rows in zip(sides, neighbours, strict=True)]
    return Neighbours(Nearest(*neighbours), {"search": "cells", "recall": round(float(np.mean(recalls)), 4)})


def _approximate(
    x: np.ndarray, y: np.ndarray, k: int, device: str, threads: int, memory: float
) -> np.ndarray:
    """The k neighbours of each row of x, (n, min(k, m)); exact where its cells hold fewer."""
    neighbours = nearest_in_cells(x, y, k, device=device, threads=threads, memory=memory)
    if len(short := np.flatnonzero((neighbours < 0).any(axis=1))):
        neighbours[short] = nearest(x[short], y, k, device=device).forward
    return neighbours


def _recall(x: np.ndarray, y: np.ndarray, neighbours: np.ndarray, device: str) -> float:
    """The share of neighbours that are as near as the k-th exact one, up to rounding."""
    rows = np.sort(np.random.default_rng(SEED).permutation(len(x))[:SAMPLE])
    exact = nearest(x[rows], y, neighbours.shape[1], device=device).forward
    theirs, ours = (np.einsum("nd,nkd->nk", x[rows], y[near]) for near in (exact, neighbours[rows]))
    return float((ours >= theirs.min(axis=1, keepdims=True) - EQUAL).mean())

"""Which search to use: exact up to a number of similarities, an index of compressed vectors (faiss) beyond it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from orthoglot.tasks.neighbours import Nearest, cosines, nearest

# Beyond so many similarities: 300,000 by 300,000 sentences, half an hour of two cores with 768 dimensions.
EXACT_UP_TO = 10**11
# Candidates of the index for each neighbour; their exact cosines decide.
CANDIDATES = 32
# Vectors that are added to the index or searched for at once.
BLOCK = 8192
# Queries whose neighbours are found exactly as well, to measure the recall of the index.
SAMPLE = 1000
TRAINING_VECTORS = 100_000
SEED = 1


class Found(NamedTuple):
    """Neighbours, and how they were found, for the signature."""

    nearest: Nearest
    facts: dict[str, object]


def search(
    x: np.ndarray,
    y: np.ndarray,
    k: int,
    *,
    device: str = "cpu",
    threads: int = 1,
    exact_up_to: int = EXACT_UP_TO,
) -> Found:
    """The k nearest neighbours both ways, exactly if there are at most `exact_up_to` similarities.

    The index is faiss's IVF-PQ with codes of 4 bits ("fast scan"): sentences are looked up in the nearest sixteenth of
    4 sqrt(m) cells, with vectors of D / 4 bytes. The exact cosines of the 32 k best candidates decide. The facts state
    its recall: the share of the exact neighbours of 1,000 sentences of either side that it finds. Memory holds the
    index of one side at a time and 8,192 vectors of the other, so that both sides may be mapped from files.

    Args:
        x: (n, D), rows of length 1.
        y: (m, D), rows of length 1.
        k: neighbours, at least 1.
        device: of the exact search.
        threads: of the exact search on a CPU.
        exact_up_to: similarities, n m.
    Source: docs/papers.md#protocol-search.
    """
    if len(x) * len(y) <= exact_up_to:
        return Found(nearest(x, y, k, device=device, threads=threads), {"search": "exact"})
    found = Nearest(_approximate(x, y, k), _approximate(y, x, k))
    recalls = [_recall(x, y, found.forward, device), _recall(y, x, found.backward, device)]
    return Found(found, {"search": "ivf-pq", "recall": round(float(np.mean(recalls)), 4)})


def _approximate(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """The k neighbours of each row of x by an index of y, (n, min(k, m))."""
    import faiss

    dimension = y.shape[1]
    cells = max(1, min(int(4 * math.sqrt(len(y))), len(y) // 39))
    codes = max(size for size in range(1, max(1, dimension // 2) + 1) if dimension % size == 0)
    index = faiss.IndexIVFPQFastScan(
        faiss.IndexFlatIP(dimension), dimension, cells, codes, 4, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.seed = index.pq.cp.seed = SEED
    sample = np.random.default_rng(SEED).permutation(len(y))[:TRAINING_VECTORS]
    index.train(y[np.sort(sample)])
    for start in range(0, len(y), BLOCK):
        index.add(y[start : start + BLOCK])
    index.nprobe = max(8, cells // 16)
    k = min(k, len(y))
    found = np.empty((len(x), k), dtype=np.int64)
    for start in range(0, len(x), BLOCK):
        part = x[start : start + BLOCK]
        _, rows = index.search(part, min(CANDIDATES * k, len(y)))
        similarity = np.where(rows >= 0, cosines(part, y, rows), -np.inf)
        order = np.lexsort((rows, -similarity))[:, :k]
        found[start : start + BLOCK] = np.take_along_axis(rows, order, axis=1)
    if len(short := np.flatnonzero((found < 0).any(axis=1))):  # its cells held fewer than k sentences
        found[short] = nearest(x[short], y, k).forward
    return found


def _recall(x: np.ndarray, y: np.ndarray, found: np.ndarray, device: str) -> float:
    rows = np.sort(np.random.default_rng(SEED).permutation(len(x))[:SAMPLE])
    exact = nearest(x[rows], y, found.shape[1], device=device).forward
    return float(np.mean([np.isin(one, other).mean() for one, other in zip(exact, found[rows], strict=True)]))

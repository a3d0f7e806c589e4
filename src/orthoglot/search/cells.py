"""Approximate nearest neighbours by inner product: each vector is compared with those of the cells next to it.

k-means divides the rows of y into cells. A query looks up the cells with the nearest centres, as in an inverted file
(IVF), but all queries of a cell are compared with it in one matrix product, without compression. No index is built: y
may be mapped from a file, and is read once for each block of queries. A faiss that is built for GPUs compares on one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError
from orthoglot.search.neighbours import SPARE, settle

# One in 32 cells is looked up, but at least 8.
SHARE, LEAST = 32, 8
# Vectors that the centres are learnt from, and rounds of k-means.
SAMPLE, ROUNDS = 100_000, 10
# Vectors in one product.
BLOCK = 2048
# On a GPU: queries at once, the share of its free memory for rows of y, and cells that faiss looks up at most.
GPU_BLOCK, GPU_SHARE, GPU_MOST = 1 << 16, 0.7, 2048
SEED = 1


class Cells(NamedTuple):
    """The rows of y by cell."""

    centres: np.ndarray  # (C, D) float32, of length 1, or 0
    rows: np.ndarray  # numbers of the rows of y, those of the first cell first (m,)
    starts: np.ndarray  # where the rows of each cell begin, and the end (C + 1,)


def check_faiss() -> None:
    """Import faiss; a ConfigError if it is not installed."""
    try:
        import faiss  # noqa: F401
    except ImportError as error:
        raise ConfigError("a search among so many sentences needs faiss: pip install faiss-cpu") from error


def faiss_on(device: str) -> bool:
    """Whether the faiss that is installed can use this device, a GPU."""
    import faiss

    return device.startswith("cuda") and faiss.get_num_gpus() > 0


def nearest_in_cells(
    x: np.ndarray, y: np.ndarray, k: int, *, device: str = "cpu", threads: int = 1, memory: float = 1.0
) -> np.ndarray:
    """The k nearest of each row of x among the rows of y in the cells that it looks up.

    There are 4 sqrt(m) cells, each query looks up the nearest 32nd of them, and the order of neighbours is that of
    `nearest`. A query whose cells hold fewer than k rows has -1 in its last columns.

    Args:
        x, y: (n, D) and (m, D), rows of length 1.
        k: Neighbours, at least 1.
        device: On a GPU that faiss can use (`faiss_on`), the products are made there; else on the CPU.
        threads: How many threads compare at once.
        memory: GiB for the queries that are compared at once and their products. Beside them, the sample that centres
            are learnt from with its copy (8 bytes for each of 100,000 D numbers), 30 bytes for each row of y, and
            32 MiB for each thread.
    Returns:
        (n, min(k, m)) int64.
    Raises:
        ConfigError: The library faiss, which keeps the best of each query, is not installed.
    Source: docs/papers.md#protocol-search.
    """
    check_faiss()
    thread_memory = memory * 2**30 / threads
    with threadpool_limits(threads):
        cells = _divide(y, threads, thread_memory)
    looked_up = min(len(cells.centres), max(LEAST, len(cells.centres) // SHARE))
    keep = k + k // 2 + SPARE
    # A query's vector, its cells and its candidates; three quarters of a thread's memory.
    size = 4 * x.shape[1] + 20 * looked_up + 32 * keep
    height = math.ceil(len(x) / (threads * math.ceil(len(x) * size / (0.75 * thread_memory) / threads)))
    step = _step(len(cells.centres), thread_memory)
    neighbours = np.empty((len(x), min(k, len(y))), dtype=np.int64)
    if faiss_on(device):
        numbers, products = _candidates_on_gpu(x, y, cells, min(looked_up, GPU_MOST), keep, device)
        for start in range(0, len(x), height):
            part = slice(start, start + height)
            neighbours[part] = settle(numbers[part], products[part], x[part], y, k, exhaustive=False)
        return neighbours

    def work(start: int) -> None:
        queries = np.array(x[start : start + height], dtype=np.float32)
        numbers, products = _candidates(queries, y, cells, looked_up, keep, step)
        neighbours[start : start + height] = settle(numbers, products, queries, y, k, exhaustive=False)

    # One thread in each product: small products of several threads wait for each other.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(0, len(x), height)))
    return neighbours


def _step(centres: int, memory: float) -> int:
    """Vectors whose products with all centres, and the order of these, take a quarter of some bytes."""
    return max(1, min(BLOCK, int(0.25 * memory / (12 * centres))))


def _divide(y: np.ndarray, threads: int, memory: float) -> Cells:
    """Cells of y, none of them empty, by k-means on a sample; `memory` in bytes is for the products of a thread."""
    from sklearn.cluster import KMeans

    count = max(1, min(int(4 * math.sqrt(len(y))), len(y) // 39))
    sample = np.sort(np.random.default_rng(SEED).permutation(len(y))[:SAMPLE])
    means = KMeans(count, init="random", n_init=1, max_iter=ROUNDS, random_state=SEED).fit(y[sample])
    centres = unit(means.cluster_centers_.astype(np.float32))
    cell_of = np.empty(len(y), dtype=np.int32)

    step = _step(count, memory)

    def work(start: int) -> None:
        cell_of[start : start + step] = (y[start : start + step] @ centres.T).argmax(axis=1)

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(0, len(y), step)))
    sizes = np.bincount(cell_of, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    return Cells(centres[sizes > 0], np.argsort(cell_of, kind="stable"), starts)


def _candidates(
    queries: np.ndarray, y: np.ndarray, cells: Cells, looked_up: int, keep: int, step: int
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and products of the best rows of y that each query meets, (n, keep), -inf where there are fewer."""
    import faiss

    faiss.omp_set_num_threads(1)  # of this thread
    count = len(cells.centres)
    # Two bytes for most counts: NumPy sorts those in linear time.
    query_cells = np.empty((len(queries), looked_up), dtype=np.min_scalar_type(count))
    for start in range(0, len(queries), step):
        products = queries[start : start + step] @ cells.centres.T
        nearest = np.argpartition(products, count - looked_up, axis=1)[:, -looked_up:]
        query_cells[start : start + step] = nearest
    # The cells of each query become the queries of each cell.
    by_cell = np.argsort(query_cells, axis=None, kind="stable")
    by_cell //= looked_up
    starts = np.concatenate([[0], np.cumsum(np.bincount(query_cells.ravel(), minlength=count))])
    best = faiss.ResultHeap(len(queries), keep, keep_max=True)
    for cell in range(count):
        own_rows = cells.rows[cells.starts[cell] : cells.starts[cell + 1]]
        own_queries = by_cell[starts[cell] : starts[cell + 1]]
        for first in range(0, len(own_rows), BLOCK):
            rows = own_rows[first : first + BLOCK]
            vectors = y[rows].T
            for start in range(0, len(own_queries), BLOCK):
                batch = own_queries[start : start + BLOCK]
                best.add_result_subset(batch, queries[batch] @ vectors, rows)
    products = np.where(best.I >= 0, best.D, -np.inf)
    return best.I, products


def _candidates_on_gpu(
    x: np.ndarray, y: np.ndarray, cells: Cells, looked_up: int, keep: int, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """As `_candidates`, by an inverted file of faiss with these cells, of as many rows of y at once as the GPU holds.

    Not measured on a GPU.
    """
    import faiss
    import torch

    count, dim = cells.centres.shape
    gpu = torch.device(device)
    resources, number = faiss.StandardGpuResources(), gpu.index or 0
    at_once = max(1, int(GPU_SHARE * torch.cuda.mem_get_info(gpu)[0] / (4 * dim + 8)))
    best = faiss.ResultHeap(len(x), keep, keep_max=True)
    for start in range(0, len(y), at_once):
        centres = faiss.IndexFlatIP(dim)
        centres.add(cells.centres)
        lists = faiss.IndexIVFFlat(centres, dim, count, faiss.METRIC_INNER_PRODUCT)
        lists.nprobe = looked_up
        index = faiss.index_cpu_to_gpu(resources, number, lists)
        for rows in _blocks(start, min(start + at_once, len(y))):
            index.add(np.array(y[rows], dtype=np.float32))
        for rows in _blocks(0, len(x)):
            products, numbers = index.search(np.array(x[rows], dtype=np.float32), keep)
            products[numbers < 0] = -np.inf
            best.add_result_subset(np.arange(rows.start, rows.stop), products, numbers + start)
    return best.I, np.where(best.I >= 0, best.D, -np.inf)


def _blocks(start: int, stop: int) -> Iterator[slice]:
    """Parts of `GPU_BLOCK` rows."""
    for first in range(start, stop, GPU_BLOCK):
        yield slice(first, min(first + GPU_BLOCK, stop))

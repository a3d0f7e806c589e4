"""How fast a graph (HNSW) finds the nearest three of so many centres, and how often it is right.

    python measurements/fixed-cells/graph.py drawn/source.npy drawn/target.npy    # of recall.py

Rows of the first file stand for centres, and 2,000 of the second look for them, with the settings of the jobs.
"""

from __future__ import annotations

import sys
import time

import faiss
import numpy as np

from orthoglot.study.mining.cells import IN_VIEW, LINKS

SIZES = 20_000, 60_000, 200_000, 600_000
QUERIES = 2000


def main() -> None:
    """Print a row for each size."""
    centres, others = (np.load(path, mmap_mode="r") for path in sys.argv[1:3])
    queries = np.ascontiguousarray(others[-QUERIES:])
    flat, graph = faiss.IndexFlatL2(queries.shape[1]), faiss.IndexHNSWFlat(queries.shape[1], LINKS)
    graph.hnsw.efSearch = IN_VIEW
    built, before = 0.0, 0
    sys.stdout.write(
        "| Centres | Built, CPU s | Vectors a CPU second, all centres | Graph | Nearest | Nearest three |\n"
    )
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for size in SIZES:
        rows = np.ascontiguousarray(centres[before:size])
        before = size
        flat.add(rows)
        started = time.process_time()
        graph.add(rows)
        built += time.process_time() - started
        (exact, by_all), (near, by_graph) = (timed(index, queries) for index in (flat, graph))
        right = [
            len({*ours} & {*theirs}) / 3 for ours, theirs in zip(near.tolist(), exact.tolist(), strict=True)
        ]
        first = (near[:, 0] == exact[:, 0]).mean()
        sys.stdout.write(
            f"| {size:,} | {built:.0f} | {by_all:,.0f} | {by_graph:,.0f} | {first:.1%} | {np.mean(right):.1%} |\n"
        )
        sys.stdout.flush()


def timed(index: faiss.Index, queries: np.ndarray) -> tuple[np.ndarray, float]:
    """The nearest three, and queries a processor second."""
    started = time.process_time()
    nearest = index.search(queries, 3)[1]
    return nearest, len(queries) / (time.process_time() - started)


if __name__ == "__main__":
    main()

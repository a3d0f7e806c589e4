"""What is found where a sentence looks up a few cells of a fixed size.

    python measurements/fixed-cells/recall.py en.npy fr.npy --sizes 12288 24576
    python measurements/fixed-cells/recall.py drawn/source.npy drawn/target.npy --name drawn --sizes 1000000

The vectors are of length 1; row n of the second file is the translation of row n of the first. The cells are those of
`snakemake mined` (orthoglot.study.mining.cells). 10,000 sentences are searched exactly as well. "In its own cell" is
what would be found if a sentence lay in its nearest cell alone, and others looked up several.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import faiss
import numpy as np

from orthoglot.study.mining import cells

QUERIES = 10_000
BLOCK = 50_000
LOOKED_UP = 1, 3, 10


def exact(queries: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and numbers of the four nearest of each query."""
    best = faiss.ResultHeap(len(queries), 4, keep_max=True)
    for start in range(0, len(y), BLOCK):
        flat = faiss.IndexFlatIP(y.shape[1])
        flat.add(np.ascontiguousarray(y[start : start + BLOCK]))
        products, numbers = flat.search(queries, 4)
        best.add_result_subset(np.arange(len(queries)), products, numbers + start)
    best.finalize()
    return best.D, best.I


def shares(x: np.ndarray, y: np.ndarray, name: str, sizes: list[int]) -> None:
    """Print what is found with each number of cells, and of these looked up."""
    n = len(x)
    queries = np.sort(np.random.default_rng(0).permutation(n)[:QUERIES])
    asking = np.ascontiguousarray(x[queries])
    highest, numbers = exact(asking, y)
    translated = numbers[:, 0] == queries
    for count in (n // size for size in sizes):
        before = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            cells.learn([x, y], count, Path(folder))
            centres = faiss.read_index(str(Path(folder) / cells.CENTRES))
        took = time.process_time() - before
        nearest = centres.search(asking, max(LOOKED_UP))[1]
        blocks = (np.ascontiguousarray(y[start : start + BLOCK]) for start in range(0, n, BLOCK))
        theirs = np.concatenate([centres.search(block, max(LOOKED_UP))[1] for block in blocks])[numbers]
        for few in LOOKED_UP:
            same = theirs[:, :, :few, None] == nearest[:, None, None, :few]
            met, own = same.any(axis=(2, 3)), same[:, :, 0].any(axis=2)
            found = met[:, 0].mean(), met.mean(), own[:, 0].mean(), own.mean(), translated.mean()
            cosines = " ".join(f"{value:.3f}" for value in np.quantile(highest[:, 0], (0.1, 0.5, 0.9)))
            row = (
                name,
                f"{n:,}",
                f"{count:,}",
                few,
                *(f"{share:.2%}" for share in found),
                cosines,
                f"{took:.0f}",
            )
            sys.stdout.write(f"| {' | '.join(map(str, row))} |\n")
            sys.stdout.flush()


def main() -> None:
    """Print a row for each size, number of cells, and of cells looked up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="vectors, .npy")
    parser.add_argument("target", help="those of the translations")
    parser.add_argument("--name", default="real", help="what the vectors are called in the table")
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="so many of the first rows")
    parser.add_argument(
        "--cell", type=int, nargs="+", default=[100, 1000], help="sentences of a text for each cell"
    )
    given = parser.parse_args()
    names = (
        "Vectors",
        "n",
        "Cells",
        "Looked up",
        "Nearest",
        "Four nearest",
        "Nearest, in its own cell",
        "Four, in their own cells",
        "Translation is the nearest",
        "Cosine of the nearest (10, 50, 90 %)",
        "k-means, CPU s",
    )
    sys.stdout.write(f"| {' | '.join(names)} |\n{'|---' * len(names)}|\n")
    x, y = (np.load(path, mmap_mode="r") for path in (given.source, given.target))
    for n in given.sizes:
        shares(x[:n], y[:n], given.name, given.cell)


if __name__ == "__main__":
    main()

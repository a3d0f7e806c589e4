"""What is found where a sentence looks up a few cells of a fixed size, and how that falls with the number of sentences.

    orthoglot encode en.txt -o en.npy --own-mean && orthoglot encode fr.txt -o fr.npy --own-mean    # n translations
    python measurements/fixed-cells/recall.py en.npy fr.npy                                # real vectors alone
    python measurements/fixed-cells/recall.py en.npy fr.npy --drawn 1000000 --out drawn    # a million like them

Vectors that are drawn are made of pairs of translations that were encoded: with the deviations c of two pairs from the
mean of their text and a share a, uniform in [0.5, 1], both sides are mean + sqrt(a) c + sqrt(1 - a) c'. So covariances,
within and across the texts, are those of the real vectors. Whether what cells lose is, the program checks: a twentieth
of the real pairs gives as many as there are.

The cells are those of `snakemake mined` (orthoglot.study.mining.cells). 10,000 sentences are searched exactly as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import faiss
import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.study.mining import cells

QUERIES = 10_000
BLOCK = 50_000


def drawn(x: np.ndarray, y: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n pairs like those of x and y (N, D), row by row."""
    rng = np.random.default_rng(seed)
    first, second = rng.permutation(np.arange(n) % len(x)), rng.integers(len(x), size=n)
    share = rng.uniform(0.5, 1, size=(n, 1)).astype(np.float32)
    sides = []
    for real in (x, y):
        mean = real.mean(axis=0)
        side = np.empty((n, real.shape[1]), dtype=np.float32)
        for start in range(0, n, BLOCK):
            rows = slice(start, start + BLOCK)
            one, other = real[first[rows]] - mean, real[second[rows]] - mean
            side[rows] = unit(mean + np.sqrt(share[rows]) * one + np.sqrt(1 - share[rows]) * other)
        sides.append(side)
    return sides[0], sides[1]


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


def shares(x: np.ndarray, y: np.ndarray, settings: list[tuple[int, tuple[int, ...]]], name: str) -> None:
    """Print what is found for each number of cells, and of these looked up."""
    n = len(x)
    queries = np.sort(np.random.default_rng(0).permutation(n)[:QUERIES])
    highest, numbers = exact(x[queries], y)
    translated = numbers[:, 0] == queries
    for count, looked_up in settings:
        if n < count:
            continue
        before = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            cells.learn([x, y], count, Path(folder))
            centres = faiss.read_index(str(Path(folder) / cells.CENTRES))
        took = time.process_time() - before
        nearest = centres.search(x[queries], max(looked_up))[1]
        held = np.concatenate(
            [centres.search(y[start : start + BLOCK], 1)[1] for start in range(0, n, BLOCK)]
        )[:, 0]
        for few in looked_up:
            met = (held[numbers][:, :, None] == nearest[:, None, :few]).any(axis=2)
            row = (
                name,
                f"{n:,}",
                f"{count:,}",
                few,
                f"{met[:, 0].mean():.2%}",
                f"{met.mean():.2%}",
                f"{met[translated, 0].mean():.2%}",
                f"{translated.mean():.1%}",
                " ".join(f"{value:.3f}" for value in np.quantile(highest[:, 0], (0.1, 0.5, 0.9))),
                f"{took:.0f}",
            )
            sys.stdout.write(f"| {' | '.join(map(str, row))} |\n")
            sys.stdout.flush()


def main() -> None:
    """Print a row for each size, number of cells, and of cells looked up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="vectors of encoded sentences, .npy")
    parser.add_argument("target", help="vectors of their translations")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument(
        "--drawn", type=int, default=0, help="how many pairs are drawn; 0 for real ones alone"
    )
    parser.add_argument("--out", help="where source.npy and target.npy of the drawn ones are written")
    given = parser.parse_args()
    names = (
        "Vectors", "n", "Cells", "Looked up", "Nearest", "Four nearest", "Translations", "Translation nearest",
        "Cosine of the nearest (10, 50, 90 %)", "k-means, CPU s",
    )  # fmt: skip
    sys.stdout.write(f"| {' | '.join(names)} |\n{'|---' * len(names)}|\n")
    x, y = (unit(np.load(path).astype(np.float32)) for path in (given.source, given.target))

    def settings(n: int) -> list[tuple[int, tuple[int, ...]]]:
        return [(n // 100, (1, 3, 10)), (n // 1000, (1, 3, 10))]

    for n in [size for size in given.sizes if size <= len(x)]:
        shares(x[:n], y[:n], settings(n), "real")
    likeness = drawn(x[: len(x) // 20], y[: len(y) // 20], len(x), 1)
    shares(*likeness, settings(len(x)), "drawn from a twentieth")
    if given.drawn:
        x, y = drawn(x, y, given.drawn, 2)
        if given.out:
            for name, side in (("source", x), ("target", y)):
                np.save(Path(given.out) / f"{name}.npy", side)
        for n in [size for size in given.sizes if size <= len(x)]:
            shares(x[:n], y[:n], settings(n), "drawn")


if __name__ == "__main__":
    main()

"""Time and memory of the search for 4 neighbours both ways: ours, faiss, sentence-transformers.

    python measurements/speed-of-mining/retrieval.py                                # 20,000 by 20,000
    python measurements/speed-of-mining/retrieval.py --sizes 20000 50000 100000 --rounds 3

Vectors are random, of length 1, with 768 dimensions; half of y are noisy copies of x. Each run is a process of its
own, the ways in turn within a round. All have the same number of threads: ours as two searches of one thread each,
the others as their libraries use them. faiss and sentence-transformers search twice, once in each direction.
`paraphrases` is `paraphrase_mining_embeddings` on x alone, whose work is that of one direction, and ours next to it is
x against x.

Printed are wall-clock and CPU seconds, their ratio to ours, the memory that a run needs beyond the vectors, the share
of rows with the very same neighbours in the same order, and for ours the share of the rate of matrix products alone.
Neighbours that differ must have cosines within 1e-6 of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NEIGHBOURS, DIMENSION, THREADS = 4, 768, 2
WAYS = ("ours", "faiss", "sentence-transformers", "ours, x with x", "paraphrases")
OURS = {"faiss": "ours", "sentence-transformers": "ours", "paraphrases": "ours, x with x"}
# Cosines of neighbours that two ways order differently.
CLOSE = 1e-6


def sides(n: int):
    """Two arrays (n, DIMENSION) of rows of length 1."""
    import numpy as np

    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, DIMENSION), dtype=np.float32)
    y = rng.standard_normal((n, DIMENSION), dtype=np.float32)
    y[::2] = x[rng.permutation(n)[: len(y[::2])]] + 0.8 * y[::2]
    for rows in (x, y):
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return x, y


def run(way: str, n: int, output: Path) -> None:
    """One way in this process: its neighbours into a file, its numbers to standard output."""
    import numpy as np

    x, y = sides(n)
    work = prepared(way, x, y)
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    numbers = {"seconds": seconds, "cpu": cpu, "mebibytes": (after.ru_maxrss - before.ru_maxrss) / 1024}
    if way == "ours":
        numbers["product_seconds"] = products(x, y)
    np.savez(output, **found)
    json.dump(numbers, sys.stdout)


def prepared(way: str, x, y) -> Callable[[], dict]:
    """The work of one way, with what it imports loaded."""
    if way.startswith("ours"):
        import torch

        from orthoglot.search.neighbours import nearest

        torch.set_num_threads(THREADS)
        other = x if way == "ours, x with x" else y
        return lambda: nearest(x, other, NEIGHBOURS + (other is x))._asdict()
    if way == "faiss":
        import faiss

        faiss.omp_set_num_threads(THREADS)

        def flat(queries, rows):
            index = faiss.IndexFlatIP(DIMENSION)
            index.add(rows)
            return index.search(queries, NEIGHBOURS)[1]

        return lambda: {"forward": flat(x, y), "backward": flat(y, x)}
    import numpy as np
    import torch
    from sentence_transformers import util

    torch.set_num_threads(THREADS)
    a, b = torch.from_numpy(x), torch.from_numpy(y)

    def searched(queries, rows):
        found = util.semantic_search(queries, rows, top_k=NEIGHBOURS)
        return np.array([[one["corpus_id"] for one in row] for row in found])

    if way == "sentence-transformers":
        return lambda: {"forward": searched(a, b), "backward": searched(b, a)}

    def paraphrases() -> dict:
        pairs = util.paraphrase_mining_embeddings(a, top_k=NEIGHBOURS, max_pairs=len(a) * NEIGHBOURS)
        return {
            "pairs": np.array([(i, j) for _, i, j in pairs]),
            "scores": np.array([s for s, _, _ in pairs]),
        }

    return paraphrases


def products(x, y) -> float:
    """Seconds of all matrix products alone, from a part of them, in the tiles and with the threads of the search."""
    from orthoglot.search.neighbours import TILE

    height, width = TILE
    tiles = [(top, left) for top in range(0, len(x), height) for left in range(0, len(y), width)]
    part = tiles[: 4 * THREADS]

    def multiply(tile: tuple[int, int]) -> int:
        return (x[tile[0] : tile[0] + height] @ y[tile[1] : tile[1] + width].T).size

    with ThreadPoolExecutor(THREADS) as pool:
        started = time.perf_counter()
        entries = sum(pool.map(multiply, part))
        return (time.perf_counter() - started) * len(x) * len(y) / entries


def agreement(n: int, ours: Path, others: Path) -> float:
    """The share of rows with the same neighbours in the same order; an error if others differ by more than rounding."""
    import numpy as np

    from orthoglot.search.neighbours import cosines

    x, y = sides(n)
    first, second = np.load(ours), np.load(others)
    if "pairs" in second:
        own = {
            (min(i, j), max(i, j))
            for i, row in enumerate(first["forward"].tolist())
            for j in row[:5]
            if i != j
        }
        shared = {(min(i, j), max(i, j)) for i, j in second["pairs"].tolist()}
        return len(own & shared) / len(shared)
    same = []
    for side, queries, rows in (("forward", x, y), ("backward", y, x)):
        a, b = first[side], second[side]
        same.append((a == b).all(axis=1))
        apart = np.flatnonzero(~same[-1])
        gap = np.abs(cosines(queries[apart], rows, a[apart]) - cosines(queries[apart], rows, b[apart]))
        if gap.size and gap.max() > CLOSE:
            raise SystemExit(f"{others}: {side} neighbours differ by {gap.max():.1e}")
    return float(np.concatenate(same).mean())


def measure(n: int, ways: list[str], rounds: int, folder: Path) -> None:
    """Print a row of a Markdown table for each way."""
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            # Ours has threads of its own, each of which multiplies with one.
            environment = os.environ | {"OMP_NUM_THREADS": "1" if way.startswith("ours") else str(THREADS)}
            command = [sys.executable, __file__, "--run", way, "--sizes", str(n), "--folder", str(folder)]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            found[way].append(json.loads(done.stdout))
    for way, runs in found.items():
        best = min(runs, key=lambda one: one["seconds"])
        cells = [f"{n:,}", way, f"{best['seconds']:.1f}", f"{min(one['cpu'] for one in runs):.1f}"]
        if (ours := OURS.get(way)) in found:
            theirs = found[ours]
            for what in ("seconds", "cpu"):
                cells.append(f"{min(one[what] for one in runs) / min(one[what] for one in theirs):.2f}")
            cells.append(f"{100 * agreement(n, place(folder, ours, n), place(folder, way, n)):.2f} %")
        else:
            cells += ["1", "1", ""]
        cells.append(f"{best['mebibytes']:,.0f}")
        rate = max(
            (one["product_seconds"] / one["seconds"] for one in runs if "product_seconds" in one),
            default=None,
        )
        cells.append(f"{100 * rate:.0f} %" if rate else "")
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
        sys.stdout.flush()


def place(folder: Path, way: str, n: int) -> Path:
    """The file of one way's neighbours."""
    return folder / f"{way.replace(', ', '-').replace(' ', '-')}-{n}.npz"


def main() -> None:
    """Read the command line, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--run", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run(given.run, given.sizes[0], place(given.folder, given.run, given.sizes[0]))
        return
    heads = [
        "n",
        "Way",
        "Seconds",
        "CPU s",
        "Ours faster",
        "by CPU",
        "Same neighbours",
        "MiB",
        "Of product rate",
    ]
    sys.stdout.write(f"| {' | '.join(heads)} |\n| {' | '.join(['---'] * len(heads))} |\n")
    with tempfile.TemporaryDirectory() as folder:
        for n in given.sizes:
            measure(n, given.ways, given.rounds, Path(folder))


if __name__ == "__main__":
    main()

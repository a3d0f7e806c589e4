"""Time and memory of mining two texts whose vectors are on disk: ours, faiss, sentence-transformers.

    python measurements/speed-of-mining/mining.py --sizes 20000 50000
    python measurements/speed-of-mining/mining.py --sizes 1000000 --ways ours "faiss IVF" --queries 20000

Vectors have 384 dimensions and length 1: random around 2,000 random centres, half of y noisy copies of x; float32 in
.npy files that are mapped, not read. Every way finds 4 neighbours both ways, computes ratio margins and takes
one-to-one pairs, in a process of its own with two threads:

- ours: `orthoglot.mine`, an exact search up to 10^11 comparisons and cells of k-means beyond them;
- faiss flat: `IndexFlatIP`, built and searched once for each direction;
- faiss IVF: `IndexIVFFlat` with a cell for each 1,000 vectors of which 3 are searched, the settings of the example of
  sentence-transformers for mining;
- sentence-transformers: `util.semantic_search`, called once for each direction.

Printed are seconds, comparisons per second (n m over the seconds), the share of the rate of a plain matrix product on
as many threads (2 n m D operations: 100 % would be a search in both directions that costs no more than one product),
anonymous and resident memory at most, and the share of the copies that were found. With `--queries` so many vectors of
either side are searched in the whole other side, ours by cells; the rate counts those, and seconds include
making the index or the cells of either side.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

DIMENSION, NEIGHBOURS, THREADS, CENTRES, BLOCK = 384, 4, 2, 2000, 65536
WAYS = ("ours", "faiss flat", "faiss IVF", "sentence-transformers")


def write_sides(n: int, folder: Path) -> None:
    """The files x.npy and y.npy; the copy of row i of x is row n - 1 - i of y, for even i."""
    import numpy as np

    rng = np.random.default_rng(1)
    centres = rng.standard_normal((CENTRES, DIMENSION), dtype=np.float32)
    x, y = (
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float32, (n, DIMENSION)) for name in "xy"
    )
    for side in (x, y):
        for start in range(0, n, BLOCK):
            rows = side[start : start + BLOCK]
            noise = rng.standard_normal(rows.shape, dtype=np.float32)
            found = centres[rng.integers(CENTRES, size=len(rows))] + noise
            if side is y:
                mine = np.arange(n - 1 - start, n - 1 - start - len(rows), -1)
                even = mine % 2 == 0
                found[even] = x[mine[even]] * np.sqrt(2 * DIMENSION) + 0.5 * noise[even]
            rows[:] = found / np.linalg.norm(found, axis=1, keepdims=True)
        side.flush()


def run(way: str, folder: Path, queries: int) -> dict[str, float]:
    """One way in this process."""
    import numpy as np

    x, y = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "xy")
    work = prepared(way, x, y, queries)
    watch = Watch()
    started = time.perf_counter()
    sources, targets = work()
    seconds = time.perf_counter() - started
    memory = watch.stop()
    found = {*zip(sources.tolist(), targets.tolist(), strict=True)}
    of_x = queries or len(x)
    copies = [(i, len(x) - 1 - i) for i in range(0, of_x, 2)]
    return {
        "seconds": seconds,
        "found": sum(pair in found for pair in copies) / len(copies),
        **memory,
    }


def prepared(way: str, x, y, queries: int):
    """The work of one way, with what it imports loaded; it returns the rows of the pairs."""
    import numpy as np

    if way == "ours" and not queries:
        from orthoglot.apply.mine import mine

        return lambda: mine(x, y, threads=THREADS)[0][:2]
    if way == "ours":
        from orthoglot.search import exact_or_cells as search

        def neighbours(a, b):
            return search._approximate(a, b, NEIGHBOURS, "cpu", THREADS, 1.0)

    elif way == "sentence-transformers":
        import torch
        from sentence_transformers import util

        torch.set_num_threads(THREADS)

        def neighbours(a, b):
            a, b = (torch.from_numpy(np.array(side)) for side in (a, b))
            found = util.semantic_search(a, b, top_k=NEIGHBOURS)
            return np.array([[one["corpus_id"] for one in row] for row in found])

    else:
        import faiss

        faiss.omp_set_num_threads(THREADS)

        def neighbours(a, b):
            index = faiss.IndexFlatIP(DIMENSION)
            if way == "faiss IVF":
                index = faiss.IndexIVFFlat(
                    index, DIMENSION, max(1, len(b) // 1000), faiss.METRIC_INNER_PRODUCT
                )
                index.nprobe = 3
                index.train(np.ascontiguousarray(b))
            index.add(np.ascontiguousarray(b))
            return index.search(np.ascontiguousarray(a), NEIGHBOURS)[1]

    def work():
        some = slice(0, queries or None)
        # The last of y are the copies of the first of x.
        other = slice(len(y) - queries if queries else 0, None)
        forward, backward = neighbours(x[some], y), neighbours(y[other], x)
        return one_to_one(x, y, forward, backward, other.start)

    return work


def one_to_one(x, y, forward, backward, offset: int):
    """Pairs by falling ratio margin; rows of x from 0 on and of y from `offset` on have neighbours."""
    import numpy as np

    def cosines(a, b, rows):
        found = np.empty(rows.shape, dtype=np.float32)
        for start in range(0, len(rows), BLOCK // 8):
            part = slice(start, min(start + BLOCK // 8, len(rows)))
            found[part] = np.einsum("nd,nkd->nk", a[part], b[rows[part]])
        return found

    ahead, back = cosines(x, y, forward), cosines(y[offset:], x, backward)
    near_x, near_y = ahead.mean(axis=1), back.mean(axis=1)
    # A sentence whose own neighbours were not searched for is taken to be in a neighbourhood of mean density.
    of_x, of_y = np.full(len(x), near_x.mean()), np.full(len(y), near_y.mean())
    of_x[: len(near_x)], of_y[offset:] = near_x, near_y
    ahead, back = 2 * ahead / (near_x[:, None] + of_y[forward]), 2 * back / (near_y[:, None] + of_x[backward])
    sources = np.concatenate([np.arange(len(ahead)), backward[np.arange(len(back)), back.argmax(axis=1)]])
    targets = np.concatenate(
        [forward[np.arange(len(ahead)), ahead.argmax(axis=1)], offset + np.arange(len(back))]
    )
    order = np.argsort(-np.concatenate([ahead.max(axis=1), back.max(axis=1)]), kind="stable")
    seen_x, seen_y, kept = set(), set(), []
    for row in order.tolist():
        source, target = int(sources[row]), int(targets[row])
        if source not in seen_x and target not in seen_y:
            seen_x.add(source)
            seen_y.add(target)
            kept.append(row)
    return sources[kept], targets[kept]


class Watch:
    """The most anonymous and resident memory in MiB from its start to `stop`, looked at every 50 ms."""

    def __init__(self) -> None:
        self.most = {"anonymous": 0.0, "resident": 0.0}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        names = {"RssAnon:": "anonymous", "VmRSS:": "resident"}
        while not self.ended.wait(0.05):
            for line in Path("/proc/self/status").read_text().splitlines():
                if name := names.get(line.split()[0]):
                    self.most[name] = max(self.most[name], int(line.split()[1]) / 1024)

    def stop(self) -> dict[str, float]:
        """What was found."""
        self.ended.set()
        self.thread.join()
        return self.most


def product_rate() -> float:
    """Operations per second of a plain float32 matrix product on all threads, the best of five."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    a = np.random.default_rng(1).standard_normal((8192, DIMENSION), dtype=np.float32)
    best = 0.0
    with threadpool_limits(THREADS):
        for _ in range(5):
            started = time.perf_counter()
            a @ a.T
            best = max(best, 2 * len(a) ** 2 * DIMENSION / (time.perf_counter() - started))
    return best


def main() -> None:
    """Read the command line, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--queries", type=int, default=0)
    parser.add_argument("--run", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="for the vectors; a temporary one if not given")
    given = parser.parse_args()
    if given.run:
        json.dump(run(given.run, given.folder, given.queries), sys.stdout)
        return
    heads = [
        "n",
        "Way",
        "Seconds",
        "Comparisons/s",
        "Of product rate",
        "Anonymous MiB",
        "Resident MiB",
        "Found",
    ]
    sys.stdout.write(f"| {' | '.join(heads)} |\n| {' | '.join(['---'] * len(heads))} |\n")
    for n in given.sizes:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            write_sides(n, Path(folder))
            for way in given.ways:
                command = [sys.executable, __file__, "--run", way, "--folder", folder]
                command += ["--queries", str(given.queries)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                row = json.loads(done.stdout)
                rate = (given.queries or n) * n / row["seconds"]
                cells = [
                    f"{n:,}",
                    way,
                    f"{row['seconds']:.1f}",
                    f"{rate:.2e}",
                    f"{100 * 2 * DIMENSION * rate / product_rate():.0f} %",
                    f"{row['anonymous']:,.0f}",
                    f"{row['resident']:,.0f}",
                    f"{100 * row['found']:.1f} %",
                ]
                sys.stdout.write(f"| {' | '.join(cells)} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()

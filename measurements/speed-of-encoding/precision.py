"""What the encoder's precision costs and gains on a CPU (README.md).

    python measurements/speed-of-encoding/precision.py MODEL data/PRESET/benchmarks/tatoeba-112 \
        data/PRESET/benchmarks/sts17 ...

MODEL is a folder as of `orthoglot.load`: of an encoder its own vectors are measured, of others the meaning parts. The
others are test sets as the workflow writes them. P@1 is of both ways, within a
language; a correlation is Spearman's of cosines and scores; of several languages, the mean. A gap to float32 is paired;
its interval is a bootstrap's over sentence pairs, 1,000 draws, seed 1. Each language is encoded in all precisions in
turn, in one thread.

Where P@1 is measured, F1 of mining is, too: every third pair has both sides, of the others one side is left out. The
threshold is float32's with the highest F1.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from scipy.stats import rankdata

import orthoglot
from orthoglot.decomposers.base import unit
from orthoglot.encoders.settings import Precision
from orthoglot.search.hits import hits
from orthoglot.search.margins import best_threshold, mine
from orthoglot.search.neighbours import nearest
from orthoglot.study.benchmarks.collected import read_all

DRAWS, USUAL = 1000, "float32"
PRECISIONS = get_args(Precision)
Sides = list[np.ndarray]


def correlation(columns: np.ndarray) -> float:
    """Spearman's, of cosines and scores (n, 2), in percent."""
    return float(100 * np.corrcoef(rankdata(columns, axis=0), rowvar=False)[0, 1])


def percent(columns: np.ndarray) -> float:
    """The mean of hits (n, 2)."""
    return float(100 * columns.mean())


def f1(columns: np.ndarray) -> float:
    """Of mined pairs: the columns say of each sentence whether it is in a pair, a right one, and has a translation."""
    pairs, right, gold = columns.sum(axis=0)
    return float(200 * right / (pairs + gold))


def mined(sides: Sides, threshold: float | None = None) -> tuple[np.ndarray, float]:
    """The columns of `f1`, and the threshold: the one with the highest F1 if none is given."""
    rows = np.arange(len(sides[0]))
    sources, targets = rows[rows % 3 != 1], rows[rows % 3 != 2]
    x, y = unit(sides[0][sources]), unit(sides[1][targets])
    pairs = mine(x, y, nearest(x, y, 4))
    right = sources[pairs.sources] == targets[pairs.targets]
    gold = sources % 3 == 0
    if threshold is None:
        threshold = best_threshold(pairs.margins, right, int(gold.sum())).value
    columns = np.zeros((len(sources), 3))
    columns[:, 2] = gold
    above = pairs.margins >= threshold
    columns[pairs.sources[above], 0] = 1
    columns[pairs.sources[above], 1] = right[above]
    return columns, threshold


def columns_of(sides: Sides, scores: np.ndarray | None) -> np.ndarray:
    """What a statistic takes, a row for each sentence pair: hits of both ways, or cosine and score."""
    x, y = map(unit, sides)
    if scores is None:
        return np.stack(hits(x, y), axis=1)
    return np.stack([(x * y).sum(axis=1), scores], axis=1)


def line(name: str, precision: str, found: dict[str, list[np.ndarray]], statistic: Callable) -> str:
    """The mean over languages, and its gap to float32 with an interval."""
    generator = np.random.default_rng(1)
    own, usual = found[precision], found[USUAL]
    value = np.mean([statistic(table) for table in own])
    gaps = []
    for _ in range(DRAWS):
        rows = [generator.integers(len(table), size=len(table)) for table in own]
        pairs = zip(own, usual, rows, strict=True)
        gaps.append(np.mean([statistic(a[some]) - statistic(b[some]) for a, b, some in pairs]))
    low, high = np.percentile(gaps, [2.5, 97.5])
    gap = value - np.mean([statistic(table) for table in usual])
    return f"| {name} | {precision} | {value:.2f} | {gap:+.2f} [{low:+.2f}, {high:+.2f}] |"


def main() -> None:
    """Encode all sets in all precisions, print two tables."""
    torch.set_num_threads(1)
    folder, *sets = map(Path, sys.argv[1:])
    models = {precision: orthoglot.load(folder, "cpu", precision) for precision in PRECISIONS}
    seconds: dict[str, float] = defaultdict(float)
    count: Counter[str] = Counter()
    cosines: dict[str, list[np.ndarray]] = defaultdict(list)
    lines = []
    for place in sets:
        found: dict[str, list[np.ndarray]] = defaultdict(list)
        of_mining: dict[str, list[np.ndarray]] = defaultdict(list)
        statistic: Callable = percent
        for pairs in read_all(place):
            scores = np.array(pairs.gold) if pairs.gold else None
            statistic = percent if scores is None else correlation
            vectors: dict[str, Sides] = {}
            for precision, model in models.items():
                start = time.process_time()
                vectors[precision] = [model.encode(text) for _, text in pairs.sides()]
                seconds[precision] += time.process_time() - start
                found[precision].append(columns_of(vectors[precision], scores))
                both = zip(vectors[precision], vectors[USUAL], strict=True)
                cosines[precision] += [(unit(a) * unit(b)).sum(axis=1) for a, b in both]
            if scores is None:
                threshold = mined(vectors[USUAL])[1]
                for precision in PRECISIONS:
                    of_mining[precision].append(mined(vectors[precision], threshold)[0])
            count[place.name] += sum(len(text) for _, text in pairs.sides())
        title = f"{place.name}, {count[place.name]:,} sentences, {len(found[USUAL])} pairs of languages"
        lines += [line(title, precision, found, statistic) for precision in PRECISIONS]
        if of_mining:
            lines += [line(f"{title}, F1 of mining", precision, of_mining, f1) for precision in PRECISIONS]
        sys.stderr.write(f"{title}: {dict(seconds)}\n")
    titles = "| Precision | Sentences per CPU second | Cosine with float32: mean | least |"
    sys.stdout.write(f"{titles}\n|---|---|---|---|\n")
    for precision in PRECISIONS:
        every = np.concatenate(cosines[precision])
        speed = count.total() / seconds[precision]
        sys.stdout.write(f"| {precision} | {speed:.0f} | {every.mean():.5f} | {every.min():.4f} |\n")
    head = "\n| Text | Precision | P@1, F1 or Spearman | Against float32 |\n|---|---|---|---|\n"
    sys.stdout.write(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

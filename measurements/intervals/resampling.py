"""Coverage of the interval of a share of hits, and the time of the shared bootstrap.

python measurements/intervals/resampling.py                                      # coverage
python measurements/intervals/resampling.py evaluations/mini/ems-mini/dream      # time, on the scores of an evaluation

Coverage: how often the 95 % interval of a mean over language pairs that share their pivot sentences has the true value,
by `proportion` and by percentiles of the bootstrap over pivot sentences. Time: the correlations of an evaluation with
draws that all columns share, with draws of their own, and with SciPy's bootstrap, which knows neither language pairs
nor shared sentences. One thread.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from scipy import stats

from orthoglot.statistics.intervals import proportion
from orthoglot.statistics.resampling import Column, Scores, SharedColumns, resample
from orthoglot.statistics.summary import read_scores
from orthoglot.statistics.weighted import MEASURES

SENTENCES, TABLES, RESAMPLES, RUNS = 1000, 1000, 10_000, 3
# Language pairs, and the correlation of a sentence's scores in two of them.
SHAPES = ((1, 0.0), (5, 0.0), (5, 0.5), (10, 0.5), (30, 0.2), (30, 0.5))
SHARES = (0.001, 0.003, 0.01, 0.1, 0.6, 0.999)


def table(generator: np.random.Generator, pairs: int, together: float, share: float) -> np.ndarray:
    """(pairs, SENTENCES) hits; each has the expectation `share`."""
    common, own = generator.random(SENTENCES) < share, generator.random((pairs, SENTENCES)) < share
    same = generator.random((pairs, SENTENCES)) < math.sqrt(together)
    return np.where(same, common, own).astype(float)


def percentiles(generator: np.random.Generator, hits: np.ndarray) -> tuple[float, float]:
    """The percentile interval of the mean over pairs, of 2,000 draws of pivot sentences."""
    kinds, counts = np.unique(np.round(hits.mean(axis=0), 9), return_counts=True)
    means = generator.multinomial(SENTENCES, counts / SENTENCES, size=2000) @ kinds / SENTENCES
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def coverage() -> None:
    """Print a row of a Markdown table per shape and share."""
    keys = np.arange(SENTENCES, dtype=np.uint64)
    for pairs, together in SHAPES:
        for share in SHARES:
            generator = np.random.default_rng(1)
            found = []
            for _ in range(TABLES):
                hits = table(generator, pairs, together, share)
                one = proportion({str(k): Scores(row, keys) for k, row in enumerate(hits)}, confidence=0.95)
                found.append([(one.low, one.high), percentiles(generator, hits)])
            low, high = np.moveaxis(np.array(found), -1, 0)
            covered = ((low <= share + 1e-9) & (share - 1e-9 <= high)).mean(axis=0)
            width, empty = (high - low).mean(axis=0), (high - low < 1e-9).mean(axis=0)
            cells = f"{covered[0]:.3f} | {covered[1]:.3f} | {width[0]:.4f} | {width[1]:.4f} | {empty[1]:.3f}"
            sys.stdout.write(f"| {pairs} | {together} | {share} | {cells} |\n")


def seconds(work: Callable[[], object]) -> str:
    """Median and range."""
    runs = []
    for _ in range(RUNS):
        started = time.process_time()
        work()
        runs.append(time.process_time() - started)
    return f"{np.median(runs):.2f} s ({min(runs):.2f} to {max(runs):.2f})"


def draw(columns: list[Column]) -> object:
    """The statistics of some columns in shared draws."""
    return resample(columns, resamples=RESAMPLES, generator=np.random.default_rng(1))


def scipy_bootstrap(column: Column) -> object:
    """SciPy's bootstrap of one Pearson correlation."""
    how = {
        "n_resamples": RESAMPLES,
        "paired": True,
        "vectorized": True,
        "batch": 1000,
        "method": "percentile",
    }
    pearson = lambda x, y, axis: stats.pearsonr(x, y, axis=axis)[0]  # noqa: E731
    return stats.bootstrap(tuple(column.scores.values.T), pearson, rng=np.random.default_rng(1), **how)


def times(folder: Path) -> None:
    """Print a line per metric and way."""
    for metric in MEASURES["correlation"]:
        shared = SharedColumns()
        for key, scores in read_scores(folder / "scores.npz").items():
            if key.measure == "correlation" and not np.isnan(scores.values).any():
                shared.add(" ".join(map(str, key)), scores, metric)
        ways: dict[str, Callable[[], object]] = {
            "shared draws": lambda columns=shared.columns: draw(columns),
            "own draws": lambda columns=shared.columns: [draw([column]) for column in columns],
        }
        if metric.name == "pearson":
            ways["scipy"] = lambda columns=shared.columns: [scipy_bootstrap(column) for column in columns]
        for way, work in ways.items():
            sys.stdout.write(f"{metric.name}, {len(shared.columns)} columns, {way}: {seconds(work)}\n")


if __name__ == "__main__":
    times(Path(sys.argv[1])) if len(sys.argv) > 1 else coverage()

"""What one draw for all views and seeds of the same sentences saves, on the hits of an evaluation.

python benchmarks/resampling.py evaluations/mini/ems-mini/dream

Same input, one run, one thread: the means over all language pairs with one draw for all of them, with a draw each,
and SciPy's bootstrap of the same tables, which knows neither language pairs nor shared sentences.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from scipy import stats

from orthoglot.statistics.resampling import Strata, intervals
from orthoglot.statistics.summary import ACCURACY, Scored, read_scores, strata

RUNS, RESAMPLES, CONFIDENCE = 3, 10_000, 0.95


def tables(scored: Scored) -> dict[str, list[Strata]]:
    """By task and data set: one table of hits per view and seed."""
    groups: dict[str, dict[tuple[str, int], Scored]] = defaultdict(lambda: defaultdict(dict))
    for key, found in scored.items():
        if key.measure != ACCURACY:
            continue
        groups[f"{key.task} {key.dataset}"][key.view, key.seed][key] = found
    return {name: [strata(chosen) for chosen in group.values()] for name, group in groups.items()}


def draw(chosen: list[Strata]) -> object:
    """Intervals of some tables with one draw."""
    return intervals(chosen, resamples=RESAMPLES, confidence=CONFIDENCE, generator=np.random.default_rng(1))


def scipy_bootstrap(table: Strata) -> object:
    """The plain bootstrap of the mean over all items."""
    items = np.concatenate([one.values for one in table.values()])
    return stats.bootstrap(
        (items,), np.mean, n_resamples=RESAMPLES, method="percentile", batch=100, rng=np.random.default_rng(1)
    )


def seconds(work: Callable[[], object]) -> str:
    """Median and range."""
    runs = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        runs.append(time.perf_counter() - started)
    return f"{np.median(runs):.2f} s ({min(runs):.2f} to {max(runs):.2f})"


def main(folder: Path) -> None:
    """Print a line per task and way."""
    for name, group in tables(read_scores(folder / "scores.npz")).items():
        ways: dict[str, Callable[[], object]] = {
            "one draw": lambda group=group: draw(group),
            "a draw each": lambda group=group: [draw([one]) for one in group],
            "scipy.stats.bootstrap": lambda group=group: [scipy_bootstrap(one) for one in group],
        }
        for way, work in ways.items():
            sys.stdout.write(f"{name}, {len(group)} tables, {way}: {seconds(work)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

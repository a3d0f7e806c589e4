"""Processor seconds and memory of a fit of PLDA whose shrinkage is chosen by cross-validation (README.md).

    python measurements/speed-of-training/plda.py 384 1024

For each number of dimensions: eleven languages with a twelfth, 2,000 generated pairs each, whose meaning and noise have
directions of unlike size. Each fit runs in a process of its own, in one thread.
"""

from __future__ import annotations

import resource
import sys
from multiprocessing import get_context

import numpy as np
from threadpoolctl import threadpool_limits

from orthoglot.decomposers import architecture
from orthoglot.decomposers.closed_forms import compute

LANGUAGES, PAIRS = 12, 2000


def fit(dim: int) -> None:
    """Fit and print one row."""
    threadpool_limits(1)
    draw = np.random.default_rng(1)
    names = [f"l{k:02d}" for k in range(LANGUAGES)]
    offsets = 0.5 * draw.normal(size=(LANGUAGES, dim))
    turn = np.linalg.qr(draw.normal(size=(dim, dim)))[0]
    meaning, noise = np.linspace(2, 0.05, dim), np.linspace(2, 6, dim)

    def side(shared: np.ndarray, language: int) -> np.ndarray:
        return (shared + offsets[language] + noise * draw.normal(size=shared.shape)).astype(np.float32)

    blocks = []
    for language in range(1, LANGUAGES):
        shared = (meaning * draw.normal(size=(PAIRS, dim))) @ turn
        blocks.append((side(shared, 0), side(shared, language), (names[0], names[language])))
    before = resource.getrusage(resource.RUSAGE_SELF)
    _, facts = compute(architecture("plda"), blocks, names, dim, {})
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = (after.ru_maxrss - before.ru_maxrss) / 1024
    sys.stdout.write(
        f"| {dim} | {seconds:.1f} | {memory:.0f} | {facts['shrinkage']} | {facts['validation']} |\n"
    )


def main() -> None:
    """A process for each number of dimensions."""
    sys.stdout.write(
        "| D | CPU seconds | MiB beside the vectors | shrinkage | loss |\n|---|---|---|---|---|\n"
    )
    sys.stdout.flush()
    for dim in map(int, sys.argv[1:]):
        process = get_context("spawn").Process(target=fit, args=(dim,))
        process.start()
        process.join()


if __name__ == "__main__":
    main()

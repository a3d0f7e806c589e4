"""A million pairs of vectors like those of some thousand real translations.

    orthoglot encode en.txt -o en.npy --own-mean --precision bfloat16    # and fr.txt, its translation line by line
    python measurements/fixed-cells/draw.py en.npy fr.npy drawn                      # a million
    python measurements/fixed-cells/draw.py en.npy fr.npy likeness --of 1228 --n 24576

The deviations c, c' of two real pairs from the mean of their text, and a share a, uniform in [0.5, 1], make a pair:
both sides are mean + sqrt(a) c + sqrt(1 - a) c', at length 1. Before that, means and covariances, within the texts and
across, are those of the real vectors. Whether cells lose as much on them, recall.py says of `likeness`, in which a real
pair takes part about as often as in a million.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from orthoglot.decomposers.base import unit

BLOCK = 50_000


def main() -> None:
    """Write source.npy and target.npy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="vectors of real sentences, .npy, of length 1")
    parser.add_argument("target", help="those of their translations")
    parser.add_argument("output", type=Path)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--of", type=int, help="the first so many real pairs; all if not given")
    parser.add_argument("--seed", type=int, default=2)
    given = parser.parse_args()
    sides = [np.load(path)[: given.of] for path in (given.source, given.target)]
    rng, size = np.random.default_rng(given.seed), len(sides[0])
    first, second = rng.permutation(np.arange(given.n) % size), rng.integers(size, size=given.n)
    share = rng.uniform(0.5, 1, size=(given.n, 1)).astype(np.float32)
    given.output.mkdir(exist_ok=True)
    for name, real in zip(("source", "target"), sides, strict=True):
        mean = real.mean(axis=0)
        drawn = np.lib.format.open_memmap(
            given.output / f"{name}.npy", "w+", np.float32, (given.n, real.shape[1])
        )
        for start in range(0, given.n, BLOCK):
            rows = slice(start, start + BLOCK)
            parts = (
                np.sqrt(share[rows]) * (real[first[rows]] - mean),
                np.sqrt(1 - share[rows]) * (real[second[rows]] - mean),
            )
            drawn[rows] = unit(mean + parts[0] + parts[1])


if __name__ == "__main__":
    main()

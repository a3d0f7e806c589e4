"""Seeds of a decomposer in one stack against one after the other: CPU milliseconds per step and seed.

python measurements/speed-of-training/stacks.py [D ...]  # embedding sizes, by default 128 384 768

Batch 512, 7 languages, random vectors, one CPU thread. The two ways take turns, as in decomposers.py; nothing is
compiled. `make gpu` measures it on a GPU.
"""

from __future__ import annotations

import logging
import sys
from itertools import product

import numpy as np
import torch

from decomposers import BATCH, RATE, Steps, milliseconds, world
from orthoglot import catalogue
from orthoglot.training import decompose, stack
from orthoglot.training.decompose import Data
from orthoglot.training.settings import DecompositionSettings

METHODS, SEEDS = ("seed", "dream+oracle", "meat+oracle"), (2, 5)
CPU = torch.device("cpu")


def ways(name: str, seeds: int, dim: int, steps: int) -> dict[str, Steps]:
    """One epoch of so many trainings, alone and stacked; the validation is of a single pair."""
    vectors, rows = world(dim, steps)
    codes = [f"qa{letter}" for letter in "abcdefg"]
    recipe = DecompositionSettings(learning_rate=RATE, batch_size=BATCH, max_epochs=1, patience=1)
    method = catalogue.method(name)

    def data(steps: int) -> Data:
        return Data(vectors, codes, rows.take(slice(0, steps * BATCH)), rows.take(slice(0, 1)))

    def alone(steps: int) -> None:
        for seed in range(1, seeds + 1):
            decompose.train(method, recipe, name, data(steps), seed=seed, device=CPU, checkpoint=None)

    def stacked(steps: int) -> None:
        entries = [stack.Entry(method, recipe, name, seed) for seed in range(1, seeds + 1)]
        stack.train_stack(entries, data(steps), device=CPU, checkpoint=None)

    return {"alone": alone, "stacked": stacked}


def main() -> None:
    """Print one row of a Markdown table per size, method and number of seeds."""
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    decompose.PAYS_FROM = sys.maxsize
    dims = [int(dim) for dim in sys.argv[1:]] or [128, 384, 768]
    for dim, name, seeds in product(dims, METHODS, SEEDS):
        steps = max(10, 38_400 // dim // seeds)
        found = milliseconds(ways(name, seeds, dim, steps), steps, CPU)
        cells = [f"{min(took) / seeds:.1f}, {np.median(took) / seeds:.1f}" for took in found.values()]
        ratio = np.median(found["alone"]) / np.median(found["stacked"])
        sys.stdout.write(f"| {dim} | {name} | {seeds} | {' | '.join(cells)} | {ratio:.2f} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

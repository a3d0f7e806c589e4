"""Training decomposers: milliseconds of CPU time per step, against a straightforward loop and the matrix products.

python benchmarks/decomposers.py [--device cuda] [D ...]     # D: embedding sizes, by default 128 384 768 1024

Batch 512, 7 languages, random vectors, one CPU thread. The ways take turns, round by round; median and range of a
step. The straightforward loop is tests/support/straightforward.py, whose losses and weights must equal ours. The
products are those that no step can do without: each map's outputs and its weights' gradient.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))

import numpy as np
import straightforward
import torch
from torch import Tensor

from orthoglot.config import method_named
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import Trained
from orthoglot.streams import stream
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data, train
from orthoglot.training.settings import DecompositionSettings

BATCH, LANGUAGES, ROUNDS, RATE = 512, 7, 5, 1e-4
METHODS = ("seed", "dream", "dream+oracle", "meat", "meat+oracle")
Steps = Callable[[], None]


def world(dim: int, steps: int) -> tuple[Tensor, PairRows]:
    """Random vectors of English and six other languages in turn, enough for an epoch of so many steps."""
    pairs = torch.arange(steps * BATCH)
    vectors = torch.randn(2 * len(pairs), dim, generator=stream(0))
    rows = PairRows(pairs, pairs + len(pairs), torch.zeros_like(pairs), 1 + pairs % (LANGUAGES - 1))
    return vectors, rows


def ours(name: str, vectors: Tensor, rows: PairRows, device: torch.device) -> Steps:
    """One epoch of a training, with its batches; the validation is of a single pair."""
    codes = [f"qa{letter}" for letter in "abcdefg"]
    data = Data(vectors, codes, rows, rows.take(slice(0, 1)))
    recipe = DecompositionSettings(learning_rate=RATE, batch_size=BATCH, max_epochs=1, patience=1)

    def run() -> None:
        train(method_named(name), recipe, name, data, seed=1, device=device, checkpoint=None)

    return run


def theirs(name: str, vectors: Tensor, rows: PairRows, device: torch.device) -> Steps:
    """The steps of the straightforward loop, with its DataLoader."""
    kinds = {"seed": straightforward.Seed, "dream": straightforward.Dream, "meat": straightforward.Meat}
    host, _, oracle = name.partition("+")
    twin: Any = kinds[host](vectors.shape[1], LANGUAGES, RATE, *((True,) if oracle else ()))
    for value in vars(twin).values():
        if isinstance(value, torch.nn.Module):
            value.to(device)
    columns = vectors[rows.source], vectors[rows.target], rows.source_language, rows.target_language
    data = straightforward.Rows(*(column.to(device) for column in columns))

    def run() -> None:
        for batch in straightforward.loader(data, BATCH):
            twin.step(*batch)

    return run


def products(name: str, dim: int, steps: int, device: torch.device) -> Steps:
    """The matrix products alone."""
    form = architecture(method_named(name).architecture)
    assert isinstance(form, Trained)
    x, g = (torch.randn(2 * BATCH, dim, generator=stream(k)).to(device) for k in (1, 2))
    weight = torch.randn(dim, dim, generator=stream(3)).to(device)

    def run() -> None:
        for _ in range(steps * len(form.maps)):
            torch.mm(x, weight.T)
            torch.mm(g.T, x)

    return run


def milliseconds(ways: dict[str, Steps], steps: int, device: torch.device) -> dict[str, list[float]]:
    """Of a step by way, in turns; the first round is a warm-up. CPU time, or wall clock on an accelerator."""
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(1 + ROUNDS):
        for way, run in ways.items():
            started = clock()
            run()
            if device.type == "cuda":
                torch.cuda.synchronize()
            found[way].append((clock() - started) / steps * 1e3)
    return {way: values[1:] for way, values in found.items()}


def main() -> None:
    """Print one row of a Markdown table per size and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("dims", nargs="*", type=int, default=[128, 384, 768, 1024])
    chosen = parser.parse_args()
    device = torch.device(chosen.device)
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    for dim in chosen.dims:
        steps = max(6, 3072 // dim) if device.type == "cpu" else 200
        vectors, rows = world(dim, steps)
        for name in METHODS:
            ways = {
                "straightforward": theirs(name, vectors, rows, device),
                "ours": ours(name, vectors, rows, device),
                "products": products(name, dim, steps, device),
            }
            found = milliseconds(ways, steps, device)
            middle = {way: float(np.median(values)) for way, values in found.items()}
            cells = [f"{middle[way]:.1f} ({min(found[way]):.1f} to {max(found[way]):.1f})" for way in ways]
            ratios = middle["straightforward"] / middle["ours"], middle["products"] / middle["ours"]
            row = [str(dim), name, *cells, f"{ratios[0]:.1f}", f"{ratios[1]:.0%}"]
            sys.stdout.write(f"| {' | '.join(row)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
